package passes

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// factors returns the operands of a product, and for einsum the orders of dimensions that
// bring the first into [.., row, inner], the second into [.., inner, column], and a result
// [.., row, column] into what the product returns.
func factors(n *ir.Node) (left, right *ir.Node, orders [3][]int, ok bool) {
	if n.Func().Op() != "aten::einsum" {
		left, ok = n.Arg(0).(*ir.Node)
		right, isNode := n.Arg(1).(*ir.Node)
		return left, right, orders, ok && isNode && len(n.Args()) == 2
	}
	equation, isText := n.Arg(0).(ir.Str)
	operands, isList := n.Arg(1).(ir.List)
	if !isText || !isList || operands.Len() != 2 {
		return nil, nil, orders, false
	}
	left, ok = operands.At(0).(*ir.Node)
	right, isNode := operands.At(1).(*ir.Node)
	ins, out, found := strings.Cut(strings.ReplaceAll(string(equation), " ", ""), "->")
	a, b, found2 := strings.Cut(ins, ",")
	if !ok || !isNode || !found || !found2 || len(a) != 4 || len(b) != 4 || len(out) != 4 || strings.Contains(string(equation), ".") {
		return nil, nil, orders, false
	}
	batch, row, column, inner := "", "", "", ""
	for _, c := range out {
		switch inA, inB := strings.ContainsRune(a, c), strings.ContainsRune(b, c); {
		case inA && inB:
			batch += string(c)
		case inA:
			row += string(c)
		default:
			column += string(c)
		}
	}
	for _, c := range a {
		if !strings.ContainsRune(out, c) {
			inner += string(c)
		}
	}
	if len(batch) != 2 || len(row) != 1 || len(column) != 1 || len(inner) != 1 || !strings.Contains(b, inner) {
		return nil, nil, orders, false
	}
	orders[0], orders[1] = orderOf(a, batch+row+inner), orderOf(b, batch+inner+column)
	orders[2] = orderOf(batch+row+column, out)
	return left, right, orders, orders[0] != nil && orders[1] != nil && orders[2] != nil
}

// orderOf returns where the labels of to are among those of from.
func orderOf(from, to string) (order []int) {
	for _, c := range to {
		i := strings.IndexRune(from, c)
		if i < 0 || strings.Count(to, string(c)) > 1 {
			return nil
		}
		order = append(order, i)
	}
	return order
}

func (f *freezer) product(a *attention, left, right ir.Arg) bool {
	var ok, ok2 bool
	a.q, ok = left.(*ir.Node)
	a.k, ok2 = right.(*ir.Node)
	a.turned = true
	return ok && ok2 && f.scales(a)
}

// operands reads what the product of the scores is of.
func (f *freezer) operands(a *attention, n *ir.Node) bool {
	_, _, orders, _ := factors(n)
	if orders[0] != nil && !slices.IsSorted(orders[2]) {
		return false // scores that lie otherwise
	}
	a.orders[0] = orders[0]
	if a.orders[1] = orders[1]; orders[1] != nil { // [.., inner, column] is what keys are turned
		a.orders[1] = []int{orders[1][0], orders[1][1], orders[1][3], orders[1][2]}
	}
	a.turned = orders[1] == nil
	return f.scales(a)
}

// scales takes scales off query and key, and what transposes the key.
func (f *freezer) scales(a *attention) bool {
	a.q, _ = f.unscaled(a, a.q)
	a.k, _ = f.unscaled(a, a.k)
	if a.turned && transposesLast(a.k) {
		a.turned = false
		a.k = a.k.Arg(0).(*ir.Node)
		a.k, _ = f.unscaled(a, a.k)
	}
	return true
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
