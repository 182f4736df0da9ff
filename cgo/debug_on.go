//go:build torchfx_debug

package libtorch

import "runtime"

const debug = true

// maybeGC collects before a C pointer is used. Code that took the pointer and let
// go of its owner then fails at once, in tests, instead of rarely, in production.
func maybeGC() {
	runtime.GC()
}
