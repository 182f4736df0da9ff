package passes

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// An attentionMask is something that is done to scores: a tensor added to them, or a number
// put in the place of those that a tensor of truth values chooses.
type attentionMask struct {
	node   *ir.Node
	kind   maskKind
	number float64 // by which node is multiplied, or what scores become
	frame  int     // of the attention's, in which the dimensions of node are
}

type maskKind uint8

const (
	added maskKind = iota
	hides          // where node is true scores are replaced
	lets           // where node is false scores are replaced
)

// hidden is the largest number that hides a score which it replaces: -10000 in bfloat16.
const hidden = -9984

// swallowed is the largest number to which nothing that scores are changes anything when it is added,
// but in float16, which has none.
const swallowed = -1e30

// masked notes a mask that is followed by what was read so far. It reports false for
// one that cannot be added to scores.
func (a *attention) masked(m attentionMask) bool {
	m.number *= a.scale // of what the masks go through
	m.frame = len(a.frames) - 1
	if len(a.scales) > 0 {
		return false
	}
	if m.kind != added && !(m.number <= hidden) {
		return false
	}
	if m.kind != added {
		// where a query sees nothing, all its scores are this number, but for what is done to them later
		for _, later := range a.masks {
			switch {
			case later.kind == added && m.number > swallowed:
				return false
			case later.kind != added && (m.lowered() || later.lowered()) && later.number != m.number && !math.IsInf(min(later.number, m.number), -1):
				return false
			}
		}
	}
	a.masks = append(a.masks, m)
	return true
}

// lowered reports whether the number that hides scores is lowered to the least one, so that scores
// added to it change nothing.
func (m *attentionMask) lowered() bool { return m.kind != added && m.number > swallowed }

// hidesMore says why masks cannot be put together: what is added before a number hides scores, which
// is lowered, must not be below it, as what hides places in a program that has two kinds of it.
func (f *freezer) hidesMore(a *attention) string {
	for i, m := range a.masks {
		if m.kind != added {
			continue
		}
		for _, later := range a.masks[:i] {
			if later.lowered() && !f.isAbove(m.node, later.number/2/m.number) {
				return fmt.Sprintf("what is added before scores become %v may be less than that", later.number)
			}
		}
	}
	return ""
}

// fits says why a mask cannot be given to the operator: it must not be larger than
// the scores, of which the last sizes are given.
func (m *attentionMask) fits(a *attention, memory *memoryMap, last []ir.Size) string {
	meta, known := valueOf(m.node)
	scores := append(slices.Clone(a.frames[m.frame].sizes), last...)
	if !known || len(meta.Sizes) > len(scores) || len(meta.Sizes) == 0 {
		return "its mask is not noted, or has more dimensions than the scores"
	}
	for i, s := range meta.Sizes {
		if !isSizeOne(s) && !sameSize(s, scores[len(scores)-len(meta.Sizes)+i]) {
			return "its mask broadcasts the scores"
		}
	}
	switch {
	case memory.changes(m.node):
		return m.node.Name() + " is written"
	case m.kind == added && meta.DType.IsComplex():
		return "its mask is complex"
	case m.kind != added && meta.DType != ir.Bool8:
		return "its mask is not of truth values"
	}
	if _, ok := a.reframed(m, meta); !ok {
		return "its mask is seen through a view that no other of it follows"
	}
	return ""
}

func isSizeOne(s ir.Size) bool {
	n, known := s.Known()
	return known && n == 1
}

// A viewCall is a call of an operator of views, without its first operand.
type viewCall struct {
	op   string
	args []ir.Arg
}

// reframed returns what makes a mask, from how scores were seen where it was used, one of how the
// operator sees them, with two or four dimensions.
func (a *attention) reframed(m *attentionMask, meta ir.TensorMeta) (calls []viewCall, ok bool) {
	from, to := a.frames[m.frame], a.target
	lead := meta.Sizes[:max(len(meta.Sizes)-2, 0)]
	if len(meta.Sizes) == 1 {
		return []viewCall{{"aten::unsqueeze", []ir.Arg{ir.Int(0)}}}, true
	}
	unsqueeze := func(to int) {
		for range to - len(lead) {
			calls = append(calls, viewCall{"aten::unsqueeze", []ir.Arg{ir.Int(0)}})
		}
	}
	one := !slices.ContainsFunc(lead, func(s ir.Size) bool { return !isSizeOne(s) })
	same := 0 // dimensions that both have, from the last
	for same < min(len(from.sizes), len(to.sizes)) && sameSize(from.sizes[len(from.sizes)-1-same], to.sizes[len(to.sizes)-1-same]) {
		same++
	}
	own := lead[:max(len(lead)-same, 0)] // of dimensions that are others there
	switch apart, apartThere := len(from.sizes)-same, len(to.sizes)-same; {
	case one && len(lead) > 2, !slices.ContainsFunc(own, func(s ir.Size) bool { return !isSizeOne(s) }) && len(lead) > 2:
		return []viewCall{{"aten::flatten.using_ints", []ir.Arg{ir.Int(0), ir.Int(len(lead) - 2)}}}, true
	case one || !slices.ContainsFunc(own, func(s ir.Size) bool { return !isSizeOne(s) }):
		if len(lead) > 0 {
			unsqueeze(2)
		}
		return calls, true
	case apartThere == 1: // several are one
		unsqueeze(len(from.sizes))
		full := make([]ir.Arg, len(from.sizes)+2)
		expands := false
		for i := range full {
			full[i] = ir.Int(-1)
			j := i - (len(from.sizes) - len(lead))
			if i >= apart || j >= 0 && !isSizeOne(lead[j]) || isSizeOne(from.sizes[i]) {
				continue
			}
			if full[i], ok = from.size(i); !ok {
				return nil, false
			}
			expands = true
		}
		if expands {
			calls = append(calls, viewCall{"aten::expand", []ir.Arg{ir.ListOf(full...)}})
		}
		return append(calls, viewCall{"aten::flatten.using_ints", []ir.Arg{ir.Int(0), ir.Int(apart - 1)}}), true
	case apart == 1: // one is several
		sizes, ok := to.list(apartThere)
		unsqueeze(len(from.sizes))
		return append(calls, viewCall{"aten::unflatten.int", []ir.Arg{ir.Int(0), sizes}}), ok
	}
	return nil, false
}

// size returns size i as an argument: a program may be right for more sizes than are noted.
func (f *attentionFrame) size(i int) (ir.Arg, bool) {
	if f.args != nil && f.args[i] != nil {
		return f.args[i], true
	}
	n, known := f.sizes[i].Known()
	return ir.Int(n), known
}

// list returns the first n sizes as an argument of unflatten, which finds out one, the first by
// preference.
func (f *attentionFrame) list(n int) (ir.List, bool) {
	sizes, open := make([]ir.Arg, n), -1
	for i := range sizes {
		size, known := f.size(i)
		switch left := f.args != nil && f.args[i] == nil; {
		case (left || !known) && open >= 0:
			return ir.List{}, false
		case left || !known:
			open = i
		case size == ir.Arg(ir.Int(0)) && open < 0:
			open = n // nothing can be found out
		}
		sizes[i] = size
	}
	if open < 0 {
		open = 0
	}
	if open < n {
		sizes[open] = ir.Int(-1)
	}
	return ir.ListOf(sizes...), true
}

// attentionMasks makes what is added to scores, once for all attentions of a graph.
type attentionMasks struct {
	*freezer
	made map[string]*ir.Node
}

// of returns the mask that the operator is given, None for none: truth values where no
// query is known to see nothing, or is to get 0 then; else numbers.
func (f attentionMasks) of(a *attention, at *ir.Node, dtype ir.DType) (ir.Arg, error) {
	if len(a.masks) == 0 {
		return ir.None{}, nil
	}
	var key strings.Builder
	fmt.Fprint(&key, dtype, a.safe, a.target.sizes)
	for _, m := range a.masks {
		fmt.Fprint(&key, m.node.Name(), " ", m.kind, m.number, a.frames[m.frame].sizes)
	}
	if n := f.made[key.String()]; n != nil && n.Graph() != nil {
		return n, nil
	}
	b := &maskBuilder{freezer: f.freezer, at: at, dtype: dtype}
	mask := b.build(a)
	if b.err != nil {
		return nil, b.err
	}
	mask, err := f.computed(at, mask, b.made)
	if err != nil {
		return nil, err
	}
	f.made[key.String()] = mask
	return mask, nil
}

// computed makes a constant of a mask that depends on constants alone.
func (f *freezer) computed(at, mask *ir.Node, made []*ir.Node) (*ir.Node, error) {
	if !f.on["fold-constants"] || len(made) == 0 {
		return mask, nil
	}
	var order []*ir.Node
	bytes := growth
	for _, n := range made {
		for _, in := range n.Inputs() {
			if slices.Contains(order, in) || slices.Contains(made, in) {
				continue
			}
			t, ok := f.constant(in)
			if !ok {
				return mask, nil
			}
			bytes += t.Numel() * t.DType().Size()
			order = append(order, in)
		}
	}
	values, err := f.compute(append(order, made...), []*ir.Node{mask})
	if err != nil {
		return nil, err
	}
	t := values[0]
	if t.Numel()*t.DType().Size() > bytes {
		return mask, t.Close()
	}
	read, err := f.attribute(at, "_constant_"+mask.Name(), t)
	if err != nil {
		return nil, err
	}
	return read, f.erase(mask)
}

// A maskBuilder puts the calls that make a mask before a node.
type maskBuilder struct {
	*freezer
	at    *ir.Node
	dtype ir.DType // of the operator's operands
	made  []*ir.Node
	err   error
}

func (b *maskBuilder) call(op string, args ...ir.Arg) *ir.Node {
	if b.err != nil {
		return b.at
	}
	n, err := b.freezer.call(b.at, b.at, op, args...)
	if b.err = err; err != nil {
		return b.at
	}
	n.Meta().Delete(ir.MetaVal)
	b.made = append(b.made, n)
	return n
}

// build makes the mask of an attention.
func (b *maskBuilder) build(a *attention) *ir.Node {
	infinite, finite, truth := false, false, true // what the mask may hold, and what it is made of
	for _, m := range a.masks {
		switch {
		case m.kind == added:
			truth = false
			infinite = infinite || !b.isFinite(m.node)
		case m.number <= swallowed: // twice the least number is -inf
			infinite = infinite || math.IsInf(m.number, -1) || len(a.masks) > 1
			finite = finite || !math.IsInf(m.number, -1)
		default:
			finite = true
		}
	}
	if truth && !finite && (a.safe || len(a.masks) == 1 && b.showsSome(&a.masks[0])) {
		return b.truth(a)
	}
	mask := b.numbers(a, finite)
	if infinite && !a.safe { // a softmax of nothing but -inf is NaN, the operator makes 0 of it
		none := b.call("aten::all.dim", b.call("aten::eq.Scalar", mask, ir.Float(math.Inf(-1))), ir.Int(-1), ir.Bool(true))
		mask = b.call("aten::masked_fill.Scalar", mask, none, ir.Float(math.NaN()))
	}
	return mask
}

// framed is the tensor of a mask with the dimensions that the operator takes.
func (b *maskBuilder) framed(a *attention, m *attentionMask) *ir.Node {
	n := m.node
	meta, _ := valueOf(n)
	calls, _ := a.reframed(m, meta)
	for _, c := range calls {
		n = b.call(c.op, append([]ir.Arg{n}, c.args...)...)
	}
	return n
}

// truth makes a mask that is true where scores count.
func (b *maskBuilder) truth(a *attention) (shown *ir.Node) {
	for _, m := range slices.Backward(a.masks) {
		n := b.framed(a, &m)
		if m.kind == hides {
			n = b.call("aten::logical_not", n)
		}
		if shown != nil {
			n = b.call("aten::logical_and", shown, n)
		}
		shown = n
	}
	return shown
}

// numbers makes a mask that is added to scores. Numbers that hide are so low that a score added
// changes nothing, so that all are alike where a query sees none.
func (b *maskBuilder) numbers(a *attention, finite bool) (mask *ir.Node) {
	wide, least := b.dtype, -math.MaxFloat32
	narrow := wide == ir.BFloat16 || wide == ir.Float16
	switch {
	case wide == ir.Float64:
		least = -math.MaxFloat64
	case narrow: // which the operator takes masks of float32 with
		wide = ir.Float32
	}
	// what is added in a narrow dtype swallows scores where it is large
	swallows, adds := narrow, 0
	for _, m := range a.masks {
		if m.kind == added {
			meta, _ := valueOf(m.node)
			adds++
			swallows = swallows && meta.DType == b.dtype
		}
	}
	for _, m := range slices.Backward(a.masks) {
		n := b.framed(a, &m)
		if m.kind == added {
			if meta, _ := valueOf(m.node); meta.DType != wide {
				n = b.call("aten::to.dtype", n, wide)
			}
			if m.number != 1 {
				n = b.call("aten::mul.Scalar", n, ir.Float(m.number))
			}
			if mask != nil {
				n = b.call("aten::add.Tensor", mask, n)
			}
			mask = n
			if adds--; adds == 0 && swallows {
				mask = b.swallowing(mask, least)
			}
			continue
		}
		if m.kind == lets {
			n = b.call("aten::logical_not", n)
		}
		if mask == nil {
			mask = b.call("aten::mul.Scalar", b.call("aten::to.dtype", n, wide), ir.Float(0))
		}
		number := least
		if m.number <= swallowed { // what is done to it later counts, as in the program
			number = m.number
		}
		if number < least {
			number = math.Inf(-1)
		}
		mask = b.call("aten::masked_fill.Scalar", mask, n, ir.Float(number))
	}
	return mask
}

// swallowing makes large numbers of a mask, rounded to the narrow dtype that they were added in, so
// large that float32 rounds scores away as that does.
func (b *maskBuilder) swallowing(mask *ir.Node, least float64) *ir.Node {
	rounded := b.call("aten::to.dtype", b.call("aten::to.dtype", mask, b.dtype), ir.Float32)
	large := b.call("aten::logical_and", b.call("aten::le.Scalar", rounded, ir.Float(hidden/2)), b.call("aten::gt.Scalar", rounded, ir.Float(math.Inf(-1))))
	larger := b.call("aten::clamp_min", b.call("aten::mul.Scalar", rounded, ir.Float(1e30)), ir.Float(least))
	return b.call("aten::where.self", large, larger, rounded)
}

// isFinite reports whether a tensor is a constant without infinities.
func (f *freezer) isFinite(n *ir.Node) bool {
	t, ok := f.constant(n)
	return ok && holdsTrue(t, []string{"aten::isfinite", "aten::all"})
}

// isAbove reports whether a tensor is a constant of numbers above one that is negative, and -inf.
func (f *freezer) isAbove(n *ir.Node, number float64) bool {
	t, ok := f.constant(n)
	if !ok || !(number < 0) {
		return false
	}
	infinite, err := tensor("aten::isneginf", t)
	if err != nil {
		return false
	}
	defer infinite.Close()
	above, err := tensor("aten::gt.Scalar", t, number)
	if err != nil {
		return false
	}
	defer above.Close()
	all, err := tensor("aten::logical_or", infinite, above)
	if err != nil {
		return false
	}
	defer all.Close()
	return holdsTrue(all, []string{"aten::all"})
}

// showsSome reports whether a mask is a constant that shows every query some place.
func (f *freezer) showsSome(m *attentionMask) bool {
	t, ok := f.constant(m.node)
	if !ok {
		return false
	}
	if m.kind == lets {
		return holdsTrue(t, []string{"aten::any.dim", "aten::all"}, -1)
	}
	return holdsTrue(t, []string{"aten::logical_not", "aten::any.dim", "aten::all"}, nil, -1)
}

// holdsTrue applies operators to a tensor, each with one argument more where there is one, and
// reports whether true comes out.
func holdsTrue(t *torch.Tensor, ops []string, args ...any) bool {
	for i, op := range ops {
		given := []any{t}
		if i < len(args) && args[i] != nil {
			given = append(given, args[i])
		}
		next, err := tensor(op, given...)
		if i > 0 {
			t.Close()
		}
		if err != nil {
			return false
		}
		t = next
	}
	defer t.Close()
	v, err := t.Item()
	return err == nil && v == true
}
