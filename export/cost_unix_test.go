//go:build unix

package export

import (
	"syscall"
	"time"
)

// cpuTime is what this process has computed so far: unlike the clock on the wall
// it does not run while others have the machine.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
