package libtorch

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWithinIsTheModeOfCallsWithoutOne(t *testing.T) {
	testOps(t)
	state := func(m *Mode) any { return call(t, m, "tfxtest::state")[0] }
	outer, inner := &Mode{Threads: 2, Autocast: &Autocast{}}, &Mode{Inference: true}
	seen := 0
	outer.Observe = func(*Operator) { seen++ }
	outer.Within(func() {
		assert.Equal(t, []int64{0, 0, 2, 1, 15, 1}, state(nil))
		assert.Equal(t, plain, state(&Mode{}), "a mode of the call's own")
		inner.Within(func() { assert.Equal(t, []int64{0, 1, 1, 0, 15, 1}, state(nil)) })
		(&Mode{}).Within(func() { assert.Equal(t, plain, state(nil), "the default mode ends an outer one") })
		(*Mode)(nil).Within(func() { assert.Same(t, outer, CurrentMode()) })
		assert.Panics(t, func() { inner.Within(func() { panic("passes") }) })
		assert.Equal(t, []int64{0, 0, 2, 1, 15, 1}, state(nil), "after a panic")

		done := make(chan any)
		go func() { done <- state(nil) }()
		assert.Equal(t, plain, <-done, "another goroutine")
	})
	assert.Equal(t, 2, seen)
	assert.Nil(t, CurrentMode())
	assert.Equal(t, plain, state(nil))
}

func TestWithinOnManyGoroutines(t *testing.T) {
	testOps(t)
	op := find(t, "tfxtest::state")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			m, want := &Mode{Inference: i%2 == 0}, int64((i+1)%2)
			for range 100 {
				m.Within(func() {
					runtime.Gosched()
					got, err := op.Call(nil, nil)
					if assert.NoError(t, err) {
						assert.Equal(t, want, got[0].([]int64)[1])
					}
				})
			}
		})
	}
	wg.Wait()
	require.Zero(t, entered.Load())
}
