//go:build !torchfx_debug

package torchops

// every is which recorded cases run.
const every = 1
