package torchops

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// A typedCall is a typed function, and the operator that it calls.
type typedCall struct {
	name, op, overload string
	args               []any // of the operator, its defaults left out
	call               func() *Tensor
	boxes              int // allocations of the caller: a keyword, which is a value of its own; a list and its header; the parts of a slice
}

func typedCalls(tb testing.TB) []typedCall {
	numbers := []float32{1, 2, 3, 4}
	x, y := open(tb, numbers), open(tb, numbers)
	m, n := open(tb, numbers, 2, 2), open(tb, numbers, 1, 4)
	image, kernel := open(tb, numbers, 1, 1, 2, 2), open(tb, numbers[:1], 1, 1, 1, 1)
	holds := x.Gt(2.0)
	tb.Cleanup(func() { _ = holds.Close() })
	type list = []any
	return []typedCall{
		// tensors alone
		{"torch.add", "aten::add", "Tensor", list{x, y}, func() *Tensor { return Add(x, y) }, 0},
		{"torch.Tensor.add", "aten::add", "Tensor", list{x, y}, func() *Tensor { return x.Add(y) }, 0},
		{"torch.relu", "aten::relu", "", list{x}, func() *Tensor { return Relu(x) }, 0},
		{"torch.maximum", "aten::maximum", "", list{x, y}, func() *Tensor { return Maximum(x, y) }, 0},
		{"torch.Tensor.neg", "aten::neg", "", list{x}, func() *Tensor { return x.Neg() }, 0},
		{"torch.mm", "aten::mm", "", list{m, m}, func() *Tensor { return Mm(m, m) }, 0},
		{"torch.addmm", "aten::addmm", "", list{m, m, m}, func() *Tensor { return Addmm(m, m, m) }, 0},
		{"torch.Tensor.t", "aten::t", "", list{m}, func() *Tensor { return m.Transposed() }, 0},
		// numbers
		{"torch.add_number", "aten::add", "Tensor", list{x, 2.0}, func() *Tensor { return Add(x, 2.0) }, 0},
		{"torch.Tensor.mul_number", "aten::mul", "Tensor", list{x, int64(3)}, func() *Tensor { return x.Mul(3) }, 0},
		{"torch.Tensor.pow_number", "aten::pow", "Tensor_Scalar", list{x, int64(2)}, func() *Tensor { return x.Pow(2) }, 0},
		{"torch.Tensor.gt_number", "aten::gt", "Scalar", list{x, 0.5}, func() *Tensor { return x.Gt(0.5) }, 0},
		{"torch.where_number", "aten::where", "ScalarOther", list{holds, x, 0.5}, func() *Tensor { return Where(holds, x, 0.5) }, 0},
		{"torch.Tensor.clamp", "aten::clamp", "", list{x, 1.5, 3.5}, func() *Tensor { return x.Clamp(1.5, 3.5) }, 0},
		{"torch.Tensor.clamp_min_keyword", "aten::clamp", "", list{x, 1.5}, func() *Tensor { return x.Clamp(Kw("min", 1.5)) }, 1},
		{"torch.add_alpha", "aten::add", "Tensor", list{x, y, int64(2)}, func() *Tensor { return Add(x, y, Kw("alpha", 2)) }, 1},
		{"torch.Tensor.masked_fill", "aten::masked_fill", "Scalar", list{x, holds, 0.5}, func() *Tensor { return x.MaskedFill(holds, 0.5) }, 0},
		// dimensions
		{"torch.Tensor.sum_dim", "aten::sum", "dim_IntList", list{m, []int64{0}}, func() *Tensor { return m.Sum(0) }, 0},
		{"torch.Tensor.mean_keepdim", "aten::mean", "dim", list{m, []int64{-1}, true}, func() *Tensor { return m.Mean(-1, Kw("keepdim", true)) }, 1},
		{"torch.Tensor.mean_dims", "aten::mean", "dim", list{m, []int64{0, 1}}, func() *Tensor { return m.Mean(0, 1) }, 2},
		{"torch.Tensor.softmax", "aten::softmax", "int", list{m, int64(-1)}, func() *Tensor { return m.Softmax(-1) }, 0},
		{"torch.Tensor.argmax", "aten::argmax", "", list{m, int64(1)}, func() *Tensor { return m.Argmax(1) }, 0},
		{"torch.Tensor.cumsum", "aten::cumsum", "", list{m, int64(1)}, func() *Tensor { return m.Cumsum(1) }, 0},
		{"torch.cat", "aten::cat", "", list{[]*libtorch.Tensor{&x.handle, &y.handle}}, func() *Tensor { return Cat(List{x, y}) }, 2},
		{"torch.stack_dim", "aten::stack", "", list{[]*libtorch.Tensor{&x.handle, &y.handle}, int64(1)}, func() *Tensor { return Stack(List{x, y}, 1) }, 2},
		// views
		{"torch.Tensor.view", "aten::view", "", list{x, []int64{2, -1}}, func() *Tensor { return x.View(2, -1) }, 0},
		{"torch.Tensor.reshape", "aten::reshape", "", list{x, []int64{-1, 2}}, func() *Tensor { return x.Reshape(-1, 2) }, 0},
		{"torch.Tensor.permute", "aten::permute", "", list{m, []int64{1, 0}}, func() *Tensor { return m.Permute(1, 0) }, 0},
		{"torch.Tensor.transpose", "aten::transpose", "int", list{m, int64(0), int64(1)}, func() *Tensor { return m.Transpose(0, 1) }, 0},
		{"torch.Tensor.expand", "aten::expand", "", list{n, []int64{3, 4}}, func() *Tensor { return n.Expand(3, 4) }, 0},
		{"torch.Tensor.unsqueeze", "aten::unsqueeze", "", list{x, int64(0)}, func() *Tensor { return x.Unsqueeze(0) }, 0},
		{"torch.Tensor.squeeze", "aten::squeeze", "dim", list{n, int64(0)}, func() *Tensor { return n.Squeeze(0) }, 0},
		{"torch.Tensor.flatten", "aten::flatten", "using_ints", list{image, int64(1)}, func() *Tensor { return image.Flatten(1) }, 0},
		{"torch.Tensor.select", "aten::select", "int", list{m, int64(0), int64(1)}, func() *Tensor { return m.Select(0, 1) }, 0},
		{"torch.Tensor.narrow", "aten::narrow", "", list{x, int64(0), int64(1), int64(2)}, func() *Tensor { return x.Narrow(0, 1, 2) }, 0},
		{"torch.Tensor.index_slice", "aten::slice", "Tensor", list{x, int64(0), int64(1), int64(3)}, func() *Tensor { return x.Index(Slice(1, 3, nil)) }, 3},
		{"torch.Tensor.index_int", "aten::select", "int", list{m, int64(0), int64(1)}, func() *Tensor { return m.Index(1) }, 0},
		// layers
		{"torch.conv2d", "aten::conv2d", "", list{image, kernel}, func() *Tensor { return Conv2d(image, kernel) }, 0},
		{"torch.conv2d_options", "aten::conv2d", "", list{image, kernel, nil, []int64{2, 2}, []int64{1, 1}}, func() *Tensor { return Conv2d(image, kernel, nil, 2, Kw("padding", 1)) }, 1},
		{"torch.layer_norm", "aten::layer_norm", "", list{m, []int64{2}}, func() *Tensor { return LayerNorm(m, []int{2}) }, 2},
		// creation and conversion
		{"torch.zeros", "aten::zeros", "", list{[]int64{2, 2}}, func() *Tensor { return Zeros(2, 2) }, 0},
		{"torch.full", "aten::full", "", list{[]int64{2, 2}, 1.5}, func() *Tensor { return Full([]int{2, 2}, 1.5) }, 2},
		{"torch.zeros_like", "aten::zeros_like", "", list{x}, func() *Tensor { return ZerosLike(x) }, 0},
		{"torch.arange", "aten::arange", "", list{int64(4)}, func() *Tensor { return Arange(4) }, 0},
		{"torch.Tensor.to", "aten::to", "dtype", list{x, ir.Float64}, func() *Tensor { return x.To(Float64) }, 0},
		{"torch.Tensor.contiguous", "aten::contiguous", "", list{x}, func() *Tensor { return x.Contiguous() }, 0},
	}
}

var openBoxed = sync.OnceValue(func() error {
	lib, err := testenv.BuildLibrary(filepath.Join("testdata", "boxed.cc"))
	if err != nil {
		return err
	}
	return libtorch.OpenLibrary(lib)
})

// boxed is what n boxed calls in C++ take.
func (c *typedCall) boxed(tb testing.TB, n int) time.Duration {
	ns, err := Call("torchops_cost::boxed", c.op, c.overload, c.args, n)
	require.NoError(tb, err)
	return time.Duration(ns.(int64))
}

func (c *typedCall) typed(n int) time.Duration {
	start := time.Now()
	for range n {
		_ = c.call().Close()
	}
	return time.Since(start)
}

// The way for tensors alone ends as the way through the parser does: in results,
// errors and scopes.
func TestTensorsAloneAreCalledAsThroughTheParser(t *testing.T) {
	testenv.Libtorch(t)
	s := NewScope()
	defer s.Close()
	x, closed := Ones(2, 2, In(s)), Ones(2, 2)
	y := Ones(3)
	require.NoError(t, closed.Close())
	for _, c := range []struct {
		name string
		args []any
	}{
		{"torch.add", []any{x, x}},
		{"torch.Tensor.add", []any{x, x}},
		{"torch.mm", []any{x, y}},
		{"torch.neg", []any{closed}},
		{"torch.mm", []any{x}},
		{"torch.neg", []any{x, x}},
		{"torch.Tensor.neg_", []any{x}},
		{"torch.max", []any{x}},
		{"torch.max", []any{x, x}},
		{"torch.aminmax", []any{x}},
		{"torch.cat", []any{x}},
		{"torch.is_floating_point", []any{x}},
		{"torch.result_type", []any{x, y}},
		{"torch.layer_norm", []any{x, x}},
		{"torch.unbind", []any{x}},
	} {
		f := ir.FuncOf(c.name)
		want, wantErr := implementationOf(f).public.parse(nil, c.args, nil, nil)
		wantErr = failedIn(f, c.args, nil, wantErr)
		got, err := Try(func() any {
			if method, ok := strings.CutPrefix(c.name, tensorMethod); ok {
				return c.args[0].(*Tensor).callMethod(method, c.args[1:]...)
			}
			return callFunction(c.name, c.args...)
		})
		assert.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), c.name)
		assert.Equal(t, Describe(want), Describe(got), c.name)
		if result, ok := got.(*Tensor); ok && c.args[0] == any(x) {
			assert.Same(t, s, result.scope.Load(), c.name)
		}
	}
}

// What is made ready for tensors does what Invoke does.
func TestCallsForTensorsAreThoseOfInvoke(t *testing.T) {
	testenv.Libtorch(t)
	s := NewScope()
	defer s.Close()
	x, y, closed := Ones(2, 2, In(s)), Full([]int{2, 2}, 3.0), Ones(2, 2)
	v, w := Ones(3), Ones(3)
	require.NoError(t, closed.Close())
	for _, c := range []struct {
		name  string
		args  []*Tensor
		ready bool
	}{
		{"torch.sub", []*Tensor{x, y}, true},
		{"torch.Tensor.sub", []*Tensor{x, y}, true},
		{"torch.ops.aten.sub.Tensor", []*Tensor{x, y}, true},
		{"torch.ops.aten.mm.default", []*Tensor{x, v}, true},
		{"torch.ops.aten.add_.Tensor", []*Tensor{w, w}, true},
		{"torch.ops.aten.where.self", []*Tensor{x, x, y}, true},
		{"torch.ops.aten.neg.default", []*Tensor{closed}, true},
		{"torch.mm", []*Tensor{x, v}, true},
		{"operator.sub", []*Tensor{x, y}, true},
		{"operator.truediv", []*Tensor{x, y}, true},
		{"operator.matmul", []*Tensor{v, w}, true},
		{"operator.matmul", []*Tensor{x, v}, true},
		{"operator.lt", []*Tensor{x, y}, true},
		{"operator.neg", []*Tensor{x}, true},
		{"operator.and_", []*Tensor{x, y}, true},
		{"operator.iadd", []*Tensor{w, v}, false},
		{"operator.invert", []*Tensor{x}, false},
		{"operator.getitem", []*Tensor{x, y}, false},
		{"torch.max", []*Tensor{x}, true},
		{"torch.aminmax", []*Tensor{x}, false},
		{"torch.ops.aten.dropout.default", []*Tensor{x}, false},
		{"torch.ops.aten.equal.default", []*Tensor{x, y}, false},
		{"torch.ops.aten.add", []*Tensor{x, y}, false},
	} {
		f := ir.FuncOf(c.name)
		ready := ForTensors(f, len(c.args))
		if !assert.Equal(t, c.ready, ready != nil, c.name) || ready == nil {
			continue
		}
		args := make([]any, len(c.args))
		for i, a := range c.args {
			args[i] = a
		}
		want, wantErr := Invoke(nil, f, args, nil)
		got, err := ready.Call(nil, 0, (*[MaxTensors]*Tensor)(append(c.args, make([]*Tensor, MaxTensors)...)))
		assert.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), c.name)
		if wantErr != nil {
			continue
		}
		assert.Equal(t, Describe(want), Describe(got), c.name)
		same, err := Equal(want.(*Tensor), got)
		require.NoError(t, err)
		assert.True(t, same, c.name)
		assert.Same(t, want.(*Tensor).scope.Load(), got.scope.Load(), c.name)
	}
	last := Ones(2, 2, In(s))
	n := s.Len()
	got, err := ForTensors(FnNeg, 1).Call(nil, 1, &[MaxTensors]*Tensor{last})
	require.NoError(t, err)
	assert.Equal(t, n, s.Len(), "one left the scope and one joined")
	assert.Same(t, s, got.scope.Load())
	_, err = last.Handle()
	require.NoError(t, err)
	_, err = Try(func() []int { return last.Shape() })
	require.ErrorIs(t, err, ir.ErrClosed)
}

// BenchmarkTyped calls operators by their typed functions, and says how much more
// that takes than the same boxed calls in C++, in batches that take turns: of both the
// best, and of both the median. The aim is 500 ns.
//
//	go test ./torchops -run '^$' -bench Typed
func BenchmarkTyped(b *testing.B) {
	testenv.Libtorch(b)
	require.NoError(b, openBoxed())
	const batch = 50
	for _, c := range typedCalls(b) {
		b.Run(c.name, func(b *testing.B) {
			var typed, boxed []float64 // nanoseconds a call, by batch
			perCall := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / batch }
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if n%batch == 0 {
					boxed = append(boxed, perCall(c.boxed(b, batch)))
					typed = append(typed, perCall(c.typed(batch)))
				}
				n++
				_ = c.call().Close()
			}
			slices.Sort(boxed)
			slices.Sort(typed)
			half := len(boxed) / 2
			b.ReportMetric(boxed[0], "ns-boxed")
			b.ReportMetric(typed[0]-boxed[0], "ns-more")
			b.ReportMetric(typed[half]-boxed[half], "ns-more-median")
		})
	}
}
