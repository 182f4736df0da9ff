package libtorch

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// run runs a sequence and returns what is left, by register.
func run(tb testing.TB, s *Sequence, stop *atomic.Int32, own []bool, tensors ...*Tensor) (int, map[int]*Tensor) {
	tb.Helper()
	left := map[int]*Tensor{}
	done, err := s.Run(stop, tensors, own, func(register int) *Tensor {
		left[register] = new(Tensor)
		return left[register]
	})
	require.NoError(tb, err)
	return done, left
}

func TestSequence(t *testing.T) {
	live, _ := LiveTensors()
	add, neg := prepare(t, "aten::add.Tensor", Hole{}, Hole{}, int64(2)), prepare(t, "aten::neg", Hole{})
	s := NewSequence(2)
	require.Equal(t, 2, s.Add(add, []int{0, 1}, []int{0}))
	require.Equal(t, 3, s.Add(neg, []int{2}, nil))
	require.Equal(t, 4, s.Add(add, []int{2, 3}, []int{3}))
	for range 2 {
		x, y := floats(t, []int64{2}, 1, 2), floats(t, []int64{2}, 10, 20)
		done, left := run(t, s, nil, []bool{true, false}, x, y)
		assert.Equal(t, 3, done)
		assert.True(t, x.Closed(), "given away")
		require.Len(t, left, 2)
		assert.Equal(t, []float32{21, 42}, values(t, left[2]))
		assert.Equal(t, []float32{-21, -42}, values(t, left[4]))
		for _, r := range left {
			require.NoError(t, r.Close())
		}
		require.NoError(t, y.Close())
	}
	after, _ := LiveTensors()
	assert.Equal(t, live, after)
}

func TestSequencesThatEndEarly(t *testing.T) {
	neg, mm := prepare(t, "aten::neg", Hole{}), prepare(t, "aten::mm", Hole{}, Hole{})
	s := NewSequence(2)
	s.Add(neg, []int{0}, []int{0})
	s.Add(mm, []int{2, 1}, []int{1, 2})
	s.Add(neg, []int{3}, []int{3})
	stopped := new(atomic.Int32)
	stopped.Store(1)
	for name, c := range map[string]struct {
		stop *atomic.Int32
		done int
	}{"the second call fails": {nil, 1}, "stopped at the start": {stopped, 0}} {
		x, y := ones(t, 2, 3), ones(t, 2, 3)
		done, left := run(t, s, c.stop, []bool{true, true}, x, y)
		assert.Equal(t, c.done, done, name)
		assert.Len(t, left, c.done, name)
		assert.Equal(t, c.done == 1, x.Closed(), name)
		assert.Equal(t, 6, len(values(t, y)), name+": what was not read is open")
		for _, r := range left {
			assert.Equal(t, float32(-1), values(t, r)[0], name)
			require.NoError(t, r.Close())
		}
	}
	x, y := ones(t, 2, 3), ones(t, 3, 2)
	require.NoError(t, y.Close())
	for _, own := range [][]bool{{false, false}, {true, true}} {
		done, left := run(t, s, nil, own, x, y)
		assert.Zero(t, done, "a tensor is closed")
		assert.Empty(t, left)
		assert.Equal(t, 6, len(values(t, x)))
	}
}

func TestSequencesOfManyResults(t *testing.T) {
	neg := prepare(t, "aten::neg", Hole{})
	s := NewSequence(1)
	for range 100 {
		s.Add(neg, []int{0}, nil)
	}
	done, left := run(t, s, nil, []bool{false}, ones(t, 2))
	assert.Equal(t, 100, done)
	require.Len(t, left, 100)
	for _, r := range left {
		assert.Equal(t, []float32{-1, -1}, values(t, r))
		require.NoError(t, r.Close())
	}
}

func TestWhatCanBeInASequence(t *testing.T) {
	for op, want := range map[string]bool{"aten::neg": true, "aten::neg_": false, "aten::bernoulli": false} {
		args := []any{Hole{}}
		if op == "aten::bernoulli" {
			args = append(args, nil)
		}
		assert.Equal(t, want, prepare(t, op, args...).Pure(), op)
	}
}
