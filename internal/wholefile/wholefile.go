// Package wholefile writes files that appear whole or not at all.
package wholefile

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Write makes the file at path of what write gives: in a file beside it, which
// takes the name only when all of it is on the disk. On an error path is as it was.
// A file that is replaced keeps its permissions, and may be open or mapped
// meanwhile, by the very program that is written.
func Write(path string, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	old, err := os.Stat(path)
	if err == nil && !old.Mode().IsRegular() {
		return &os.PathError{Op: "write", Path: path, Err: errors.New("is no regular file")}
	}
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // a second time, where it is closed
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if old != nil {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // some file systems have no such thing for folders; the content is safe
		_ = dir.Close()
	}
	return nil
}

// createBeside makes a new hidden file in the folder of path, with the
// permissions of any new file.
func createBeside(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	for try := 0; ; try++ {
		name := fmt.Sprintf("%s.%s.%08x.part", dir, base[:min(len(base), 100)], rand.Uint32())
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !os.IsExist(err) || try == 100 {
			return f, err
		}
	}
}
