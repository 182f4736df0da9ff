package libtorch

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

func prepare(tb testing.TB, op string, args ...any) *Prepared {
	tb.Helper()
	p, ok := find(tb, op).Prepare(args)
	require.True(tb, ok)
	return p
}

func TestPreparedCalls(t *testing.T) {
	x, y := floats(t, []int64{2}, 1, 2), floats(t, []int64{2}, 10, 20)
	sub := prepare(t, "aten::sub.Tensor", Hole{}, Hole{}, int64(2))
	for name, m := range map[string]*Mode{
		"no mode": nil, "gradients": {Grad: true}, "two threads": {Threads: 2}, "the usual": {Threads: 1},
	} {
		var result Tensor
		require.NoError(t, sub.Call(m, &result, 0, x, y), name)
		assert.Equal(t, []float32{-19, -38}, values(t, &result), name)
		require.NoError(t, result.Close())
	}
	var seen []string
	var result Tensor
	m := &Mode{Observe: func(o *Operator) { seen = append(seen, o.Schema().Op) }}
	require.NoError(t, sub.Call(m, &result, 0, x, x))
	require.NoError(t, result.Close())
	assert.Equal(t, []string{"aten::sub.Tensor"}, seen)
}

func TestPreparedCallsThatFail(t *testing.T) {
	x, y := ones(t, 2, 3), ones(t, 2, 3)
	mm := prepare(t, "aten::mm", Hole{}, Hole{})
	var result Tensor
	_, want := find(t, "aten::mm").Call(nil, []any{x, y})
	require.EqualError(t, mm.Call(nil, &result, 0b11, x, y), want.Error())
	assert.True(t, result.Closed())
	assert.False(t, x.Closed() || y.Closed(), "a call that fails closes nothing")

	require.NoError(t, y.Close())
	_, want = find(t, "aten::mm").Call(nil, []any{x, y})
	for last := range uint(4) {
		err := mm.Call(nil, &result, last, x, y)
		require.ErrorIs(t, err, ir.ErrClosed)
		require.EqualError(t, err, want.Error())
	}
	assert.Equal(t, 6, len(values(t, x)), "and is in no use")
	require.ErrorIs(t, mm.Call(nil, &result, 0, x), ir.ErrType)
}

func TestThePreparedCallClosesWhatIsUsedLast(t *testing.T) {
	for name, m := range map[string]*Mode{"no mode": nil, "gradients": {Grad: true}} {
		count, size := LiveTensors()
		x, y := ones(t, 1000), ones(t, 1000)
		var result Tensor
		require.NoError(t, prepare(t, "aten::maximum", Hole{}, Hole{}).Call(m, &result, 0b01, x, y))
		assert.True(t, x.Closed(), name)
		assert.False(t, y.Closed(), name)
		assert.Len(t, values(t, &result), 1000, name)
		require.NoError(t, result.Close())
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
		c, s := LiveTensors()
		assert.Equal(t, [2]int64{count, size}, [2]int64{c, s}, name)
	}
}

func TestWhatIsNotPrepared(t *testing.T) {
	x := ones(t, 2)
	gen, err := NewGenerator(1)
	require.NoError(t, err)
	defer gen.Close()
	for name, c := range map[string]struct {
		op   string
		args []any
	}{
		"two results":   {"aten::sort", []any{Hole{}, int64(0), false}},
		"no tensor":     {"aten::equal", []any{Hole{}, Hole{}}},
		"a generator":   {"aten::bernoulli", []any{Hole{}, gen}},
		"a tensor":      {"aten::mm", []any{Hole{}, x}},
		"a wrong value": {"aten::add.Tensor", []any{Hole{}, Hole{}, "1"}},
		"a number":      {"aten::add.Tensor", []any{Hole{}, Hole{}, Hole{}}},
		"too few":       {"aten::mm", []any{Hole{}}},
	} {
		_, ok := find(t, c.op).Prepare(c.args)
		assert.False(t, ok, name)
	}
	_, err = x.Info()
	require.NoError(t, err)
}

// A handle that was closed stays so when the next one takes its cell.
func TestClosedHandlesStayClosed(t *testing.T) {
	x := ones(t, 2)
	c := x.cell
	copied := *x
	require.NoError(t, x.Close())
	var y *Tensor
	for range 100 { // the pool may hand out others first
		if y = ones(t, 2); y.cell == c {
			break
		}
	}
	for _, old := range []*Tensor{x, &copied} {
		assert.True(t, old.Closed())
		assert.Zero(t, old.ID())
		_, err := old.Info()
		require.ErrorIs(t, err, ir.ErrClosed)
		require.NoError(t, old.Close())
	}
	assert.Equal(t, []float32{1, 1}, values(t, y))
}

func TestACellWithoutTurnsIsLeft(t *testing.T) {
	x := ones(t, 2)
	x.cell.state.Store(0xffffffff << 32)
	x.turn = 0xffffffff
	assert.Len(t, values(t, x), 2)
	require.NoError(t, x.Close())
	assert.True(t, x.Closed())
	require.NoError(t, x.Close())
	_, err := x.Ref()
	require.ErrorIs(t, err, ir.ErrClosed)
}

// Handles of many goroutines take each other's cells.
func TestCellsAreSharedSafely(t *testing.T) {
	x := ones(t, 4)
	neg := prepare(t, "aten::neg", Hole{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var old Tensor
			for range 300 {
				var y, z Tensor
				if !assert.NoError(t, neg.Call(nil, &y, 0, x)) || !assert.NoError(t, neg.Call(nil, &z, 1, &y)) {
					return
				}
				assert.True(t, y.Closed())
				_ = old.Close()
				old = z
				_ = z.Close()
				_ = z.Close()
			}
		})
	}
	wg.Wait()
	assert.Equal(t, []float32{1, 1, 1, 1}, values(t, x))
}
