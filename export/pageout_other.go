//go:build !linux

package export

// pageOut does nothing where there is no such advice.
func pageOut([]byte) {}
