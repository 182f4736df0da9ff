//go:build !linux

package export

// pageOut does nothing where there is no such advice.
func pageOut([]byte) {}

// unmapPages does nothing where pages would not come back as they are.
func unmapPages([]byte) {}
