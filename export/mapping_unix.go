//go:build unix

package export

import (
	"os"
	"syscall"
)

// mmap maps a file privately: reads come from the page cache, the first write
// to a page copies it.
func mmap(f *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
}

func munmap(data []byte) error { return syscall.Munmap(data) }
