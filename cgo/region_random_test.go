package libtorch

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/cgo/delegate"
)

// TestRandomRegions makes graphs in which values have several readers, sums meet
// what kernels read, views and outputs, and compares with libtorch: what is written over
// what, and when, has to be right in all of them.
func TestRandomRegions(t *testing.T) {
	d := openDelegate(t)
	rapid.Check(t, func(rt *rapid.T) {
		channels := rapid.SampledFrom([]int64{16, 24, 5}).Draw(rt, "channels")
		size := []int64{rapid.Int64Range(1, 2).Draw(rt, "batch"), channels, rapid.Int64Range(1, 7).Draw(rt, "height"), rapid.Int64Range(1, 7).Draw(rt, "width")}
		g := &graph{t: t, p: &delegate.Program{Layouts: delegate.Layouts(rapid.IntRange(0, 3).Draw(rt, "layouts"))}}
		for i := range rapid.IntRange(1, 2).Draw(rt, "inputs") {
			x := random(t, uint64(i), size...)
			if rapid.Bool().Draw(rt, "channels last") {
				x = channelsLast(t, x)
			}
			g.inputs = append(g.inputs, x)
			g.add(g.p.Input(), x)
		}
		for range rapid.IntRange(1, 12).Draw(rt, "nodes") {
			g.step(rt, size)
		}
		// what nothing reads is an output, and some of the rest
		var want []*Tensor
		format := delegate.Format(rapid.IntRange(0, 2).Draw(rt, "format"))
		for i := range g.values {
			if !g.read[i] && i >= len(g.inputs) || rapid.IntRange(0, 9).Draw(rt, "also an output") == 0 {
				g.p.Output(g.values[i], format)
				want = append(want, g.eager[i])
			}
		}
		if len(want) == 0 {
			return
		}
		r, err := d.Compile(g.p, g.constants)
		require.NoError(rt, err)
		defer r.Close()
		class, err := r.Prepare(g.inputs, 1)
		require.NoError(rt, err)
		defer class.Close()
		for range 2 { // on fresh memory and on memory that was used
			got, err := class.Run(t.Context(), g.inputs)
			require.NoError(rt, err)
			for i := range got {
				// errors of a sum pass through the ones behind it; all are bounded by tanh and the weights' scale
				if off := difference(want[i], got[i]); off > 1e-4 || math.IsNaN(off) {
					rt.Fatalf("output %d is off by %g\n%s", i, off, class.Describe())
				}
			}
			closeTensors(got)
		}
	})
}

// A graph is a region and its values as libtorch computes them.
type graph struct {
	t         *testing.T
	p         *delegate.Program
	inputs    []*Tensor
	constants []*Tensor
	values    []delegate.Value
	eager     []*Tensor
	read      []bool
}

func (g *graph) add(v delegate.Value, x *Tensor) {
	g.values, g.eager, g.read = append(g.values, v), append(g.eager, x), append(g.read, false)
}

// constant adds one whose sums with numbers up to 1 stay there.
func (g *graph) constant(sizes ...int64) (delegate.Value, *Tensor) {
	terms := int64(1)
	for _, s := range sizes[1:] {
		terms *= s
	}
	x := one(g.t, "aten::mul.Scalar", random(g.t, uint64(len(g.constants)+50), sizes...), 2/math.Sqrt(float64(terms)))
	g.constants = append(g.constants, x)
	return g.p.Constant(), x
}

// step adds a node, with what follows it in one chain now and then.
func (g *graph) step(rt *rapid.T, size []int64) {
	pick := func() int {
		i := rapid.IntRange(0, len(g.values)-1).Draw(rt, "operand")
		g.read[i] = true
		return i
	}
	i := pick()
	v, x := g.values[i], g.eager[i]
	c := size[1]
	switch rapid.IntRange(0, 7).Draw(rt, "operator") {
	case 0, 1, 2:
		kernel, groups := rapid.SampledFrom([]int64{1, 3}).Draw(rt, "kernel"), rapid.SampledFrom([]int64{1, c}).Draw(rt, "groups")
		geometry := delegate.Convolution{Padding: []int64{kernel / 2, kernel / 2}, Groups: groups}
		w, wt := g.constant(c, c/groups, kernel, kernel)
		b, bt := g.constant(c)
		g.add(g.p.Convolution(v, w, b, geometry), eagerConvolution(g.t, x, wt, bt, geometry, false))
	case 3:
		f := rapid.SampledFrom(functions()[:12]).Draw(rt, "function")
		g.add(g.p.Eltwise(f.kind, v, f.alpha, f.beta), f.eager(g.t, x))
	case 4, 5:
		j := pick()
		g.add(g.p.Add(v, g.values[j]), one(g.t, "aten::add.Tensor", x, g.eager[j], 1.0))
	case 6:
		j := pick()
		g.add(g.p.Activation(g.p.Binary(delegate.Mul, v, g.values[j]), delegate.Tanh), one(g.t, "aten::tanh", one(g.t, "aten::mul.Tensor", x, g.eager[j])))
	case 7:
		s, st := g.p.AdaptivePool(v, delegate.AveragePool, 1, 1), one(g.t, "aten::mean.dim", x, []int64{2, 3}, true, nil)
		g.add(g.p.Binary(delegate.Mul, v, s), one(g.t, "aten::mul.Tensor", x, st))
	}
	if rapid.IntRange(0, 3).Draw(rt, "bounded") == 0 {
		last := len(g.values) - 1
		g.read[last] = true
		g.add(g.p.Activation(g.values[last], delegate.Tanh), one(g.t, "aten::tanh", g.eager[last]))
	}
}
