package torchops_test

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/torchops/fft"
	"github.com/torchfx-go/torchfx/torchops/linalg"
	"github.com/torchfx-go/torchfx/torchops/special"
)

// A typedCall is a call of a typed function, and the operator that it is.
type typedCall struct {
	name, op, overload string
	args               []any       // of the operator, its defaults left out
	call               func(n int) // so many times; it closes what is returned
	results            int         // how many tensors that is
}

// The loop around a call is as close to it as that of C++: what stands between them
// would be code that the kernel has thrown out of the processor's caches, and no part of the call.

func one(name, op, overload string, args []any, call func() *torch.Tensor) typedCall {
	return typedCall{name, op, overload, args, func(n int) {
		for range n {
			_ = call().Close()
		}
	}, 1}
}

func two(name, op, overload string, args []any, call func() (x, y *torch.Tensor)) typedCall {
	return typedCall{name, op, overload, args, func(n int) {
		for range n {
			x, y := call()
			_, _ = x.Close(), y.Close()
		}
	}, 2}
}

func three(name, op, overload string, args []any, call func() (x, y, z *torch.Tensor)) typedCall {
	return typedCall{name, op, overload, args, func(n int) {
		for range n {
			x, y, z := call()
			_, _, _ = x.Close(), y.Close(), z.Close()
		}
	}, 3}
}

func several(name, op, overload string, args []any, results int, call func() torch.Tensors) typedCall {
	return typedCall{name, op, overload, args, func(n int) {
		for range n {
			list := call()
			for i := range list.Len() {
				_ = list.At(i).Close()
			}
		}
	}, results}
}

func value[T any](name, op, overload string, args []any, call func() T) typedCall {
	return typedCall{name, op, overload, args, func(n int) {
		for range n {
			call()
		}
	}, 0}
}

func closeAll(tensors ...*torch.Tensor) {
	for _, t := range tensors {
		_ = t.Close()
	}
}

// typedCalls has each way in which a typed function is called and an operator of each
// kind; see [torch.CallTensor].
func typedCalls(tb testing.TB) []typedCall {
	numbers := []float32{1, 2, 3, 4}
	open := func(data []float32, shape ...int) *torch.Tensor {
		t, err := torch.From(data, shape...)
		require.NoError(tb, err)
		tb.Cleanup(func() { _ = t.Close() })
		return t
	}
	x, y, w := open(numbers, 4), open(numbers, 4), open(numbers, 4)
	m, n := open(numbers, 2, 2), open(numbers, 1, 4)
	spd := open([]float32{2, 0, 0, 3}, 2, 2)
	image, kernel := open(numbers, 1, 1, 2, 2), open(numbers[:1], 1, 1, 1, 1)
	channel := open(numbers[:1], 1)
	holds := x.Gt(2.0)
	index := torch.Arange(2)
	tb.Cleanup(func() { closeAll(holds, index) })
	g, err := torch.NewGenerator(1)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = g.Close() })
	// what the compiler does not know: these are no constants, and too large for the
	// values that Go keeps boxed
	dim, size, number := -1, 4, 1000.5
	if testing.Verbose() {
		number++
	}
	type list = []any
	const alpha = int64(1)
	return []typedCall{
		// tensors alone
		one("torch.add", "aten::add", "Tensor", list{x, y}, func() *torch.Tensor { return torch.Add(x, y) }),
		one("torch.Tensor.add", "aten::add", "Tensor", list{x, y}, func() *torch.Tensor { return x.Add(y) }),
		one("torch.relu", "aten::relu", "", list{x}, func() *torch.Tensor { return torch.Relu(x) }),
		one("torch.maximum", "aten::maximum", "", list{x, y}, func() *torch.Tensor { return torch.Maximum(x, y) }),
		one("torch.Tensor.neg", "aten::neg", "", list{x}, func() *torch.Tensor { return x.Neg() }),
		one("torch.mm", "aten::mm", "", list{m, m}, func() *torch.Tensor { return torch.Mm(m, m) }),
		one("torch.addmm", "aten::addmm", "", list{m, m, m}, func() *torch.Tensor { return torch.Addmm(m, m, m) }),
		one("torch.Tensor.t", "aten::t", "", list{m}, func() *torch.Tensor { return m.Transposed() }),
		one("torch.where", "aten::where", "self", list{holds, x, y}, func() *torch.Tensor { return torch.Where(holds, x, y) }),
		// numbers
		one("torch.add_number", "aten::add", "Tensor", list{x, 2.0}, func() *torch.Tensor { return torch.Add(x, 2.0) }),
		one("torch.add_variable", "aten::add", "Tensor", list{x, number}, func() *torch.Tensor { return torch.Add(x, number) }),
		one("torch.Tensor.mul_number", "aten::mul", "Tensor", list{x, int64(3)}, func() *torch.Tensor { return x.Mul(3) }),
		one("torch.Tensor.pow_number", "aten::pow", "Tensor_Scalar", list{x, int64(2)}, func() *torch.Tensor { return x.Pow(2) }),
		one("torch.Tensor.gt_number", "aten::gt", "Scalar", list{x, 0.5}, func() *torch.Tensor { return x.Gt(0.5) }),
		one("torch.where_number", "aten::where", "ScalarOther", list{holds, x, 0.5}, func() *torch.Tensor { return torch.Where(holds, x, 0.5) }),
		one("torch.Tensor.clamp", "aten::clamp", "", list{x, 1.5, 3.5}, func() *torch.Tensor { return x.Clamp(1.5, 3.5) }),
		one("torch.Tensor.masked_fill", "aten::masked_fill", "Scalar", list{x, holds, 0.5}, func() *torch.Tensor { return x.MaskedFill(holds, 0.5) }),
		// keywords
		one("torch.Tensor.clamp_min", "aten::clamp", "", list{x, 1.5}, func() *torch.Tensor { return x.Clamp(torch.Kw("min", 1.5)) }),
		one("torch.Tensor.clamp_variables", "aten::clamp", "", list{x, number, number}, func() *torch.Tensor { return x.Clamp(torch.Kw("min", number), torch.Kw("max", number)) }),
		one("torch.add_alpha", "aten::add", "Tensor", list{x, y, int64(2)}, func() *torch.Tensor { return torch.Add(x, y, torch.Kw("alpha", 2)) }),
		one("torch.div_rounding", "aten::div", "Tensor_mode", list{x, y, "floor"}, func() *torch.Tensor { return torch.Div(x, y, torch.Kw("rounding_mode", "floor")) }),
		one("torch.addcmul_value", "aten::addcmul", "", list{x, y, w, number}, func() *torch.Tensor { return torch.Addcmul(x, y, w, torch.Kw("value", number)) }),
		one("torch.sum_keywords", "aten::sum", "dim_IntList", list{m, []int64{0}, true, torch.Float64}, func() *torch.Tensor {
			return torch.Sum(m, torch.Kw("dim", 0), torch.Kw("keepdim", true), torch.Kw("dtype", torch.Float64))
		}),
		// out and in place
		one("torch.add_out", "aten::add", "out", list{x, y, alpha, w}, func() *torch.Tensor { return torch.Add(x, y, torch.Kw("out", w)) }),
		one("torch.mm_out", "aten::mm", "out", list{m, m, spd}, func() *torch.Tensor { return torch.Mm(m, m, torch.Kw("out", spd)) }),
		one("torch.Tensor.add_", "aten::add_", "Tensor", list{w, y}, func() *torch.Tensor { return w.AddInPlace(y) }),
		one("torch.Tensor.mul_number_", "aten::mul_", "Tensor", list{w, 0.5}, func() *torch.Tensor { return w.MulInPlace(0.5) }),
		one("torch.Tensor.zero_", "aten::zero_", "", list{w}, func() *torch.Tensor { return w.ZeroInPlace() }),
		one("torch.Tensor.copy_", "aten::copy_", "", list{w, y}, func() *torch.Tensor { return w.CopyInPlace(y) }),
		// dimensions
		one("torch.Tensor.sum_dim", "aten::sum", "dim_IntList", list{m, []int64{0}}, func() *torch.Tensor { return m.Sum(0) }),
		one("torch.Tensor.mean_keepdim", "aten::mean", "dim", list{m, []int64{-1}, true}, func() *torch.Tensor { return m.Mean(-1, torch.Kw("keepdim", true)) }),
		one("torch.Tensor.mean_dims", "aten::mean", "dim", list{m, []int64{0, 1}}, func() *torch.Tensor { return m.Mean(0, 1) }),
		one("torch.Tensor.softmax", "aten::softmax", "int", list{m, int64(-1)}, func() *torch.Tensor { return m.Softmax(-1) }),
		one("torch.Tensor.softmax_variable", "aten::softmax", "int", list{m, int64(-1)}, func() *torch.Tensor { return m.Softmax(dim) }),
		one("torch.Tensor.argmax", "aten::argmax", "", list{m, int64(1)}, func() *torch.Tensor { return m.Argmax(1) }),
		one("torch.Tensor.cumsum", "aten::cumsum", "", list{m, int64(1)}, func() *torch.Tensor { return m.Cumsum(1) }),
		one("torch.roll", "aten::roll", "", list{m, []int64{1, 1}, []int64{0, 1}}, func() *torch.Tensor { return torch.Roll(m, []int{1, 1}, []int{0, 1}) }),
		// lists of tensors
		one("torch.cat", "aten::cat", "", list{list{x, y}}, func() *torch.Tensor { return torch.Cat(torch.List{x, y}) }),
		one("torch.cat_dim", "aten::cat", "", list{list{m, m, m}, int64(1)}, func() *torch.Tensor { return torch.Cat(torch.Tuple{m, m, m}, torch.Kw("dim", 1)) }),
		one("torch.stack_dim", "aten::stack", "", list{list{x, y}, int64(1)}, func() *torch.Tensor { return torch.Stack(torch.List{x, y}, 1) }),
		// views
		one("torch.Tensor.view", "aten::view", "", list{x, []int64{2, -1}}, func() *torch.Tensor { return x.View(2, -1) }),
		one("torch.Tensor.view_variable", "aten::view", "", list{x, []int64{1, 4}}, func() *torch.Tensor { return x.View(1, torch.N(size)) }),
		one("torch.Tensor.reshape", "aten::reshape", "", list{x, []int64{-1, 2}}, func() *torch.Tensor { return x.Reshape(-1, 2) }),
		one("torch.reshape_list", "aten::reshape", "", list{x, []int64{2, 2}}, func() *torch.Tensor { return torch.Reshape(x, []int{2, 2}) }),
		one("torch.Tensor.permute", "aten::permute", "", list{m, []int64{1, 0}}, func() *torch.Tensor { return m.Permute(1, 0) }),
		one("torch.Tensor.transpose", "aten::transpose", "int", list{m, int64(0), int64(1)}, func() *torch.Tensor { return m.Transpose(0, 1) }),
		one("torch.Tensor.expand", "aten::expand", "", list{n, []int64{3, 4}}, func() *torch.Tensor { return n.Expand(3, 4) }),
		one("torch.Tensor.unsqueeze", "aten::unsqueeze", "", list{x, int64(0)}, func() *torch.Tensor { return x.Unsqueeze(0) }),
		one("torch.Tensor.squeeze", "aten::squeeze", "dim", list{n, int64(0)}, func() *torch.Tensor { return n.Squeeze(0) }),
		one("torch.Tensor.flatten", "aten::flatten", "using_ints", list{image, int64(1)}, func() *torch.Tensor { return image.Flatten(1) }),
		one("torch.Tensor.select", "aten::select", "int", list{m, int64(0), int64(1)}, func() *torch.Tensor { return m.Select(0, 1) }),
		one("torch.Tensor.narrow", "aten::narrow", "", list{x, int64(0), int64(1), int64(2)}, func() *torch.Tensor { return x.Narrow(0, 1, 2) }),
		one("torch.Tensor.index_slice", "aten::slice", "Tensor", list{x, int64(0), int64(1), int64(3)}, func() *torch.Tensor { return x.Index(torch.Slice(1, 3)) }),
		one("torch.Tensor.index_int", "aten::select", "int", list{m, int64(0), int64(1)}, func() *torch.Tensor { return m.Index(1) }),
		one("torch.index_select", "aten::index_select", "", list{m, int64(0), index}, func() *torch.Tensor { return torch.IndexSelect(m, 0, index) }),
		// several results
		two("torch.max_dim", "aten::max", "dim", list{m, int64(1)}, func() (a, b *torch.Tensor) { return torch.MaxDim(m, 1) }),
		two("torch.Tensor.topk", "aten::topk", "", list{x, int64(2), int64(-1), false}, func() (a, b *torch.Tensor) { return x.Topk(2, torch.Kw("largest", false)) }),
		two("torch.sort", "aten::sort", "", list{x}, func() (a, b *torch.Tensor) { return torch.Sort(x) }),
		two("torch.aminmax", "aten::aminmax", "", list{x}, func() (a, b *torch.Tensor) { return torch.Aminmax(x) }),
		three("torch.native_layer_norm", "aten::native_layer_norm", "", list{m, []int64{2}, nil, nil, 1e-5}, func() (a, b, c *torch.Tensor) {
			return torch.NativeLayerNorm(m, []int{2}, nil, nil, 1e-5)
		}),
		several("torch.Tensor.unbind", "aten::unbind", "int", list{m, int64(0)}, 2, func() torch.Tensors { return m.Unbind(0) }),
		several("torch.Tensor.chunk", "aten::chunk", "", list{x, int64(2), int64(0)}, 2, func() torch.Tensors { return x.Chunk(2, 0) }),
		several("torch.Tensor.unbind_one", "aten::unbind", "int", list{n, int64(0)}, 1, func() torch.Tensors { return n.Unbind(0) }),
		value("torch.Tensor.equal", "aten::equal", "", list{x, y}, func() torch.SymBool { return x.Equal(y) }),
		value("torch.is_floating_point", "aten::is_floating_point", "", list{x}, func() torch.SymBool { return torch.IsFloatingPoint(x) }),
		// layers
		one("torch.conv2d", "aten::conv2d", "", list{image, kernel}, func() *torch.Tensor { return torch.Conv2d(image, kernel) }),
		one("torch.conv2d_options", "aten::conv2d", "", list{image, kernel, nil, []int64{2, 2}, []int64{1, 1}}, func() *torch.Tensor { return torch.Conv2d(image, kernel, nil, 2, torch.Kw("padding", 1)) }),
		one("torch.conv2d_lists", "aten::conv2d", "", list{image, kernel, channel, []int64{1, 1}, []int64{0, 0}, []int64{1, 1}, int64(1)}, func() *torch.Tensor {
			return torch.Conv2d(image, kernel, torch.Kw("bias", channel), torch.Kw("stride", []int{1, 1}), torch.Kw("padding", []int{0, 0}), torch.Kw("groups", 1))
		}),
		one("torch.layer_norm", "aten::layer_norm", "", list{m, []int64{2}}, func() *torch.Tensor { return torch.LayerNorm(m, []int{2}) }),
		one("torch.batch_norm", "aten::batch_norm", "", list{image, channel, channel, channel, channel, false, 0.1, 1e-5, false}, func() *torch.Tensor {
			return torch.BatchNorm(image, channel, channel, channel, channel, false, 0.1, 1e-5, false)
		}),
		one("torch.embedding", "aten::embedding", "", list{m, index}, func() *torch.Tensor { return torch.Embedding(m, index) }),
		// creation and conversion
		one("torch.zeros", "aten::zeros", "", list{[]int64{2, 2}}, func() *torch.Tensor { return torch.Zeros(2, 2) }),
		one("torch.zeros_dtype", "aten::zeros", "", list{[]int64{2, 2}, torch.Float64}, func() *torch.Tensor { return torch.Zeros(2, 2, torch.Kw("dtype", torch.Float64)) }),
		one("torch.empty_keywords", "aten::empty", "memory_format", list{[]int64{2, 2}, torch.Float64, nil, torch.CPU}, func() *torch.Tensor {
			return torch.Empty(2, 2, torch.Kw("dtype", torch.Float64), torch.Kw("device", torch.CPU))
		}),
		one("torch.full", "aten::full", "", list{[]int64{2, 2}, 1.5}, func() *torch.Tensor { return torch.Full([]int{2, 2}, 1.5) }),
		one("torch.zeros_like", "aten::zeros_like", "", list{x}, func() *torch.Tensor { return torch.ZerosLike(x) }),
		one("torch.arange", "aten::arange", "", list{int64(4)}, func() *torch.Tensor { return torch.Arange(4) }),
		one("torch.linspace", "aten::linspace", "", list{int64(0), 1.0, int64(5)}, func() *torch.Tensor { return torch.Linspace(0, 1.0, 5) }),
		one("torch.Tensor.new_zeros", "aten::new_zeros", "", list{x, []int64{2, 2}}, func() *torch.Tensor { return x.NewZeros(2, 2) }),
		one("torch.Tensor.to", "aten::to", "dtype", list{x, torch.Float64}, func() *torch.Tensor { return x.To(torch.Float64) }),
		one("torch.Tensor.double", "aten::to", "dtype", list{x, torch.Float64}, func() *torch.Tensor { return x.Double() }),
		one("torch.Tensor.contiguous", "aten::contiguous", "", list{x}, func() *torch.Tensor { return x.Contiguous() }),
		// random
		one("torch.rand", "aten::rand", "", list{[]int64{2, 2}}, func() *torch.Tensor { return torch.Rand(2, 2) }),
		one("torch.rand_generator", "aten::rand", "generator", list{[]int64{2, 2}, g}, func() *torch.Tensor { return torch.Rand(2, 2, torch.Kw("generator", g)) }),
		one("torch.bernoulli_generator", "aten::bernoulli", "", list{channel, g}, func() *torch.Tensor { return torch.Bernoulli(channel, torch.Kw("generator", g)) }),
		one("torch.Tensor.normal_", "aten::normal_", "", list{w, 0.0, 1.0, g}, func() *torch.Tensor { return w.NormalInPlace(0, 1, torch.Kw("generator", g)) }),
		// the packages below torch
		one("torch.linalg.det", "aten::linalg_det", "", list{spd}, func() *torch.Tensor { return linalg.Det(spd) }),
		one("torch.linalg.vector_norm", "aten::linalg_vector_norm", "", list{x, int64(1)}, func() *torch.Tensor { return linalg.VectorNorm(x, torch.Kw("ord", 1)) }),
		one("torch.linalg.multi_dot", "aten::linalg_multi_dot", "", list{list{m, m, m}}, func() *torch.Tensor { return linalg.MultiDot(torch.List{m, m, m}) }),
		two("torch.linalg.eigh", "aten::linalg_eigh", "", list{spd, "U"}, func() (a, b *torch.Tensor) { return linalg.Eigh(spd, torch.Kw("UPLO", "U")) }),
		three("torch.linalg.svd", "aten::linalg_svd", "", list{m, false}, func() (a, b, c *torch.Tensor) { return linalg.Svd(m, torch.Kw("full_matrices", false)) }),
		one("torch.fft.fft", "aten::fft_fft", "", list{x}, func() *torch.Tensor { return fft.Fft(x) }),
		one("torch.fft.rfft", "aten::fft_rfft", "", list{x, nil, int64(-1), "ortho"}, func() *torch.Tensor { return fft.Rfft(x, torch.Kw("norm", "ortho")) }),
		one("torch.special.erf", "aten::special_erf", "", list{x}, func() *torch.Tensor { return special.Erf(x) }),
		one("torch.special.xlogy", "aten::special_xlogy", "other_scalar", list{x, 2.0}, func() *torch.Tensor { return special.Xlogy(x, 2.0) }),
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
	ns, err := torch.Call("torchops_cost::boxed", c.op, c.overload, c.args, n)
	require.NoError(tb, err, c.name)
	return time.Duration(ns.(int64))
}

func (c *typedCall) typed(n int) time.Duration {
	start := time.Now()
	c.call(n)
	return time.Since(start)
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
				c.call(1)
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
