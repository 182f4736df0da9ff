package torchops

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// closeAll closes the tensors in a result, but for those in keep.
func closeAll(v any, keep ...any) {
	for _, k := range keep {
		if v == k {
			return
		}
	}
	if t, ok := v.(*Tensor); ok {
		_ = t.Close()
	}
	list, _ := items(v)
	for _, item := range list {
		closeAll(item, keep...)
	}
}

// settle waits until the collector has closed what earlier tests left, which would
// be missing from a count otherwise.
func settle() {
	for range 100 {
		before, _ := LiveTensors()
		runtime.GC()
		time.Sleep(time.Millisecond)
		if after, _ := LiveTensors(); after == before {
			return
		}
	}
}

// TestNothingIsLeftOpen counts tensors around every kind of call that makes some
// on the way to its result, or fails half way.
func TestNothingIsLeftOpen(t *testing.T) {
	testenv.Libtorch(t)
	x, n := open(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3), open(t, []int64{3, 1, 2})
	mask := open(t, []bool{true, false, true})
	slice := Slice(0, 1, nil)
	settle()
	tests := []struct {
		name string
		fn   string
		args []any
	}{
		{"operator", "torch.ops.aten.add.Tensor", []any{x, 1.5}},
		{"refused after a wrapped number", "torch.ops.aten.add.Tensor", []any{x, 1.5, 2}},
		{"wrong argument after a wrapped number", "torch.ops.aten.lerp.Tensor", []any{x, 2, "a"}},
		{"failing kernel", "torch.ops.aten.mm.default", []any{x, x}},
		{"several results", "torch.ops.aten.sort.default", []any{x}},
		{"list", "torch.ops.aten.split.Tensor", []any{x, 1}},
		{"in place", "torch.ops.aten.relu_.default", []any{x}},
		{"number by tensor", "operator.truediv", []any{1, x}},
		{"comparison", "operator.lt", []any{1, x}},
		{"membership", "operator.contains", []any{x, 3}},
		{"truth", "operator.not_", []any{n.Index(0)}},
		{"views", "operator.getitem", []any{x, ir.PyTuple{int64(0), nil, slice}}},
		{"lists and masks", "operator.getitem", []any{x, ir.PyTuple{[]any{int64(1), int64(0)}, mask}}},
		{"bools", "operator.getitem", []any{x, ir.PyTuple{true, int64(0)}}},
		{"nothing applied", "operator.getitem", []any{x, ir.Ellipsis{}}},
		{"bad subscript", "operator.getitem", []any{x, ir.PyTuple{slice, int64(7)}}},
		{"assignment", "operator.setitem", []any{x, ir.PyTuple{int64(0), slice}, 2.5}},
		{"assignment by tensor", "operator.setitem", []any{x, ir.PyTuple{slice, mask}, 2.5}},
		{"bad assignment", "operator.setitem", []any{x, ir.PyTuple{slice, mask}, n}},
		{"sum", "builtins.sum", []any{x}},
		{"max of rows", "builtins.max", []any{n}},
		{"min of numbers and tensors", "builtins.min", []any{1, n.Index(0)}},
		{"public function", "torch.add", []any{x, 2}},
		{"public function refused", "torch.max", []any{x, "a"}},
		{"method", "torch.Tensor.view", []any{x, 3, -1}},
		{"to", "torch.Tensor.to", []any{x, ir.Float64}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			fn := ir.FuncOf(tc.fn)
			require.True(t, Implemented(fn))
			before, _ := LiveTensors()
			v, err := Invoke(nil, fn, tc.args, nil)
			if err == nil {
				closeAll(v, tc.args...)
			}
			after, _ := LiveTensors()
			assert.Equal(t, before, after, "result %s, error %v", Describe(v), err)
		})
	}
	t.Run("printing", func(t *testing.T) {
		long := open(t, make([]float32, 2000), 2, 1000)
		before, _ := LiveTensors()
		_ = long.String()
		after, _ := LiveTensors()
		assert.Equal(t, before, after)
	})
	runtime.KeepAlive(tests) // the collector would close what only the table holds
}

func TestManyGoroutines(t *testing.T) {
	testenv.Libtorch(t)
	w := open(t, []float32{1, 2, 3, 4}, 2, 2)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			s := NewScope()
			defer s.Close()
			for k := range 20 {
				x := Full([]int{2, 2}, float64(i+k), In(s))
				got, err := Data[float32](x.MatMul(w).Sum())
				assert.NoError(t, err)
				assert.Equal(t, []float32{float32(20 * (i + k))}, got)
				_, err = Call("aten::mm", x, x.Reshape(4, 1))
				assert.ErrorIs(t, err, ir.ErrRuntime)
			}
		})
	}
	wg.Wait()
}

func BenchmarkCall(b *testing.B) {
	testenv.Libtorch(b)
	x := open(b, []float32{1, 2, 3, 4})
	b.Run("add", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			y, err := Call("aten::add.Tensor", x, x)
			if err != nil {
				b.Fatal(err)
			}
			_ = y.(*Tensor).Close()
		}
	})
	b.Run("add number", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			y, err := Call("aten::add.Tensor", x, 2)
			if err != nil {
				b.Fatal(err)
			}
			_ = y.(*Tensor).Close()
		}
	})
	for name, args := range map[string][]any{
		"torch.add": {x, x}, "torch.Tensor.add": {x, x}, "torch.sum": {x, int64(0)}, "torch.Tensor.view": {x, int64(2), int64(2)},
	} {
		b.Run("public "+name, func(b *testing.B) {
			f := ir.FuncOf(name)
			b.ReportAllocs()
			for b.Loop() {
				y, err := Invoke(nil, f, args, nil)
				if err != nil {
					b.Fatal(err)
				}
				_ = y.(*Tensor).Close()
			}
		})
	}
	b.Run("resolution alone", func(b *testing.B) {
		list, err := readSignatures("torch.sum", signatureIndex()["torch.sum"])
		require.NoError(b, err)
		p := newPublic("torch.sum", false, list)
		bound := &binding{values: make([]any, p.most)}
		args := []any{x, int64(0)}
		b.ReportAllocs()
		for b.Loop() {
			s, err := p.choose(bound, args, nil)
			if err != nil {
				b.Fatal(err)
			}
			plan, err := s.plan(false, false)
			if err != nil {
				b.Fatal(err)
			}
			c := call{schema: plan.operator.Schema(), public: true}
			if bound.encoded, err = c.arguments(bound.encoded[:0], s, plan, nil, bound.values); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bridge alone", func(b *testing.B) {
		o, err := libtorch.Find("aten::add.Tensor")
		require.NoError(b, err)
		args := []any{&x.handle, &x.handle, int64(1)}
		b.ReportAllocs()
		for b.Loop() {
			y, err := o.Call(nil, args)
			if err != nil {
				b.Fatal(err)
			}
			_ = y[0].(*libtorch.Tensor).Close()
		}
	})
	b.Run("operator on ints", func(b *testing.B) {
		f := ir.FuncOf("operator.floordiv")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Invoke(nil, f, []any{int64(7), int64(2)}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
