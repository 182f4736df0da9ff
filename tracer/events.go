package tracer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// below makes a graph of recorded operators. A tensor is known by its identity,
// which the events hold until the graph is done.
type below struct {
	recording Recording
	graph     *ir.Graph
	attrs     map[string]any
	values    map[uintptr]ir.Arg // what stands for a tensor now: the last node that made or wrote it
	state     map[uintptr]stated // tensors that have a name
	varying   []*torch.Tensor    // the inputs among the tensors
	constants int
	events    []libtorch.Recorded
}

// A stated tensor is one that the code holds under a name.
type stated struct {
	path   string
	tensor *torch.Tensor
}

// inputs makes a placeholder of each leaf of the inputs.
func (b *below) inputs(inputs []any) error {
	spec, leaves := flattenAll(inputs)
	names := make([]string, len(leaves))
	for i, v := range leaves {
		names[i] = fmt.Sprintf("arg%d_1", i)
		if i < len(b.recording.Names) {
			names[i] = b.recording.Names[i]
		}
		n := b.graph.Placeholder(names[i])
		names[i] = n.Name()
		t, ok := v.(*torch.Tensor)
		if !ok || t == nil {
			continue
		}
		h, err := t.Handle()
		if err != nil {
			return err
		}
		info, err := h.Info()
		if err != nil {
			return err
		}
		n.Meta().Set(ir.MetaVal, metaOf(info))
		b.values[h.ID()] = n
		b.varying = append(b.varying, t)
	}
	if len(leaves) != len(inputs) || slices.ContainsFunc(spec, func(s *ir.TreeSpec) bool { return !s.IsLeaf() }) {
		in := ir.TupleSpec(ir.TupleSpec(spec...), &ir.TreeSpec{Type: "builtins.dict"})
		b.graph.SetCodeGen(ir.PyTreeCodeGen{Args: names, In: in})
	}
	return nil
}

// name notes the names of the tensors that root has, and of those that were named.
// Of several names the first stays.
func (b *below) name(root any) error {
	add := func(path string, t *torch.Tensor) error {
		if t == nil {
			return nil
		}
		h, err := t.Handle()
		if err != nil {
			return fmt.Errorf("record: %s: %w", path, err)
		}
		if _, twice := b.state[h.ID()]; !twice {
			b.state[h.ID()] = stated{path, t}
		}
		return nil
	}
	if m, ok := root.(nn.Module); ok {
		for t := range nn.Tensors(m) {
			if err := add(t.Name, t.Tensor); err != nil {
				return err
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(b.recording.State)) {
		if err := add(path, b.recording.State[path]); err != nil {
			return err
		}
	}
	return nil
}

// event adds the node of one operator, and the items of its results.
func (b *below) event(i int, e *libtorch.Recorded) error {
	op, err := libtorch.Find(e.Op)
	if err != nil {
		return err
	}
	schema := op.Schema()
	args, kwargs, err := b.arguments(schema, e.Args)
	if err != nil {
		return fmt.Errorf("record %s: %w", e.Op, err)
	}
	n := b.graph.CallFunction(ir.OverloadOf(e.Op), args, ir.Kwargs(kwargs...), ir.Name(operatorName(e.Op)))
	facts := e.Facts
	vals := make([]any, len(e.Results))
	for k, v := range e.Results {
		var item *ir.Node
		if len(e.Results) > 1 {
			item = b.item(n, k)
		} else {
			item = n
		}
		vals[k], facts = b.result(item, v, facts)
	}
	switch len(vals) {
	case 0:
	case 1:
		n.Meta().Set(ir.MetaVal, vals[0])
	default:
		n.Meta().Set(ir.MetaVal, vals)
	}
	if err := b.guard(schema, n, e.Results); err != nil {
		return err
	}
	if b.recording.OnOperator != nil {
		for ; n != nil; n = n.Next() {
			b.recording.OnOperator(n, i)
		}
	}
	return nil
}

// operatorName is what make_fx and export name a node after: "add" for "aten::add.Tensor".
func operatorName(op string) string {
	_, name, _ := strings.Cut(op, "::")
	name, _, _ = strings.Cut(name, ".")
	return name
}

// item takes one of several results.
func (b *below) item(n *ir.Node, i int) *ir.Node {
	return b.graph.CallFunction(ir.FuncOf("operator.getitem"), []ir.Arg{n, ir.Int(i)})
}

// result notes that n stands for the tensors in v, and returns what is known of
// them and the facts that are left.
func (b *below) result(n *ir.Node, v any, facts []libtorch.TensorInfo) (any, []libtorch.TensorInfo) {
	var val any = ir.None{}
	switch v := v.(type) {
	case *libtorch.Tensor:
		if v == nil {
			return val, facts
		}
		b.values[v.ID()] = n
		val, facts = metaOf(facts[0]), facts[1:]
		n.Meta().Set(ir.MetaVal, val)
	case nil:
	case []*libtorch.Tensor:
		vals := make([]any, len(v))
		for i, t := range v {
			vals[i], facts = b.result(b.item(n, i), t, facts)
		}
		val = vals
		n.Meta().Set(ir.MetaVal, val)
	default:
		if a, err := b.literal(v); err == nil {
			val = a
		}
	}
	return val, facts
}

// guard checks in the graph that a value that the code has read is the same again.
func (b *below) guard(schema *ir.Schema, n *ir.Node, results []any) error {
	if !b.recording.GuardReads || !schema.Tags.Has(ir.TagDataDependentOutput) || len(results) != 1 {
		return nil
	}
	want, err := b.literal(results[0])
	if err != nil {
		return nil // it made tensors
	}
	eq := b.graph.CallFunction(ir.FuncOf("operator.eq"), []ir.Arg{n, want})
	b.graph.CallFunction(ir.OverloadOf("aten::_assert_scalar"), []ir.Arg{eq, ir.Str(fmt.Sprintf("%s: expected %s, with which the graph was recorded", schema.Op, want))})
	return nil
}

// arguments turns one value per argument of the schema into those of a node,
// without the defaults: by position up to the first keyword-only one.
func (b *below) arguments(schema *ir.Schema, values []any) (args []ir.Arg, kwargs []ir.Keyword, err error) {
	positional := 0
	for i, p := range schema.Args {
		if p.KeywordOnly {
			break
		}
		a, err := b.argument(values[i])
		if err != nil {
			return nil, nil, fmt.Errorf("argument %s: %w", p.Name, err)
		}
		args = append(args, a)
		if !isDefault(p, a) {
			positional = len(args)
		}
	}
	for i := len(args); i < len(values); i++ {
		a, err := b.argument(values[i])
		if err != nil {
			return nil, nil, fmt.Errorf("argument %s: %w", schema.Args[i].Name, err)
		}
		if !isDefault(schema.Args[i], a) {
			kwargs = append(kwargs, ir.Kw(schema.Args[i].Name, a))
		}
	}
	return args[:positional], kwargs, nil
}

// isDefault reports whether leaving out a says the same. One number is the default
// of a list of fixed length.
func isDefault(p ir.Param, a ir.Arg) bool {
	if p.Default == nil {
		return false
	}
	if list, ok := a.(ir.List); ok {
		if _, one := p.Default.(ir.Int); one {
			for _, item := range list.All() {
				if !ir.EqualArgs(item, p.Default) {
					return false
				}
			}
			return list.Len() > 0
		}
	}
	return ir.EqualArgs(a, p.Default)
}

// argument turns a value of a call into an argument of a node.
func (b *below) argument(v any) (ir.Arg, error) {
	switch v := v.(type) {
	case *libtorch.Tensor:
		return b.tensor(v)
	case []*libtorch.Tensor:
		return list(v, b.tensor)
	case []any:
		return list(v, b.argument)
	}
	return b.literal(v)
}

// tensor returns what stands for t, an attribute where nothing does yet.
func (b *below) tensor(t *libtorch.Tensor) (ir.Arg, error) {
	if t == nil {
		return ir.None{}, nil
	}
	if a, ok := b.values[t.ID()]; ok {
		return a, nil
	}
	info, err := t.Info()
	if err != nil {
		return nil, err
	}
	has, named := b.state[t.ID()]
	if !named {
		own, err := t.Ref()
		if err != nil {
			return nil, err
		}
		has = stated{fmt.Sprintf("_tensor_constant%d", b.constants), torch.FromHandle(own)}
		b.constants++
	}
	b.attrs[has.path] = has.tensor
	n := b.graph.GetAttr(has.path)
	n.Meta().Set(ir.MetaVal, metaOf(info))
	b.values[t.ID()] = n
	return n, nil
}

// literal turns a value that holds no tensor into an argument.
func (b *below) literal(v any) (ir.Arg, error) {
	switch v := v.(type) {
	case nil:
		return ir.None{}, nil
	case *libtorch.Generator:
		return nil, ir.Errorf(ir.ErrUnsupported, "a generator has no place in a graph: seed the default one")
	case *libtorch.Object:
		return nil, ir.Errorf(ir.ErrUnsupported, "an object of libtorch has no place in a graph")
	case ir.Arg:
		return v, nil
	case []int64:
		return list(v, func(i int64) (ir.Arg, error) { return ir.Int(i), nil })
	case []float64:
		return list(v, func(f float64) (ir.Arg, error) { return ir.Float(f), nil })
	case []bool:
		return list(v, func(t bool) (ir.Arg, error) { return ir.Bool(t), nil })
	case []string:
		return list(v, func(s string) (ir.Arg, error) { return ir.Str(s), nil })
	case []complex128:
		return list(v, func(c complex128) (ir.Arg, error) { return ir.Complex(c), nil })
	case []any:
		return list(v, b.literal)
	}
	if a, ok := number(v); ok {
		return a, nil
	}
	return nil, ir.Errorf(ir.ErrUnsupported, "a %T has no place in a graph", v)
}

func list[T any](items []T, f func(T) (ir.Arg, error)) (ir.Arg, error) {
	args := make([]ir.Arg, len(items))
	for i, item := range items {
		a, err := f(item)
		if err != nil {
			return nil, err
		}
		args[i] = a
	}
	return ir.ListOf(args...), nil
}

// output ends the graph with what the code returned.
func (b *below) output(out any) error {
	spec, leaves := flatten(out)
	args := make([]ir.Arg, len(leaves))
	for i, v := range leaves {
		a, err := b.leaf(v)
		if err != nil {
			return fmt.Errorf("record: result %d: %w", i, err)
		}
		args[i] = a
	}
	tree, inputs := b.graph.CodeGen().(ir.PyTreeCodeGen)
	switch {
	case inputs:
		tree.Out = spec
		b.graph.SetCodeGen(tree)
		b.graph.Output(ir.ListOf(args...))
	case spec.IsLeaf():
		b.graph.Output(args[0])
	default:
		t := Append(b.graph)
		values := make([]any, len(args))
		for i, a := range args {
			values[i] = a
			if n, ok := a.(*ir.Node); ok {
				values[i] = t.Value(n)
			}
		}
		structured, err := spec.Unflatten(values)
		if err != nil {
			return err
		}
		result, err := t.Lower(structured)
		if err != nil {
			return err
		}
		b.graph.Output(result)
	}
	return nil
}

func (b *below) leaf(v any) (ir.Arg, error) {
	t, ok := v.(*torch.Tensor)
	if !ok {
		return b.literal(v)
	}
	if t == nil {
		return ir.None{}, nil
	}
	h, err := t.Handle()
	if err != nil {
		return nil, err
	}
	return b.tensor(h)
}

// metaOf puts what libtorch knows of a tensor into the graph's terms.
func metaOf(info libtorch.TensorInfo) ir.TensorMeta {
	return ir.TensorMeta{
		DType: info.DType, Sizes: knownSizes(info.Sizes), Strides: knownSizes(info.Strides), StorageOffset: ir.SizeOf(info.Offset),
		Device: info.Device, Layout: info.Layout, RequiresGrad: info.RequiresGrad,
	}
}

func knownSizes(sizes []int64) []ir.Size {
	out := make([]ir.Size, len(sizes))
	for i, n := range sizes {
		out[i] = ir.SizeOf(n)
	}
	return out
}
