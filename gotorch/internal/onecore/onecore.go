//go:build gotorch

// Package onecore lets gotorch start on a machine, or in a container, of one core.
//
// gotorch's init tells libtorch to use half as many threads as there are cores:
// none, on one core, which libtorch refuses by an exception that ends the process.
// It leaves the number alone where OMP_NUM_THREADS is set, so this package sets it,
// on one core alone. Go initialises packages in the order of their import paths as
// far as dependencies allow, and this one needs nothing that gotorch does not, so
// it comes first.
package onecore

import (
	"os"
	"runtime"
)

func init() {
	if runtime.NumCPU() == 1 && os.Getenv("OMP_NUM_THREADS") == "" && os.Getenv("MKL_NUM_THREADS") == "" {
		_ = os.Setenv("OMP_NUM_THREADS", "1")
	}
}
