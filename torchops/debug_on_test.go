//go:build torchfx_debug

package torchops

// every is which recorded cases run: with this tag each use of a tensor collects
// garbage first, and all of them would take an hour.
const every = 97
