package main

import (
	"math"
	"slices"
)

// What the rules compute with.

func unique(c *recorded) [][]int {
	x, _ := c.first()
	values, places := []int{-1}, x.shape
	if c.given("dim") {
		dim := wrapped(c.int("dim", 0), len(x.shape))
		values, places = replaced(x.shape, dim, -1), []int{x.shape[dim]}
	}
	all := [][]int{values}
	for _, r := range c.results[1:] {
		if len(all) == 1 && slices.Equal(r.shape, places) && !c.onlyCounts() {
			all = append(all, places)
		} else {
			all = append(all, []int{-1})
		}
	}
	return all
}

// onlyCounts reports whether counts are returned and no inverse indices.
func (c *recorded) onlyCounts() bool { return c.bool("return_counts") && !c.bool("return_inverse") }

// joined puts lists behind each other; none is an empty one.
func joined(lists ...[]int) []int { return append([]int{}, slices.Concat(lists...)...) }

var bytesOf = map[string]int{"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
	"complex32": 4, "complex64": 8, "complex128": 16}

func allAtLeast(n int) func(c *recorded) [][]int {
	return func(c *recorded) (all [][]int) {
		for _, t := range c.tensors() {
			all = append(all, atLeast(t.shape, n))
		}
		return all
	}
}

func segments(c *recorded) [][]int {
	x, ok := c.first()
	if !ok {
		return nil
	}
	axis, n := c.int("axis", 0), -1
	if t, ok := c.tensor("lengths"); ok && len(t.shape) > 0 {
		n = t.shape[len(t.shape)-1]
	} else if t, ok := c.tensor("offsets"); ok && len(t.shape) > 0 {
		n = t.shape[len(t.shape)-1] - 1
	}
	return one(replaced(x.shape, axis, n))
}

func leastSquares(c *recorded) [][]int {
	all := c.tensors()
	if len(all) < 2 || len(all[0].shape) < 2 || len(c.results) != 4 {
		return nil
	}
	a, b := all[0].shape, all[1].shape
	i := len(a)
	lead, m, n := a[:i-2], a[i-2], a[i-1]
	with := func(more ...int) []int { return append(slices.Clone(lead), more...) }
	want := [][]int{nil, nil, with(), with(min(m, n))}
	if vector := len(b) == 1 || len(b) == i-1 && slices.Equal(b, with(m)); vector {
		want[0], want[1] = with(n), with()
	} else {
		lead = broadcast(lead, b[:len(b)-2])
		want[0], want[1] = with(n, b[len(b)-1]), with(b[len(b)-1])
	}
	for i, r := range c.results[1:] {
		if slices.Equal(r.shape, []int{0}) {
			want[i+1] = []int{0}
		}
	}
	return want
}

// nested is the shape of numbers in lists.
func nested(v any) []int {
	list, ok := v.([]any)
	if !ok {
		return []int{}
	}
	if len(list) == 0 {
		return []int{0}
	}
	return append([]int{len(list)}, nested(list[0])...)
}

func one(shape []int) [][]int {
	if shape == nil {
		return nil
	}
	return [][]int{shape}
}

func notationBy(text string, f func(shape []int, r int) []int, name string) shapeRule {
	return shapeRule{"{notation}" + text, like(func(c *recorded, s []int) []int {
		r := c.int(name, 1)
		if len(s) < 3 || r == 0 {
			return nil
		}
		return f(s, r)
	})}
}

func product(s []int) int {
	p := 1
	for _, n := range s {
		p *= n
	}
	return p
}

func reversedShape(s []int) []int {
	out := slices.Clone(s)
	slices.Reverse(out)
	return out
}

func atLeast(s []int, n int) []int {
	out := slices.Clone(s)
	switch {
	case len(out) == 0:
		return slices.Repeat([]int{1}, n)
	case n == 2 && len(out) == 1:
		return []int{1, out[0]}
	case n == 3 && len(out) == 1:
		return []int{1, out[0], 1}
	case n == 3 && len(out) == 2:
		return append(out, 1)
	}
	return out
}

// inferred puts what is left of all in the place of -1.
func inferred(size []int, all int) []int {
	out, rest, at := slices.Clone(size), 1, -1
	for i, n := range out {
		if n == -1 {
			at = i
		} else {
			rest *= n
		}
	}
	if at >= 0 && rest != 0 {
		out[at] = all / rest
	}
	return out
}

func viewed(c *recorded, s []int, name string) []int {
	x, _ := c.first()
	if d, byDType := c.args["dtype"].(dtypeName); byDType && len(s) > 0 {
		return replaced(s, len(s)-1, s[len(s)-1]*bytesOf[x.dtype]/bytesOf[string(d)])
	} else if byDType {
		return s
	}
	size, ok := c.ints(name)
	if !ok {
		return nil
	}
	return inferred(size, product(s))
}

func times(s []int, c *recorded, name string) []int {
	by, ok := c.ints(name)
	if !ok {
		return nil
	}
	for len(by) < len(s) {
		by = append([]int{1}, by...)
	}
	s = joined(slices.Repeat([]int{1}, len(by)-len(s)), s)
	for i := range s {
		s[i] *= by[i]
	}
	return s
}

func swapped(c *recorded, s []int) []int {
	a, b := 0, 1
	for _, names := range [][2]string{{"dim0", "dim1"}, {"axis0", "axis1"}} {
		if c.given(names[0]) {
			a, b = c.int(names[0], 0), c.int(names[1], 0)
		}
	}
	out := slices.Clone(s)
	if len(s) > 1 {
		a, b = wrapped(a, len(s)), wrapped(b, len(s))
		out[a], out[b] = s[b], s[a]
	}
	return out
}

func moved(c *recorded, s []int) []int {
	from, _ := c.ints("source")
	to, ok := c.ints("destination")
	if !ok {
		return nil
	}
	out, used := slices.Repeat([]int{-1}, len(s)), map[int]bool{}
	for i := range from {
		a, b := wrapped(from[i], len(s)), wrapped(to[i], len(s))
		if b < len(out) && a < len(s) {
			out[b], used[a] = s[a], true
		}
	}
	next := 0
	for i := range out {
		if out[i] >= 0 {
			continue
		}
		for used[next] {
			next++
		}
		out[i] = s[next]
		next++
	}
	return out
}

func diagonalLength(n, m, offset int) int {
	if offset < 0 {
		return max(min(n+offset, m), 0)
	}
	return max(min(n, m-offset), 0)
}

func diagonal(c *recorded, s []int) []int {
	a, b := wrapped(c.int("dim1", 0), len(s)), wrapped(c.int("dim2", 1), len(s))
	if !c.given("dim2") && slices.Contains(c.order, "A") {
		a, b = wrapped(c.int("dim1", -2), len(s)), wrapped(c.int("dim2", -1), len(s))
	}
	out := []int{}
	for i, n := range s {
		if i != a && i != b {
			out = append(out, n)
		}
	}
	return append(out, diagonalLength(s[a], s[b], c.int("offset", 0)))
}

func embedded(c *recorded, s []int) []int {
	n := len(s) + 1
	size := s[len(s)-1] + abs(c.int("offset", 0))
	a, b := wrapped(c.int("dim1", -2), n), wrapped(c.int("dim2", -1), n)
	out, rest := make([]int, n), s[:len(s)-1]
	for i := range out {
		if i == a || i == b {
			out[i] = size
		} else {
			out[i], rest = rest[0], rest[1:]
		}
	}
	return out
}

func diag(c *recorded, s []int) []int {
	offset := c.int("diagonal", c.int("offset", 0))
	if len(s) == 2 && !slices.Contains(c.order, "offset") {
		return []int{diagonalLength(s[0], s[1], offset)}
	}
	n := product(s) + abs(offset)
	return []int{n, n}
}

func abs(n int) int { return max(n, -n) }

func sliced(c *recorded, s []int) []int {
	d := wrapped(c.int("dim", 0), len(s))
	cut := func(n int) int {
		if n < 0 {
			n += s[d]
		}
		return min(max(n, 0), s[d])
	}
	start, end, step := cut(c.int("start", 0)), cut(c.int("end", math.MaxInt)), c.int("step", 1)
	return replaced(s, d, max(0, (end-start+step-1)/step))
}

func quantiles(c *recorded) [][]int {
	x, ok := c.first()
	if !ok {
		return nil
	}
	dims, given := c.ints("dim")
	shape := reduced(x.shape, dims, !given, c.bool("keepdim"))
	if q, isTensor := c.tensor("q"); isTensor {
		shape = append(slices.Clone(q.shape), shape...)
	}
	return one(shape)
}

func integral(c *recorded) [][]int {
	s, d := trapezoids(c)
	if s == nil {
		return nil
	}
	return one(without(s, d))
}

// trapezoids is the shape of the steps of an integral, and the place of dim in it.
func trapezoids(c *recorded) (shape []int, dim int) {
	y, ok := c.first()
	if named, isTensor := c.tensor("y"); isTensor {
		y = named
	}
	if !ok {
		return nil, 0
	}
	fewer := func(s []int, d int) []int { return replaced(s, d, max(0, s[min(d, len(s)-1)]-1)) }
	d := wrapped(c.int("dim", -1), len(y.shape))
	if len(y.shape) == 0 {
		return []int{}, 0
	}
	s := fewer(y.shape, d)
	if x, given := c.tensor("x"); given && len(x.shape) > 1 && c.hasY() {
		s = broadcast(s, fewer(x.shape, wrapped(c.int("dim", -1), len(x.shape))))
		d = wrapped(c.int("dim", -1), len(s))
	}
	return s, d
}

func (c *recorded) hasY() bool { _, ok := c.tensor("y"); return ok }

func differences(c *recorded) [][]int {
	x, ok := c.first()
	if !ok || len(x.shape) == 0 {
		return nil
	}
	d := wrapped(c.int("dim", -1), len(x.shape))
	if d >= len(x.shape) { // which nothing looks at where n is 0
		return one(x.shape)
	}
	size := x.shape[d]
	for _, name := range []string{"prepend", "append"} {
		t, given := c.tensor(name)
		switch {
		case !given || c.int("n", 1) == 0:
		case d >= len(t.shape): // of no dimensions
			size++
		default:
			size += t.shape[d]
		}
	}
	return one(replaced(x.shape, d, max(0, size-c.int("n", 1))))
}

func alongDim(c *recorded) [][]int {
	x, ok := c.first()
	index, ok2 := c.tensor("indices")
	if !ok || !ok2 {
		return nil
	}
	if !c.given("dim") {
		return one([]int{product(index.shape)})
	}
	d := wrapped(c.int("dim", 0), len(x.shape))
	shape := broadcast(replaced(x.shape, d, 1), replaced(index.shape, d, 1))
	if shape == nil {
		return nil
	}
	return one(replaced(shape, d, index.shape[d]))
}

func arange(c *recorded) []int {
	number := func(name string, def float64) (float64, bool) {
		switch v := c.args[name].(type) {
		case int:
			return float64(v), true
		case float64:
			return v, true
		case bool:
			if v {
				return 1, true
			}
			return 0, true
		}
		return def, c.args[name] == nil
	}
	start, ok1 := number("start", 0)
	end, ok2 := number("end", 0)
	step, ok3 := number("step", 1)
	if !ok1 || !ok2 || !ok3 {
		return nil
	}
	return []int{int(math.Ceil((end - start) / step))}
}
