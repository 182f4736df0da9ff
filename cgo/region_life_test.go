package libtorch

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/ir"
)

// compiled is the region of a case, closed with the test.
func compiled(tb testing.TB, c regionCase, layouts delegate.Layouts, f delegate.Format, constants []*Tensor) *Region {
	tb.Helper()
	r, err := openDelegate(tb).Compile(c.program(layouts, f), constants)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = r.Close() })
	return r
}

// resized is the case with another batch.
func resized(c regionCase, batch int64) regionCase {
	in := make([][]int64, len(c.inputs))
	for i, sizes := range c.inputs {
		in[i] = append([]int64{batch}, sizes[1:]...)
	}
	c.inputs = in
	return c
}

// TestRegionServesManyShapes has batches that come and come again, more than a
// region remembers, and weights that are packed once for all of them.
func TestRegionServesManyShapes(t *testing.T) {
	c := blockCase()
	_, constants := c.tensors(t)
	r := compiled(t, c, delegate.Measured, delegate.Contiguous, constants)
	var first int64
	for round := range 2 {
		for batch := int64(1); batch <= 40; batch++ {
			b := resized(c, batch)
			inputs, _ := b.tensors(t)
			b.check(t, r, inputs, b.eager(t, inputs, constants), delegate.Contiguous)
			if first == 0 {
				first = r.Bytes()
			}
		}
		require.LessOrEqual(t, r.Bytes(), 3*first, "round %d: copies for layouts that differ by batch, not for each batch", round)
	}
}

// TestRegionOwnsItsConstants closes and overwrites the constants once the region is
// compiled, and prepares for shapes whose kernels want other layouts of them.
func TestRegionOwnsItsConstants(t *testing.T) {
	for _, c := range []regionCase{blockCase(), squeezeCase(), convolutionCases()[9], convolutionCases()[13], linearCase("linear", []int64{2, 64}, 48)} {
		t.Run(c.name, func(t *testing.T) {
			_, constants := c.tensors(t)
			r := compiled(t, c, delegate.Measured, delegate.Contiguous, constants)
			var want [][]*Tensor
			var inputs [][]*Tensor
			for _, batch := range []int64{1, 3, 64} {
				b := resized(c, batch)
				in, _ := b.tensors(t)
				inputs, want = append(inputs, in), append(want, b.eager(t, in, constants))
			}
			for _, k := range constants {
				call(t, nil, "aten::zero_", k)
				require.NoError(t, k.Close())
			}
			for i, in := range inputs {
				c.check(t, r, in, want[i], delegate.Contiguous)
			}
		})
	}
}

// TestRegionReadsStridedTensors has inputs and constants that are views.
func TestRegionReadsStridedTensors(t *testing.T) {
	c := conv("convolution", []int64{2, 16, 6, 8}, 8, []int64{3, 3}, delegate.Convolution{Padding: []int64{1, 1}}, true)
	whole := random(t, 3, 16, 2, 9, 8)
	x := one(t, "aten::slice.Tensor", one(t, "aten::permute", whole, []int64{1, 0, 2, 3}), int64(2), int64(2), int64(8), int64(1))
	w := one(t, "aten::permute", random(t, 4, 3, 3, 16, 8), []int64{3, 2, 0, 1})
	constants := []*Tensor{w, random(t, 5, 8)}
	r := compiled(t, c, delegate.Measured, delegate.ChannelsLast, constants)
	c.check(t, r, []*Tensor{x}, c.eager(t, []*Tensor{x}, constants), delegate.ChannelsLast)

	expanded := one(t, "aten::expand", random(t, 6, 1, 16, 1, 8), []int64{2, 16, 6, 8}, false)
	_, err := r.Prepare([]*Tensor{expanded}, 1)
	require.ErrorIs(t, err, ir.ErrUnsupported)
	assert.ErrorContains(t, err, "expected each element at its own place")
	overlapping := one(t, "aten::as_strided", random(t, 7, 2000), []int64{2, 16, 6, 8}, []int64{8, 16, 3, 1}, nil)
	_, err = r.Prepare([]*Tensor{overlapping}, 1)
	require.ErrorIs(t, err, ir.ErrUnsupported)
	assert.ErrorContains(t, err, "expected dimensions that lie one inside the other")
}

// TestRegionRunsFromManyThreads runs two classes of one region from many
// goroutines, each with inputs of its own, while others prepare.
func TestRegionRunsFromManyThreads(t *testing.T) {
	c := blockCase()
	_, constants := c.tensors(t)
	r := compiled(t, c, delegate.Measured, delegate.Contiguous, constants)
	const goroutines, runs = 16, 40
	cases := make([]regionCase, goroutines)
	inputs, want := make([][]*Tensor, goroutines), make([][]*Tensor, goroutines)
	for i := range goroutines {
		cases[i] = resized(c, int64(1+i%5))
		in, _ := cases[i].tensors(t)
		in[0] = one(t, "aten::mul.Scalar", in[0], 1/float64(i+1))
		inputs[i], want[i] = in, cases[i].eager(t, in, constants)
	}
	var wg sync.WaitGroup
	errs := make(chan error, goroutines)
	for i := range goroutines {
		wg.Go(func() {
			for range runs {
				class, err := r.Prepare(inputs[i], 1)
				if err != nil {
					errs <- err
					return
				}
				got, err := class.Run(context.Background(), inputs[i])
				_ = class.Close()
				if err != nil {
					errs <- err
					return
				}
				for k := range got {
					if off := difference(want[i][k], got[k]); off > c.tolerance() {
						errs <- fmt.Errorf("goroutine %d, output %d: off by %g", i, k, off)
					}
				}
				closeTensors(got)
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

// TestRegionRunsOnTwoThreads compares a team's results with one thread's.
func TestRegionRunsOnTwoThreads(t *testing.T) {
	c := blockCase()
	inputs, constants := c.tensors(t)
	r := compiled(t, c, delegate.Measured, delegate.Contiguous, constants)
	want := c.eager(t, inputs, constants)
	class, err := r.Prepare(inputs, 2)
	require.NoError(t, err)
	defer class.Close()
	assert.Contains(t, class.Describe(), "2 threads")
	for range 20 {
		got, err := class.Run(t.Context(), inputs)
		require.NoError(t, err)
		for i := range got {
			requireClose(t, want[i], got[i], c.tolerance(), class)
		}
		closeTensors(got)
	}
}

func TestRegionIsCancelled(t *testing.T) {
	c := blockCase()
	inputs, constants := c.tensors(t)
	r := compiled(t, c, delegate.AnyLayout, delegate.Contiguous, constants)
	class, err := r.Prepare(inputs, 1)
	require.NoError(t, err)
	defer class.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for { // the flag is set by a goroutine, which may be late
		got, err := class.Run(ctx, inputs)
		if err != nil {
			require.ErrorIs(t, err, ir.ErrCancelled)
			break
		}
		closeTensors(got)
		runtime.Gosched()
	}
	got, err := class.Run(t.Context(), inputs)
	require.NoError(t, err, "the class is as it was")
	closeTensors(got)
}

// TestRegionOutlivesWhatMadeIt closes in all orders.
func TestRegionOutlivesWhatMadeIt(t *testing.T) {
	c := blockCase()
	inputs, constants := c.tensors(t)
	r := compiled(t, c, delegate.AnyLayout, delegate.Contiguous, constants)
	class, err := r.Prepare(inputs, 1)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close(), "twice does nothing")
	_, err = r.Prepare(inputs, 1)
	require.ErrorIs(t, err, ir.ErrClosed)
	got, err := class.Run(t.Context(), inputs)
	require.NoError(t, err, "a class holds what it needs")
	closeTensors(got)
	require.NoError(t, class.Close())
	_, err = class.Run(t.Context(), inputs)
	require.ErrorIs(t, err, ir.ErrClosed)
}

// TestRegionInBFloat16 compares with float32: a result has 8 bits, and what is
// between kernels too.
func TestRegionInBFloat16(t *testing.T) {
	c := fusedCases()[0]
	inputs, constants := c.tensors(t)
	short := func(all []*Tensor) (out []*Tensor) {
		for _, x := range all {
			out = append(out, one(t, "aten::_to_copy", x, ir.BFloat16, nil, nil, nil, false, nil))
		}
		return out
	}
	in, k := short(inputs), short(constants)
	r := compiled(t, c, delegate.Measured, delegate.Contiguous, k)
	class, err := r.Prepare(in, 1)
	if err != nil {
		require.ErrorIs(t, err, ir.ErrUnsupported)
		t.Skipf("SKIPPED, needs a processor with bfloat16: %v", err)
	}
	defer class.Close()
	got, err := class.Run(t.Context(), in)
	require.NoError(t, err)
	defer closeTensors(got)
	wide := one(t, "aten::_to_copy", got[0], ir.Float32, nil, nil, nil, false, nil)
	requireClose(t, c.eager(t, inputs, constants)[0], wide, 0.05, class)
}

func TestRegionErrors(t *testing.T) {
	d := openDelegate(t)
	type values = []delegate.Value
	pad := delegate.Convolution{Padding: []int64{0, 0}}
	tests := []struct {
		name      string
		build     func(p *delegate.Program, x, w delegate.Value) delegate.Value
		constant  []int64
		input     []int64
		class     *ir.Class
		say       string
		compiling bool
	}{
		{"channels", func(p *delegate.Program, x, w delegate.Value) delegate.Value {
			return p.Convolution(x, w, delegate.None, pad)
		},
			[]int64{4, 8, 1, 1}, []int64{1, 16, 5, 5}, ir.ErrRuntime, "region: convolution 0: expected 8 channels, got [1, 16, 5, 5]", false},
		{"a kernel larger than its input", func(p *delegate.Program, x, w delegate.Value) delegate.Value {
			return p.Convolution(x, w, delegate.None, pad)
		},
			[]int64{4, 8, 7, 7}, []int64{1, 8, 5, 9}, ir.ErrRuntime, "expected 7 elements under the kernel at least, got 5", false},
		{"dimensions", func(p *delegate.Program, x, w delegate.Value) delegate.Value {
			return p.Convolution(x, w, delegate.None, pad)
		},
			[]int64{4, 8, 1, 1}, []int64{8, 5, 9}, ir.ErrUnsupported, "expected a batch, channels and 2 spatial sizes, got [8, 5, 9]", false},
		{"no elements", func(p *delegate.Program, x, w delegate.Value) delegate.Value {
			return p.Convolution(x, w, delegate.None, pad)
		},
			[]int64{4, 8, 1, 1}, []int64{0, 8, 5, 5}, ir.ErrUnsupported, "region: input 0: expected elements, got sizes [0, 8, 5, 5]", false},
		{"a linear's input", func(p *delegate.Program, x, w delegate.Value) delegate.Value { return p.Linear(x, w, delegate.None) },
			[]int64{4, 8}, []int64{2, 7}, ir.ErrRuntime, "region: linear 0: expected a last size of 8, got [2, 7]", false},
		{"a sum", func(p *delegate.Program, x, w delegate.Value) delegate.Value { return p.Add(x, w) },
			[]int64{3}, []int64{2, 7}, ir.ErrRuntime, "region: binary 0: expected sizes that broadcast, got [2, 7] and [3]", false},
		{"a reshape", func(p *delegate.Program, x, w delegate.Value) delegate.Value { return p.Reshape(p.Add(x, w), 5, -1) },
			[]int64{7}, []int64{2, 7}, ir.ErrRuntime, "region: reshape 1: expected sizes of 14 elements, got [5, -1]", false},
		{"windows that differ", func(p *delegate.Program, x, w delegate.Value) delegate.Value {
			return p.AdaptivePool(p.Add(x, w), delegate.AveragePool, 2, 2)
		}, []int64{1}, []int64{1, 4, 5, 4}, ir.ErrUnsupported, "expected sizes that divide [1, 4, 5, 4], got [2, 2]", false},
		{"a window beyond the padding", func(p *delegate.Program, x, w delegate.Value) delegate.Value {
			return p.Pool(p.Add(x, w), delegate.AveragePool, delegate.Window{Kernel: []int64{3, 3}, Stride: []int64{2, 2}, CeilMode: true})
		}, []int64{1}, []int64{1, 4, 8, 8}, ir.ErrUnsupported, "got one beyond it", false},
		{"a weight that is computed", func(p *delegate.Program, x, w delegate.Value) delegate.Value {
			return p.Convolution(x, p.Add(x, w), delegate.None, pad)
		}, []int64{1}, nil, ir.ErrValue, "region: node 1: expected a constant, got value 2", true},
		{"a constant that is convolved", func(p *delegate.Program, x, w delegate.Value) delegate.Value {
			return p.Convolution(w, w, delegate.None, pad)
		}, []int64{1}, nil, ir.ErrValue, "region: node 0: expected a value that is computed, got constant 0", true},
		{"a value that nothing reads", func(p *delegate.Program, x, w delegate.Value) delegate.Value {
			p.Activation(x, delegate.ReLU)
			return p.Add(x, w)
		}, []int64{1}, nil, ir.ErrValue, "region: eltwise 0: expected a reader of its value, got none", true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var p delegate.Program
			x, w := p.Input(), p.Constant()
			for _, v := range (values{tc.build(&p, x, w)}) {
				p.Output(v, delegate.Contiguous)
			}
			r, err := d.Compile(&p, []*Tensor{random(t, 1, tc.constant...)})
			if !tc.compiling {
				require.NoError(t, err)
				defer r.Close()
				_, err = r.Prepare([]*Tensor{random(t, 2, tc.input...)}, 1)
			}
			require.ErrorIs(t, err, tc.class)
			assert.ErrorContains(t, err, tc.say)
		})
	}

	c := conv("", []int64{1, 4, 5, 5}, 4, []int64{1, 1}, pad, false)
	inputs, constants := c.tensors(t)
	_, err := d.Compile(c.program(0, 0), nil)
	require.ErrorContains(t, err, "expected 1 constants, got 0")
	r := compiled(t, c, 0, 0, constants)
	_, err = r.Prepare(nil, 1)
	require.ErrorContains(t, err, "expected 1 inputs, got 0")
	_, err = r.Prepare(inputs, 0)
	require.ErrorContains(t, err, "threads: expected 1 to 1024, got 0")
	_, err = r.Prepare([]*Tensor{one(t, "aten::_to_copy", inputs[0], ir.Float64, nil, nil, nil, false, nil)}, 1)
	require.ErrorContains(t, err, "input 0: expected float32 or bfloat16, got dtype number 7")
	_, err = r.Prepare([]*Tensor{one(t, "aten::_to_copy", inputs[0], ir.BFloat16, nil, nil, nil, false, nil)}, 1)
	require.ErrorIs(t, err, ir.ErrType)
	require.ErrorContains(t, err, "expected operands of one dtype")
}

// TestRegionTellsItsLayouts has a region that measures how values lie, by its first shape
// alone, and one that is given the outcome, which measures nothing.
func TestRegionTellsItsLayouts(t *testing.T) {
	c := blockCase()
	inputs, constants := c.tensors(t)
	r := compiled(t, c, delegate.Measured, delegate.Contiguous, constants)
	assert.Equal(t, RegionLayouts{Taken: delegate.Measured}, r.Layouts(), "before the first shape")
	class, err := r.Prepare(inputs, 1)
	require.NoError(t, err)
	defer class.Close()
	l := r.Layouts()
	require.Len(t, l.Times, 2)
	blocked, last := l.Times[delegate.BlockedLayout], l.Times[delegate.ChannelsLastLayout]
	assert.Positive(t, blocked)
	assert.Positive(t, last)
	want := delegate.ChannelsLastLayout
	if blocked < last-last/50 {
		want = delegate.BlockedLayout
	}
	assert.Equal(t, want, l.Taken)
	b := resized(c, 3)
	others, _ := b.tensors(t)
	second, err := r.Prepare(others, 1)
	require.NoError(t, err)
	defer second.Close()
	assert.Equal(t, l, r.Layouts(), "another shape")

	again := compiled(t, c, l.Taken, delegate.Contiguous, constants)
	same, err := again.Prepare(inputs, 1)
	require.NoError(t, err)
	defer same.Close()
	assert.Equal(t, RegionLayouts{Taken: l.Taken}, again.Layouts())
	assert.Equal(t, class.Describe(), same.Describe(), "the same kernels and memory")

	line := linearCase("linear", []int64{2, 64}, 48)
	inputs, constants = line.tensors(t)
	flat := compiled(t, line, delegate.Measured, delegate.Contiguous, constants)
	class, err = flat.Prepare(inputs, 1)
	require.NoError(t, err)
	defer class.Close()
	assert.Equal(t, RegionLayouts{Taken: delegate.AnyLayout}, flat.Layouts(), "nothing lies in space")
	require.NoError(t, flat.Close())
	assert.Zero(t, flat.Layouts(), "of a region that is closed")
}
