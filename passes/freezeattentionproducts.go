package passes

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

var einsum = ir.OverloadOf("aten::einsum")

// queriesAndKeys returns the operands of a product of which the result is scores, [..., query,
// key], and for einsum the orders of dimensions that bring both into [..., place, feature].
func queriesAndKeys(n *ir.Node) (q, k *ir.Node, qOrder, kOrder []int, ok bool) {
	if n.Func() != einsum {
		q, ok = n.Arg(0).(*ir.Node)
		k, isNode := n.Arg(1).(*ir.Node)
		return q, k, nil, nil, ok && isNode && len(n.Args()) == 2
	}
	e, ok := equationOf(n)
	if !ok || len(e.out) < 2 {
		return nil, nil, nil, nil, false
	}
	batch, row, column := e.out[:len(e.out)-2], e.out[len(e.out)-2], e.out[len(e.out)-1]
	if slices.Contains(e.ins[1], row) {
		e.swap()
	}
	inner := e.inner()
	if inner == 0 {
		return nil, nil, nil, nil, false
	}
	qOrder, kOrder = orderOf(e.ins[0], batch, row, inner), orderOf(e.ins[1], batch, column, inner)
	return e.operands[0], e.operands[1], qOrder, kOrder, qOrder != nil && kOrder != nil
}

// valuesOf returns what weights, [..., query, key], are multiplied with, and for einsum the order of
// dimensions that brings it into [..., key, feature], and a result [..., query, feature] into
// what the product returns.
func valuesOf(n, weights *ir.Node) (v *ir.Node, order, result []int, ok bool) {
	if n.Func() != einsum {
		v, ok = n.Arg(1).(*ir.Node)
		return v, nil, nil, ok && n.Arg(0) == ir.Arg(weights) && len(n.Args()) == 2
	}
	e, ok := equationOf(n)
	if !ok {
		return nil, nil, nil, false
	}
	if e.operands[0] != weights {
		e.swap()
	}
	w := e.ins[0]
	inner := e.inner()
	if e.operands[0] != weights || e.operands[1] == weights || len(w) < 2 || inner != w[len(w)-1] {
		return nil, nil, nil, false
	}
	batch, row, column := w[:len(w)-2], w[len(w)-2], rune(0)
	for _, c := range e.out {
		if !slices.Contains(w, c) {
			column = c
		}
	}
	order = orderOf(e.ins[1], batch, inner, column)
	result = orderOf(append(slices.Clone(batch), row, column), e.out[:len(e.out):len(e.out)])
	return e.operands[1], order, result, order != nil && result != nil
}

// An equation is that of an einsum of two operands, a letter a dimension.
type equation struct {
	operands [2]*ir.Node
	ins      [2][]rune
	out      []rune
}

func (e *equation) swap() {
	e.operands[0], e.operands[1] = e.operands[1], e.operands[0]
	e.ins[0], e.ins[1] = e.ins[1], e.ins[0]
}

// inner returns the one letter that is summed over, 0 where it is not one.
func (e *equation) inner() (inner rune) {
	for _, c := range e.ins[0] {
		if slices.Contains(e.out, c) {
			continue
		}
		if inner != 0 || !slices.Contains(e.ins[1], c) {
			return 0
		}
		inner = c
	}
	return inner
}

// equationOf reads the equation of an einsum. Dots stand for as many dimensions in both operands;
// they are letters that no equation has.
func equationOf(n *ir.Node) (e equation, ok bool) {
	text, isText := n.Arg(0).(ir.Str)
	operands, isList := n.Arg(1).(ir.List)
	if !isText || !isList || operands.Len() != 2 {
		return e, false
	}
	ins, out, found := strings.Cut(strings.ReplaceAll(string(text), " ", ""), "->")
	left, right, found2 := strings.Cut(ins, ",")
	if !found || !found2 || strings.Contains(right, ",") {
		return e, false
	}
	dots := -1
	for i, side := range []string{left, right} {
		if e.operands[i], ok = operands.At(i).(*ir.Node); !ok {
			return e, false
		}
		meta, known := valueOf(e.operands[i])
		more := len(meta.Sizes) - len(strings.ReplaceAll(side, "...", ""))
		if !known || more < 0 || strings.Contains(side, "...") && dots >= 0 && dots != more {
			return e, false
		}
		if strings.Contains(side, "...") {
			dots = more
		}
		e.ins[i] = spelledOut(side, more)
		if len(e.ins[i]) != len(meta.Sizes) {
			return e, false
		}
	}
	e.out = spelledOut(out, max(dots, 0))
	for _, letters := range [][]rune{e.ins[0], e.ins[1], e.out} {
		for i, c := range letters {
			if slices.Contains(letters[:i], c) {
				return e, false
			}
		}
	}
	return e, len(e.out) >= 2
}

// spelledOut writes dots as n digits.
func spelledOut(letters string, n int) []rune {
	var digits []rune
	for i := range n {
		digits = append(digits, rune('0'+i))
	}
	return []rune(strings.Replace(letters, "...", string(digits), 1))
}

// orderOf returns where the letters of to are among those of from, which has no others.
func orderOf(from, to []rune, more ...rune) (order []int) {
	to = append(slices.Clone(to), more...)
	if len(from) != len(to) {
		return nil
	}
	for _, c := range to {
		i := slices.Index(from, c)
		if i < 0 {
			return nil
		}
		order = append(order, i)
	}
	return order
}

// operands takes scales off query and key, and what transposes the key.
func (f *freezer) operands(a *attention) bool {
	a.q, _ = f.unscaled(a, a.q)
	a.k, _ = f.unscaled(a, a.k)
	if a.turned && transposesLast(a.k) {
		a.turned = false
		a.k = a.k.Arg(0).(*ir.Node)
		a.k, _ = f.unscaled(a, a.k)
	}
	return true
}

// asBatches looks behind views by which queries, keys and values of four dimensions are matrices one
// after the other, as decompositions have them, copies before such views, and the view of the
// result that undoes it.
func (f *freezer) asBatches(a *attention, memory *memoryMap) {
	last := onlyUser(a.last)
	if last == nil || last.Op() != ir.CallFunction || !reviews(last, a.last) {
		return
	}
	of, _ := valueOf(last)
	behind := func(n *ir.Node) (*ir.Node, bool) {
		x, isNode := n.Arg(0).(*ir.Node)
		if n.Op() != ir.CallFunction || !isNode || !reviews(n, x) {
			return nil, false
		}
		for copiesOf[x.Func()] && x.Op() == ir.CallFunction {
			from, isNode := x.Arg(0).(*ir.Node)
			if !isNode || !floatsOf(from, x) || narrower(from, x) || narrower(x, from) || memory.changes(from) {
				break
			}
			x = from
		}
		meta, known := valueOf(x)
		return x, known && len(meta.Sizes) == 4 && len(of.Sizes) == 4 && sameSizes(meta.Sizes[:2], of.Sizes[:2])
	}
	q, ok := behind(a.q)
	k, ok2 := behind(a.k)
	v, ok3 := behind(a.v)
	if !ok || !ok2 || !ok3 || a.orders[0] != nil || a.result != nil {
		return
	}
	a.q, a.k, a.v, a.last = q, k, v, last
	f.operands(a)
}

// transposesLast reports whether a call swaps the last two dimensions of its operand.
func transposesLast(n *ir.Node) bool {
	meta, known := valueOf(n)
	if n.Op() != ir.CallFunction || !known {
		return false
	}
	rank := len(meta.Sizes)
	place := func(a ir.Arg) int {
		i, ok := a.(ir.Int)
		if !ok {
			return -1
		}
		return (int(i) + rank) % rank
	}
	switch n.Func().Op() {
	case "aten::transpose.int":
		i, j := place(n.Arg(1)), place(n.Arg(2))
		return min(i, j) == rank-2 && max(i, j) == rank-1
	case "aten::permute":
		order, ok := numbers(n.Arg(1), rank)
		if !ok || rank < 3 {
			return false
		}
		for i := range order {
			want := i
			if i >= rank-2 {
				want = 2*rank - 3 - i
			}
			if int((order[i]+int64(rank))%int64(rank)) != want {
				return false
			}
		}
		return true
	}
	return false
}
