package passes

import (
	"context"
	"slices"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// viewOf are the views whose inverse a scatter is.
var viewOf = map[*ir.Func]*ir.Func{
	ir.OverloadOf("aten::diagonal_scatter"):   ir.OverloadOf("aten::diagonal"),
	ir.OverloadOf("aten::select_scatter"):     ir.OverloadOf("aten::select.int"),
	ir.OverloadOf("aten::slice_scatter"):      ir.OverloadOf("aten::slice.Tensor"),
	ir.OverloadOf("aten::as_strided_scatter"): ir.OverloadOf("aten::as_strided"),
}

// Reinplace makes calls of operators write into their first operand where nothing
// reads it, or memory that it shares, later: b = add(a, 1) becomes add_(a, 1), and what
// reads b reads a. A scatter that only puts back what such a call wrote is taken out;
// another becomes a copy into the view that it is the inverse of. Arguments and
// attributes of m are never written. It returns the names of the calls that write now.
//
// The graph must be of operators without effects, as torch.export and
// make_fx(functionalize(f)) make them, and m is run on sample, without elements, to
// learn the sizes and strides of its values; see [OnMeta]. Which values share memory
// follows from the schemas. Follows torch.fx.passes.reinplace, which writes into
// attributes.
func Reinplace(ctx context.Context, m *ir.GraphModule, sample ...any) ([]string, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "reinplace: expected a graph module, got nil")
	}
	out, err := ShapeProp(ctx, m, sample, OnMeta())
	if err != nil {
		return nil, err
	}
	discard(out, sample)
	r := &reinplacer{graph: m.Graph(), at: positions(m.Graph()), storage: map[*ir.Node][]int{}, members: map[int]map[*ir.Node]bool{},
		base: map[*ir.Node]*ir.Node{}, fixed: map[int]bool{}, gone: map[*ir.Node]bool{}}
	if err := r.findStorages(m, sample); err != nil {
		return nil, err
	}
	var written []string
	for n := range m.Graph().Nodes() {
		ok, err := r.rewrite(n)
		if err != nil {
			return written, err
		}
		if ok {
			written = append(written, n.Name())
		}
	}
	for _, n := range nodesOf(m.Graph()) {
		if r.gone[n] {
			if err := m.Graph().Erase(n); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

type reinplacer struct {
	graph   *ir.Graph
	at      map[*ir.Node]int // places before the pass; new nodes have none
	storage map[*ir.Node][]int
	members map[int]map[*ir.Node]bool // the nodes whose values lie in a storage
	base    map[*ir.Node]*ir.Node     // what a node is a view of
	fixed   map[int]bool              // storages of arguments and attributes
	gone    map[*ir.Node]bool         // scatters that are not needed any more
	next    int
}

func (r *reinplacer) fresh() int { r.next++; return r.next }

func (r *reinplacer) setStorage(n *ir.Node, ids ...int) {
	r.storage[n] = ids
	for _, id := range ids {
		if r.members[id] == nil {
			r.members[id] = map[*ir.Node]bool{}
		}
		r.members[id][n] = true
	}
}

// findStorages follows values through the graph.
func (r *reinplacer) findStorages(m *ir.GraphModule, sample []any) error {
	var seen []*torch.Tensor
	var ids []int
	outer := func(v any) (int, error) {
		t, ok := v.(*torch.Tensor)
		if !ok {
			return r.fresh(), nil
		}
		h, err := t.Handle()
		if err != nil {
			return 0, err
		}
		for i, other := range seen {
			if o, err := other.Handle(); err == nil && libtorch.IsAlias(h, o) {
				return ids[i], nil
			}
		}
		seen, ids = append(seen, t), append(ids, r.fresh())
		return ids[len(ids)-1], nil
	}
	argument := 0
	for n := range r.graph.Nodes() {
		switch n.Op() {
		case ir.Placeholder, ir.GetAttr:
			var v any
			if n.Op() == ir.GetAttr {
				v, _ = m.Attr(n.Target().String())
			} else if argument < len(sample) {
				v = sample[argument]
				argument++
			}
			id, err := outer(v)
			if err != nil {
				return err
			}
			r.fixed[id] = true
			r.setStorage(n, id)
		case ir.CallFunction:
			r.follow(n)
		default:
			r.setStorage(n, r.fresh())
		}
	}
	return nil
}

// follow finds the storages of what a call of a function yields.
func (r *reinplacer) follow(n *ir.Node) {
	schema := ir.Operators().Lookup(n.Func().Op())
	first, _ := n.Arg(0).(*ir.Node)
	switch {
	case n.Func() == getitem && first != nil && len(r.storage[first]) > 0:
		i, _ := n.Arg(1).(ir.Int)
		ids := r.storage[first]
		id := ids[0]
		if int(i) >= 0 && int(i) < len(ids) {
			id = ids[i]
		}
		if r.base[first] != nil {
			r.base[n] = r.base[first]
		}
		r.setStorage(n, id)
	case schema == nil || len(schema.Args) == 0:
		r.setStorage(n, r.fresh())
	case schema.Args[0].Alias != nil && first != nil:
		if !schema.Args[0].Alias.Write {
			r.base[n] = first
		}
		r.setStorage(n, r.storage[first]...)
	default:
		ids := make([]int, max(len(schema.Returns), 1))
		if meta, several := n.Meta().Get(ir.MetaTensorMeta).([]any); several {
			ids = make([]int, max(len(meta), 1))
		}
		for i := range ids {
			ids[i] = r.fresh()
		}
		r.setStorage(n, ids...)
	}
}

func single(n *ir.Node) (ir.TensorMeta, bool) {
	m, ok := n.Meta().Get(ir.MetaTensorMeta).(ir.TensorMeta)
	return m, ok
}

// rewrite makes a call write, where it may.
func (r *reinplacer) rewrite(n *ir.Node) (bool, error) {
	if n.Op() != ir.CallFunction || n.Func().Kind() != ir.Overload || r.gone[n] {
		return false, nil
	}
	if _, known := r.at[n]; !known {
		return false, nil
	}
	schema := ir.Operators().Lookup(n.Func().Op())
	if schema == nil || len(schema.Args) == 0 || schema.Args[0].Type.Kind != ir.TypeTensor {
		return false, nil
	}
	self, ok := n.Arg(0).(*ir.Node)
	if !ok || !fitsInto(n, self) {
		return false, nil
	}
	uses := 0
	n.Operands(func(in *ir.Node) {
		if in == self {
			uses++
		}
	})
	id := r.storage[self][0]
	if uses > 1 || r.fixed[id] {
		return false, nil
	}
	aliases := r.members[id]
	later := r.later(aliases, r.at[n])
	undone, err := r.undoing(later, aliases)
	if err != nil {
		return false, err
	}
	for _, u := range later {
		if !slices.Contains(undone, u) {
			return false, nil
		}
	}
	if view := viewOf[n.Func()]; view != nil {
		if err := r.copyInto(n, self, view); err != nil {
			return false, err
		}
		r.gone[n] = true
	} else {
		inPlace := inPlaceOf(schema)
		if inPlace == nil {
			return false, nil
		}
		if err := n.SetTarget(inPlace); err != nil {
			return false, err
		}
	}
	r.merge(r.storage[self][0], r.storage[n][0])
	for _, u := range undone {
		r.gone[u] = true
	}
	for _, old := range append([]*ir.Node{n}, undone...) {
		r.forward(old, r.at[n])
	}
	return true, nil
}

// fitsInto reports whether the value of n has the elements of self, one place each.
func fitsInto(n, self *ir.Node) bool {
	a, ok := single(self)
	b, ok2 := single(n)
	if !ok || !ok2 || a.DType != b.DType {
		return false
	}
	count := func(m ir.TensorMeta) int64 {
		c := int64(1)
		for _, s := range m.Sizes {
			c *= s.Hint()
		}
		return c
	}
	for i, s := range a.Strides {
		if s.Hint() == 0 && a.Sizes[i].Hint() > 1 {
			return false
		}
	}
	return count(a) == count(b)
}

// later lists what reads one of the aliases behind a place, in graph order. Views
// among them do not count: only what reads those does.
func (r *reinplacer) later(aliases map[*ir.Node]bool, at int) []*ir.Node {
	var found nodeSet
	for a := range aliases {
		for u := range a.Users() {
			place, known := r.at[u]
			if !known || place <= at || r.gone[u] {
				continue
			}
			if aliases[u] && u.Op() == ir.CallFunction && (u.Func().Kind() == ir.Overload || u.Func() == getitem) {
				continue
			}
			found.add(u)
		}
	}
	slices.SortFunc(found.nodes, func(a, b *ir.Node) int { return r.at[a] - r.at[b] })
	return found.nodes
}

// undoing lists the scatters among nodes that put a view back to where it was taken
// from.
func (r *reinplacer) undoing(nodes []*ir.Node, aliases map[*ir.Node]bool) ([]*ir.Node, error) {
	var found []*ir.Node
	for _, n := range nodes {
		if n.Op() != ir.CallFunction || viewOf[n.Func()] == nil {
			continue
		}
		target, ok := n.Arg(0).(*ir.Node)
		if !ok {
			continue
		}
		for alias := range aliases {
			base := r.base[alias]
			if base == nil || !sameLayout(base, target) {
				continue
			}
			same, err := replays(n, base, alias)
			if err != nil {
				return nil, err
			}
			if same {
				found = append(found, n)
				break
			}
		}
	}
	return found, nil
}

func sameLayout(a, b *ir.Node) bool {
	x, ok := single(a)
	y, ok2 := single(b)
	return ok && ok2 && layoutText(x) == layoutText(y)
}

// layoutText tells where the elements of a tensor lie.
func layoutText(m ir.TensorMeta) string { return m.Text(true, false) + m.StorageOffset.String() }

// replays reports whether the view that a scatter is the inverse of, of base, is where
// alias lies.
func replays(scatter, base, alias *ir.Node) (bool, error) {
	want, ok := single(alias)
	from, ok2 := single(base)
	if !ok || !ok2 {
		return false, nil
	}
	var args []any
	for _, a := range scatter.Args()[2:] {
		v, ok := plainValue(a)
		if !ok {
			return false, nil
		}
		args = append(args, v)
	}
	for _, k := range scatter.Kwargs() {
		v, ok := plainValue(k.Value)
		if !ok {
			return false, nil
		}
		args = append(args, torch.Kw(k.Name, v))
	}
	c := calculator{}
	defer c.close()
	bare := bareTensor(&c, from)
	if c.err != nil {
		return false, c.err
	}
	v, err := torch.Call(viewOf[scatter.Func()].Op(), append([]any{bare}, args...)...)
	if err != nil {
		return false, nil //nolint:nilerr // the view does not fit this base
	}
	t, ok := v.(*torch.Tensor)
	if !ok {
		return false, nil
	}
	defer t.Close()
	meta, err := metaOf(t)
	if err != nil {
		return false, err
	}
	return meta.Text(true, false)+meta.StorageOffset.String() == layoutText(want), nil
}

// bareTensor makes a tensor without elements that lies as m says.
func bareTensor(c *calculator, m ir.TensorMeta) *torch.Tensor {
	sizes, strides := make([]int64, len(m.Sizes)), make([]int64, len(m.Sizes))
	need := m.StorageOffset.Hint() + 1
	for i := range m.Sizes {
		sizes[i], strides[i] = m.Sizes[i].Hint(), m.Strides[i].Hint()
		need += max(sizes[i]-1, 0) * strides[i]
	}
	all := c.call("aten::empty.memory_format", []int64{need}, torch.Kw("dtype", m.DType), torch.Kw("device", ir.NewDevice(ir.DeviceMeta, -1)))
	return c.call("aten::as_strided", all, sizes, strides, m.StorageOffset.Hint())
}

// plainValue is an argument without nodes as a value of package torchops.
func plainValue(a ir.Arg) (any, bool) {
	switch a := a.(type) {
	case nil, ir.None:
		return nil, true
	case ir.Int:
		return int64(a), true
	case ir.List:
		var items []int64
		for _, item := range a.All() {
			i, ok := item.(ir.Int)
			if !ok {
				return nil, false
			}
			items = append(items, int64(i))
		}
		return items, true
	}
	return nil, false
}

// copyInto makes of a scatter a copy into the view that it is the inverse of.
func (r *reinplacer) copyInto(n, self *ir.Node, view *ir.Func) error {
	restore, err := r.graph.InsertBefore(n)
	if err != nil {
		return err
	}
	defer restore()
	args := append([]ir.Arg{self}, n.Args()[2:]...)
	part := r.graph.CallFunction(view, args, ir.Kwargs(n.Kwargs()...))
	r.graph.CallFunction(ir.OverloadOf("aten::copy_"), []ir.Arg{part, n.Arg(1)})
	return nil
}

// merge notes that two storages are one now.
func (r *reinplacer) merge(a, b int) {
	for _, pair := range [][2]int{{a, b}, {b, a}} {
		for n := range r.members[pair[1]] {
			if r.members[pair[0]] == nil {
				r.members[pair[0]] = map[*ir.Node]bool{}
			}
			r.members[pair[0]][n] = true
		}
	}
}

// forward has what reads a node behind a place read the node's first operand.
func (r *reinplacer) forward(old *ir.Node, at int) {
	to, ok := old.Arg(0).(*ir.Node)
	if !ok {
		return
	}
	for _, u := range slices.Collect(old.Users()) {
		if place, known := r.at[u]; !known || place <= at {
			continue
		}
		u.ReplaceInputWith(old, to)
		a, b := r.storage[old], r.storage[u]
		if len(a) == 1 && len(b) == 1 && a[0] == b[0] {
			r.merge(b[0], r.storage[to][0]) // a view of what is written now
		}
	}
}

// inPlaceOf returns the operator that does the same into its first operand, nil where
// there is none, or where the operator is a view.
func inPlaceOf(s *ir.Schema) *ir.Func {
	if s.Args[0].Alias != nil {
		return nil
	}
	for _, c := range ir.Operators().Overloads(s.Name() + "_") {
		fits := len(c.Args) == len(s.Args)
		for i := range c.Args {
			if !fits {
				break
			}
			written := c.Args[i].Alias != nil && c.Args[i].Alias.Write
			fits = c.Args[i].Type.String() == s.Args[i].Type.String() && written == (i == 0)
		}
		if fits {
			return ir.OverloadOf(strings.TrimSuffix(c.Op, "."))
		}
	}
	return nil
}
