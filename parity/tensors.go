package parity

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// tensorFile is a safetensors file of a case.
type tensorFile struct{ file *export.Safetensors }

func openTensors(name string) (*tensorFile, error) {
	f, err := export.OpenSafetensors(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return &tensorFile{f}, nil
}

func (f *tensorFile) close() { _ = f.file.Close() }

// inputs makes the described inputs from a file of the case. They are copies,
// which the caller closes.
func (c *Case) inputs(file string, leaves []leaf) ([]any, error) {
	f, err := openTensors(filepath.Join(c.Dir, file))
	if err != nil {
		return nil, err
	}
	defer f.close()
	values := make([]any, 0, len(leaves))
	for i, l := range leaves {
		v, err := f.value(l)
		if err != nil {
			closeValues(values)
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		values = append(values, v)
	}
	return values, nil
}

func (f *tensorFile) value(l leaf) (any, error) {
	if l.Kind != "tensor" {
		return l.scalar()
	}
	dt, err := ir.ParseDType(l.DType)
	if err != nil {
		return nil, err
	}
	data, err := f.bytes(l.Key)
	if err != nil {
		return nil, err
	}
	t, err := torch.FromBytes(dt, l.Shape, data)
	if err != nil || l.Strides == nil {
		return t, err
	}
	defer t.Close()
	strided, err := torch.Call("aten::empty_strided", l.Shape, l.Strides, torch.Kw("dtype", dt))
	if err != nil {
		return nil, err
	}
	copied, err := torch.Call("aten::copy_", strided, t)
	closeValues([]any{copied})
	if err != nil {
		closeValues([]any{strided})
		return nil, err
	}
	return strided, nil
}

// bytes returns the elements under key.
func (f *tensorFile) bytes(key string) ([]byte, error) {
	t, err := f.file.Tensor(key)
	if err != nil {
		return nil, err
	}
	return t.Bytes()
}

// closeValues closes the tensors among values.
func closeValues(values []any) {
	for _, v := range values {
		if t, ok := v.(*torch.Tensor); ok {
			_ = t.Close()
		}
	}
}

// facts are what is compared of a tensor beside its elements.
type facts struct {
	dtype   ir.DType
	shape   []int
	strides []int
}

// factsOf reads them in one place, with the panics of a closed tensor as errors.
func factsOf(t *torch.Tensor) (facts, error) {
	return torch.Try(func() facts { return facts{t.DType(), t.Shape(), t.Strides()} })
}

// differ says what of f is not as described, "" when all is. Strides that were
// not recorded are those of contiguous elements, where a dimension of size 1
// may have any.
func (f facts) differ(l leaf, strides bool) string {
	switch {
	case f.dtype.Name() != l.DType:
		return fmt.Sprintf("dtype: expected %s, got %s", l.DType, f.dtype.Name())
	case !slices.Equal(f.shape, l.Shape):
		return fmt.Sprintf("shape: expected %v, got %v", l.Shape, f.shape)
	case !strides:
	case l.Strides == nil && !f.contiguous():
		return fmt.Sprintf("strides: expected contiguous ones, got %v for shape %v", f.strides, f.shape)
	case l.Strides != nil && !slices.Equal(f.strides, l.Strides):
		return fmt.Sprintf("strides: expected %v, got %v", l.Strides, f.strides)
	}
	return ""
}

func (f facts) contiguous() bool {
	step := 1
	for i := len(f.shape) - 1; i >= 0; i-- {
		if f.shape[i] != 1 && f.strides[i] != step {
			return slices.Contains(f.shape, 0)
		}
		step *= f.shape[i]
	}
	return true
}
