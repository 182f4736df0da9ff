package export

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/torchfx-go/torchfx/ir"
)

// atMost runs f and checks that it needs less than a second and 200 MB, whatever
// the file: the most that any broken or hostile one may cost.
func atMost(t *testing.T, f func()) {
	t.Helper()
	ir.Operators() // read once per process, which is not the file's cost
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := cpuTime()
	f()
	took := cpuTime() - start
	runtime.ReadMemStats(&after)
	assert.Less(t, took, slowdown*time.Second)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200<<20))
}
