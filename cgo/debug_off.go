//go:build !torchfx_debug

package libtorch

const debug = false

// maybeGC does nothing; see debug_on.go.
func maybeGC() {}
