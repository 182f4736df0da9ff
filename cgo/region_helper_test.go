package libtorch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// openDelegate opens the delegate that is set up, or skips the test.
func openDelegate(tb testing.TB) *Delegate {
	tb.Helper()
	d, err := OpenDelegateFile(testenv.Delegate(tb))
	require.NoError(tb, err)
	return d
}

// random makes a float32 tensor of numbers in [-1, 1), the same for the same seed.
func random(tb testing.TB, seed uint64, sizes ...int64) *Tensor {
	tb.Helper()
	n := int64(1)
	for _, s := range sizes {
		n *= s
	}
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	v := make([]float32, n)
	for i := range v {
		v[i] = 2*r.Float32() - 1
	}
	return floats(tb, sizes, v...)
}

// one is the only result of an operator.
func one(tb testing.TB, op string, args ...any) *Tensor {
	tb.Helper()
	t, ok := call(tb, nil, op, args...)[0].(*Tensor)
	require.True(tb, ok, op)
	return t
}

// channelsLast is t in that memory format; tensors without four or five
// dimensions stay as they are.
func channelsLast(tb testing.TB, t *Tensor) *Tensor {
	tb.Helper()
	info, err := t.Info()
	require.NoError(tb, err)
	switch len(info.Sizes) {
	case 4:
		return one(tb, "aten::clone", t, ir.ChannelsLast)
	case 5:
		return one(tb, "aten::clone", t, ir.ChannelsLast3D)
	}
	return t
}

// A regionCase is a region beside what libtorch's operators make of the same.
type regionCase struct {
	name      string
	inputs    [][]int64
	constants [][]int64
	build     func(p *delegate.Program, in, c []delegate.Value) []delegate.Value
	eager     func(tb testing.TB, in, c []*Tensor) []*Tensor

	// terms are the products that go into one element of a result: the order in
	// which they are added is the kernels' own. With n terms of size up to 1 the result
	// may be off by n rounding errors of the sum, so by n·n·2^-24 at worst; errors do not all
	// have one sign, so that a few times n·2^-24 is what is allowed. Functions like exp
	// are polynomials of their own, within some units of the last place.
	terms int
}

func (c regionCase) tolerance() float64 { return 4 * math.Pow(2, -24) * float64(max(c.terms, 8)) }

// program builds the case's program with outputs in a format.
func (c regionCase) program(layouts delegate.Layouts, f delegate.Format) *delegate.Program {
	p := &delegate.Program{Layouts: layouts}
	var in, constants []delegate.Value
	for range c.inputs {
		in = append(in, p.Input())
	}
	for range c.constants {
		constants = append(constants, p.Constant())
	}
	for _, out := range c.build(p, in, constants) {
		p.Output(out, f)
	}
	return p
}

func (c regionCase) tensors(tb testing.TB) (inputs, constants []*Tensor) {
	for i, sizes := range c.inputs {
		inputs = append(inputs, random(tb, uint64(i), sizes...))
	}
	for i, sizes := range c.constants {
		constants = append(constants, random(tb, uint64(100+i), sizes...))
	}
	return inputs, constants
}

// check runs the case with the inputs and compares with what is wanted. It
// returns the class, which is closed with the test.
func (c regionCase) check(tb testing.TB, r *Region, inputs, want []*Tensor, f delegate.Format) *RegionClass {
	tb.Helper()
	class, err := r.Prepare(inputs, 1)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = class.Close() })
	got, err := class.Run(tb.Context(), inputs)
	require.NoError(tb, err)
	tb.Cleanup(func() { closeTensors(got) })
	require.Len(tb, got, len(want))
	for i := range got {
		requireFormat(tb, got[i], f)
		requireClose(tb, want[i], got[i], c.tolerance(), class)
	}
	return class
}

// requireFormat checks the strides of a result.
func requireFormat(tb testing.TB, t *Tensor, f delegate.Format) {
	tb.Helper()
	info, err := t.Info()
	require.NoError(tb, err)
	spatial := len(info.Sizes) == 4 || len(info.Sizes) == 5
	same := t
	switch {
	case f == delegate.ChannelsLast && spatial:
		same = channelsLast(tb, t)
	case f == delegate.Contiguous || !spatial:
		same = one(tb, "aten::clone", t, ir.ContiguousFormat)
	}
	want, err := same.Info()
	require.NoError(tb, err)
	for i, n := range info.Sizes {
		if n != 1 {
			require.Equal(tb, want.Strides[i], info.Strides[i], "strides of %v", info.Sizes)
		}
	}
}

// difference is the largest of two tensors of the same sizes, as requireClose
// measures it. It may be called by any goroutine.
func difference(want, got *Tensor) float64 {
	read := func(t *Tensor) []float32 {
		info, err := t.Info()
		if err != nil {
			return nil
		}
		out := make([]float32, info.Numel)
		if _, err := t.CopyBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), 4*len(out))); err != nil {
			return nil
		}
		return out
	}
	a, b := read(want), read(got)
	if a == nil || len(a) != len(b) {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range a {
		if off := math.Abs(float64(a[i])-float64(b[i])) / (1 + math.Abs(float64(a[i]))); !(off <= worst) {
			worst = off
		}
	}
	return worst
}

// requireClose compares all elements, within tolerance times what is added: 1 and
// the larger of the magnitudes.
func requireClose(tb testing.TB, want, got *Tensor, tolerance float64, class *RegionClass) {
	tb.Helper()
	a, b := values(tb, want), values(tb, got)
	w, err := want.Info()
	require.NoError(tb, err)
	g, err := got.Info()
	require.NoError(tb, err)
	require.Equal(tb, w.Sizes, g.Sizes)
	worst, at := 0.0, 0
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		if x == y || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		off := math.Abs(x-y) / (1 + math.Abs(x))
		if !(off <= worst) {
			worst, at = off, i
		}
	}
	if !(worst <= tolerance) {
		require.Fail(tb, fmt.Sprintf("element %d of %v: expected %v, got %v: off by %.3g, %.3g allowed", at, w.Sizes, a[at], b[at], worst, tolerance), class.Describe())
	}
}
