package tracer

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
)

// PathOf returns the qualified name of a module of the root that is being traced
// or was traced last: "foo.bar", "" for the root itself. It takes what the
// root's fields hold and what a hook is given. Follows torch.fx
// Tracer.path_of_module.
func (t *Tracer) PathOf(m nn.Module) (string, error) {
	if m != nil {
		if s := nn.ShadowOf(m); s != nil && s.Caller == nn.Caller(t) {
			return s.Path, nil
		}
		if path, ok := t.paths[m]; ok {
			return path, nil
		}
	}
	return "", ir.Errorf(ir.ErrKey, "module is not installed as a submodule")
}

// FreshName returns prefix with the smallest number behind it that gives a name
// which no attribute of the root, and none that the trace made, has: where to
// keep a value that a hook adds. Follows torch.fx Tracer.get_fresh_qualname.
func (t *Tracer) FreshName(prefix string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%d", prefix, i)
		if _, used := t.attrs[name]; !used && !t.taken[name] {
			t.taken[name] = true
			return name
		}
	}
}
