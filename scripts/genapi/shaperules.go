package main

import (
	"fmt"
	"slices"
	"strings"
)

// What a function returns is a rule of shape and a rule of dtype; shapes.txt says which
// ones. A rule is a text for the documentation, and the same thing computed, which a
// test holds against calls of PyTorch that were recorded.

// A shapeRule says what shapes the results have.
type shapeRule struct {
	text string // "{input}" stands for the name of the first tensor, "{tensors}" for all of them
	// of computes the shape of each tensor that is returned, in order; nil where it
	// cannot say. -1 is a size that the elements decide.
	of func(c *recorded) [][]int
}

// A tensor is what a rule sees of one.
type tensor struct {
	dtype string
	shape []int
}

// A recorded is a call with its arguments by the names of the parameters.
type recorded struct {
	name    string
	args    map[string]any // int, float64, complex128, bool, string, tensor, dtypeName, []any, nil
	order   []string       // of the parameters
	decided bool           // by the elements of a tensor that stands for numbers
	results []tensor
}

type dtypeName string

// first is the first tensor that is given.
func (c *recorded) first() (tensor, bool) {
	if all := c.tensors(); len(all) > 0 {
		return all[0], true
	}
	return tensor{}, false
}

// tensors are those that are given, also in lists, without out.
func (c *recorded) tensors() (all []tensor) {
	for _, name := range c.order {
		if name == "out" {
			continue
		}
		switch v := c.args[name].(type) {
		case tensor:
			all = append(all, v)
		case []any:
			for _, item := range v {
				if t, ok := item.(tensor); ok {
					all = append(all, t)
				}
			}
		}
	}
	return all
}

func (c *recorded) tensor(name string) (tensor, bool) {
	t, ok := c.args[name].(tensor)
	return t, ok
}

// list is an argument that holds tensors.
func (c *recorded) list(name string) (all []tensor) {
	for _, item := range c.items(name) {
		if t, ok := item.(tensor); ok {
			all = append(all, t)
		}
	}
	return all
}

func (c *recorded) items(name string) []any {
	list, _ := c.args[name].([]any)
	return list
}

// int is an argument that is a number; def where it is not given.
func (c *recorded) int(name string, def int) int {
	switch v := c.args[name].(type) {
	case int:
		return v
	case tensor:
		c.decided = true
	case bool:
		if v {
			return 1
		}
		return 0
	case []any:
		if len(v) == 1 {
			if n, ok := v[0].(int); ok {
				return n
			}
		}
	}
	return def
}

func (c *recorded) given(name string) bool { return c.args[name] != nil }

func (c *recorded) bool(name string) bool { return c.args[name] == true }

// ints is an argument that is a list of numbers, or one; ok is false for none.
func (c *recorded) ints(name string) (list []int, ok bool) {
	switch v := c.args[name].(type) {
	case int:
		return []int{v}, true
	case []any:
		list = []int{}
		for _, item := range v {
			n, isInt := item.(int)
			if _, isTensor := item.(tensor); isTensor {
				c.decided = true
			}
			if !isInt {
				return nil, false
			}
			list = append(list, n)
		}
		return list, true
	case tensor:
		c.decided = true
	}
	return nil, false
}

// pair is ints of a fixed length, of which one stands for all.
func (c *recorded) times(name string, n, def int) []int {
	list, ok := c.ints(name)
	if !ok || len(list) == 0 {
		list = []int{def}
	}
	if len(list) == 1 {
		return slices.Repeat(list, n)
	}
	return list
}

// wrap counts a dimension from the front.
func wrapped(dim, n int) int {
	if dim < 0 {
		dim += max(n, 1)
	}
	return dim
}

func replaced(shape []int, at, size int) []int {
	out := slices.Clone(shape)
	if at >= 0 && at < len(out) {
		out[at] = size
	}
	return out
}

func without(shape []int, at int) []int {
	if at < 0 || at >= len(shape) {
		return slices.Clone(shape)
	}
	return slices.Delete(slices.Clone(shape), at, at+1)
}

// broadcast is the shape that several have in common, nil where there is none.
func broadcast(shapes ...[]int) []int {
	out := []int{}
	for _, s := range shapes {
		for len(out) < len(s) {
			out = append([]int{1}, out...)
		}
		for i := range s {
			at := &out[len(out)-len(s)+i]
			switch {
			case *at == 1:
				*at = s[i]
			case s[i] != 1 && s[i] != *at:
				return nil
			}
		}
	}
	return out
}

func shapesOf(tensors []tensor) [][]int {
	all := make([][]int, len(tensors))
	for i, t := range tensors {
		all[i] = t.shape
	}
	return all
}

// each gives every result one shape.
func each(f func(c *recorded) []int) func(c *recorded) [][]int {
	return func(c *recorded) [][]int {
		shape := f(c)
		if shape == nil {
			return nil
		}
		all := make([][]int, len(c.results))
		for i := range all {
			all[i] = shape
		}
		return all
	}
}

// like is a rule by the first tensor.
func like(f func(c *recorded, shape []int) []int) func(c *recorded) [][]int {
	return each(func(c *recorded) []int {
		t, ok := c.first()
		if !ok {
			return nil
		}
		return f(c, t.shape)
	})
}

// reduced is a shape without some dimensions, or with 1 there.
func reduced(shape, dims []int, all, keep bool) []int {
	out := []int{}
	for i, n := range shape {
		gone := all
		for _, d := range dims {
			gone = gone || wrapped(d, len(shape)) == i
		}
		switch {
		case !gone:
			out = append(out, n)
		case keep:
			out = append(out, 1)
		}
	}
	return out
}

// A notation is "(*, n, m), (*, m, p) → (*, n, p)": the shapes of the first tensors and
// of the results. A name stands for one size, * for any number of them, which is
// broadcast where it stands before several tensors; sizes may be sums, products and
// minima of names, and n? a dimension that may be missing.
func notation(text string) shapeRule {
	in, out, _ := strings.Cut(text, " → ")
	return shapeRule{text: "{notation}" + text, of: func(c *recorded) [][]int {
		sizes, star := map[string]int{}, [][]int{}
		patterns, tensors := readShapes(in), c.tensors()
		if len(tensors) < len(patterns) {
			return nil
		}
		for i, p := range patterns {
			s, ok := match(p, tensors[i].shape, sizes)
			if !ok {
				return nil
			}
			star = append(star, s)
		}
		common := broadcast(star...)
		var all [][]int
		for _, p := range readShapes(out) {
			shape := []int{}
			for _, d := range p {
				if d == "*" {
					shape = append(shape, common...)
					continue
				}
				n, ok := evaluate(d, sizes)
				if !ok {
					return nil
				}
				shape = append(shape, n)
			}
			all = append(all, shape)
		}
		return all
	}}
}

// readShapes reads "(n, m), ()".
func readShapes(text string) (all [][]string) {
	for text != "" {
		depth, end := 0, -1
		for i := range text {
			switch text[i] {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				end = i
				break
			}
		}
		shape := []string{}
		inner := text[1:end]
		for inner != "" {
			part := inner
			if i := topComma(inner); i >= 0 {
				part, inner = inner[:i], inner[i+1:]
			} else {
				inner = ""
			}
			shape = append(shape, strings.TrimSpace(part))
		}
		all = append(all, shape)
		text = strings.TrimPrefix(text[end+1:], ", ")
	}
	return all
}

func topComma(s string) int {
	depth := 0
	for i := range s {
		switch {
		case s[i] == '(':
			depth++
		case s[i] == ')':
			depth--
		case s[i] == ',' && depth == 0:
			return i
		}
	}
	return -1
}

// match binds the names of a pattern to the sizes of a shape, and returns what * is.
func match(pattern []string, shape []int, sizes map[string]int) (star []int, ok bool) {
	at := slices.Index(pattern, "*")
	if at < 0 && len(pattern) != len(shape) || at >= 0 && len(shape) < len(pattern)-1 {
		return nil, false
	}
	bind := func(name string, n int) bool {
		known, bound := sizes[name]
		sizes[name] = n
		return !bound || known == n
	}
	end := len(pattern)
	if at >= 0 {
		end = at
	}
	for i := range end {
		if !bind(pattern[i], shape[i]) {
			return nil, false
		}
	}
	if at < 0 {
		return nil, true
	}
	tail := pattern[at+1:]
	for i, name := range tail {
		if !bind(name, shape[len(shape)-len(tail)+i]) {
			return nil, false
		}
	}
	return shape[at : len(shape)-len(tail)], true
}

// evaluate computes a size: a number, a name, a sum or a product of two, min(a, b).
func evaluate(text string, sizes map[string]int) (int, bool) {
	if rest, ok := strings.CutPrefix(text, "min("); ok {
		a, b, _ := strings.Cut(strings.TrimSuffix(rest, ")"), ", ")
		x, okX := sizes[a]
		y, okY := sizes[b]
		return min(x, y), okX && okY
	}
	for _, sign := range []string{" + ", " - ", "·"} {
		if a, b, ok := strings.Cut(text, sign); ok {
			x, okX := evaluate(a, sizes)
			y, okY := evaluate(b, sizes)
			switch sign {
			case " + ":
				x += y
			case " - ":
				x -= y
			default:
				x *= y
			}
			return x, okX && okY
		}
	}
	if n, ok := sizes[text]; ok {
		return n, true
	}
	n := 0
	_, err := fmt.Sscan(text, &n)
	return n, err == nil
}
