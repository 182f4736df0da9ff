//go:build !race

package export

const slowdown = 1
