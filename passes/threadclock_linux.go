package passes

import (
	"syscall"
	"time"
	"unsafe"
)

// threadTime returns the processor time that the calling thread has used: what
// others do on a busy machine does not count.
func threadTime() time.Duration {
	const threadCPU = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadCPU, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		return wallTime()
	}
	return time.Duration(t.Nano())
}
