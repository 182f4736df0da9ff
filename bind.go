package torchfx

import (
	"errors"
	"fmt"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A state is the tensors of an open file, bound to libtorch: writable, and
// sharing memory as they do in the file.
type state struct {
	file    *export.Program
	named   []namedTensor
	tensors map[*export.Tensor]*torch.Tensor
	gone    map[*torch.Tensor]bool // those that a frozen program does not need
}

type namedTensor struct {
	name   string
	tensor *torch.Tensor
}

// A binder makes one tensor over each storage and all others as views of it.
type binder struct {
	device *ir.Device // nil leaves the memory of the file
	bases  map[base]*libtorch.Tensor
}

// A base is a storage read as elements of one dtype. Storages that hold two
// dtypes share memory only where the file is not copied to a device.
type base struct {
	storage *export.Storage
	dtype   ir.DType
}

// bind makes the tensors of a file. On an error, which tells all that cannot be
// bound, nothing is left.
func bind(file *export.Program, device *ir.Device) (*state, error) {
	s := &state{file: file, tensors: map[*export.Tensor]*torch.Tensor{}}
	b := binder{device: device, bases: map[base]*libtorch.Tensor{}}
	defer func() {
		for _, t := range b.bases {
			_ = t.Close() // the views keep the memory
		}
	}()
	var faults []error
	for name, t := range file.State() {
		bound, ok := s.tensors[t]
		if !ok {
			h, err := b.tensor(t)
			if err != nil {
				faults = append(faults, fmt.Errorf("state %s: %w", name, err))
				continue
			}
			bound = torch.FromHandle(h)
			s.tensors[t] = bound
		}
		s.named = append(s.named, namedTensor{name, bound})
	}
	if err := errors.Join(faults...); err != nil {
		_ = s.free()
		return nil, err
	}
	return s, nil
}

func (b *binder) tensor(t *export.Tensor) (*libtorch.Tensor, error) {
	if t.Storage == nil {
		return nil, ir.Errorf(ir.ErrFormat, "expected elements, got none: the program was saved with fake weights")
	}
	whole, err := b.base(t.Storage, t.DType)
	if err != nil {
		return nil, err
	}
	view, err := libtorch.View(whole, t.DType, t.Sizes, t.Strides, t.Offset)
	if err != nil || !t.RequiresGrad {
		return view, err
	}
	if err := requireGrad(view); err != nil {
		_ = view.Close()
		return nil, err
	}
	return view, nil
}

// requireGrad flags a parameter as the file does. No gradient is recorded, but
// kernels are chosen by the flag: aten::matmul folds [b, m, n] @ [n, k] into one
// matrix where the second needs a gradient, which rounds otherwise than a batch
// of products.
func requireGrad(t *libtorch.Tensor) error {
	op, err := libtorch.Find("aten::requires_grad_")
	if err != nil {
		return err
	}
	out, err := op.Call(nil, []any{t, true})
	for _, v := range out {
		if h, ok := v.(*libtorch.Tensor); ok {
			_ = h.Close()
		}
	}
	return err
}

// base returns the tensor of all elements of a storage.
func (b *binder) base(s *export.Storage, dtype ir.DType) (*libtorch.Tensor, error) {
	key := base{s, dtype}
	if t := b.bases[key]; t != nil {
		return t, nil
	}
	release, err := s.Hold()
	if err != nil {
		return nil, err
	}
	n := int64(s.Len() / dtype.Size())
	t, err := libtorch.FromMemory(s.Bytes(), dtype, []int64{n}, []int64{1}, 0, release)
	if err != nil {
		release()
		return nil, err
	}
	if b.device != nil {
		if t, err = copyTo(t, *b.device); err != nil {
			return nil, err
		}
	}
	b.bases[key] = t
	return t, nil
}

// copyTo returns a copy of t on a device and closes t.
func copyTo(t *libtorch.Tensor, d ir.Device) (*libtorch.Tensor, error) {
	whole := torch.FromHandle(t)
	defer whole.Close()
	v, err := torch.Call("aten::_to_copy", whole, torch.Kw("device", d))
	if err != nil {
		return nil, err
	}
	return v.(*torch.Tensor).Handle()
}

// attach puts the tensors in the place of the file's among the attributes.
func (s *state) attach(module *ir.GraphModule) {
	eachAttr(module, func(m *ir.GraphModule, path string, v any) {
		if t, ok := v.(*export.Tensor); ok && s.tensors[t] != nil {
			m.SetAttr(path, s.tensors[t])
		}
	})
}

// replace puts the tensors in the place of an older state of the same file.
func (s *state) replace(module *ir.GraphModule, old *state) {
	fresh := map[*torch.Tensor]*torch.Tensor{}
	for i, n := range old.named {
		fresh[n.tensor] = s.named[i].tensor
	}
	eachAttr(module, func(m *ir.GraphModule, path string, v any) {
		if t, ok := v.(*torch.Tensor); ok && fresh[t] != nil {
			m.SetAttr(path, fresh[t])
		}
	})
}

// eachAttr calls f with every attribute of a module, its graph modules and the twins
// of its regions.
func eachAttr(module *ir.GraphModule, f func(m *ir.GraphModule, path string, v any)) {
	for path, v := range module.Attrs() {
		switch v := v.(type) {
		case *ir.GraphModule:
			eachAttr(v, f)
		case *interpreter.Delegated:
			eachAttr(v.Twin(), f)
		default:
			f(module, path, v)
		}
	}
}

// free closes the tensors.
func (s *state) free() error {
	var faults []error
	for _, t := range s.tensors {
		faults = append(faults, t.Close())
	}
	return errors.Join(faults...)
}

// close closes the tensors and the file.
func (s *state) close() error { return errors.Join(s.free(), s.file.Close()) }
