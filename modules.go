package torchfx

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/wholefile"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
)

// LoadState copies a state dict from a file that torch.save or safetensors wrote
// into the parameters and buffers of m, by Python's names. What is missing,
// unexpected or of another size is an error with Python's text; see
// nn.LoadStateDict.
func LoadState(m nn.Module, path string, opts ...nn.LoadOption) (nn.Incompatible, error) {
	f, err := export.OpenState(path)
	if err != nil {
		return nn.Incompatible{}, err
	}
	defer f.Close()
	l := newMaker()
	defer l.close()
	return l.load(m, f.State(), opts...)
}

// SaveState writes the state dict of m: a file of safetensors where path ends so,
// otherwise one that torch.load reads. The file appears whole or not at all.
func SaveState(path string, m nn.Module) error {
	s := newSaver()
	tensors := map[string]*export.Tensor{}
	var names []string
	for name, t := range nn.StateDict(m) {
		saved, err := s.tensor(t)
		if err != nil {
			return fmt.Errorf("state %s: %w", name, err)
		}
		tensors[name] = saved
		names = append(names, name)
	}
	return wholefile.Write(path, func(w io.Writer) error {
		if strings.EqualFold(filepath.Ext(path), ".safetensors") {
			return export.WriteSafetensors(w, tensors, nil)
		}
		return export.WriteState(w, func(yield func(string, *export.Tensor) bool) {
			for _, name := range names {
				if !yield(name, tensors[name]) {
					return
				}
			}
		})
	})
}

// LoadModule reads a module that Python saved whole, by torch.save(module, file):
// of a torch.fx.GraphModule it returns an *[ir.GraphModule], of a module of torch.nn an
// nn.Module. No code of the file runs; modules of other classes fail, as
// [export.Saved.Module] says.
func LoadModule(path string, opts ...ir.ParseOption) (any, error) {
	f, err := export.OpenTorchSave(path, export.Classes(export.ModuleClasses))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := f.Module(opts...)
	if err != nil {
		return nil, err
	}
	l := newMaker()
	defer l.close()
	switch m := m.(type) {
	case *ir.GraphModule:
		return l.graphModule(m)
	case *export.SavedModule:
		return l.module(m)
	}
	return nil, ir.Errorf(ir.ErrType, "load %s: expected a module, got %T", path, m)
}
