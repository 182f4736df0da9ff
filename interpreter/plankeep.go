package interpreter

import (
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A keeper has handles of its own of the tensors that Go reads in a plan, as the bridge
// has of those that it reads: a plan outlives the program that it was made of.
type keeper struct {
	tensors map[*torch.Tensor]*torch.Tensor
	modules map[*ir.GraphModule]*ir.GraphModule
}

func newKeeper() *keeper {
	return &keeper{map[*torch.Tensor]*torch.Tensor{}, map[*ir.GraphModule]*ir.GraphModule{}}
}

// tensor returns a handle of t that the plan owns; t itself where there can be none,
// which is told by who uses it.
func (k *keeper) tensor(t *torch.Tensor) *torch.Tensor {
	if kept := k.tensors[t]; kept != nil {
		return kept
	}
	if _, traced := torch.ValueOf(t); traced {
		return t
	}
	kept, err := t.Ref()
	if err != nil {
		return t
	}
	k.tensors[t] = kept
	return kept
}

// module returns a copy of m with the plan's handles for its tensors.
func (k *keeper) module(m *ir.GraphModule) *ir.GraphModule {
	if kept := k.modules[m]; kept != nil {
		return kept
	}
	kept := m.Clone(ir.CopyAttrs(func(_ string, v any) any {
		if t, ok := v.(*torch.Tensor); ok && t != nil {
			return k.tensor(t)
		}
		return v
	}))
	k.modules[m] = kept
	return kept
}

func (k *keeper) close() {
	for _, t := range k.tensors {
		_ = t.Close()
	}
}
