package export

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// OpenTensors opens the tensors of a file of any format that holds some:
//
//   - a file of torch.save: its state dict, to which keys lead where it lies deeper;
//     the state of a module that was saved whole, of any class; or its one tensor,
//     called by the file's name. Objects of other classes beside them are left out;
//   - safetensors, one file or the index of a sharded set;
//   - .npz, and .npy, whose tensor is called by the file's name;
//   - the state dict of a program, of a TorchScript module, or of a saved fx module.
//
// It fails with [ir.ErrUnsupported] for what holds none.
func OpenTensors(path string, keys ...string) (*StateFile, error) {
	format, err := Identify(path)
	if err != nil {
		return nil, err
	}
	if len(keys) > 0 && format != TorchSaveFile {
		return nil, ir.Errorf(ir.ErrValue, "keys lead into a file of torch.save: expected none for one of the format %s", format)
	}
	switch format {
	case TorchSaveFile:
		return savedState(path, keys)
	case SafetensorsFile, SafetensorsIndex:
		return OpenState(path)
	case NpyFile:
		return npyState(path)
	case NpzFile:
		return npzState(path)
	case ProgramFile:
		p, err := Open(path)
		if err != nil {
			return nil, err
		}
		return programState(p), nil
	case TorchScriptFile:
		s, err := OpenScript(path)
		if err != nil {
			return nil, err
		}
		f := &StateFile{Tensors: map[string]*Tensor{}, close: s.Close}
		for name, t := range s.State() {
			f.add(name, t)
		}
		return f, nil
	case SavedModuleFolder:
		state := filepath.Join(path, folderState)
		if _, err := os.Stat(state); err != nil {
			state = filepath.Join(path, folderSafe)
		}
		return OpenState(state)
	}
	return nil, ir.Errorf(ir.ErrUnsupported, "expected a file of tensors, got one of the format %s", format)
}

func (f *StateFile) add(name string, t *Tensor) {
	if _, twice := f.Tensors[name]; !twice {
		f.Names = append(f.Names, name)
	}
	f.Tensors[name] = t
}

// savedState opens the tensors of a file of torch.save. No class keeps them from being
// read, as objects are data.
func savedState(path string, keys []string) (*StateFile, error) {
	saved, err := OpenTorchSave(path, Classes(func(string) bool { return true }))
	if err != nil {
		return nil, err
	}
	f := &StateFile{Tensors: map[string]*Tensor{}, close: saved.Close}
	if t, ok := saved.Value.(*Tensor); ok && len(keys) == 0 {
		f.add(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), t)
		return f, nil
	}
	if f.Names, f.Tensors, err = saved.StateDict(keys...); err != nil {
		_ = saved.Close()
		return nil, err
	}
	return f, nil
}

func programState(p *Program) *StateFile {
	f := &StateFile{Tensors: map[string]*Tensor{}, close: p.Close}
	for name, t := range p.State() {
		if p.state.weights[name] { // constants and other buffers are in no state dict
			f.add(name, t)
		}
	}
	return f
}

func npyState(path string) (*StateFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t, err := ReadNpy(file)
	if err != nil {
		return nil, err
	}
	f := &StateFile{Tensors: map[string]*Tensor{}, close: func() error { return nil }}
	f.add(strings.TrimSuffix(filepath.Base(path), ".npy"), t)
	return f, nil
}

func npzState(path string) (*StateFile, error) {
	z, err := OpenNpz(path)
	if err != nil {
		return nil, err
	}
	f := &StateFile{Tensors: map[string]*Tensor{}, close: z.Close}
	for _, name := range z.Names() {
		t, err := z.Tensor(name)
		if err != nil {
			_ = z.Close()
			return nil, err
		}
		f.add(name, t)
	}
	return f, nil
}
