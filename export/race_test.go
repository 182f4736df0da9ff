//go:build race

package export

// slowdown is what the race detector costs.
const slowdown = 10
