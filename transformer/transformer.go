package transformer

import (
	"context"
	"maps"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// Default copies each node as it is. It is what overrides fall back on, and is
// made by [Transform].
type Default struct {
	interpreter.Default
	t *tracer.Tracer
	g *ir.Graph
}

// RunNode notes whose provenance new nodes carry on and dispatches on the
// opcode.
func (d Default) RunNode(r *interpreter.Run, n *ir.Node) (any, error) {
	d.t.Follow(n, "Interpreter_Transformer")
	out, err := d.Default.RunNode(r, n)
	if v, traced := torch.ValueOf(out); traced {
		return v, err // overrides may return tensors and sizes: the next one gets a Value
	}
	return out, err
}

// Placeholder makes the parameter of the new graph.
func (d Default) Placeholder(_ *interpreter.Run, target string, args []any, _ []torch.Kwarg) (any, error) {
	var opts []ir.NodeOption
	if len(args) > 0 {
		def, err := d.t.Lower(args[0])
		if err != nil {
			return nil, err
		}
		opts = append(opts, ir.Default(def))
	}
	return d.t.Value(d.g.Placeholder(target, opts...)), nil
}

// GetAttr reads the same attribute.
func (d Default) GetAttr(_ *interpreter.Run, path string, args []any, kwargs []torch.Kwarg) (any, error) {
	return d.record(ir.GetAttr, path, args, kwargs)
}

// CallFunction records the call.
func (d Default) CallFunction(_ *interpreter.Run, fn *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
	return d.record(ir.CallFunction, fn, args, kwargs)
}

// CallMethod records the call.
func (d Default) CallMethod(_ *interpreter.Run, name string, args []any, kwargs []torch.Kwarg) (any, error) {
	return d.record(ir.CallMethod, name, args, kwargs)
}

// CallModule records the call: every module is a leaf.
func (d Default) CallModule(_ *interpreter.Run, path string, args []any, kwargs []torch.Kwarg) (any, error) {
	return d.record(ir.CallModule, path, args, kwargs)
}

func (d Default) record(op ir.Op, target any, args []any, kwargs []torch.Kwarg) (any, error) {
	return torch.Try(func() any { return d.t.Record(op, target, args, kwargs) })
}

// Transform interprets m by the handler that make builds and returns the graph
// module of what that recorded, with the attributes of m that it names. Follows
// torch.fx.Transformer.transform.
func Transform(ctx context.Context, m *ir.GraphModule, make func(Default) interpreter.Handler) (*ir.GraphModule, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "transform: expected a graph module, got nil")
	}
	g := ir.NewGraph()
	t := tracer.Append(g)
	in := interpreter.New(m, interpreter.WithHandler(make(Default{t: t, g: g})))
	out, err := in.RunWith(ctx, interpreter.Options{RawIO: true})
	if err != nil {
		return nil, err
	}
	t.Follow(nil, "")
	// of None torch.fx makes no output, and then cannot compile what it made
	old, err := m.Graph().OutputNode()
	if err != nil && out != nil {
		return nil, err
	}
	if err == nil {
		result, err := t.Lower(out)
		if err != nil {
			return nil, err
		}
		g.Output(result).Meta().CopyFrom(old.Meta())
	}
	g.TakeCodeGen(m.Graph())
	attrs := t.Attrs()
	maps.Copy(attrs, maps.Collect(m.Attrs()))
	return ir.NewGraphModule(attrs, g)
}
