package main

// dimRules are of what keeps a shape, and of what goes along a dimension.
var dimRules = map[string]shapeRule{
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
}
