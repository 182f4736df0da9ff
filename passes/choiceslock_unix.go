//go:build unix

package passes

import (
	"os"
	"syscall"
	"time"
)

// lockFolder waits until nobody else who asks for it has the folder, for as long as
// reading and writing a file of choices may take. Where it cannot be had, the file is
// whole all the same, and lacks at worst what another process measured meanwhile.
func lockFolder(dir string) (release func()) {
	const patience = 5 * time.Second
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(5 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			break
		}
	}
	return func() { _ = f.Close() } // which gives it back
}
