//go:build unix

package setup

import (
	"os/exec"
	"syscall"
	"time"
)

// stopWithChildren makes the end of cmd's context end its children too: pip and
// compilers are drivers of other processes, which would go on without them.
func stopWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
}
