package export

import (
	"errors"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// storageClasses are PyTorch's classes of typed storages.
var storageClasses = map[ir.DType]string{
	ir.Float64: "DoubleStorage", ir.Float32: "FloatStorage", ir.Float16: "HalfStorage", ir.BFloat16: "BFloat16Storage",
	ir.Int64: "LongStorage", ir.Int32: "IntStorage", ir.Int16: "ShortStorage", ir.Int8: "CharStorage", ir.UInt8: "ByteStorage",
	ir.Bool8: "BoolStorage", ir.Complex128: "ComplexDoubleStorage", ir.Complex64: "ComplexFloatStorage",
}

// A savedState is the state dict of a folder.
type savedState struct {
	names   []string
	tensors map[string]*Tensor
	close   func() error
}

// openState reads a state dict from a file that torch.save or safetensors wrote;
// which of them, its content tells.
func openState(path string) (*savedState, error) {
	s, release, err := openSpan(path)
	if err != nil {
		return nil, err
	}
	head, err := s.slice(0, min(s.size, 4))
	zipped := strings.HasPrefix(string(head), "PK")
	if err = errors.Join(err, release()); err != nil {
		return nil, err
	}
	if zipped {
		f, err := OpenTorchSave(path)
		if err != nil {
			return nil, err
		}
		names, tensors, err := f.StateDict()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return &savedState{names, tensors, f.Close}, nil
	}
	f, err := OpenSafetensors(path)
	if err != nil {
		return nil, err
	}
	state := &savedState{f.Names(), map[string]*Tensor{}, f.Close}
	for _, name := range state.names {
		if state.tensors[name], err = f.Tensor(name); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return state, nil
}
