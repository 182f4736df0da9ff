package export

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// ModuleState returns the state dict of a module, or of an object of any class with the
// attributes of one, that is the value of the file: Python's names, and the tensors,
// whose Parameter tells parameters from buffers. ok is false where the value is no
// module. The file must have been opened with [Classes] that take its classes.
func (s *Saved) ModuleState() (names []string, tensors map[string]*Tensor, ok bool) {
	if i, isObject := s.Value.(*Instance); isObject {
		return stateOfModule(i)
	}
	return nil, nil, false
}

func stateOfModule(root *Instance) (names []string, tensors map[string]*Tensor, ok bool) {
	if moduleState(root) == nil {
		return nil, nil, false
	}
	w := &stateWalk{tensors: map[string]*Tensor{}, onPath: map[*Instance]bool{}}
	w.module("", root)
	return w.names, w.tensors, true
}

// moduleState returns the attributes of an object that is a module, nil of others.
func moduleState(i *Instance) *ir.PyDict {
	state, _ := i.State.(*ir.PyDict)
	if i.Class == graphModuleFunc && len(i.Args) > 0 {
		state, _ = i.Args[0].(*ir.PyDict)
	}
	if state == nil {
		return nil
	}
	if _, ok := state.Get("_modules"); !ok {
		return nil
	}
	return state
}

// maxStateEntries bounds the modules and tensors of a state dict.
const maxStateEntries = 1 << 18

// A stateWalk collects the tensors of modules. What is shared is walked by each path,
// up to [maxStateEntries] entries of modules.
type stateWalk struct {
	names   []string
	tensors map[string]*Tensor
	onPath  map[*Instance]bool
	entries int
}

func (w *stateWalk) module(path string, m *Instance) {
	state := moduleState(m)
	if state == nil || w.onPath[m] {
		return
	}
	w.onPath[m] = true
	defer delete(w.onPath, m)
	var transient PySet
	if v, ok := state.Get("_non_persistent_buffers_set"); ok {
		transient, _ = v.(PySet)
	}
	for _, group := range []string{"_parameters", "_buffers"} {
		for key, v := range entry(state, group).All() {
			if w.entries++; w.entries > maxStateEntries {
				return
			}
			name, named := key.(string)
			t, ok := v.(*Tensor)
			if !ok || !named || group == "_buffers" && slices.Contains(transient, key) {
				continue
			}
			if w.tensors[path+name] == nil {
				w.names = append(w.names, path+name)
			}
			w.tensors[path+name] = t.as(group == "_parameters")
		}
	}
	for key, v := range entry(state, "_modules").All() {
		if w.entries++; w.entries > maxStateEntries {
			return
		}
		if name, named := key.(string); named {
			if child, ok := v.(*Instance); ok {
				w.module(path+name+".", child)
			}
		}
	}
}
