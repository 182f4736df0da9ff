package passes

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A CSEOption changes what [CSE] merges.
type CSEOption func(*cse)

// KeepFunctions never merges calls of these functions. An operator given without
// its overload, torch.ops.aten.rand_like, stands for all of them.
func KeepFunctions(funcs ...*ir.Func) CSEOption {
	return func(c *cse) {
		for _, f := range funcs {
			c.banned[f.Name()] = true
		}
	}
}

// MergeAny takes every call for one that gives the same value each time and
// writes nothing, as torch.fx does. Default: see [CSE].
func MergeAny() CSEOption { return func(c *cse) { c.any = true } }

// EqualNumbers takes 1, 1.0 and True for the same literal, as Python does. Default:
// they differ, since results can have another dtype.
func EqualNumbers() CSEOption { return func(c *cse) { c.numbers = true } }

// A Merge tells that a node was erased because another computes the same.
type Merge struct{ Node, Into string }

// CSE merges the calls of m's graph that compute the same from the same operands:
// the first one stays. Calls are the same when opcode, target, arguments and
// keyword arguments are, literals by type and value.
//
// Calls with an effect, random ones among them, are never merged, see
// [ir.Node.IsImpure]. In a graph that writes into tensors, a call is merged
// neither across a write nor when its result may share memory with what is
// written. Follows torch.fx.passes.dialect.common.cse_pass.CSEPass, which leaves
// both to its caller and makes a new module.
func CSE(m *ir.GraphModule, opts ...CSEOption) ([]Merge, error) {
	if err := given("cse", m, opts); err != nil {
		return nil, err
	}
	c := &cse{banned: map[string]bool{}, seed: maphash.MakeSeed(), known: map[uint64][]*ir.Node{}, epoch: map[*ir.Node]int{}}
	for _, o := range opts {
		o(c)
	}
	if !c.any {
		c.findWrites(m.Graph())
	}
	var merges []Merge
	epoch := 0
	for n := range m.Graph().Nodes() {
		if c.writers[n] {
			epoch++
		}
		if !isCall(n) || c.bans(n) {
			continue
		}
		c.epoch[n] = epoch
		key := c.hash(n)
		i := slices.IndexFunc(c.known[key], func(k *ir.Node) bool { return c.same(k, n) })
		if i < 0 {
			c.known[key] = append(c.known[key], n)
			continue
		}
		first := c.known[key][i]
		merges = append(merges, Merge{n.Name(), first.Name()})
		n.ReplaceAllUsesWith(first)
		if err := m.Graph().Erase(n); err != nil {
			return merges, err
		}
	}
	return merges, nil
}

type cse struct {
	banned       map[string]bool
	any, numbers bool
	seed         maphash.Seed
	known        map[uint64][]*ir.Node // hash -> nodes that stay
	epoch        map[*ir.Node]int      // how many writes came before
	writers      map[*ir.Node]bool
	written      map[*ir.Node]bool // nodes whose memory may be written
}

// bans reports whether a call must stay as it is.
func (c *cse) bans(n *ir.Node) bool {
	if f := n.Func(); f != nil {
		packet := f.Name()
		if f.Kind() == ir.Overload {
			packet = packet[:strings.LastIndexByte(packet, '.')]
		}
		if c.banned[f.Name()] || c.banned[packet] {
			return true
		}
	}
	return !c.any && (c.written[n] || n.IsImpure())
}

// findWrites finds the nodes that may write memory, and those whose results may
// share what is written: all that the writer reads, and what these may be views
// of.
func (c *cse) findWrites(g *ir.Graph) {
	c.writers, c.written = map[*ir.Node]bool{}, map[*ir.Node]bool{}
	for n := range g.Nodes() {
		if isCall(n) && n.IsImpure(ir.IgnoreRandom()) {
			c.writers[n] = true
		}
	}
	for n := range g.Backward() {
		if !c.writers[n] && !c.written[n] {
			continue
		}
		if !c.writers[n] && fresh(n) {
			continue
		}
		n.Operands(func(m *ir.Node) { c.written[m] = true })
	}
	// a view of written memory changes with it
	for n := range g.Nodes() {
		if isCall(n) && !fresh(n) && slices.ContainsFunc(n.Inputs(), func(m *ir.Node) bool { return c.written[m] }) {
			c.written[n] = true
		}
	}
}

// fresh reports whether a call is known to return memory of its own.
func fresh(n *ir.Node) bool {
	f := n.Func()
	if f == nil || f.Kind() != ir.Overload {
		return false
	}
	s := ir.Operators().Lookup(f.Op())
	return s != nil && !s.Effects().View && len(s.Effects().Writes) == 0
}

// same reports whether two calls compute the same.
func (c *cse) same(a, b *ir.Node) bool {
	return a.Op() == b.Op() && a.Target() == b.Target() && c.epoch[a] == c.epoch[b] &&
		slices.EqualFunc(a.Args(), b.Args(), c.sameArg) &&
		slices.EqualFunc(a.Kwargs(), b.Kwargs(), func(k, l ir.Keyword) bool { return k.Name == l.Name && c.sameArg(k.Value, l.Value) })
}

func (c *cse) sameArg(a, b ir.Arg) bool { return ir.EqualArgs(c.literal(a), c.literal(b)) }

// literal makes numbers that Python takes for equal the same.
func (c *cse) literal(a ir.Arg) ir.Arg {
	if !c.numbers {
		return a
	}
	return ir.MapArg(a, func(leaf ir.Arg) ir.Arg {
		switch v := leaf.(type) {
		case ir.Bool:
			if v {
				return ir.Int(1)
			}
			return ir.Int(0)
		case ir.Float:
			if i := int64(v); float64(v) == float64(i) && math.Abs(float64(v)) < 1<<53 {
				return ir.Int(i)
			}
		}
		return leaf
	})
}

// hash is equal for calls that are the same.
func (c *cse) hash(n *ir.Node) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	h.WriteString(n.Target().String())
	leaf := func(a ir.Arg) {
		switch a := a.(type) {
		case *ir.Node:
			maphash.WriteComparable(&h, a)
		case ir.Int, ir.Str, ir.Bool:
			fmt.Fprint(&h, a)
		}
		h.WriteByte(',')
	}
	for _, a := range n.Args() {
		ir.Walk(c.literal(a), leaf)
	}
	for _, k := range n.Kwargs() {
		h.WriteString(k.Name)
		ir.Walk(c.literal(k.Value), leaf)
	}
	return h.Sum64()
}
