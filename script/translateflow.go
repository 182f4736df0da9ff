package script

import (
	"errors"
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// raised is that code raises an exception for certain.
type raised struct {
	message string
}

func (r *raised) Unwrap() error { return ir.ErrUnsupported }

func (r *raised) Error() string {
	return "expected code that ends, got one that raises: " + r.message
}

// condition translates a prim::If and the nodes after it, which go into the branches,
// and returns the values of results.
func (t *translator) condition(f *frame, n *libtorch.ScriptNode, after []*libtorch.ScriptNode, results []int64) ([]any, error) {
	branch := func(f *frame, which int) ([]any, error) {
		b := n.Blocks[which]
		values, err := t.block(f, b)
		if err != nil {
			return nil, err
		}
		for i, out := range n.Outputs {
			t.values[out.ID] = values[i]
		}
		return t.rest(f, after, results)
	}
	return t.branches(f, n, branch)
}

// branches translates a condition whose branches are what branch translates, 0 the one
// of a true condition.
func (t *translator) branches(f *frame, n *libtorch.ScriptNode, branch func(f *frame, which int) ([]any, error)) ([]any, error) {
	test := t.values[n.Inputs[0]]
	if b, known := boolean(test); known {
		if b {
			return branch(f, 0)
		}
		return branch(f, 1)
	}
	var frames [2]*frame
	var values [2][]any
	var raises [2]*raised
	for i := range frames {
		if slices.ContainsFunc(n.Blocks[1-i].Nodes, isRaise) && !slices.ContainsFunc(n.Blocks[i].Nodes, isRaise) {
			continue // which is translated once, after the check
		}
		frames[i] = t.newFrame(f)
		var err error
		values[i], err = branch(frames[i], i)
		if err != nil && !errors.As(err, &raises[i]) {
			return nil, err
		}
	}
	switch {
	case raises[0] != nil && raises[1] != nil:
		return nil, raises[0]
	case raises[0] != nil:
		return t.asserted(f, n, test, false, raises[0], branch)
	case raises[1] != nil:
		return t.asserted(f, n, test, true, raises[1], branch)
	}
	m := merger{t: t, node: n, outer: f, frames: frames}
	merged := make([]func(item func(i int) *ir.Node) any, len(values[0]))
	for i := range merged {
		var err error
		if merged[i], err = m.merge(values[0][i], values[1][i]); err != nil {
			return nil, err
		}
	}
	t.share(frames[0], frames[1])
	modules := [2]*ir.GraphModule{}
	for i, inner := range frames {
		inner.graph.Output(ir.TupleOf(m.out[i]...))
		var err error
		if modules[i], err = inner.module(); err != nil {
			return nil, about(n, err)
		}
	}
	if truth, ok := test.(truthValue); ok {
		test = truth.of // which cond takes as it is
	}
	pred, err := t.arg(f, test)
	if err != nil {
		return nil, about(n, err)
	}
	call := f.call("torch.ops.higher_order.cond", pred, f.add("true_graph", modules[0]), f.add("false_graph", modules[1]), f.operandsOf(frames[0]))
	item := func(i int) *ir.Node { return f.call("operator.getitem", call, ir.Int(i)) }
	out := make([]any, len(merged))
	for i, value := range merged {
		out[i] = value(item)
	}
	return out, nil
}

func isRaise(n *libtorch.ScriptNode) bool { return n.Kind == "prim::RaiseException" }

// operandsOf are what a graph reads from outside.
func (f *frame) operandsOf(inner *frame) ir.Arg {
	items := make([]ir.Arg, len(inner.operands))
	for i, n := range inner.operands {
		items[i] = f.local(n)
	}
	return ir.TupleOf(items...)
}

// share gives two frames the same operands.
func (t *translator) share(a, b *frame) {
	for _, n := range b.operands {
		a.local(n)
	}
	for _, n := range a.operands {
		b.local(n)
	}
	b.operands = slices.Clone(a.operands)
}

// asserted translates a condition one of whose branches raises: the other is what runs
// after a check.
func (t *translator) asserted(f *frame, n *libtorch.ScriptNode, test any, want bool, r *raised, branch func(f *frame, which int) ([]any, error)) ([]any, error) {
	which := 1
	if want {
		which = 0
	} else {
		var err error
		if test, err = t.not(f, test); err != nil {
			return nil, about(n, err)
		}
	}
	if truth, ok := test.(truthValue); ok {
		f.call("torch.ops.aten._assert_async.msg", truth.of, ir.Str(r.message))
	} else {
		a, err := t.arg(f, test)
		if err != nil {
			return nil, about(n, err)
		}
		f.call("torch.ops.aten._assert_scalar.default", a, ir.Str(r.message))
	}
	return branch(f, which)
}

// A merger joins the values of two branches: what is the same in both stays, and the
// rest goes out of the graphs.
type merger struct {
	t      *translator
	node   *libtorch.ScriptNode
	outer  *frame
	frames [2]*frame
	out    [2][]ir.Arg
}

type merged = func(item func(i int) *ir.Node) any

func (m *merger) merge(a, b any) (merged, error) {
	if same(a, b) {
		if n, ok := a.(*ir.Node); !ok || n.Graph() != m.frames[0].graph {
			return func(func(int) *ir.Node) any { return a }, nil
		}
	}
	switch x := a.(type) {
	case *listValue:
		y, ok := b.(*listValue)
		if ok && x == y {
			return func(func(int) *ir.Node) any { return a }, nil
		}
		if ok && len(x.items) == len(y.items) {
			items, err := m.all(x.items, y.items)
			return func(item func(int) *ir.Node) any { return &listValue{items(item), m.outer} }, err
		}
		if ok {
			return nil, m.t.refuse(m.node, "its branches give lists of %d and %d items", len(x.items), len(y.items))
		}
	case tupleValue:
		if y, ok := b.(tupleValue); ok && len(x) == len(y) {
			items, err := m.all(x, y)
			return func(item func(int) *ir.Node) any { return tupleValue(items(item)) }, err
		}
	case *dictValue:
		y, ok := b.(*dictValue)
		if ok && slices.EqualFunc(x.keys, y.keys, ir.EqualArgs) {
			items, err := m.all(x.values, y.values)
			return func(item func(int) *ir.Node) any { return &dictValue{x.keys, items(item), m.outer} }, err
		}
		if ok {
			return nil, m.t.refuse(m.node, "its branches give dicts with different keys")
		}
	case truthValue:
		if y, ok := b.(truthValue); ok {
			i, err := m.put(x.of, y.of)
			return func(item func(int) *ir.Node) any { return truthValue{item(i)} }, err
		}
	}
	i, err := m.put(a, b)
	optional := m.t.mayBeNone(a) || m.t.mayBeNone(b)
	return func(item func(int) *ir.Node) any {
		n := item(i)
		m.t.optional[n] = optional
		return n
	}, err
}

func (m *merger) all(a, b []any) (func(item func(int) *ir.Node) []any, error) {
	parts := make([]merged, len(a))
	for i := range a {
		var err error
		if parts[i], err = m.merge(a[i], b[i]); err != nil {
			return nil, err
		}
	}
	return func(item func(int) *ir.Node) []any {
		out := make([]any, len(parts))
		for i, p := range parts {
			out[i] = p(item)
		}
		return out
	}, nil
}

func (m *merger) put(values ...any) (int, error) {
	for i, v := range values {
		a, err := m.t.arg(m.frames[i], v)
		if err != nil {
			return 0, about(m.node, err)
		}
		m.out[i] = append(m.out[i], a)
	}
	return len(m.out[0]) - 1, nil
}

// maxUnrolled is how many operations a loop becomes before it stays a loop.
const maxUnrolled = 4000

// loop translates a prim::Loop, of which for and while are made: as many rounds as are
// known to come are unrolled, and what is left is a while_loop.
func (t *translator) loop(f *frame, n *libtorch.ScriptNode) error {
	body := n.Blocks[0]
	trips, again := t.values[n.Inputs[0]], t.values[n.Inputs[1]]
	carried := make([]any, len(n.Outputs))
	for i := range carried {
		carried[i] = t.values[n.Inputs[i+2]]
	}
	limit, counted := trips.(ir.Int)
	round, start := ir.Int(0), t.steps
	for {
		goes, known := boolean(again)
		if known && !goes || counted && round >= limit {
			break
		}
		// a graph keeps the loop whose rounds a run counts, and that which is long
		long := counted && known && int64(limit) < 1<<31 && int64(limit)*int64(size(body)) > maxUnrolled
		if !known || !counted || long || t.steps-start > maxUnrolled {
			var err error
			if carried, err = t.while(f, n, round, trips, again, carried); err != nil {
				return err
			}
			break
		}
		t.values[body.Inputs[0].ID] = round
		for i, in := range body.Inputs[1:] {
			t.values[in.ID] = carried[i]
		}
		results, err := t.block(f, body)
		if err != nil {
			return err
		}
		again, carried = results[0], results[1:]
		round++
	}
	for i, out := range n.Outputs {
		t.values[out.ID] = carried[i]
	}
	return nil
}

// size counts the operations of a block.
func size(b *libtorch.ScriptBlock) int {
	n := len(b.Nodes)
	for _, node := range b.Nodes {
		for _, inner := range node.Blocks {
			n += size(inner)
		}
	}
	return n
}

// while makes a while_loop: it carries the round, the condition where the body computes
// it, and the values.
func (t *translator) while(f *frame, n *libtorch.ScriptNode, round ir.Int, trips, again any, carried []any) ([]any, error) {
	block := n.Blocks[0]
	body, test := t.newFrame(f), t.newFrame(f)
	c := carrier{t: t, node: n, outer: f, body: body}
	start := []any{round}
	always := t.alwaysTrue(block, block.Results[0])
	if !always {
		start = append(start, again)
	}
	start = append(start, carried...)
	inside := make([]any, len(start))
	for i, v := range start {
		var err error
		if inside[i], err = c.in(v); err != nil {
			return nil, err
		}
	}
	t.values[block.Inputs[0].ID] = inside[0]
	values := inside[len(inside)-len(carried):]
	for i, in := range block.Inputs[1:] {
		t.values[in.ID] = values[i]
	}
	results, err := t.block(body, block)
	if err != nil {
		return nil, err
	}
	next := []any{any(body.call("operator.add", inside[0].(*ir.Node), ir.Int(1)))}
	if always {
		results = results[1:]
	}
	for i, v := range append(next, results...) {
		if err := c.out(inside[i], v); err != nil {
			return nil, err
		}
	}
	for range c.start { // the condition is given the same
		test.inputs = append(test.inputs, test.placeholder("carried"))
	}
	goes := ir.Arg(nil)
	if limit, ok := trips.(ir.Int); !ok || int64(limit) < 1<<31-1 {
		a, err := t.arg(test, trips)
		if err != nil {
			return nil, about(n, err)
		}
		goes = test.call("operator.lt", test.inputs[0], a)
	}
	if !always {
		var given ir.Arg = test.inputs[1]
		if goes != nil {
			if _, ok := inside[1].(truthValue); ok {
				given = test.call("torch.ops.aten.item.default", given)
			}
			given = test.call("operator.and_", goes, given)
		}
		goes = given
	}
	if goes == nil {
		return nil, t.refuse(n, "nothing ends it")
	}
	t.share(body, test)
	body.graph.Output(ir.TupleOf(c.results...))
	test.graph.Output(goes)
	testModule, err := test.module()
	if err != nil {
		return nil, about(n, err)
	}
	bodyModule, err := body.module()
	if err != nil {
		return nil, about(n, err)
	}
	call := f.call("torch.ops.higher_order.while_loop", f.add("while_loop_cond_graph", testModule), f.add("while_loop_body_graph", bodyModule), ir.TupleOf(c.start...), f.operandsOf(body))
	item := func(i int) *ir.Node { return f.call("operator.getitem", call, ir.Int(i)) }
	out := make([]any, len(carried))
	c.next = len(c.start) - c.leaves(values)
	for i, v := range values {
		out[i] = c.result(v, item)
	}
	return out, nil
}

// alwaysTrue reports whether a result of a block is the constant true.
func (t *translator) alwaysTrue(b *libtorch.ScriptBlock, id int64) bool {
	for _, n := range b.Nodes {
		for _, out := range n.Outputs {
			if out.ID == id {
				return n.Kind == "prim::Constant" && n.Value == true
			}
		}
	}
	v, known := boolean(t.values[id])
	return known && v
}

// A carrier takes values through the rounds of a loop.
type carrier struct {
	t       *translator
	node    *libtorch.ScriptNode
	outer   *frame
	body    *frame
	start   []ir.Arg // in the outer frame
	results []ir.Arg // in the body
	next    int
}

// in gives what a carried value is in the body.
func (c *carrier) in(v any) (any, error) {
	switch v := v.(type) {
	case *listValue:
		items, err := c.ins(v.items)
		return &listValue{items, c.body}, err
	case tupleValue:
		items, err := c.ins(v)
		return tupleValue(items), err
	case *dictValue:
		items, err := c.ins(v.values)
		return &dictValue{v.keys, items, c.body}, err
	case truthValue:
		return truthValue{c.placeholder(c.outer.local(v.of))}, nil
	case ir.None, ir.Str, ir.Device, moduleValue, unsetValue:
		return v, nil // must stay what they are
	}
	a, err := c.t.arg(c.outer, v)
	if err != nil {
		return nil, about(c.node, err)
	}
	p := c.placeholder(a)
	c.t.optional[p] = c.t.mayBeNone(v)
	return p, nil
}

func (c *carrier) ins(values []any) ([]any, error) {
	out := make([]any, len(values))
	for i, v := range values {
		var err error
		if out[i], err = c.in(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *carrier) placeholder(start ir.Arg) *ir.Node {
	p := c.body.placeholder("carried")
	c.body.inputs = append(c.body.inputs, p)
	c.start = append(c.start, start)
	return p
}

// out gives the body's result the place of what came in.
func (c *carrier) out(in, v any) error {
	switch in := in.(type) {
	case *listValue:
		if v, ok := v.(*listValue); ok && len(v.items) == len(in.items) {
			return c.outs(in.items, v.items)
		}
		return c.t.refuse(c.node, "a list changes its length from round to round")
	case tupleValue:
		if v, ok := v.(tupleValue); ok && len(v) == len(in) {
			return c.outs(in, v)
		}
	case *dictValue:
		if v, ok := v.(*dictValue); ok && slices.EqualFunc(v.keys, in.keys, ir.EqualArgs) {
			return c.outs(in.values, v.values)
		}
	case truthValue:
		if v, ok := v.(truthValue); ok {
			c.results = append(c.results, c.body.local(v.of))
			return nil
		}
		a, err := c.t.arg(c.body, v)
		if err != nil {
			return about(c.node, err)
		}
		c.results = append(c.results, c.body.callKw(ir.FuncOf("torch.ops.aten.scalar_tensor.default"), []ir.Arg{a}, []ir.Keyword{ir.Kw("dtype", ir.Bool8)}))
		return nil
	case *ir.Node:
		if c.t.mayBeNone(v) && !c.t.optional[in] {
			break
		}
		a, err := c.t.arg(c.body, v)
		if err != nil {
			return about(c.node, err)
		}
		c.results = append(c.results, a)
		return nil
	default:
		if _, ok := in.(unsetValue); ok || same(in, v) {
			return nil // one that the first round sets and no other reads has no value outside
		}
	}
	return c.t.refuse(c.node, "a value changes its kind from round to round")
}

func (c *carrier) outs(in, v []any) error {
	for i := range in {
		if err := c.out(in[i], v[i]); err != nil {
			return err
		}
	}
	return nil
}

// leaves counts the placeholders of values.
func (c *carrier) leaves(values []any) int {
	n := 0
	for _, v := range values {
		c.result(v, func(int) *ir.Node { n++; return nil })
	}
	return n
}

// result is what a value of the body is after the loop.
func (c *carrier) result(in any, item func(i int) *ir.Node) any {
	all := func(values []any) []any {
		out := make([]any, len(values))
		for i, v := range values {
			out[i] = c.result(v, item)
		}
		return out
	}
	switch in := in.(type) {
	case *listValue:
		return &listValue{all(in.items), c.outer}
	case tupleValue:
		return tupleValue(all(in))
	case *dictValue:
		return &dictValue{in.keys, all(in.values), c.outer}
	case truthValue:
		c.next++
		return truthValue{item(c.next - 1)}
	case *ir.Node:
		c.next++
		n := item(c.next - 1)
		c.t.optional[n] = c.t.optional[in]
		return n
	}
	return in
}
