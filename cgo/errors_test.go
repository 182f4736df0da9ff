package libtorch

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

func TestExceptionsHaveTheirClass(t *testing.T) {
	testOps(t)
	tests := []struct {
		kind  string
		class *ir.Class
	}{
		{"runtime", ir.ErrRuntime}, {"type", ir.ErrType}, {"value", ir.ErrValue}, {"index", ir.ErrIndex},
		{"not implemented", ir.ErrNotImplemented}, {"linalg", ir.ErrLinAlg}, {"memory", ir.ErrOutOfMemory}, {"std", ir.ErrRuntime},
	}
	long := strings.Repeat("a text that is longer than the reply. ", 100) + "end"
	for _, tc := range tests {
		for _, text := range []string{"short", long} {
			t.Run(fmt.Sprintf("%s/%d", tc.kind, len(text)), func(t *testing.T) {
				_, err := find(t, "tfxtest::fail").Call(nil, []any{tc.kind, text})
				require.ErrorIs(t, err, tc.class)
				assert.Same(t, tc.class, ir.ClassOf(err), "the first class is Python's")
				assert.Equal(t, text, err.Error(), "the message alone, without a backtrace")
				var e *Error
				require.ErrorAs(t, err, &e)
				assert.Equal(t, "tfxtest::fail", e.Op)
			})
		}
	}
	_, err := find(t, "tfxtest::fail").Call(nil, []any{"bad_alloc", ""})
	require.ErrorIs(t, err, ir.ErrOutOfMemory)
	_, err = find(t, "tfxtest::fail").Call(nil, []any{"other", ""})
	require.ErrorIs(t, err, ir.ErrRuntime)
	assert.ErrorContains(t, err, "no std::exception")
}

func TestMissingKernelIsCut(t *testing.T) {
	x := ones(t, 2, 2)
	sparse := call(t, nil, "aten::to_sparse", x, nil, nil, nil)[0]
	_, err := find(t, "aten::conv2d").Call(nil, []any{sparse, sparse, nil, []int64{1, 1}, []int64{0, 0}, []int64{1, 1}, int64(1)})
	require.Error(t, err)
	_, err = find(t, "aten::sigmoid_backward").Call(nil, []any{sparse, sparse})
	require.ErrorIs(t, err, ir.ErrNotImplemented)
	assert.ErrorContains(t, err, "Could not run 'aten::sigmoid_backward' with arguments from the 'SparseCPU' backend.")
	assert.ErrorContains(t, err, "only available for these backends")
	assert.NotContains(t, err.Error(), "registered at")
	assert.NotContains(t, err.Error(), "fburl")
	assert.NotContains(t, err.Error(), "\n")
	assert.Less(t, len(err.Error()), 1000)
}

func TestOutOfMemoryOnTheCPU(t *testing.T) {
	_, err := find(t, "aten::empty.memory_format").Call(nil, []any{[]int64{1 << 55}, ir.UInt8, nil, nil, nil, nil})
	require.ErrorIs(t, err, ir.ErrOutOfMemory)
	assert.Same(t, ir.ErrRuntime, ir.ClassOf(err), "as in Python")
}

func TestUnknownOperatorNamesANeighbour(t *testing.T) {
	find(t, "aten::add.Tensor")
	_, err := Find("aten::addd.Tensor")
	require.ErrorIs(t, err, ir.ErrUnsupported)
	assert.Equal(t, `operator "aten::addd.Tensor": libtorch `+loaded.version+` has none of that name; the nearest is "aten::add.Tensor"`, err.Error())
	for _, name := range []string{"", "::", "aten::", "aten", "aten::add.", strings.Repeat("x", 1<<16), "aten::add.Tensor\x00"} {
		_, err := Find(name)
		require.ErrorIs(t, err, ir.ErrUnsupported, "%.20q", name)
	}
}

func TestEachGoroutineSeesItsOwnMessage(t *testing.T) {
	testOps(t)
	op := find(t, "tfxtest::fail")
	var wg sync.WaitGroup
	errs := make([]error, 1000)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = op.Call(nil, []any{"runtime", fmt.Sprintf("message of goroutine %d %s", i, strings.Repeat("x", i))})
		})
	}
	wg.Wait()
	for i, err := range errs {
		require.EqualError(t, err, fmt.Sprintf("message of goroutine %d %s", i, strings.Repeat("x", i)))
	}
}

func TestFailingCallsLeaveMemoryFlat(t *testing.T) {
	x := ones(t, 2, 3)
	op := find(t, "aten::mm")
	n := 100_000
	if debug {
		n = 200 // each call collects twice
	}
	fail := func(n int) {
		for range n {
			if _, err := op.Call(nil, []any{x, x}); err == nil {
				t.Fatal("mm of 2x3 and 2x3 must fail")
			}
		}
	}
	fail(n / 10)
	// What a call leaves it leaves each time. What else grows a process, the race
	// detector's memory and what tests before left to the collector, does not.
	grown := int64(math.MaxInt64)
	for range 3 {
		before := settled(t)
		fail(n)
		grown = min(grown, settled(t)-before)
	}
	t.Logf("%d failing calls grew the process by %d KiB", n, grown>>10)
	assert.Less(t, grown, int64(16<<20)*instrumented)
}

func TestWarningsAreKeptNotPrinted(t *testing.T) {
	testOps(t)
	Warnings()
	for range 3 {
		call(t, nil, "tfxtest::warn", "mind the gap")
	}
	call(t, nil, "tfxtest::warn", "and the step")
	assert.Equal(t, []string{"mind the gap", "and the step"}, Warnings())
	assert.Empty(t, Warnings())
}
