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
	path = Target(path) // a link stays one
	f, old, err := begin(path)
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

// Try reports what would keep Write from making the file at path, as far as that can
// be known before: whether the file beside it can be made.
func Try(path string) error {
	f, _, err := begin(Target(path))
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// begin makes the file beside path, and describes the one that it will replace, nil for none.
func begin(path string) (f *os.File, old os.FileInfo, err error) {
	if old, err = os.Stat(path); err != nil && !os.IsNotExist(err) {
		return nil, nil, err
	} else if err == nil && !old.Mode().IsRegular() {
		return nil, nil, &os.PathError{Op: "write", Path: path, Err: errors.New("is no regular file")}
	}
	f, err = createBeside(path)
	return f, old, err
}

// Target is where the links lead that path may be, also where no file is there yet.
func Target(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	const most = 40 // links that lead in a circle lead nowhere
	for range most {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path
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
