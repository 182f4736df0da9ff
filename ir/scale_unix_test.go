//go:build unix

package ir

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Nothing may be quadratic. Ten times the nodes take about ten times the
// computing, where one quadratic step takes a hundred; the process's own time is
// measured, which does not run while others have the machine.
func TestLargeGraphsStayLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	small := everyStep(t, 10000)
	large := everyStep(t, 100000)
	require.Less(t, large.Seconds()/small.Seconds(), 40.0, "10,000 nodes: %v, 100,000 nodes: %v", small, large)
}

// everyStep builds a graph of n nodes, takes it through every step that users
// take, and returns the time that this computed.
func everyStep(t *testing.T, n int) time.Duration {
	t.Helper()
	start := cpuTime()
	g := wide(n)
	require.Equal(t, n, g.Len())
	require.NoError(t, g.Lint(Strict()))
	require.NotEmpty(t, g.String())
	require.NotEmpty(t, g.Tabular())
	code, err := g.PythonCode("self")
	require.NoError(t, err)
	parsed, err := ParseCode(code.Source)
	require.NoError(t, err)
	require.NoError(t, Equal(g, parsed))
	c := g.Clone()
	require.NoError(t, Equal(g, c))
	changed, err := c.EliminateDeadCode()
	require.NoError(t, err)
	require.True(t, changed)

	// the shared node changes all its readers, and every reader goes
	x, y := c.First(), c.GetAttr("w")
	require.NoError(t, x.Append(y))
	require.Len(t, x.ReplaceAllUsesWith(y), n/10)
	for m := range c.Backward() {
		if m.NumUsers() == 0 {
			require.NoError(t, c.Erase(m))
		}
	}
	require.Zero(t, c.Len())

	// insertions before one node, and names that all want to be the same
	restore, err := g.InsertBefore(g.Last())
	require.NoError(t, err)
	for range n {
		g.GetAttr("a_1")
	}
	restore()
	return cpuTime() - start
}

// cpuTime is what this process has computed so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
