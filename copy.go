package torchfx

import (
	"fmt"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// DeepCopy returns a copy of m that shares nothing with it: graph, tensors, modules
// of package nn and graph modules inside, each copied once, so that what is tied
// stays tied. Regions of a delegate are copied with their twins; what was compiled of them
// does not change and is in memory once, until the last copy is lost or closed. Hooks and
// meta come along; attributes of other types are shared.
// [ir.GraphModule.Clone] copies the graph alone. Follows copy.deepcopy, but keeps
// attributes that no node names.
func DeepCopy(m *ir.GraphModule) (*ir.GraphModule, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "copy: expected a graph module, got nil")
	}
	return (&moduleCopier{nn.NewCopier(), map[*ir.GraphModule]*ir.GraphModule{}, map[*interpreter.Delegated]*interpreter.Delegated{}}).graphModule(m)
}

type moduleCopier struct {
	*nn.Copier
	graphs  map[*ir.GraphModule]*ir.GraphModule
	regions map[*interpreter.Delegated]*interpreter.Delegated
}

func (k *moduleCopier) graphModule(m *ir.GraphModule) (*ir.GraphModule, error) {
	if made := k.graphs[m]; made != nil {
		return made, nil
	}
	made := m.Clone()
	k.graphs[m] = made
	for path, v := range m.Attrs() {
		var copied any
		var err error
		switch v := v.(type) {
		case *torch.Tensor:
			copied, err = k.Tensor(v)
		case *ir.GraphModule:
			copied, err = k.graphModule(v)
		case *interpreter.Delegated:
			copied, err = k.delegated(v)
		case *interpreter.Module:
			var gm *ir.GraphModule
			gm, err = k.graphModule(v.GraphModule())
			copied = interpreter.AsModule(gm)
		case nn.Module:
			copied, err = k.Module(v)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", path, err)
		}
		made.SetAttr(path, copied)
	}
	return made, nil
}

func (k *moduleCopier) delegated(d *interpreter.Delegated) (*interpreter.Delegated, error) {
	if made := k.regions[d]; made != nil {
		return made, nil
	}
	region, err := d.Region().Share()
	if err != nil {
		return nil, err
	}
	twin, err := k.graphModule(d.Twin())
	if err != nil {
		_ = region.Close()
		return nil, err
	}
	made, err := interpreter.NewDelegated(twin, region)
	k.regions[d] = made
	return made, err
}
