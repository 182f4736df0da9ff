package export

import (
	"errors"
	"iter"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// storageClasses are PyTorch's classes of typed storages.
var storageClasses = map[ir.DType]string{
	ir.Float64: "DoubleStorage", ir.Float32: "FloatStorage", ir.Float16: "HalfStorage", ir.BFloat16: "BFloat16Storage",
	ir.Int64: "LongStorage", ir.Int32: "IntStorage", ir.Int16: "ShortStorage", ir.Int8: "CharStorage", ir.UInt8: "ByteStorage",
	ir.Bool8: "BoolStorage", ir.Complex128: "ComplexDoubleStorage", ir.Complex64: "ComplexFloatStorage",
}

// A StateFile is an open state dict.
type StateFile struct {
	Names   []string // in the order of the file
	Tensors map[string]*Tensor
	close   func() error
}

// Close gives up the file behind the tensors. It is idempotent.
func (f *StateFile) Close() error { return f.close() }

// State yields the tensors in order.
func (f *StateFile) State() iter.Seq2[string, *Tensor] {
	return func(yield func(string, *Tensor) bool) {
		for _, name := range f.Names {
			if !yield(name, f.Tensors[name]) {
				return
			}
		}
	}
}

// OpenState opens a state dict in a file that torch.save or safetensors wrote;
// which of them, its content tells. Of several state dicts in a checkpoint keys
// name one, as for [Saved.StateDict].
func OpenState(path string, keys ...string) (*StateFile, error) {
	s, release, err := openSpan(path)
	if err != nil {
		return nil, err
	}
	head, err := s.slice(0, min(s.size, 4))
	saved := strings.HasPrefix(string(head), "PK") || isLegacy(s)
	if err = errors.Join(err, release()); err != nil {
		return nil, err
	}
	if saved {
		f, err := OpenTorchSave(path)
		if err != nil {
			return nil, err
		}
		names, tensors, err := f.StateDict(keys...)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return &StateFile{names, tensors, f.Close}, nil
	}
	f, err := OpenSafetensors(path)
	if err != nil {
		return nil, err
	}
	state := &StateFile{f.Names(), map[string]*Tensor{}, f.Close}
	for _, name := range state.Names {
		if state.Tensors[name], err = f.Tensor(name); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return state, nil
}
