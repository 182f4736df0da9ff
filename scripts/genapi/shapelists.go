package main

// listRules are of lists of tensors, given or returned.
var listRules = map[string]shapeRule{
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
}

// linearRules are of linear algebra.
var linearRules = map[string]shapeRule{
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
}
