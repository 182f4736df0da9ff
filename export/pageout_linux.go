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
	if pages := wholePages(data); pages != nil {
		_ = syscall.Madvise(pages, madvPageout)
	}
}

// unmapPages takes mapped bytes, which nobody can have written yet, out of the memory
// of this process. The system keeps them as it keeps what is read of files, so that
// they are back at once.
func unmapPages(data []byte) {
	if pages := wholePages(data); pages != nil {
		_ = syscall.Madvise(pages, syscall.MADV_DONTNEED)
	}
}

// wholePages are the pages that lie in data from end to end, nil for few bytes.
func wholePages(data []byte) []byte {
	page := uintptr(os.Getpagesize())
	if uintptr(len(data)) < 16*page {
		return nil
	}
	skip := (page - uintptr(unsafe.Pointer(unsafe.SliceData(data)))%page) % page
	whole := (uintptr(len(data)) - skip) / page * page
	return data[skip : skip+whole]
}
