//go:build race

package libtorch

const instrumented = 3
