package parity

import (
	"path/filepath"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
)

// folder opens the folder that the module was saved to. It must hold the graph
// of the nodes, and every tensor of the state that was recorded beside it.
func (r *fxReplay) folder() {
	dir := filepath.Join(r.c.Dir, "folder")
	f, err := export.LoadFolder(dir)
	if err != nil {
		r.res.fault("folder: %v", err)
		return
	}
	defer f.Close()
	if err := ir.Equal(f.Module.Graph(), r.main.module.Graph()); err != nil {
		r.res.fault("folder: %v", err)
	}
	code, err := f.Module.Code()
	want, err2 := r.main.module.Code()
	if err != nil || err2 != nil {
		r.res.fault("folder: code: %v %v", err, err2)
	} else if s := firstDifference("folder: code", code, want); s != "" {
		r.res.fault("%s", s)
	}
	state, err := openTensors(filepath.Join(dir, "state_dict.safetensors"))
	if err != nil {
		r.res.fault("folder: %v", err)
		return
	}
	defer state.close()
	for _, name := range state.file.Names() {
		v, _ := f.Module.Attr(name)
		t, ok := v.(*export.Tensor)
		if !ok {
			r.res.fault("folder: expected the tensor %s, got none", name)
			continue
		}
		got, err := t.Bytes()
		if err != nil {
			r.res.fault("folder: %s: %v", name, err)
			continue
		}
		recorded, err := state.bytes(name)
		if err != nil {
			r.res.fault("folder: %s: %v", name, err)
		} else if string(got) != string(recorded) {
			r.res.fault("folder: expected other elements of %s", name)
		}
	}
	r.did = append(r.did, "a folder")
}
