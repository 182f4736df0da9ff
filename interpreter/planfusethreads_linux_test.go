package interpreter_test

import (
	"os"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
)

// A group of several threads starts them. None of its kernels would by itself: so few elements are one
// thread's in libtorch's loops.
func TestGroupsStartThreads(t *testing.T) {
	needLibtorch(t)
	gm := chain(t, "add", "mul", "relu", "rsqrt", "neg", "abs", "div", "neg", "relu")
	x, y := uniform(t, 1<<15), uniform(t, 1<<15)
	const threads = 9 // more than other tests have, whose threads may be there
	kernels := compile(t, gm, interpreter.WithThreads(threads), interpreter.PlanFusion(false))
	agreeThreads(t, gm, kernels, threads, x, y)
	before := foreignThreads(t)
	agreeThreads(t, gm, compile(t, gm, interpreter.WithThreads(threads)), threads, x, y)
	assert.Greater(t, foreignThreads(t), before)
}

// foreignThreads counts the threads of this process that Go has not made.
func foreignThreads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(tasks) - pprof.Lookup("threadcreate").Count()
}
