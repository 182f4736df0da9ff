package main

import (
	"math"
	"slices"
)

// shapeRules are the rules by their names in shapes.txt.
var shapeRules = map[string]shapeRule{
	"itself":    {"{input}, written to", like(func(_ *recorded, s []int) []int { return s })},
	"same":      {"that of {input}", like(func(_ *recorded, s []int) []int { return s })},
	"broadcast": {"what {tensors} broadcast to", each(func(c *recorded) []int { return broadcast(shapesOf(c.tensors())...) })},
	"none":      {"no tensor", func(c *recorded) [][]int { return [][]int{} }},
	"scalar":    {"()", each(func(*recorded) []int { return []int{} })},
	"vector":    {"one dimension, whose size the elements decide", each(func(*recorded) []int { return []int{-1} })},
	"places":    {"(count, dimensions of {input}), where the elements decide the count", like(func(_ *recorded, s []int) []int { return []int{-1, len(s)} })},

	// along dimensions
	"reduced": {"that of {input} without dim, or with 1 there where keepdim; () without dim", like(func(c *recorded, s []int) []int {
		dims, ok := c.ints("dim")
		return reduced(s, dims, !ok || len(dims) == 0, c.bool("keepdim"))
	})},
	"reduced last": {"that of {input} without dim (the last where not given), or with 1 there where keepdim", like(func(c *recorded, s []int) []int {
		return reduced(s, []int{c.int("dim", -1)}, false, c.bool("keepdim"))
	})},
	"pairs reduced": {"what {tensors} broadcast to, without dim", each(func(c *recorded) []int {
		s := broadcast(shapesOf(c.tensors())...)
		return reduced(s, []int{c.int("dim", 1)}, false, false)
	})},
	"paired": {"what {tensors} broadcast to, without the last dimension, or with 1 there where keepdim", each(func(c *recorded) []int {
		s := broadcast(shapesOf(c.tensors())...)
		if s == nil {
			return nil
		}
		return reduced(s, []int{-1}, false, c.bool("keepdim"))
	})},
	"without dim": {"that of {input} without dim", like(func(c *recorded, s []int) []int { return without(s, wrapped(c.int("dim", 0), len(s))) })},
	"k of dim":    {"that of {input} with k at dim (the last where not given)", like(func(c *recorded, s []int) []int { return replaced(s, wrapped(c.int("dim", -1), len(s)), c.int("k", 0)) })},
	"quantiles":   {"that of {input} without dim, or with 1 there where keepdim, behind the shape of q; only the shape of q without dim", quantiles},
	"integral":    {"what the arguments broadcast to, without dim (the last where not given)", integral},
	"differences": {"that of {input} with n fewer at dim (the last where not given), after the sizes of prepend and append are added", differences},
	"index of dim": {"that of {input} with the size of index at dim", like(func(c *recorded, s []int) []int {
		index, ok := c.tensor("index")
		if !ok {
			return nil
		}
		n := 1
		if len(index.shape) == 1 {
			n = index.shape[0]
		}
		return replaced(s, wrapped(c.int("dim", 0), len(s)), n)
	})},
	"index": {"that of index", each(func(c *recorded) []int {
		t, ok := c.tensor("index")
		if !ok {
			return nil
		}
		return t.shape
	})},
	"index along dim": {"what {input} and indices broadcast to, but for dim, where it is the size of indices; that of indices flattened without dim", alongDim},
	"narrowed": {"that of {input} with length at dim", like(func(c *recorded, s []int) []int {
		return replaced(s, wrapped(c.int("dim", 0), len(s)), c.int("length", 0))
	})},
	"like the third": {"that of the third tensor", each(func(c *recorded) []int {
		if all := c.tensors(); len(all) == 3 {
			return all[2].shape
		}
		return nil
	})},
	"like src": {"that of src", each(func(c *recorded) []int {
		t, ok := c.tensor("src")
		if !ok {
			return nil
		}
		return t.shape
	})},
	"sliced": {"that of {input} with ceil((end - start) / step) at dim, start and end cut to the size", like(sliced)},
	"repeated along dim": {"that of {input} with the sum of the repeats at dim; flattened before where dim is not given", like(func(c *recorded, s []int) []int {
		if len(s) > 1 && !c.given("dim") {
			s = []int{-1}
		}
		if len(s) == 0 {
			s = []int{1}
		}
		return replaced(s, wrapped(c.int("dim", 0), len(s)), -1)
	})},

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

	// lists
	"cat":         {"that of the tensors with the sum of their sizes at dim; one of shape (0) counts for nothing", func(c *recorded) [][]int { return one(concatenated(c.tensors(), c.int("dim", 0))) }},
	"hstack":      {"that of the tensors, made at least (1), with the sum of their sizes at dimension 1, at 0 where there is one alone", func(c *recorded) [][]int { return stacked(c, 1, 1) }},
	"vstack":      {"that of the tensors, made at least (1, n), with the sum of their sizes at dimension 0", func(c *recorded) [][]int { return stacked(c, 2, 0) }},
	"dstack":      {"that of the tensors, made at least (1, n, 1), with the sum of their sizes at dimension 2", func(c *recorded) [][]int { return stacked(c, 3, 2) }},
	"columns":     {"(n, m): the tensors beside each other, with (n) as (n, 1)", columns},
	"chunks":      {"tensors with that of {input}, and at dim its size over chunks, rounded up, in each but the last ones", chunks},
	"split":       {"tensors with that of {input}, and at dim split_size in each but the last", splitBy},
	"split sizes": {"tensors with that of {input}, and at dim one of the sizes in each", splitSizes},
	"even split":  {"tensors with that of {input} and nearly equal sizes along the dimension, or cut at the indices", evenSplit(-1)},
	"hsplit":      {"tensors with that of {input}, parted along dimension 1, along 0 where there is one alone", evenSplit(1)},
	"vsplit":      {"tensors with that of {input}, parted along dimension 0", evenSplit(0)},
	"dsplit":      {"tensors with that of {input}, parted along dimension 2", evenSplit(2)},
	"unbound":     {"tensors with that of {input} without dim", unbound},
	"all broadcast": {"what the tensors broadcast to, each", func(c *recorded) [][]int {
		s := broadcast(shapesOf(c.tensors())...)
		all := make([][]int, len(c.tensors()))
		for i := range all {
			all[i] = s
		}
		return all
	}},
	"grid":         {"the sizes of the tensors, one dimension for each; the first two exchanged where indexing is xy", grid},
	"blocks":       {"(the sum of the rows, the sum of the columns)", blocks},
	"product":      {"(the product of the sizes, number of tensors); that of a tensor alone", cartesian},
	"combinations": {"(number of combinations, r)", combinations},

	// creation
	"of size": {"size", each(func(c *recorded) []int {
		size, ok := c.ints("size")
		if !ok {
			return nil
		}
		return size
	})},
	"steps":    {"(steps)", each(func(c *recorded) []int { return append([]int{}, c.int("steps", 100)) })},
	"n":        {"(n)", each(func(c *recorded) []int { return []int{c.int("n", 0)} })},
	"window":   {"(window_length)", each(func(c *recorded) []int { return []int{c.int("window_length", 0)} })},
	"triangle": {"(2, number of elements of the triangle)", each(func(*recorded) []int { return []int{2, -1} })},
	"drawn":    {"that of {input} with num_samples in the place of the last size", like(func(c *recorded, s []int) []int { return replaced(s, len(s)-1, c.int("num_samples", 0)) })},
	"drawn of": {"what mean and std broadcast to, size where both are numbers", each(func(c *recorded) []int {
		if size, ok := c.ints("size"); ok {
			return size
		}
		return broadcast(shapesOf(c.tensors())...)
	})},
	"powers": {"that of {input} and N behind, its last size where not given", like(func(c *recorded, s []int) []int {
		if len(s) == 0 {
			s = []int{1}
		}
		return append(slices.Clone(s), c.int("N", s[len(s)-1]))
	})},

	"reduced or both": {"that of {input} without dim, or with 1 there where keepdim; () without dim; what both broadcast to with other", each(func(c *recorded) []int {
		if c.given("other") {
			return broadcast(shapesOf(c.tensors())...)
		}
		x, _ := c.first()
		dims, ok := c.ints("dim")
		return reduced(x.shape, dims, !ok, c.bool("keepdim"))
	})},
	"unique": {"one dimension, or that of {input} with another size at dim: the elements decide; inverse indices have that of {input}, or the size of dim", unique},
	"bins":   {"(bins), and (bins + 1) for the edges", func(c *recorded) [][]int { return [][]int{{-1}, {-1}}[:len(c.results)] }},
	"grid of bins": {"a dimension of bins for each column of {input}, and the edges of each", func(c *recorded) [][]int {
		x, _ := c.first()
		all := [][]int{slices.Repeat([]int{-1}, x.shape[len(x.shape)-1])}
		for range len(c.results) - 1 {
			all = append(all, []int{-1})
		}
		return all
	}},
	"sought": {"that of the values that are looked for", each(func(c *recorded) []int {
		for _, name := range []string{"self", "input", "elements", "element", "x"} {
			if v := c.args[name]; v != nil {
				t, isTensor := v.(tensor)
				if !isTensor {
					return []int{}
				}
				return t.shape
			}
		}
		return nil
	})},
	"pairs of parts": {"that of {input} without the last dimension, of size 2", like(func(_ *recorded, s []int) []int { return without(s, len(s)-1) })},
	"in parts":       {"that of {input} with 2 behind", like(func(_ *recorded, s []int) []int { return append(slices.Clone(s), 2) })},
	"cumulated": {"what the arguments broadcast to, with one fewer at dim (the last where not given)", each(func(c *recorded) []int {
		s, _ := trapezoids(c)
		return s
	})},
	"gradient": {"that of {input}, one tensor for each dimension that is asked for", like(func(_ *recorded, s []int) []int { return s })},
	"rank": {"() for a matrix, (*) of (*, m, n), broadcast with the tolerances", each(func(c *recorded) []int {
		x, _ := c.first()
		all := [][]int{x.shape[:len(x.shape)-2]}
		for _, name := range []string{"atol", "rtol", "tol"} {
			if t, ok := c.tensor(name); ok {
				all = append(all, t.shape)
			}
		}
		return broadcast(all...)
	})},
	"lu of either": {"(*, m, n) and (*, min(m, n)) of {input}, and (*) where get_infos", func(c *recorded) [][]int {
		x, _ := c.first()
		n := len(x.shape)
		lead := slices.Clone(x.shape[:n-2])
		return [][]int{x.shape, append(slices.Clone(lead), min(x.shape[n-2], x.shape[n-1])), lead}[:len(c.results)]
	}},
	"norm and mean": {"that of {input}; the mean and the reciprocal of the deviation have 1 in the normalized dimensions", func(c *recorded) [][]int {
		x, _ := c.first()
		normalized, ok := c.ints("normalized_shape")
		if !ok {
			return nil
		}
		s := slices.Clone(x.shape)
		for i := len(s) - len(normalized); i < len(s); i++ {
			s[i] = 1
		}
		return [][]int{x.shape, s, s}
	}},
	"norm and groups": {"that of {input}; the mean and the reciprocal of the deviation are (N, group)", func(c *recorded) [][]int {
		x, _ := c.first()
		s := []int{c.int("N", 0), c.int("group", 1)}
		return [][]int{x.shape, s, s}
	}},
	"norm and channels": {"that of {input}; the mean and the reciprocal of the deviation are (C), (0) where not training", func(c *recorded) [][]int {
		x, _ := c.first()
		s := []int{0}
		if c.bool("training") {
			s = []int{x.shape[1]}
		}
		return [][]int{x.shape, s, s}
	}},
	"kept dim": {"1 in each dimension but dim; () where dim is -1", like(func(c *recorded, s []int) []int {
		d := c.int("dim", 0)
		if d == -1 {
			return []int{}
		}
		out := slices.Repeat([]int{1}, len(s))
		out[d] = s[d]
		return out
	})},
	"low rank": {"(*, m, q), (*, q) and (*, n, q) of (*, m, n), where q is at most m and n", func(c *recorded) [][]int {
		x, _ := c.first()
		n := len(x.shape)
		lead, q := x.shape[:n-2], min(c.int("q", 6), x.shape[n-2], x.shape[n-1])
		with := func(more ...int) []int { return append(slices.Clone(lead), more...) }
		return [][]int{with(x.shape[n-2], q), with(q), with(x.shape[n-1], q)}
	}},
	"solution and A": {"that of {input} and that of A, with the leading dimensions broadcast", func(c *recorded) [][]int {
		b, _ := c.first()
		a, _ := c.tensor("A")
		lead := broadcast(a.shape[:len(a.shape)-2], b.shape[:len(b.shape)-2])
		return [][]int{append(slices.Clone(lead), b.shape[len(b.shape)-2:]...), append(slices.Clone(lead), a.shape[len(a.shape)-2:]...)}
	}},
	"right side": {"that of the right side, with the leading dimensions broadcast", each(func(c *recorded) []int {
		b, ok := c.tensor("B")
		if !ok {
			b, _ = c.first()
		}
		for _, name := range []string{"A", "LU", "LD", "LU_data"} {
			if a, ok := c.tensor(name); ok && len(b.shape) >= 2 {
				lead := broadcast(a.shape[:len(a.shape)-2], b.shape[:len(b.shape)-2])
				return append(slices.Clone(lead), b.shape[len(b.shape)-2:]...)
			}
		}
		return nil
	})},
	"inverted": {"the sizes of {input} from ind on, and then those before", like(func(c *recorded, s []int) []int {
		i := c.int("ind", 2)
		return slices.Concat(s[i:], s[:i])
	})},

	"polar": notation("(*, m, n) → (*, m, n), (*, n, n)"),
	"of either side": {"(*, k) and (*, n, k) of (*, n, n), where k is that of X or 1 unless given", func(c *recorded) [][]int {
		a, _ := c.first()
		k := 1
		if x, ok := c.tensor("X"); ok {
			k = x.shape[len(x.shape)-1]
		}
		k = c.int("k", k)
		n := len(a.shape)
		lead := a.shape[:n-2]
		return [][]int{append(slices.Clone(lead), k), append(slices.Clone(lead), a.shape[n-1], k)}
	}},
	"solved and info": {"that of B, (*, n, k) or (*, n), with the leading dimensions broadcast, and (*) of A", func(c *recorded) [][]int {
		all := solved(c)
		a, ok := c.tensor("A")
		if all == nil || !ok {
			return nil
		}
		return append(all, a.shape[:len(a.shape)-2])
	}},
	"least squares": {"(*, n, k) of (*, m, n) and (*, m, k); residuals (*, k), rank (*) and singular values (*, min(m, n)), each (0) where the driver does not compute it", leastSquares},
	"rest of A": {"the sizes of {input} behind as many as other has", like(func(c *recorded, s []int) []int {
		b, ok := c.tensor("other")
		if !ok {
			return nil
		}
		dims, _ := c.ints("dims")
		out := []int{}
		for i, n := range s {
			if !slices.ContainsFunc(dims, func(d int) bool { return wrapped(d, len(s)) == i }) {
				out = append(out, n)
			}
		}
		for _, d := range dims {
			out = append(out, s[wrapped(d, len(s))])
		}
		return out[min(len(b.shape), len(out)):]
	})},
	"pairs":    {"(n (n - 1) / 2) of (n, m)", like(func(_ *recorded, s []int) []int { return []int{s[0] * (s[0] - 1) / 2} })},
	"sound":    {"(*, samples) of (*, frequencies, frames)", like(func(c *recorded, s []int) []int { return append(slices.Clone(s[:len(s)-2]), -1) })},
	"equation": {"the sizes that the equation names behind ->", func(c *recorded) [][]int { return one(equationShape(c)) }},
	"masked": {"what {input} and mask broadcast to", each(func(c *recorded) []int {
		x, _ := c.first()
		mask, ok := c.tensor("mask")
		if !ok {
			return nil
		}
		return broadcast(x.shape, mask.shape)
	})},
	"segments": {"that of data with the number of segments at axis", segments},
	"parts of lu": {"(*, m, k), (*, k, n) and (*, m, m) of (*, m, n), where k = min(m, n), in the order P, L, U; (0) for what is not unpacked", func(c *recorded) [][]int {
		x, _ := c.first()
		n := len(x.shape)
		lead, m, k := x.shape[:n-2], x.shape[n-2], min(x.shape[n-2], x.shape[n-1])
		with := func(more ...int) []int { return append(slices.Clone(lead), more...) }
		all := [][]int{with(m, m), with(m, k), with(k, x.shape[n-1])}
		for i, r := range c.results {
			if slices.Equal(r.shape, []int{0}) {
				all[i] = []int{0}
			}
		}
		return all
	}},

	"recurrent": {"(T, N, directions · H), or with N first where batch_first, and that of each of hx", func(c *recorded) [][]int {
		all := c.tensors()
		hx := c.list("hx")
		if len(hx) == 0 {
			h, ok := c.tensor("hx")
			if !ok {
				return nil
			}
			hx = []tensor{h}
		}
		h := hx[0].shape
		directions := 1
		if c.bool("bidirectional") {
			directions = 2
		}
		want := [][]int{append(slices.Clone(all[0].shape[:2]), directions*h[len(h)-1])}
		return append(want, shapesOf(hx)...)
	}},
	"cell": {"that of each of hx", func(c *recorded) [][]int {
		if hx := c.list("hx"); len(hx) > 0 {
			return shapesOf(hx)
		}
		h, ok := c.tensor("hx")
		if !ok {
			return nil
		}
		return one(h.shape)
	}},
	"affine grid": {"(N, H, W, 2) of the size (N, C, H, W), (N, D, H, W, 3) of (N, C, D, H, W)", each(func(c *recorded) []int {
		size, ok := c.ints("size")
		if !ok {
			return nil
		}
		return append(append([]int{size[0]}, size[2:]...), len(size)-2)
	})},
	"conv of time": {"(T + 2 pad - kernel + 1, N, C_out) of an input (T, N, C_in) and a weight (kernel, C_in, C_out)", each(func(c *recorded) []int {
		x, _ := c.first()
		w, ok := c.tensor("weight")
		if !ok {
			return nil
		}
		return []int{x.shape[0] + 2*c.int("pad", 0) - w.shape[0] + 1, x.shape[1], w.shape[2]}
	})},
	"bags": {"(bags, width), and what the kernel notes of the bags", func(c *recorded) [][]int {
		w, ok := c.tensor("weight")
		offsets, ok2 := c.tensor("offsets")
		if !ok || !ok2 {
			return nil
		}
		bags := offsets.shape[0]
		if c.bool("include_last_offset") {
			bags--
		}
		return [][]int{{bags, w.shape[1]}, {-1}, {-1}, {-1}}
	}},
	"ctc": {"(N) where reduction is 0, () where it is 1, the mean, or 2, the sum", each(func(c *recorded) []int {
		if r := c.int("reduction", 0); r == 1 || r == 2 {
			return []int{}
		}
		x, _ := c.tensor("log_probs")
		return x.shape[1:2]
	})},
	"closed range": {"(floor((end - start) / step) + 1)", each(func(c *recorded) []int {
		n := arange(c)
		if n == nil {
			return nil
		}
		return []int{-1}
	})},
	"data": {"that of the data", each(func(c *recorded) []int {
		for _, name := range []string{"data", "obj"} {
			switch v := c.args[name].(type) {
			case tensor:
				return v.shape
			case []any:
				return nested(v)
			}
		}
		return nil
	})},

	"sparse places": {"(dimensions, number of elements)", like(func(_ *recorded, s []int) []int { return []int{len(s), -1} })},
	"fitting size": {"size, the smallest one that fits the indices where not given", each(func(c *recorded) []int {
		if size, ok := c.ints("size"); ok {
			return size
		}
		if c.decided = false; c.given("indices") {
			t, _ := c.tensor("indices")
			dense := 0
			if v, ok := c.tensor("values"); ok {
				dense = len(v.shape) - 1
			}
			return slices.Repeat([]int{-1}, t.shape[0]+dense)
		}
		return []int{-1, -1}
	})},

	// products
	"mm":         notation("(n, m), (m, p) → (n, p)"),
	"bmm":        notation("(b, n, m), (b, m, p) → (b, n, p)"),
	"mv":         notation("(n, m), (m) → (n)"),
	"dot":        notation("(n), (n) → ()"),
	"outer":      notation("(n), (m) → (n, m)"),
	"matmul":     {"() of two vectors; else (*, n, p) of (*, n, m) and (*, m, p), where a vector counts as (1, m) or (m, 1), whose 1 is left out", func(c *recorded) [][]int { return one(matmul(c.tensors())) }},
	"chain":      {"(rows of the first, columns of the last), without those of vectors", chain},
	"added":      {"that of the product, to which {input} broadcasts", added},
	"kron":       {"each size times the other one, with ones before the shorter shape", kron},
	"inner":      {"that of {input} and of other without their last dimensions; what they broadcast to where one is ()", inner},
	"contracted": {"the dimensions of {tensors} that are not contracted", contracted},
	"distances":  notation("(*, n, k), (*, m, k) → (*, n, m)"),
	"bilinear":   notation("(*, n), (*, m), (k, n, m) → (*, k)"),

	// linear algebra
	"of square":       notation("(*, n, n) → (*)"),
	"two of square":   notation("(*, n, n) → (*), (*)"),
	"eigen":           notation("(*, n, n) → (*, n), (*, n, n)"),
	"eigenvalues":     notation("(*, n, n) → (*, n)"),
	"singular values": notation("(*, m, n) → (*, min(m, n))"),
	"pseudoinverse":   notation("(*, m, n) → (*, n, m)"),
	"square and info": notation("(*, n, n) → (*, n, n), (*)"),
	"lu":              notation("(*, m, n) → (*, m, n), (*, min(m, n))"),
	"lu and info":     notation("(*, m, n) → (*, m, n), (*, min(m, n)), (*)"),
	"ldl":             notation("(*, n, n) → (*, n, n), (*, n)"),
	"ldl and info":    notation("(*, n, n) → (*, n, n), (*, n), (*)"),
	"plu":             notation("(*, m, n) → (*, m, m), (*, m, min(m, n)), (*, min(m, n), n)"),
	"qr raw":          notation("(*, m, n) → (*, m, n), (*, min(m, n))"),
	"qr":              {"(*, m, k) and (*, k, n) of (*, m, n), where k = min(m, n), m where all of Q is asked for", qr},
	"svd":             {"(*, m, k), (*, k) and (*, k, n) of (*, m, n), where k = min(m, n), and m and n at the outer sides where all is asked for", svd("full_matrices", true, true)},
	"old svd":         {"(*, m, k), (*, k) and (*, n, k) of (*, m, n), where k = min(m, n), and all m and n of them where some is false", svd("some", false, false)},
	"solved":          {"that of B, (*, n, k) or (*, n), with the leading dimensions broadcast", solved},
	"triangular":      {"what (*, n, k) and (*, n, n) broadcast to: (*, n, k)", triangular},
	"matrix reduced": {"that of {input} without dim (the last two where not given), or with 1 there where keepdim", like(func(c *recorded, s []int) []int {
		dims, ok := c.ints("dim")
		if !ok {
			dims = []int{-2, -1}
		}
		return reduced(s, dims, false, c.bool("keepdim"))
	})},
	"covariance": {"(n, n) of n variables in rows; () of one alone", like(func(_ *recorded, s []int) []int {
		if len(s) < 2 || s[0] == 1 {
			return []int{}
		}
		return []int{s[0], s[0]}
	})},

	// Fourier
	"fft": {"that of {input} with n at dim (the last where not given), its own size without n", like(func(c *recorded, s []int) []int {
		d := wrapped(c.int("dim", -1), len(s))
		return replaced(s, d, c.int("n", s[d]))
	})},
	"rfft": {"that of {input} with n / 2 + 1, rounded down, at dim (the last where not given); n is its own size there unless given", like(func(c *recorded, s []int) []int {
		d := wrapped(c.int("dim", -1), len(s))
		return replaced(s, d, c.int("n", s[d])/2+1)
	})},
	"irfft": {"that of {input} with n at dim (the last where not given), 2 (m - 1) of m without n", like(func(c *recorded, s []int) []int {
		d := wrapped(c.int("dim", -1), len(s))
		return replaced(s, d, c.int("n", 2*(s[d]-1)))
	})},
	"fftn":   {"that of {input} with s at the dims", fftn(whole)},
	"rfftn":  {"that of {input} with s at the dims, n / 2 + 1 of n, rounded down, at the last of them", fftn(half)},
	"irfftn": {"that of {input} with s at the dims, 2 (m - 1) of m at the last of them where s does not say", fftn(doubled)},
	"n/2+1":  {"(n / 2 + 1), rounded down", each(func(c *recorded) []int { return []int{c.int("n", 0)/2 + 1} })},
	"stft":   {"(*, n_fft / 2 + 1 or n_fft, frames), with 2 behind where the result is real", each(stftShape)},

	// layers
	"conv":           {"(N, C_out, ...) of (N, C_in, ...), without N of one without, with (size + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded down, in each dimension", convolved},
	"conv transpose": {"(N, C_out, ...) of (N, C_in, ...), without N of one without, with (size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1 in each dimension", transposedConvolved},
	"pool":           {"that of {input} with (size + 2 padding - dilation (kernel - 1) - 1) / stride + 1 in each dimension, rounded down, up where ceil_mode; stride is the kernel unless given", pooled},
	"adaptive pool": {"that of {input} with output_size in the last dimensions", like(func(c *recorded, s []int) []int {
		out, _ := c.ints("output_size")
		return append(slices.Clone(s[:len(s)-len(out)]), out...)
	})},
	"padded": {"that of {input} and, from the last dimension on, a pair of pad added to each size", like(padded)},
	"shuffled up": notationBy("(*, C r·r, H, W) → (*, C, H r, W r), where r is upscale_factor", func(s []int, r int) []int {
		return append(slices.Clone(s[:len(s)-3]), s[len(s)-3]/r/r, s[len(s)-2]*r, s[len(s)-1]*r)
	}, "upscale_factor"),
	"shuffled down": notationBy("(*, C, H r, W r) → (*, C r·r, H, W), where r is downscale_factor", func(s []int, r int) []int {
		return append(slices.Clone(s[:len(s)-3]), s[len(s)-3]*r*r, s[len(s)-2]/r, s[len(s)-1]/r)
	}, "downscale_factor"),
	"looked up": {"that of indices, and the width of a row of weight behind", each(func(c *recorded) []int {
		w, ok := c.tensor("weight")
		x, ok2 := c.tensor("indices")
		if !ok || !ok2 || len(w.shape) != 2 {
			return nil
		}
		return append(slices.Clone(x.shape), w.shape[1])
	})},
	"sampled": {"(N, C, ...) of an input (N, C, ...), with the sizes of grid (N, ..., 2 or 3) behind", each(func(c *recorded) []int {
		x, ok := c.tensor("input")
		g, ok2 := c.tensor("grid")
		if !ok || !ok2 {
			return nil
		}
		return append(slices.Clone(x.shape[:2]), g.shape[1:len(g.shape)-1]...)
	})},
	"loss": {"what {tensors} broadcast to where reduction is 0, as without it; () where it is 1, the mean, or 2, the sum", each(func(c *recorded) []int {
		if r := c.int("reduction", 0); r == 1 || r == 2 {
			return []int{}
		}
		return broadcast(shapesOf(c.tensors())...)
	})},
	"row loss": {"what {tensors} broadcast to, without the last dimension, where reduction is 0, as without it; () where it is 1, the mean, or 2, the sum", each(func(c *recorded) []int {
		if r := c.int("reduction", 0); r == 1 || r == 2 {
			return []int{}
		}
		var rows [][]int
		for _, name := range []string{"anchor", "positive", "negative", "input1", "input2"} {
			if t, ok := c.tensor(name); ok {
				rows = append(rows, t.shape)
			}
		}
		s := broadcast(rows...)
		return s[:max(0, len(s)-1)]
	})},
}

func unique(c *recorded) [][]int {
	x, _ := c.first()
	values, places, dim := []int{-1}, x.shape, len(x.shape)
	if c.given("dim") {
		dim = wrapped(c.int("dim", 0), len(x.shape))
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
