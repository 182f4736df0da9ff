package main

import "slices"

// productRules are of products of matrices and vectors.
var productRules = map[string]shapeRule{
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
}

// layerRules are of Fourier transforms and of layers.
var layerRules = map[string]shapeRule{
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
