//go:build !cgo

package libtorch

// Without cgo there is no way to libtorch. This makes the compiler say so, in one
// line, where it would list what the files with C in them define.
var _ = libtorch_needs_cgo_set_CGO_ENABLED_to_1_and_install_a_C_compiler
