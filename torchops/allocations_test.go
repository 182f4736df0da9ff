//go:build !race && !torchfx_debug

// The race detector and a collection before every crossing empty the pools that these
// numbers rest on: make test runs this file by itself.

package torchops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// A typed function allocates a handle for each tensor that it returns, with the Tensor
// around it, and nothing else; and its caller nothing for what it hands over.
func TestTypedCallsAllocateTheirResults(t *testing.T) {
	testenv.Libtorch(t)
	for _, c := range typedCalls(t) {
		t.Run(c.name, func(t *testing.T) {
			assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { c.call(1) }), float64(c.results))
		})
	}
}
