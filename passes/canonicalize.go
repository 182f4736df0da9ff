package passes

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A NodeKey decides which of the nodes that can be computed comes first in a
// canonical order: Rank counts before Text, Text before At, At before Tie.
type NodeKey struct {
	Rank int
	Text string
	At   []int
	Tie  string
}

// Compare returns -1, 0 or 1.
func (k NodeKey) Compare(l NodeKey) int {
	return cmp.Or(cmp.Compare(k.Rank, l.Rank), cmp.Compare(k.Text, l.Text), slices.Compare(k.At, l.At), cmp.Compare(k.Tie, l.Tie))
}

// CanonicalKey is the default key: arguments in their order, then reads of
// attributes by path, then calls by name, by the places of what they read and, as
// torch.fx does not, by target and literals, the output last. placed has the places
// of the nodes that are in order already.
func CanonicalKey(n *ir.Node, placed map[*ir.Node]int) NodeKey {
	switch n.Op() {
	case ir.Placeholder:
		return NodeKey{Rank: 0, At: []int{len(placed)}}
	case ir.GetAttr:
		return NodeKey{Rank: 1, Text: n.Target().String()}
	case ir.Output:
		return NodeKey{Rank: 3}
	}
	key := NodeKey{Rank: 2, Text: baseName(n.Target())}
	for _, in := range n.Inputs() {
		key.At = append(key.At, placed[in])
	}
	var tie strings.Builder
	place := func(in *ir.Node) ir.Arg { return ir.Int(placed[in]) }
	fmt.Fprintf(&tie, "%s %s", n.Op(), n.Target())
	for _, a := range n.Args() {
		fmt.Fprintf(&tie, " %s", ir.Repr(ir.MapNodes(a, place)))
	}
	for _, k := range n.Kwargs() {
		fmt.Fprintf(&tie, " %s=%s", k.Name, ir.Repr(ir.MapNodes(k.Value, place)))
	}
	key.Tie = tie.String()
	return key
}

// baseName is the text that the name of a node is made from.
func baseName(t ir.Target) string {
	s := t.String()
	if f, ok := t.(*ir.Func); ok {
		s = f.Base()
	} else if strings.HasPrefix(s, "__") && strings.HasSuffix(s, "__") && len(s) > 4 {
		s = s[2 : len(s)-2]
	}
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && s[i] >= 'A' && s[i] <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z' {
			b.WriteByte('_')
		}
		b.WriteByte(s[i])
	}
	return strings.ToLower(b.String())
}

// A CanonicalOption changes the order that [Canonicalize] makes.
type CanonicalOption func(*canonicalizer)

// ByKey sets the key. Default: [CanonicalKey].
func ByKey(key func(n *ir.Node, placed map[*ir.Node]int) NodeKey) CanonicalOption {
	return func(c *canonicalizer) { c.key = key }
}

// MayMove says which calls may change places; no node moves across one that may
// not. Default: [MayReorder].
func MayMove(safe func(*ir.Node) bool) CanonicalOption {
	return func(c *canonicalizer) { c.safe = safe }
}

// KeepNames leaves nodes of these opcodes their names. Default: all are named
// anew.
func KeepNames(ops ...ir.Op) CanonicalOption {
	return func(c *canonicalizer) { c.keep = append(c.keep, ops...) }
}

// GroupGetItems puts the getitems of a node directly behind it, by index.
func GroupGetItems() CanonicalOption { return func(c *canonicalizer) { c.group = true } }

// MayReorder reports whether a node may change places with others that do not
// read it: it has no effect, see [ir.Node.IsImpure], and is no function that may
// change a mode. Such are those of Python that read no node, and those in torch's
// private modules of whose value meta knows nothing.
func MayReorder(n *ir.Node) bool {
	if !isCall(n) {
		return true
	}
	f := n.Func()
	if n.IsImpure() {
		return false
	}
	if f == nil || f.Kind() == ir.Overload || f.Kind() == ir.HigherOrder {
		return true
	}
	if len(n.Inputs()) == 0 {
		return false
	}
	return !strings.HasPrefix(f.Name(), "torch._") || n.Meta().Has(ir.MetaVal) || n.Meta().Has(ir.MetaExampleValue)
}

type canonicalizer struct {
	key   func(*ir.Node, map[*ir.Node]int) NodeKey
	safe  func(*ir.Node) bool
	keep  []ir.Op
	group bool
}

// Canonicalize puts the nodes of m's graph into an order that depends on what they
// compute rather than on how they were recorded, and names them anew, so that
// equal programs get equal texts. Reads of attributes go to their first user. It
// returns the names that changed, old to new, and fails with class ir.ErrRuntime,
// having changed nothing, when nodes read each other in a circle. Follows
// torch.fx.passes.canonicalize.
//
// Calls of the same function with the same operands keep their order, as do reads
// of the same attribute, so graphs that differ by such only can get different
// texts; [CSE] merges the calls.
func Canonicalize(m *ir.GraphModule, opts ...CanonicalOption) (renamed map[string]string, err error) {
	if err := given("canonicalize", m, opts); err != nil {
		return nil, err
	}
	c := &canonicalizer{key: CanonicalKey, safe: MayReorder}
	for _, o := range opts {
		o(c)
	}
	order, err := c.order(m.Graph())
	if err != nil {
		return nil, err
	}
	order = sinkReads(order)
	if c.group {
		order = groupGetItems(order)
	}
	for i := 1; i < len(order); i++ {
		if err := order[i-1].Append(order[i]); err != nil {
			return nil, err
		}
	}
	return m.Graph().RenameAll(func(n *ir.Node) bool { return slices.Contains(c.keep, n.Op()) }), nil
}

// order sorts the nodes by their keys, each after those that it reads; calls that
// must not move stay between those that stood before and behind them.
func (c *canonicalizer) order(g *ir.Graph) ([]*ir.Node, error) {
	missing := map[*ir.Node]int{}
	after := map[*ir.Node][]*ir.Node{} // must follow, without reading
	var barrier *ir.Node
	var segment []*ir.Node
	for n := range g.Nodes() {
		missing[n] += len(n.Inputs())
		if !isCall(n) {
			continue
		}
		stays := !c.safe(n)
		if stays {
			for _, moving := range segment {
				after[moving] = append(after[moving], n)
				missing[n]++
			}
			segment = nil
		}
		if barrier != nil {
			after[barrier] = append(after[barrier], n)
			missing[n]++
		}
		if stays {
			barrier = n
		} else {
			segment = append(segment, n)
		}
	}
	placed := map[*ir.Node]int{}
	q := &keyHeap{}
	push := func(n *ir.Node) { heap.Push(q, keyed{c.key(n, placed), q.pushed, n}); q.pushed++ }
	for n := range g.Nodes() {
		if missing[n] == 0 {
			push(n)
		}
	}
	var order []*ir.Node
	for q.Len() > 0 {
		n := heap.Pop(q).(keyed).node
		order = append(order, n)
		placed[n] = len(placed)
		for u := range n.Users() {
			if missing[u]--; missing[u] == 0 {
				push(u)
			}
		}
		for _, u := range after[n] {
			if missing[u]--; missing[u] == 0 {
				push(u)
			}
		}
	}
	if len(order) != g.Len() {
		var left []string
		for n := range g.Nodes() {
			if _, ok := placed[n]; !ok {
				left = append(left, n.Name())
			}
		}
		return nil, ir.Errorf(ir.ErrRuntime, "canonicalize: Canonicalization failed: processed %d of %d nodes. Remaining: [%s]",
			len(order), g.Len(), strings.Join(left, ", "))
	}
	return order, nil
}

// sinkReads moves each read of an attribute before the first node that needs it,
// or before the output where none does.
func sinkReads(order []*ir.Node) []*ir.Node {
	var others, reads []*ir.Node
	for _, n := range order {
		if n.Op() == ir.GetAttr {
			reads = append(reads, n)
		} else {
			others = append(others, n)
		}
	}
	at := make(map[*ir.Node]int, len(others))
	for i, n := range others {
		at[n] = i
	}
	before := map[int][]*ir.Node{}
	for _, n := range reads {
		first := len(others)
		if n.NumUsers() == 0 && first > 0 && others[first-1].Op() == ir.Output {
			first--
		}
		for u := range n.Users() {
			if i, ok := at[u]; ok {
				first = min(first, i)
			}
		}
		before[first] = append(before[first], n)
	}
	sunk := make([]*ir.Node, 0, len(order))
	for i, n := range others {
		sunk = append(append(sunk, before[i]...), n)
	}
	return append(sunk, before[len(others)]...)
}

// groupGetItems moves getitems behind what they take apart, by index, those with
// other indices last; items of items follow their own.
func groupGetItems(order []*ir.Node) []*ir.Node {
	items := map[*ir.Node][]*ir.Node{}
	isItem := map[*ir.Node]bool{}
	for _, n := range order {
		// an index that is computed may come later than what it is an index of
		if of, ok := n.Arg(0).(*ir.Node); ok && n.Func() == getitem && len(n.Inputs()) == 1 {
			items[of] = append(items[of], n)
			isItem[n] = true
		}
	}
	for _, group := range items {
		slices.SortStableFunc(group, func(a, b *ir.Node) int {
			i, isInt := a.Arg(1).(ir.Int)
			j, isInt2 := b.Arg(1).(ir.Int)
			switch {
			case isInt && isInt2:
				return cmp.Compare(i, j)
			case isInt:
				return -1
			case isInt2:
				return 1
			}
			return cmp.Compare(ir.Repr(a.Arg(1)), ir.Repr(b.Arg(1)))
		})
	}
	grouped := make([]*ir.Node, 0, len(order))
	var emit func(n *ir.Node)
	emit = func(n *ir.Node) {
		grouped = append(grouped, n)
		for _, item := range items[n] {
			emit(item)
		}
	}
	for _, n := range order {
		if !isItem[n] {
			emit(n)
		}
	}
	return grouped
}

// A keyHeap gives nodes by their keys, of equal ones the first.
type keyHeap struct {
	nodes  []keyed
	pushed int
}

type keyed struct {
	key    NodeKey
	number int
	node   *ir.Node
}

func (h *keyHeap) Len() int { return len(h.nodes) }
func (h *keyHeap) Less(i, j int) bool {
	a, b := h.nodes[i], h.nodes[j]
	return cmp.Or(a.key.Compare(b.key), cmp.Compare(a.number, b.number)) < 0
}
func (h *keyHeap) Swap(i, j int) { h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i] }
func (h *keyHeap) Push(n any)    { h.nodes = append(h.nodes, n.(keyed)) }
func (h *keyHeap) Pop() any {
	n := h.nodes[len(h.nodes)-1]
	h.nodes = h.nodes[:len(h.nodes)-1]
	return n
}
