//go:build !race

package libtorch

// instrumented is by what bounds on memory grow under the race detector, whose
// shadow takes several bytes for each of Go's.
const instrumented = 1
