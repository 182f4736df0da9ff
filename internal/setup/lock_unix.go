//go:build unix

package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockName is the file in the home that set-ups lock. It stays: removing it would
// let two of them hold two different files of one name.
const lockName = ".setup.lock"

// lock waits until this process alone sets up home and returns the release. The
// system drops the lock of a process that dies. busy is called once if another
// holds it.
func lock(ctx context.Context, home string, busy func()) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(home, lockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		if first {
			busy()
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// freeBytes returns how much an unprivileged user may write below dir.
func freeBytes(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // uint32 on macOS
}
