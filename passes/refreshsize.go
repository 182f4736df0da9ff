package passes

import (
	"fmt"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// evaluate computes the candidates in all samples: the program's expressions, and
// products of its symbols. Those that cannot be computed go.
func (r *refresher) evaluate() {
	n := len(r.exprs)
	for i := range n {
		for j := i; j < n; j++ {
			a, aOK := r.exprs[i].expr.Symbol()
			b, bOK := r.exprs[j].expr.Symbol()
			if !aOK || !bOK || len(r.symbols) > 8 {
				continue
			}
			text := fmt.Sprintf("Mul(%s, %s)", r.exprs[i].expr.Srepr(), r.exprs[j].expr.Srepr())
			if e, err := ir.ParseExpr(text); err == nil && a != b {
				r.exprs = append(r.exprs, candidate{expr: e})
			}
		}
	}
	kept := r.exprs[:0]
	for _, c := range r.exprs {
		ok := true
		for _, s := range r.samples {
			v, err := eval(c.expr, s)
			ok = ok && err == nil
			c.values = append(c.values, v)
		}
		if ok {
			kept = append(kept, c)
		}
	}
	r.exprs = kept
	slices.SortStableFunc(r.exprs, func(a, b candidate) int { return len(a.expr.String()) - len(b.expr.String()) })
}

// describe says what a node's value is, from what the runs saw of it.
func (r *refresher) describe(n *ir.Node) (any, bool) {
	views := make([]any, len(r.seen))
	for i, seen := range r.seen {
		views[i] = seen[n]
	}
	device := r.device
	for _, in := range n.Inputs() {
		if m, ok := in.Meta().Get(ir.MetaVal).(ir.TensorMeta); ok {
			device = m.Device
			break
		}
	}
	if d, ok := n.Kwarg("device"); ok {
		if d, ok := d.(ir.Device); ok {
			device = d
		}
	}
	return r.value(views, device)
}

// value makes what is noted of a value that the runs saw.
func (r *refresher) value(views []any, device ir.Device) (any, bool) {
	switch first := views[0].(type) {
	case nil:
		return ir.None{}, true
	case bool:
		return ir.SymScalar{Kind: ir.TypeSymBool, Hint: ir.Bool(first)}, len(r.symbols) == 0
	case float64:
		return ir.SymScalar{Kind: ir.TypeSymFloat, Hint: ir.Float(first)}, len(r.symbols) == 0
	case int64:
		values := make([]int64, len(views))
		for i, v := range views {
			n, ok := v.(int64)
			if !ok {
				return nil, false
			}
			values[i] = n
		}
		s, ok := r.size(values)
		return ir.SymScalar{Kind: ir.TypeSymInt, Expr: s.Expr(), Hint: ir.Int(values[0])}, ok
	case []any:
		items := make([]any, len(first))
		for i := range first {
			inner := make([]any, len(views))
			for k, v := range views {
				list, ok := v.([]any)
				if !ok || len(list) != len(first) {
					return nil, false
				}
				inner[k] = list[i]
			}
			var ok bool
			if items[i], ok = r.value(inner, device); !ok {
				return nil, false
			}
		}
		return items, true
	case ir.TensorMeta:
		return r.tensor(first, views, device)
	}
	return nil, false
}

func (r *refresher) tensor(first ir.TensorMeta, views []any, device ir.Device) (any, bool) {
	out := ir.TensorMeta{DType: first.DType, Layout: first.Layout, Device: device}
	all := make([]ir.TensorMeta, len(views))
	for i, v := range views {
		m, ok := v.(ir.TensorMeta)
		if !ok || len(m.Sizes) != len(first.Sizes) || len(m.Strides) != len(first.Strides) {
			return nil, false
		}
		all[i] = m
	}
	sizes := func(n int, of func(m ir.TensorMeta, i int) ir.Size) ([]ir.Size, bool) {
		out := make([]ir.Size, n)
		for i := range out {
			values := make([]int64, len(all))
			for k, m := range all {
				values[k] = of(m, i).Hint()
			}
			var ok bool
			if out[i], ok = r.size(values); !ok {
				return nil, false
			}
		}
		return out, true
	}
	var ok [3]bool
	out.Sizes, ok[0] = sizes(len(first.Sizes), func(m ir.TensorMeta, i int) ir.Size { return m.Sizes[i] })
	out.Strides, ok[1] = sizes(len(first.Strides), func(m ir.TensorMeta, i int) ir.Size { return m.Strides[i] })
	var offset []ir.Size
	if offset, ok[2] = sizes(1, func(m ir.TensorMeta, _ int) ir.Size { return m.StorageOffset }); ok[2] {
		out.StorageOffset = offset[0]
	}
	return out, ok[0] && ok[1] && ok[2]
}

// size finds the size that has these values in the samples: a number where they are
// all one, else an expression a*e + b over an expression e of the program.
func (r *refresher) size(values []int64) (ir.Size, bool) {
	if !slices.ContainsFunc(values, func(v int64) bool { return v != values[0] }) {
		// a program with symbols that ran at one size only tells nothing
		return ir.SizeOf(values[0]), len(r.symbols) == 0 || len(values) > 1
	}
	for _, c := range r.exprs {
		a, b, ok := affine(c.values, values)
		switch {
		case !ok:
		case a == 1 && b == 0:
			return ir.SymbolicSize(c.expr, values[0]), true
		}
	}
	for _, c := range r.exprs {
		if a, b, ok := affine(c.values, values); ok && len(values) > 2 {
			text := c.expr.Srepr()
			if a != 1 {
				text = fmt.Sprintf("Mul(Integer(%d), %s)", a, text)
			}
			if b != 0 {
				text = fmt.Sprintf("Add(%s, Integer(%d))", text, b)
			}
			if e, err := ir.ParseExpr(text); err == nil {
				return ir.SymbolicSize(e, values[0]), true
			}
		}
	}
	return ir.Size{}, false
}

// affine finds whole numbers a and b with to = a*from + b everywhere.
func affine(from, to []int64) (a, b int64, ok bool) {
	for i := 1; i < len(from); i++ {
		if d := from[i] - from[0]; d != 0 {
			if (to[i]-to[0])%d != 0 {
				return 0, 0, false
			}
			a = (to[i] - to[0]) / d
			b = to[0] - a*from[0]
			for k := range from {
				if to[k] != a*from[k]+b {
					return 0, 0, false
				}
			}
			return a, b, a != 0
		}
	}
	return 0, 0, false
}
