//go:build unix

package rewriter

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A replacement in 100,000 nodes takes about ten times what one in 10,000 does,
// where torch.fx takes a hundred times; the process's own time is measured, which
// does not run while others have the machine.
func TestReplacementsStayLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	replace := func(nodes int) time.Duration {
		m := module(t, chain(nodes/3))
		start := cpuTime()
		done, err := Replace(m, addRelu, With(subSin))
		require.NoError(t, err)
		require.Len(t, done, nodes/3)
		took := cpuTime() - start
		require.NoError(t, m.Graph().Lint())
		return took
	}
	small, large := replace(10_000), replace(100_000)
	require.Less(t, large.Seconds()/small.Seconds(), 40.0, "10,000 nodes: %v, 100,000 nodes: %v", small, large)
}

// cpuTime is what this process has computed so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
