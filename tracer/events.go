package tracer

import (
	"fmt"
	"maps"
	"slices"

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
	values    map[uintptr]ir.Arg              // of the first run: what stands for a tensor now, the last node that made or wrote it
	state     map[uintptr]stated              // tensors that have a name
	elements  map[*torch.Tensor]*torch.Tensor // what tensors of withoutElements stand for
	onMeta    bool                            // an input has no elements
	device    ir.Device                       // which the graph then names
	constants int                             // how many have none
	symbols   []symbol
	sizes     [][]int64 // what the symbols are in each run
	runs      []*recorded
	numbered  int
	computed  map[string]*ir.Node // sizes that there are nodes for
}

// A recorded run is the first one, on what was given, or one with other sizes.
type recorded struct {
	leaves  []any
	events  []libtorch.Recorded
	spec    *ir.TreeSpec    // of the result
	outs    []any           // its leaves
	writes  []write         // of a functional recording
	numbers map[uintptr]int // tensors in the order of their appearance
}

// A stated tensor is one that the code holds under a name.
type stated struct {
	path   string
	tensor *torch.Tensor
}

func (b *below) close() {
	for t := range b.elements {
		defer t.Close() // when no event holds it
	}
	for i, r := range b.runs {
		libtorch.CloseRecorded(r.events)
		if i == 0 {
			continue
		}
		for _, v := range slices.Concat(r.outs, r.leaves) {
			t, ok := v.(*torch.Tensor)
			if ok && !slices.Contains(b.runs[0].leaves, v) && !slices.ContainsFunc(slices.Collect(maps.Values(b.state)), func(s stated) bool { return s.tensor == t }) {
				t.Close()
			}
		}
	}
}

// inputs makes a placeholder of each leaf of the inputs.
func (b *below) inputs(inputs []any) error {
	spec, leaves := flattenAll(inputs, 0)
	for i := range leaves {
		name := fmt.Sprintf("arg%d_1", i)
		if i < len(b.recording.Names) {
			name = b.recording.Names[i]
		}
		n := b.graph.Placeholder(name)
		if t, ok := leaves[i].(*torch.Tensor); !ok || t == nil {
			continue
		}
		same, facts := make([]*libtorch.Tensor, len(b.runs)), make([]libtorch.TensorInfo, len(b.runs))
		for k, r := range b.runs {
			var err error
			if same[k], err = r.leaves[i].(*torch.Tensor).Handle(); err != nil {
				return err
			}
			if facts[k], err = same[k].Info(); err != nil {
				return err
			}
		}
		b.same(same)
		if _, twice := b.values[same[0].ID()]; twice {
			continue // one tensor for two inputs: the first stands for it
		}
		meta, err := b.meta(facts)
		if err != nil {
			return fmt.Errorf("record: input %d: %w", i, err)
		}
		n.Meta().Set(ir.MetaVal, meta)
		b.values[same[0].ID()] = n
	}
	if len(leaves) != len(inputs) || slices.ContainsFunc(spec, func(s *ir.TreeSpec) bool { return !s.IsLeaf() }) {
		params := make([]string, len(inputs))
		for i := range params {
			params[i] = fmt.Sprintf("arg%d", i)
		}
		in := ir.TupleSpec(ir.TupleSpec(spec...), &ir.TreeSpec{Type: "builtins.dict"})
		b.graph.SetCodeGen(ir.PyTreeCodeGen{Args: params, In: in})
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
			b.state[h.ID()] = stated{path, b.whole(t)}
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

// operators adds a node for each operator.
func (b *below) operators() error {
	first := b.runs[0].events
	for i := range first {
		column := make([]*libtorch.Recorded, len(b.runs))
		for k, r := range b.runs {
			if i >= len(r.events) || r.events[i].Op != first[i].Op {
				return b.differs(i, k)
			}
			column[k] = &r.events[i]
		}
		if err := b.operator(i, column); err != nil {
			return fmt.Errorf("record: operator %d, %s: %w", i, first[i].Op, err)
		}
	}
	for k, r := range b.runs {
		if len(r.events) > len(first) {
			return b.differs(len(first), k)
		}
	}
	return nil
}

// differs is the error of operator i, which is another one in run k.
func (b *below) differs(i, k int) error {
	at := func(r *recorded) string {
		if i < len(r.events) {
			return r.events[i].Op
		}
		return "the end"
	}
	return ir.Errorf(ir.ErrTrace, "record: operator %d: expected the same for all sizes, got %s with %s and %s with %s: the code decides by a size",
		i, at(b.runs[0]), sizesText(b.symbols, b.sizes[0]), at(b.runs[k]), sizesText(b.symbols, b.sizes[k]))
}

// operator adds the node of one operator, from what it was in each run, and the
// items of its results.
func (b *below) operator(i int, column []*libtorch.Recorded) error {
	op, err := libtorch.Find(column[0].Op)
	if err != nil {
		return err
	}
	schema := op.Schema()
	args, kwargs, err := b.arguments(schema, column)
	if err != nil {
		return err
	}
	fn := ir.OverloadOf(schema.Op)
	n := b.graph.CallFunction(fn, args, ir.Kwargs(kwargs...), ir.Name(fn.Packet()))
	if err := b.results(n, column); err != nil {
		return err
	}
	b.guard(schema, n, column[0].Results)
	if b.recording.OnOperator != nil {
		for ; n != nil; n = n.Next() {
			b.recording.OnOperator(n, i)
		}
	}
	return nil
}

// results notes what stands for the results of n, and what is known of them.
func (b *below) results(n *ir.Node, column []*libtorch.Recorded) error {
	facts := make([][]libtorch.TensorInfo, len(column))
	for k, e := range column {
		if len(e.Facts) != len(column[0].Facts) {
			return ir.Errorf(ir.ErrTrace, "expected as many results for all sizes, got %d and %d", len(column[0].Facts), len(e.Facts))
		}
		facts[k] = e.Facts
	}
	several := len(column[0].Results) > 1
	vals := make([]any, len(column[0].Results))
	for i := range vals {
		item := n
		if several {
			item = b.item(n, i)
		}
		same := make([]any, len(column))
		for k, e := range column {
			same[k] = e.Results[i]
		}
		var err error
		if vals[i], err = b.result(item, same, facts); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	if several {
		n.Meta().Set(ir.MetaVal, vals)
	}
	return nil
}

// item takes one of several results.
func (b *below) item(n *ir.Node, i int) *ir.Node {
	return b.graph.CallFunction(ir.FuncOf("operator.getitem"), []ir.Arg{n, ir.Int(i)})
}

// result notes that n stands for the tensors that are same in each run, and returns
// what is known of them. It takes their facts.
func (b *below) result(n *ir.Node, same []any, facts [][]libtorch.TensorInfo) (val any, err error) {
	switch v := same[0].(type) {
	case *libtorch.Tensor:
		val = ir.None{}
		tensors, infos := make([]*libtorch.Tensor, len(same)), make([]libtorch.TensorInfo, len(same))
		for k := range same {
			tensors[k], _ = same[k].(*libtorch.Tensor)
			if (tensors[k] == nil) != (v == nil) {
				return nil, ir.Errorf(ir.ErrTrace, "expected a tensor for all sizes, got none for some")
			}
			infos[k], facts[k] = facts[k][0], facts[k][1:]
		}
		if v != nil {
			b.same(tensors)
			b.values[v.ID()] = n
			if val, err = b.meta(infos); err != nil {
				return nil, err
			}
		}
	case []*libtorch.Tensor:
		vals := make([]any, len(v))
		for i := range v {
			items := make([]any, len(same))
			for k := range same {
				list, _ := same[k].([]*libtorch.Tensor)
				if len(list) != len(v) {
					return nil, ir.Errorf(ir.ErrTrace, "expected as many tensors for all sizes, got %d and %d", len(v), len(list))
				}
				items[k] = list[i]
			}
			if vals[i], err = b.result(b.item(n, i), items, facts); err != nil {
				return nil, err
			}
		}
		val = vals
	default:
		if val, err = b.literal(v); err != nil {
			return ir.None{}, nil // an object: nothing can be said of it
		}
	}
	n.Meta().Set(ir.MetaVal, val)
	return val, nil
}

// guard checks in the graph that a value that the code has read is the same again.
func (b *below) guard(schema *ir.Schema, n *ir.Node, results []any) {
	if !b.recording.GuardReads || !schema.Tags.Has(ir.TagDataDependentOutput) || len(results) != 1 {
		return
	}
	want, err := b.literal(results[0])
	if err != nil {
		return // a tensor
	}
	eq := b.graph.CallFunction(ir.FuncOf("operator.eq"), []ir.Arg{n, want})
	eq.Meta().Set(ir.MetaVal, ir.Bool(true))
	b.graph.CallFunction(ir.OverloadOf("aten::_assert_scalar"), []ir.Arg{eq, ir.Str(fmt.Sprintf("%s: expected %v, with which the graph was recorded", schema.Op, results[0]))}, ir.Name("_assert_scalar"))
}

// output ends the graph with what the code returned.
func (b *below) output() error {
	first := b.runs[0]
	for _, r := range b.runs {
		if r.spec.String() != first.spec.String() {
			return ir.Errorf(ir.ErrTrace, "record: expected one structure of results for all sizes, got %s and %s", first.spec, r.spec)
		}
	}
	args := make([]ir.Arg, len(first.outs))
	for i := range args {
		var err error
		if args[i], err = b.leaf(func(r *recorded) any { return r.outs[i] }); err != nil {
			return fmt.Errorf("record: result %d: %w", i, err)
		}
	}
	if err := b.writes(); err != nil {
		return err
	}
	tree, inputs := b.graph.CodeGen().(ir.PyTreeCodeGen)
	switch {
	case inputs:
		tree.Out = first.spec
		b.graph.SetCodeGen(tree)
		b.graph.Output(ir.ListOf(args...))
		return nil
	case first.spec.IsLeaf():
		b.graph.Output(args[0])
		return nil
	}
	t := Append(b.graph)
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
		if n, ok := a.(*ir.Node); ok {
			values[i] = t.Value(n)
		}
	}
	structured, err := first.spec.Unflatten(values)
	if err != nil {
		return err
	}
	result, err := t.Lower(structured)
	if err != nil {
		return err
	}
	b.graph.Output(result)
	return nil
}

// leaf returns what stands for a value that the code has returned.
func (b *below) leaf(of func(r *recorded) any) (ir.Arg, error) {
	same := make([]any, len(b.runs))
	for k, r := range b.runs {
		v := of(r)
		same[k] = v
		if t, ok := v.(*torch.Tensor); ok {
			if t == nil {
				same[k] = nil
				continue
			}
			h, err := t.Handle()
			if err != nil {
				return nil, err
			}
			same[k] = h
		} else if _, literal := v.(ir.Arg); literal {
			continue // a dtype is an integer for Go alone
		} else if a, ok := number(v); v != nil && ok {
			if n, isInt := a.(ir.Int); isInt {
				same[k] = int64(n)
			}
		}
	}
	return b.argument(same)
}
