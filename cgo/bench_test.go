package libtorch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// Run with
//
//	go test -run '^$' -bench . -count 10 ./cgo
//
// and compare by benchstat. Every call has one intra-op thread.

func benchCall(b *testing.B, op string, args ...any) {
	o := find(b, op)
	b.ReportAllocs()
	for b.Loop() {
		res, err := o.Call(nil, args)
		if err != nil {
			b.Fatal(err)
		}
		closeAll(res)
	}
}

// BenchmarkAdd is the smallest operator with a result: 64 elements.
func BenchmarkAdd(b *testing.B) {
	x := ones(b, 64)
	benchCall(b, "aten::add.Tensor", x, x, int64(1))
}

// BenchmarkAddOut writes into a tensor that is there: the same without allocation
// on the C++ side.
func BenchmarkAddOut(b *testing.B) {
	x, y := ones(b, 64), ones(b, 64)
	benchCall(b, "aten::add.out", x, x, int64(1), y)
}

// BenchmarkView makes a view: hardly a kernel at all.
func BenchmarkView(b *testing.B) {
	x := ones(b, 64)
	benchCall(b, "aten::view", x, []int64{8, 8})
}

func BenchmarkLinear(b *testing.B) {
	x, w, bias := ones(b, 1, 64), ones(b, 64, 64), ones(b, 64)
	benchCall(b, "aten::linear", x, w, bias)
}

// BenchmarkUnclosed leaves the results to the collector.
func BenchmarkUnclosed(b *testing.B) {
	x := ones(b, 64)
	o := find(b, "aten::neg")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.Call(nil, []any{x}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFailingCall carries an exception to a Go error.
func BenchmarkFailingCall(b *testing.B) {
	x := ones(b, 2, 3)
	o := find(b, "aten::mm")
	for b.Loop() {
		if _, err := o.Call(nil, []any{x, x}); err == nil {
			b.Fatal("expected a failure")
		}
	}
}

// BenchmarkThreads hands each call to a worker that is locked to its thread.
func BenchmarkThreads(b *testing.B) {
	x := ones(b, 64)
	o := find(b, "aten::neg")
	m := &Mode{Threads: 2}
	for b.Loop() {
		res, err := o.Call(m, []any{x})
		if err != nil {
			b.Fatal(err)
		}
		closeAll(res)
	}
}

func BenchmarkInfo(b *testing.B) {
	x := ones(b, 2, 3)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Info(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewTensor(b *testing.B) {
	testenv.Libtorch(b)
	data := make([]byte, 256)
	b.ReportAllocs()
	for b.Loop() {
		x, err := NewTensor(ir.Float32, []int64{64}, data)
		require.NoError(b, err)
		_ = x.Close()
	}
}

func BenchmarkFind(b *testing.B) {
	find(b, "aten::add.Tensor")
	for b.Loop() {
		if _, err := Find("aten::add.Tensor"); err != nil {
			b.Fatal(err)
		}
	}
}
