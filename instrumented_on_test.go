//go:build race || torchfx_debug

package torchfx_test

// instrumented builds are slow and use memory of their own.
const instrumented = true
