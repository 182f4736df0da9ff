package torchops

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
)

// A typedCall is a typed function, and the operator that it calls.
type typedCall struct {
	name, op, overload string
	tensors            []any
	call               func() *Tensor
}

func typedCalls(tb testing.TB) []typedCall {
	x, y := open(tb, []float32{1, 2, 3, 4}), open(tb, []float32{1, 2, 3, 4})
	m := open(tb, []float32{1, 2, 3, 4}, 2, 2)
	return []typedCall{
		{"torch.add", "aten::add", "Tensor", []any{x, y}, func() *Tensor { return Add(x, y) }},
		{"torch.Tensor.add", "aten::add", "Tensor", []any{x, y}, func() *Tensor { return x.Add(y) }},
		{"torch.relu", "aten::relu", "", []any{x}, func() *Tensor { return Relu(x) }},
		{"torch.maximum", "aten::maximum", "", []any{x, y}, func() *Tensor { return Maximum(x, y) }},
		{"torch.Tensor.neg", "aten::neg", "", []any{x}, func() *Tensor { return x.Neg() }},
		{"torch.mm", "aten::mm", "", []any{m, m}, func() *Tensor { return Mm(m, m) }},
		{"torch.addmm", "aten::addmm", "", []any{m, m, m}, func() *Tensor { return Addmm(m, m, m) }},
		{"torch.Tensor.t", "aten::t", "", []any{m}, func() *Tensor { return m.Transposed() }},
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
	ns, err := Call("torchops_cost::boxed", c.op, c.overload, c.tensors, n)
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

// resultAllocations are those of a result: the Tensor, the handle below it, and the
// two of its cleanup, which is how the collector frees what nobody closed.
const resultAllocations = 4

// A typed function allocates its result and nothing else.
func TestTypedCallsAllocateTheirResult(t *testing.T) {
	testenv.Libtorch(t)
	for _, c := range typedCalls(t) {
		t.Run(c.name, func(t *testing.T) {
			got := testing.AllocsPerRun(100, func() { _ = c.call().Close() })
			assert.LessOrEqual(t, got, float64(resultAllocations))
		})
	}
}

// BenchmarkTyped calls operators by their typed functions, and says how much more
// that takes than the same boxed calls in C++, both at their best of batches that
// take turns. The aim is 500 ns.
//
//	go test ./torchops -run '^$' -bench Typed
func BenchmarkTyped(b *testing.B) {
	testenv.Libtorch(b)
	require.NoError(b, openBoxed())
	const batch = 50
	for _, c := range typedCalls(b) {
		b.Run(c.name, func(b *testing.B) {
			typed, boxed := time.Hour, time.Hour
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if n%batch == 0 {
					boxed = min(boxed, c.boxed(b, batch))
					typed = min(typed, c.typed(batch))
				}
				n++
				_ = c.call().Close()
			}
			b.ReportMetric(float64(boxed.Nanoseconds())/batch, "ns-boxed")
			b.ReportMetric(float64((typed-boxed).Nanoseconds())/batch, "ns-more")
		})
	}
}
