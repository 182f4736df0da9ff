package passes

import (
	"maps"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
)

// fetched are the attributes that a backend needs of the layers that torch.fx knows
// of, by Python name.
var fetched = map[string][]string{
	"torch.nn.modules.linear.Linear":             {"weight", "bias"},
	"torch.nn.modules.conv.Conv2d":               {"weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"},
	"torch.nn.modules.batchnorm.BatchNorm2d":     {"weight", "bias", "running_mean", "running_var", "eps"},
	"torch.nn.modules.pooling.AdaptiveAvgPool2d": {},
	"torch.nn.modules.pooling.MaxPool2d":         {"kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"},
	"torch.nn.modules.activation.ReLU":           {"inplace"},
}

// LoweringAttrs are the class of a layer and what a backend needs of it.
type LoweringAttrs struct {
	Class string         // "torch.nn.modules.conv.Conv2d"
	Names []string       // in the order in which torch.fx has them
	Attrs map[string]any // *torchops.Tensor, the layer's own, or an ir.Arg; nil for an absent bias
}

// FetchAttrs returns what a backend needs of a Linear, Conv2d, BatchNorm2d,
// AdaptiveAvgPool2d, MaxPool2d or ReLU layer. It fails with class ir.ErrRuntime for
// any other module. Same as
// torch.fx.passes.param_fetch.extract_attrs_for_lowering.
func FetchAttrs(m nn.Module) (LoweringAttrs, error) {
	class := nn.ClassName(m)
	names, ok := fetched[class]
	if !ok {
		return LoweringAttrs{}, ir.Errorf(ir.ErrRuntime, "%s is not in the module_fetch_book yet", class)
	}
	a := LoweringAttrs{Class: class, Names: names, Attrs: map[string]any{}}
	for _, name := range names {
		if v, ok := nn.Attribute(m, name); ok {
			a.Attrs[name] = v
		}
	}
	for t := range nn.Tensors(m) {
		if _, taken := a.Attrs[t.Name]; taken || t.Tensor == nil {
			continue
		}
		for _, name := range names {
			if name == t.Name {
				a.Attrs[name] = t.Tensor
			}
		}
	}
	for _, name := range names {
		if b, isFlag := a.Attrs[name].(ir.Bool); name == "bias" && isFlag && !bool(b) {
			a.Attrs[name] = nil // the constructor's flag stands for no tensor
		}
	}
	return a, nil
}

// LiftAttrs returns what [FetchAttrs] does for every layer that the graph of m calls,
// and those of the graph modules that it calls. It fails as FetchAttrs does. Follows
// torch.fx.passes.param_fetch.lift_lowering_attrs_to_nodes, which notes them on the
// nodes.
func LiftAttrs(m *ir.GraphModule) (map[*ir.Node]LoweringAttrs, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "lift attributes: expected a graph module, got nil")
	}
	out := map[*ir.Node]LoweringAttrs{}
	for _, n := range m.Graph().Find(ir.CallModule, nil) {
		v, _ := m.Attr(n.Target().String())
		switch v := v.(type) {
		case *ir.GraphModule:
			inner, err := LiftAttrs(v)
			if err != nil {
				return nil, err
			}
			maps.Copy(out, inner)
		case nn.Module:
			a, err := FetchAttrs(v)
			if err != nil {
				return nil, err
			}
			out[n] = a
		default:
			return nil, ir.Errorf(ir.ErrRuntime, "%s is not in the module_fetch_book yet", TargetName(m, n))
		}
	}
	return out, nil
}
