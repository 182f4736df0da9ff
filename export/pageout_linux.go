package export

import (
	"os"
	"syscall"
	"unsafe"
)

// madvPageout is MADV_PAGEOUT of Linux 5.4 and later: the pages may go to where they
// come from. Those that were written keep what was written.
const madvPageout = 21

// pageOut says that mapped bytes were read and will not be needed soon, so that a
// file that is copied does not come to lie in memory whole. It is advice: errors are
// of no consequence.
func pageOut(data []byte) {
	page := uintptr(os.Getpagesize())
	if uintptr(len(data)) < 2*page {
		return
	}
	skip := (page - uintptr(unsafe.Pointer(unsafe.SliceData(data)))%page) % page
	whole := (uintptr(len(data)) - skip) / page * page
	_ = syscall.Madvise(data[skip:skip+whole], madvPageout)
}
