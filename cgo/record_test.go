package libtorch

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// opsOf names the operators of a recording.
func opsOf(events []Recorded) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = strings.TrimPrefix(e.Op, "aten::")
	}
	return strings.Join(names, " ")
}

func TestRecordLevels(t *testing.T) {
	x, w, b := ones(t, 2, 3), ones(t, 4, 3), ones(t, 4)
	layer := func() { call(t, nil, "aten::linear", x, w, b) }
	for _, c := range []struct {
		name string
		r    Recording
		want string
	}{
		{"as called", Recording{}, "linear"},
		{"what it bottoms out in", Recording{Leaf: true}, "t addmm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := Record(c.r, []*Tensor{x}, layer)
			require.NoError(t, err)
			defer CloseRecorded(events)
			assert.Equal(t, c.want, opsOf(events))
			last := events[len(events)-1]
			require.Len(t, last.Facts, 1)
			assert.Equal(t, []int64{2, 4}, last.Facts[0].Sizes)
			assert.Equal(t, []float32{4, 4, 4, 4, 4, 4, 4, 4}, values(t, last.Results[0]))
		})
	}
}

func TestRecordIdentity(t *testing.T) {
	x := ones(t, 2, 2)
	events, err := Record(Recording{}, []*Tensor{x}, func() {
		y := call(t, nil, "aten::t", x)[0].(*Tensor)
		call(t, nil, "aten::mul_.Tensor", y, wrapped(t, int64(3)))
	})
	require.NoError(t, err)
	defer CloseRecorded(events)
	assert.Equal(t, "t mul_.Tensor", opsOf(events))
	view, scaled := events[0], events[1]
	assert.Equal(t, x.ID(), view.Args[0].(*Tensor).ID(), "the input is the tensor that was given")
	assert.Equal(t, view.Results[0].(*Tensor).ID(), scaled.Args[0].(*Tensor).ID())
	assert.Equal(t, scaled.Args[0].(*Tensor).ID(), scaled.Results[0].(*Tensor).ID(), "an operator in place returns what it wrote")
	assert.Equal(t, int64(3), scaled.Args[1], "a wrapped number is the number")
	assert.Equal(t, []float32{3, 3, 3, 3}, values(t, x))
}

func wrapped(tb testing.TB, v any) *Tensor {
	tb.Helper()
	w, err := WrappedNumber(v)
	require.NoError(tb, err)
	tb.Cleanup(func() { w.Close() })
	return w
}

func TestRecordReads(t *testing.T) {
	x, c := ones(t, 1), ones(t, 1)
	item := find(t, "aten::item")
	events, err := Record(Recording{}, []*Tensor{x}, func() {
		_, err := item.Call(nil, []any{x})
		assert.ErrorIs(t, err, ir.ErrType)
		assert.ErrorContains(t, err, "aten::item: expected no value to be read while recording, got one that depends on the inputs")
		y := call(t, nil, "aten::neg", x)[0].(*Tensor)
		_, err = y.CopyBytes(make([]byte, 4))
		assert.ErrorContains(t, err, "reading elements")
		call(t, nil, "aten::item", c) // the same in each run
	})
	require.NoError(t, err)
	CloseRecorded(events)
	assert.Equal(t, "neg item", opsOf(events))

	events, err = Record(Recording{Leaf: true, Reads: true}, []*Tensor{x}, func() { call(t, nil, "aten::item", x) })
	require.NoError(t, err)
	defer CloseRecorded(events)
	assert.Equal(t, "_local_scalar_dense", opsOf(events))
	assert.Equal(t, []any{1.0}, events[0].Results)
}

// A failing operator, a panic and the end of a recording leave nothing behind.
func TestRecordEnds(t *testing.T) {
	x, y := ones(t, 2), ones(t, 3)
	events, err := Record(Recording{}, nil, func() {
		_, err := find(t, "aten::add.Tensor").Call(nil, []any{x, y, int64(1)})
		assert.ErrorIs(t, err, ir.ErrRuntime)
		_, err = Record(Recording{}, nil, func() {})
		assert.ErrorContains(t, err, "not recording")
	})
	require.NoError(t, err)
	assert.Empty(t, events, "what failed is not noted")

	assert.PanicsWithValue(t, "stop", func() {
		_, _ = Record(Recording{}, nil, func() {
			call(t, nil, "aten::neg", x)
			panic("stop")
		})
	})
	assert.Equal(t, []float32{-1, -1}, values(t, call(t, nil, "aten::neg", x)[0]))
	events, err = Record(Recording{}, nil, func() { call(t, &Mode{Threads: 2}, "aten::neg", x) })
	require.NoError(t, err)
	defer CloseRecorded(events)
	assert.Equal(t, "neg", opsOf(events), "also with more threads than one, and nothing of before")
}

// Threads record apart from each other, and from those that do not.
func TestRecordConcurrently(t *testing.T) {
	x := ones(t, 4, 4)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			op, want := "aten::neg", "neg neg neg"
			if i%2 == 0 {
				op, want = "aten::matmul", "mm mm mm"
			}
			o, err := Find(op)
			if !assert.NoError(t, err) {
				return
			}
			args := []any{x, x}[:len(o.Schema().Args)]
			run := func() {
				for range 3 {
					results, err := o.Call(nil, args)
					if assert.NoError(t, err) {
						closeAll(results)
					}
				}
			}
			if i%10 == 0 {
				run()
				return
			}
			events, err := Record(Recording{Leaf: true}, []*Tensor{x}, run)
			if assert.NoError(t, err) {
				assert.Equal(t, want, opsOf(events))
				CloseRecorded(events)
			}
		})
	}
	wg.Wait()
}
