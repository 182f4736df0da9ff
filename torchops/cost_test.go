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
		want, wantErr := implementationOf(f).public.parse(nil, c.args, nil)
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
