package main

import (
	"slices"
	"strings"
)

// Shapes of what joins, parts and multiplies tensors.

func concatenated(all []tensor, dim int) []int {
	var out []int
	for _, t := range all {
		if slices.Equal(t.shape, []int{0}) && len(all) > 1 {
			continue
		}
		if out == nil {
			out = slices.Clone(t.shape)
			continue
		}
		if d := wrapped(dim, len(out)); d < len(out) && d < len(t.shape) {
			out[d] += t.shape[d]
		}
	}
	if out == nil && len(all) > 0 {
		return []int{0}
	}
	return out
}

func stacked(c *recorded, least, dim int) [][]int {
	var all []tensor
	for _, t := range c.tensors() {
		all = append(all, tensor{shape: atLeast(t.shape, least)})
	}
	if len(all) == 0 {
		return nil
	}
	if least == 1 && len(all[0].shape) == 1 {
		dim = 0
	}
	return one(concatenated(all, dim))
}

func columns(c *recorded) [][]int {
	var all []tensor
	for _, t := range c.tensors() {
		s := t.shape
		if len(s) < 2 {
			s = []int{product(s), 1}
		}
		all = append(all, tensor{shape: s})
	}
	return one(concatenated(all, 1))
}

func unbound(c *recorded) [][]int {
	x, ok := c.first()
	if !ok || len(x.shape) == 0 {
		return nil
	}
	d := wrapped(c.int("dim", 0), len(x.shape))
	return slices.Repeat([][]int{without(x.shape, d)}, x.shape[d])
}

// parts are the shapes of pieces of size along a dimension, the last with what is left.
func parts(s []int, d, size int) (all [][]int) {
	if size == 0 {
		return [][]int{s}
	}
	for from := 0; from < s[d]; from += size {
		all = append(all, replaced(s, d, min(size, s[d]-from)))
	}
	if all == nil {
		all = [][]int{s}
	}
	return all
}

func chunks(c *recorded) [][]int {
	x, ok := c.first()
	if !ok {
		return nil
	}
	d, n := wrapped(c.int("dim", 0), len(x.shape)), c.int("chunks", 1)
	if x.shape[d] == 0 {
		return slices.Repeat([][]int{x.shape}, n)
	}
	return parts(x.shape, d, (x.shape[d]+n-1)/n)
}

func splitBy(c *recorded) [][]int {
	x, ok := c.first()
	for _, name := range []string{"split_size", "split_size_or_sections"} {
		if _, isList := c.args[name].([]any); ok && isList {
			return splitNamed(c, name)
		} else if ok && c.given(name) {
			return parts(x.shape, wrapped(c.int("dim", 0), len(x.shape)), c.int(name, 1))
		}
	}
	return nil
}

func splitSizes(c *recorded) [][]int { return splitNamed(c, "split_sizes") }

func splitNamed(c *recorded, name string) [][]int {
	all := [][]int{}
	x, ok := c.first()
	sizes, given := c.ints(name)
	if !ok || !given {
		return nil
	}
	for _, n := range sizes {
		all = append(all, replaced(x.shape, wrapped(c.int("dim", 0), len(x.shape)), n))
	}
	return all
}

// evenSplit parts along a dimension, -1 for the argument dim, into a number of pieces or
// at places.
func evenSplit(dim int) func(c *recorded) [][]int {
	return func(c *recorded) (all [][]int) {
		x, ok := c.first()
		if !ok {
			return nil
		}
		d := dim
		if d < 0 {
			d = wrapped(c.int("dim", 0), len(x.shape))
		}
		if dim == 1 && len(x.shape) == 1 {
			d = 0
		}
		size := x.shape[d]
		for _, name := range []string{"indices", "indices_or_sections", "tensor_indices_or_sections", "sections"} {
			switch v := c.args[name].(type) {
			case tensor:
				c.decided = true
			case int:
				for i := range v {
					n := size / v
					if i < size%v {
						n++
					}
					all = append(all, replaced(x.shape, d, n))
				}
				return all
			case []any:
				from := 0
				places, _ := c.ints(name)
				for _, to := range append(places, size) {
					if to < 0 {
						to += size
					}
					to = min(to, size)
					all = append(all, replaced(x.shape, d, max(0, to-from)))
					from = to
				}
				return all
			}
		}
		return nil
	}
}

func grid(c *recorded) [][]int {
	all := c.tensors()
	out := []int{}
	for _, t := range all {
		out = append(out, product(t.shape))
	}
	if c.args["indexing"] == "xy" && len(out) > 1 {
		out[0], out[1] = out[1], out[0]
	}
	return slices.Repeat([][]int{out}, len(all))
}

func blocks(c *recorded) [][]int {
	out := []int{0, 0}
	for _, t := range c.tensors() {
		s := t.shape
		for len(s) < 2 {
			s = append([]int{1}, s...)
		}
		out[0], out[1] = out[0]+s[0], out[1]+s[1]
	}
	return one(out)
}

func cartesian(c *recorded) [][]int {
	all := c.tensors()
	if len(all) == 1 {
		return one(all[0].shape)
	}
	n := 1
	for _, t := range all {
		n *= product(t.shape)
	}
	return one([]int{n, len(all)})
}

func combinations(c *recorded) [][]int {
	x, ok := c.first()
	if !ok {
		return nil
	}
	n, r := product(x.shape), c.int("r", 2)
	if c.bool("with_replacement") {
		n += r - 1
	}
	count := 1
	for i := range r {
		count = count * (n - i) / (i + 1)
	}
	if r == 0 {
		return one([]int{0})
	}
	return one([]int{max(count, 0), r})
}

func matmul(all []tensor) []int {
	if len(all) < 2 || len(all[0].shape) == 0 || len(all[1].shape) == 0 {
		return nil
	}
	a, b := all[0].shape, all[1].shape
	vectorA, vectorB := len(a) == 1, len(b) == 1
	if vectorA {
		a = []int{1, a[0]}
	}
	if vectorB {
		b = []int{b[0], 1}
	}
	lead := broadcast(a[:len(a)-2], b[:len(b)-2])
	if lead == nil || a[len(a)-1] != b[len(b)-2] {
		return nil
	}
	out := slices.Clone(lead)
	if !vectorA {
		out = append(out, a[len(a)-2])
	}
	if !vectorB {
		out = append(out, b[len(b)-1])
	}
	return out
}

func chain(c *recorded) [][]int {
	all := c.tensors()
	if len(all) == 1 {
		return one(all[0].shape)
	}
	out := []int{}
	if a := all[0].shape; len(a) > 1 {
		out = append(out, a[0])
	}
	if b := all[len(all)-1].shape; len(b) > 1 {
		out = append(out, b[1])
	}
	return one(out)
}

// added is a product with something added, which broadcasts to it: of a batch of
// matrices, which addbmm adds up, of matrices or of a matrix and a vector.
func added(c *recorded) [][]int {
	all := c.tensors()
	if len(all) < 3 {
		return nil
	}
	if slices.Contains(c.order, "vec1") {
		return one([]int{all[1].shape[0], all[2].shape[0]})
	}
	s := matmul(all[1:])
	if slices.Contains(c.order, "batch1") && !slices.Contains(c.order, "baddbmm") && len(all[0].shape) <= 2 && len(c.results) == 1 && len(c.results[0].shape) == 2 {
		s = s[1:]
	}
	return one(s)
}

func kron(c *recorded) [][]int {
	all := c.tensors()
	if len(all) < 2 {
		return nil
	}
	a, b := all[0].shape, all[1].shape
	n := max(len(a), len(b))
	out := make([]int, n)
	for i := range out {
		out[i] = 1
		if j := i - n + len(a); j >= 0 {
			out[i] *= a[j]
		}
		if j := i - n + len(b); j >= 0 {
			out[i] *= b[j]
		}
	}
	return one(out)
}

func inner(c *recorded) [][]int {
	all := c.tensors()
	if len(all) < 2 {
		return nil
	}
	a, b := all[0].shape, all[1].shape
	if len(a) == 0 || len(b) == 0 {
		return one(broadcast(a, b))
	}
	return one(joined(a[:len(a)-1], b[:len(b)-1]))
}

func contracted(c *recorded) [][]int {
	all := c.tensors()
	if len(all) < 2 {
		return nil
	}
	a, b := all[0].shape, all[1].shape
	var da, db []int
	switch v := c.args["dims"].(type) {
	case int:
		for i := range v {
			da, db = append(da, len(a)-v+i), append(db, i)
		}
	case []any:
		for i, list := range v {
			for _, d := range list.([]any) {
				if n, ok := d.(int); ok && i == 0 {
					da = append(da, wrapped(n, len(a)))
				} else if ok {
					db = append(db, wrapped(n, len(b)))
				}
			}
		}
	default:
		_, c.decided = v.(tensor)
		return nil
	}
	out := []int{}
	for i, n := range a {
		if !slices.Contains(da, i) {
			out = append(out, n)
		}
	}
	for i, n := range b {
		if !slices.Contains(db, i) {
			out = append(out, n)
		}
	}
	return one(out)
}

func qr(c *recorded) [][]int {
	x, ok := c.first()
	if !ok || len(x.shape) < 2 {
		return nil
	}
	n := len(x.shape)
	lead, m, k := x.shape[:n-2], x.shape[n-2], min(x.shape[n-2], x.shape[n-1])
	q := k
	if c.args["mode"] == "complete" || c.args["some"] == false {
		q = m
	}
	Q, R := append(slices.Clone(lead), m, q), append(slices.Clone(lead), q, x.shape[n-1])
	if c.args["mode"] == "r" {
		Q = []int{0}
	}
	return [][]int{Q, R}
}

// svd are the three factors, of which the outer ones are whole where flag is all.
func svd(flag string, all, adjoint bool) func(c *recorded) [][]int {
	return func(c *recorded) [][]int {
		x, ok := c.first()
		if !ok || len(x.shape) < 2 {
			return nil
		}
		i := len(x.shape)
		lead, m, n := x.shape[:i-2], x.shape[i-2], x.shape[i-1]
		k := min(m, n)
		a, b := k, k
		if c.args["compute_uv"] == false {
			a, b = m, n
		} else if whole, given := c.args[flag].(bool); given && whole == all || !given && adjoint {
			a, b = m, n
		}
		with := func(more ...int) []int { return append(slices.Clone(lead), more...) }
		if adjoint {
			return [][]int{with(m, a), with(k), with(b, n)}
		}
		return [][]int{with(m, a), with(k), with(n, b)}
	}
}

func solved(c *recorded) [][]int {
	a, ok := c.tensor("A")
	b, ok2 := c.tensor("B")
	if !ok || !ok2 || len(a.shape) < 2 {
		return nil
	}
	lead := a.shape[:len(a.shape)-2]
	n := a.shape[len(a.shape)-1]
	vector := len(b.shape) == 1 || len(b.shape) == len(a.shape)-1 && slices.Equal(b.shape, append(slices.Clone(lead), n))
	if vector {
		return one(append(broadcast(lead, b.shape[:len(b.shape)-1]), n))
	}
	k := b.shape[len(b.shape)-1]
	if c.args["left"] == false {
		return one(append(broadcast(lead, b.shape[:len(b.shape)-2]), b.shape[len(b.shape)-2], n))
	}
	return one(append(broadcast(lead, b.shape[:len(b.shape)-2]), n, k))
}

func triangular(c *recorded) [][]int {
	all := c.tensors()
	if len(all) < 2 || len(all[0].shape) < 2 || len(all[1].shape) < 2 {
		return nil
	}
	x, y := all[0].shape, all[1].shape
	a, b := x, y
	if _, named := c.tensor("B"); !named {
		a, b = y, x // the right side first
	}
	lead := broadcast(a[:len(a)-2], b[:len(b)-2])
	return one(append(slices.Clone(lead), b[len(b)-2:]...))
}

// equationShape is what einsum's equation says of the result.
func equationShape(c *recorded) []int {
	equation, ok := c.args["equation"].(string)
	if !ok { // numbers of dimensions behind each operand
		c.decided = true
		return nil
	}
	in, out, explicit := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	terms, all, sizes, counts := strings.Split(in, ","), c.tensors(), map[rune]int{}, map[rune]int{}
	var ellipses [][]int
	for i, term := range terms {
		if i >= len(all) {
			return nil
		}
		before, after, dots := strings.Cut(term, "...")
		shape := all[i].shape
		for j, r := range before {
			sizes[r] = max(sizes[r], shape[j])
			counts[r]++
		}
		for j, r := range after {
			sizes[r] = max(sizes[r], shape[len(shape)-len(after)+j])
			counts[r]++
		}
		if dots {
			ellipses = append(ellipses, shape[len(before):len(shape)-len(after)])
		}
	}
	if !explicit {
		if ellipses != nil {
			out = "..."
		}
		var once []rune
		for r, n := range counts {
			if n == 1 {
				once = append(once, r)
			}
		}
		slices.Sort(once)
		out += string(once)
	}
	shape := []int{}
	before, after, dots := strings.Cut(out, "...")
	for _, r := range before {
		shape = append(shape, sizes[r])
	}
	if dots {
		shape = append(shape, broadcast(ellipses...)...)
	}
	for _, r := range after {
		shape = append(shape, sizes[r])
	}
	return shape
}
