package main

import "slices"

// singleRules are of what makes tensors, and of single functions: what is looked for,
// drawn, factored, recurrent or sparse.
var singleRules = map[string]shapeRule{
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
}
