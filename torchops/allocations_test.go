//go:build !race && !torchfx_debug

// The race detector and a collection before every crossing empty the pools that these
// numbers rest on: make test runs this file by itself.

package torchops

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// resultAllocations are those of a result: the Tensor, with its handle in it.
const resultAllocations = 1

// A typed function allocates its result and nothing else. What its caller makes to hand
// it over is the caller's: see boxes.
func TestTypedCallsAllocateTheirResult(t *testing.T) {
	testenv.Libtorch(t)
	for _, c := range typedCalls(t) {
		t.Run(c.name, func(t *testing.T) {
			got := testing.AllocsPerRun(100, func() { _ = c.call().Close() })
			assert.LessOrEqual(t, got, float64(resultAllocations+c.boxes))
		})
	}
}
