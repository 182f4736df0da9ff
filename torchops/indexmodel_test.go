package torchops

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// A naive model of t[index]: it says of each element of the result where in t it
// is. Basic parts make a view; what is a tensor, a list or a bool indexes that at
// the end, and lands where it stood if it stood together, and in front otherwise.

// A modelAxis is a dimension of the view.
type modelAxis struct {
	dim, start, step, size int        // of t; dim is -1 for a new one
	index                  *modelInts // what indexes it, nil for nothing
}

// modelInts is an index tensor.
type modelInts struct {
	shape []int
	data  []int
}

// unravel returns the coordinates of element i.
func unravel(i int, shape []int) []int {
	at := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d], i = i%shape[d], i/shape[d]
	}
	return at
}

// at reads an element of x broadcast to more dimensions.
func (x *modelInts) at(coordinates []int) int {
	n := 0
	coordinates = coordinates[len(coordinates)-len(x.shape):]
	for d, size := range x.shape {
		n *= size
		if size > 1 {
			n += coordinates[d]
		}
	}
	return x.data[n]
}

// modelIndex returns the shape of the result and the place of each element.
func modelIndex(shape []int, axes []modelAxis, fixed map[int]int) (out, places []int) {
	var broadcast, indexed []int
	for i, a := range axes {
		if a.index == nil {
			continue
		}
		indexed = append(indexed, i)
		for len(broadcast) < len(a.index.shape) {
			broadcast = slices.Insert(broadcast, 0, 1)
		}
		for d, size := range a.index.shape {
			if at := len(broadcast) - len(a.index.shape) + d; size != 1 {
				broadcast[at] = size
			}
		}
	}
	front := 0
	if n := len(indexed); n > 0 && indexed[n-1]-indexed[0] == n-1 {
		front = indexed[0]
	}
	var plain []int
	for i, a := range axes {
		if a.index == nil {
			plain = append(plain, i)
			out = append(out, a.size)
		}
	}
	if indexed == nil {
		front = 0
	}
	out = slices.Insert(out, front, broadcast...)
	for i := range product(out) {
		at := unravel(i, out)
		chosen := at[front : front+len(broadcast)]
		rest := slices.Concat(at[:front], at[front+len(broadcast):])
		where := make([]int, len(shape))
		for d, n := range fixed {
			where[d] = n
		}
		for k, axis := range plain {
			if a := axes[axis]; a.dim >= 0 {
				where[a.dim] = a.start + a.step*rest[k]
			}
		}
		for _, axis := range indexed {
			if a := axes[axis]; a.dim >= 0 {
				n := a.index.at(chosen)
				if n < 0 {
					n += a.size
				}
				where[a.dim] = a.start + a.step*n
			}
		}
		place := 0
		for d, size := range shape {
			place = place*size + where[d]
		}
		places = append(places, place)
	}
	return out, places
}

// A drawnIndex is a subscript with its meaning in the model.
type drawnIndex struct {
	shape  []int
	parts  []any
	axes   []modelAxis
	fixed  map[int]int
	common []int // shape of the index tensors
	free   func(*Tensor)
}

func (x *drawnIndex) whole(dim int) {
	x.axes = append(x.axes, modelAxis{dim: dim, step: 1, size: x.shape[dim]})
}

// draw draws a subscript of a tensor.
func drawIndex(t *rapid.T, shape []int, free func(*Tensor)) *drawnIndex {
	x := &drawnIndex{shape: shape, fixed: map[int]int{}, free: free}
	x.common = rapid.SliceOfN(rapid.IntRange(1, 3), 1, 2).Draw(t, "shape of index tensors")
	kinds := []string{"int", "slice", "none", "whole", "tensor", "list", "true"}
	ellipsis, mask := rapid.Bool().Draw(t, "ellipsis"), rapid.IntRange(0, 3).Draw(t, "mask") == 0
	if mask {
		x.common = []int{1}
		kinds = append(kinds, "mask", "mask", "false")
	}
	dim := 0
	for dim < len(shape) && rapid.IntRange(0, 9).Draw(t, "go on") > 0 {
		if ellipsis && rapid.Bool().Draw(t, "now") {
			ellipsis = false
			skipped := rapid.IntRange(0, len(shape)-dim).Draw(t, "skipped")
			left := len(shape) - dim - skipped
			for range skipped {
				x.whole(dim)
				dim++
			}
			x.parts = append(x.parts, Ellipsis)
			for range left { // each dimension that is left needs a part, or the ellipsis takes it
				x.one(t, dim, []string{"int", "slice", "tensor"})
				dim++
			}
			continue
		}
		dim += x.one(t, dim, kinds)
	}
	for ; dim < len(shape); dim++ {
		x.whole(dim)
	}
	return x
}

// one draws a part and returns how many dimensions it takes.
func (x *drawnIndex) one(t *rapid.T, dim int, kinds []string) int {
	size := x.shape[dim]
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	if size == 0 && (kind == "int" || kind == "tensor" || kind == "list") {
		kind = "slice"
	}
	switch kind {
	case "int":
		n := rapid.IntRange(-size, size-1).Draw(t, "int")
		x.parts = append(x.parts, n)
		x.fixed[dim] = (n + size) % size
	case "whole":
		x.parts = append(x.parts, Slice(nil, nil, nil))
		x.whole(dim)
	case "slice":
		x.slice(t, dim)
	case "none":
		x.parts = append(x.parts, nil)
		x.axes = append(x.axes, modelAxis{dim: -1, size: 1})
		return 0
	case "true", "false":
		x.parts = append(x.parts, kind == "true")
		index := &modelInts{shape: []int{1}, data: []int{0}}
		if kind == "false" {
			index = &modelInts{shape: []int{0}}
		}
		x.axes = append(x.axes, modelAxis{dim: -1, size: 1, index: index})
		return 0
	case "tensor", "list":
		x.integers(t, dim, kind == "list")
	case "mask":
		return x.mask(t, dim)
	}
	return 1
}

func (x *drawnIndex) slice(t *rapid.T, dim int) {
	size := x.shape[dim]
	bound := func(what string, absent int) (Int, int) {
		n := rapid.IntRange(-size-2, size+2).Draw(t, what)
		if rapid.IntRange(0, 3).Draw(t, "no "+what) == 0 {
			return nil, absent
		}
		at := n
		if at < 0 {
			at += size
		}
		return n, min(max(at, 0), size)
	}
	from, start := bound("start", 0)
	to, stop := bound("stop", size)
	step := rapid.IntRange(1, 3).Draw(t, "step")
	x.parts = append(x.parts, Slice(from, to, step))
	x.axes = append(x.axes, modelAxis{dim: dim, start: start, step: step, size: max(0, (stop-start+step-1)/step)})
}

// integers draws an index tensor that broadcasts to the common shape.
func (x *drawnIndex) integers(t *rapid.T, dim int, asList bool) {
	size := x.shape[dim]
	shape := slices.Clone(x.common[rapid.IntRange(0, len(x.common)-1).Draw(t, "dims"):])
	for d := range shape {
		if rapid.IntRange(0, 3).Draw(t, "one") == 0 {
			shape[d] = 1
		}
	}
	if asList {
		shape = shape[len(shape)-1:]
	}
	data := rapid.SliceOfN(rapid.IntRange(-size, size-1), product(shape), product(shape)).Draw(t, "indices")
	if asList {
		x.parts = append(x.parts, data)
	} else {
		x.parts = append(x.parts, x.tensor(t, data, shape))
	}
	x.axes = append(x.axes, modelAxis{dim: dim, step: 1, size: size, index: &modelInts{shape, data}})
}

func (x *drawnIndex) tensor(t *rapid.T, data []int, shape []int) *Tensor {
	wide := make([]int64, len(data))
	for i, n := range data {
		wide[i] = int64(n)
	}
	made, err := FromBytes(Int64, shape, bytesOf(wide))
	require.NoError(t, err)
	x.free(made)
	return made
}

// mask draws a mask of one dimension or more, whose true elements all index
// tensors of one element broadcast to.
func (x *drawnIndex) mask(t *rapid.T, dim int) int {
	for _, a := range x.axes {
		if a.index != nil && product(a.index.shape) != 1 {
			x.whole(dim) // another mask or False: two lengths do not broadcast
			x.parts = append(x.parts, Slice(nil, nil, nil))
			return 1
		}
	}
	dims := rapid.IntRange(1, len(x.shape)-dim).Draw(t, "dims of the mask")
	shape := x.shape[dim : dim+dims]
	bits := rapid.SliceOfN(rapid.Bool(), product(shape), product(shape)).Draw(t, "mask")
	made, err := From(bits, shape...)
	require.NoError(t, err)
	x.free(made)
	x.parts = append(x.parts, made)
	first := len(x.axes)
	for d := range dims {
		x.axes = append(x.axes, modelAxis{dim: dim + d, step: 1, size: shape[d], index: &modelInts{shape: []int{0}}})
	}
	for i, bit := range bits {
		if !bit {
			continue
		}
		for d, n := range unravel(i, shape) {
			index := x.axes[first+d].index
			index.data = append(index.data, n)
			index.shape[0]++
		}
	}
	return dims
}

// Indexing is the model's, read and assigned: numbers, and tensors that are
// broadcast or have the shape of the place.
func TestIndexingIsTheModels(t *testing.T) {
	testenv.Libtorch(t)
	rapid.Check(t, func(t *rapid.T) {
		s := NewScope()
		defer s.Close()
		shape := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 4).Draw(t, "shape")
		data := make([]int64, product(shape))
		for i := range data {
			data[i] = int64(i)
		}
		x, err := FromBytes(Int64, shape, bytesOf(slices.Clone(data)))
		require.NoError(t, err)
		s.Add(x)
		d := drawIndex(t, shape, func(made *Tensor) { s.Add(made) })
		if masks := slices.IndexFunc(d.axes, func(a modelAxis) bool { return a.index != nil && product(a.index.shape) == 0 }); masks >= 0 {
			for _, a := range d.axes {
				if a.index != nil && product(a.index.shape) > 1 {
					t.Skip("False and a mask: two lengths do not broadcast")
				}
			}
		}
		out, places := modelIndex(shape, d.axes, d.fixed)
		got, err := Try(func() *Tensor { return x.Index(d.parts...) })
		require.NoError(t, err, "%v of %v", d.parts, shape)
		require.Equal(t, append([]int{}, out...), got.Shape(), "%v of %v", d.parts, shape)
		have, err := Data[int64](got.Contiguous())
		require.NoError(t, err)
		for i, place := range places {
			require.Equal(t, int64(place), have[i], "element %d of %v of %v", i, d.parts, shape)
		}

		// what is assigned depends on its place alone, since one may be named twice
		want := slices.Clone(data)
		var value any
		switch rapid.SampledFrom([]string{"number", "one element", "shape", "leading ones"}).Draw(t, "value") {
		case "number":
			value = 100
			for _, place := range places {
				want[place] = 100
			}
		case "one element":
			value = d.tensor(t, []int{100}, []int{1})
			for _, place := range places {
				want[place] = 100
			}
		default:
			values := make([]int, len(places))
			for i, place := range places {
				values[i] = 100 + place
				want[place] = int64(100 + place)
			}
			if rapid.Bool().Draw(t, "leading") {
				out = append([]int{1}, out...)
			}
			value = d.tensor(t, values, out)
		}
		_, err = Try(func() any { x.SetIndex(value, d.parts...); return nil })
		require.NoError(t, err, "%v of %v", d.parts, shape)
		after, err := Data[int64](x)
		require.NoError(t, err)
		require.Equal(t, want, append([]int64{}, after...), "%v of %v", d.parts, shape)
	})
}
