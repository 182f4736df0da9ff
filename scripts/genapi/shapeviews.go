package main

import "slices"

// viewRules are of views and of other arrangements.
var viewRules = map[string]shapeRule{
	// views and arrangements
	"size":  {"size, where -1 is what is left of the elements; with a dtype that of {input}, its last size by the sizes of the elements", like(func(c *recorded, s []int) []int { return viewed(c, s, "size") })},
	"shape": {"shape, where -1 is what is left of the elements", like(func(c *recorded, s []int) []int { return viewed(c, s, "shape") })},
	"like other": {"that of other", each(func(c *recorded) []int {
		for _, name := range []string{"other", "tensor", "the_template"} {
			if t, ok := c.tensor(name); ok {
				return t.shape
			}
		}
		return nil
	})},
	"expanded": {"size, where -1 is the size that {input} has", like(func(c *recorded, s []int) []int {
		size, ok := c.ints("size")
		for i, n := range size {
			if n == -1 {
				size[i] = s[i-len(size)+len(s)]
			}
		}
		if !ok {
			return nil
		}
		return size
	})},
	"repeated": {"that of {input}, each size times its repeat; ones stand before a shape or a list that is shorter", like(func(c *recorded, s []int) []int { return times(s, c, "repeats") })},
	"tiled":    {"that of {input}, each size times its number in dims; ones stand before a shape or a list that is shorter", like(func(c *recorded, s []int) []int { return times(s, c, "dims") })},
	"permuted": {"that of {input} in the order of dims", like(func(c *recorded, s []int) []int {
		dims, ok := c.ints("dims")
		out := make([]int, len(dims))
		for i, d := range dims {
			out[i] = s[wrapped(d, len(s))]
		}
		if !ok {
			return nil
		}
		return out
	})},
	"swapped":    {"that of {input} with two dimensions exchanged", like(swapped)},
	"moved":      {"that of {input} with dimensions moved", like(moved)},
	"transposed": {"that of {input} with its two dimensions exchanged; as it is with fewer", like(func(_ *recorded, s []int) []int { return reversedShape(s) })},
	"matrices transposed": {"that of {input} with the last two dimensions exchanged; as it is with fewer than two", like(func(_ *recorded, s []int) []int {
		out := slices.Clone(s)
		if n := len(out); n >= 2 {
			out[n-1], out[n-2] = out[n-2], out[n-1]
		}
		return out
	})},
	"squeezed": {"that of {input} without the dimensions of size 1, of those in dim where given", like(func(c *recorded, s []int) []int {
		dims, ok := c.ints("dim")
		out := []int{}
		for i, n := range s {
			asked := !ok || slices.ContainsFunc(dims, func(d int) bool { return wrapped(d, len(s)) == i })
			if n != 1 || !asked {
				out = append(out, n)
			}
		}
		return out
	})},
	"unsqueezed": {"that of {input} with a 1 put in at dim", like(func(c *recorded, s []int) []int {
		d := c.int("dim", 0)
		if d < 0 {
			d += len(s) + 1
		}
		return slices.Insert(slices.Clone(s), d, 1)
	})},
	"unflattened": {"that of {input} with sizes in the place of dim, where -1 is what is left of it", like(func(c *recorded, s []int) []int {
		d := wrapped(c.int("dim", 0), len(s))
		sizes, ok := c.ints("sizes")
		if !ok {
			return nil
		}
		return joined(s[:d], inferred(sizes, s[d]), s[d+1:])
	})},
	"raveled": {"one dimension of all elements", like(func(_ *recorded, s []int) []int { return []int{product(s)} })},
	"windows": {"that of {input} with (size at dimension - size) / step + 1 there, rounded down, and size behind", like(func(c *recorded, s []int) []int {
		d, size := wrapped(c.int("dimension", 0), len(s)), c.int("size", 1)
		if len(s) == 0 {
			return []int{size}
		}
		return append(replaced(s, d, (s[d]-size)/c.int("step", 1)+1), size)
	})},
	"diagonal": {"that of {input} without dim1 and dim2, and the length of the diagonal behind", like(diagonal)},
	"embedded": {"that of {input} without its last dimension n, and n + |offset| at dim1 and dim2", like(embedded)},
	"diag":     {"(n + |diagonal|, n + |diagonal|) of (n), the length of the diagonal of a matrix", like(diag)},
	"turned": {"that of {input}, with the two dims exchanged where k is odd", like(func(c *recorded, s []int) []int {
		dims, ok := c.ints("dims")
		if !ok {
			dims = []int{0, 1}
		}
		if k := c.int("k", 1); k%2 == 0 {
			return s
		}
		a, b := wrapped(dims[0], len(s)), wrapped(dims[1], len(s))
		out := slices.Clone(s)
		out[a], out[b] = s[b], s[a]
		return out
	})},
	"at least 1": {"that of each tensor, (1) for ()", allAtLeast(1)},
	"at least 2": {"that of each tensor, with 1 before until there are two dimensions", allAtLeast(2)},
	"at least 3": {"that of each tensor: (n) is (1, n, 1), (n, m) is (n, m, 1)", allAtLeast(3)},
}
