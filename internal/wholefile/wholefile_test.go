package wholefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// text writes s.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// only asserts that the folder of path holds that one file, with the content: no part
// of another is left.
func only(t *testing.T, path, content string) {
	t.Helper()
	names(t, filepath.Dir(path), filepath.Base(path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, content, string(data))
}

func names(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	assert.ElementsMatch(t, want, got)
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.pt2")
	require.NoError(t, Write(path, text("first")))
	only(t, path, "first")
	require.NoError(t, Write(path, text("")))
	only(t, path, "")
	big := strings.Repeat("0123456789abcdef", 1<<16)
	require.NoError(t, Write(path, func(w io.Writer) error { // in pieces
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{strings.NewReader(big)}, make([]byte, 1000))
		return err
	}))
	only(t, path, big)
}

func TestAnErrorLeavesThePathAsItWas(t *testing.T) {
	tests := []struct {
		name  string
		write func(io.Writer) error
		want  error
	}{
		{"before anything is written", func(io.Writer) error { return io.ErrUnexpectedEOF }, io.ErrUnexpectedEOF},
		{"after a part", func(w io.Writer) error {
			return errors.Join(text("half of it")(w), io.ErrShortWrite)
		}, io.ErrShortWrite},
		{"by the file itself", func(w io.Writer) error {
			require.NoError(t, w.(io.Closer).Close())
			return text("too late")(w)
		}, os.ErrClosed},
		{"when the file is closed", func(w io.Writer) error {
			return errors.Join(text("all of it")(w), w.(io.Closer).Close())
		}, os.ErrClosed},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.pt2")
			require.ErrorIs(t, Write(path, tc.write), tc.want)
			names(t, filepath.Dir(path))

			require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
			require.ErrorIs(t, Write(path, tc.write), tc.want)
			only(t, path, "old")
		})
	}
}

// While it is written, and where writing panics, the old content is at the path.
func TestThePathIsWholeMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.pt2")
	require.NoError(t, Write(path, text("old")))
	require.NoError(t, Write(path, func(w io.Writer) error {
		require.NoError(t, text("ne")(w))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "old", string(data))
		return text("w")(w)
	}))
	only(t, path, "new")
}

// Who has the old file open, a mapping say, goes on reading it.
func TestReadersKeepTheFileThatTheyOpened(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced there")
	}
	path := filepath.Join(t.TempDir(), "model.pt2")
	require.NoError(t, Write(path, text("old")))
	reader, err := os.Open(path)
	require.NoError(t, err)
	defer reader.Close()
	require.NoError(t, Write(path, func(w io.Writer) error { // of what it replaces
		_, err := io.Copy(w, io.MultiReader(reader, strings.NewReader(" and new")))
		return err
	}))
	only(t, path, "old and new")
	data := make([]byte, 3)
	_, err = reader.ReadAt(data, 0)
	require.NoError(t, err)
	assert.Equal(t, "old", string(data))
	_, err = reader.ReadAt(data, 3)
	require.ErrorIs(t, err, io.EOF)
}

// Of writers at once one wins, whole, and nothing of the others stays.
func TestWritersAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.pt2")
	const writers, size = 16, 1 << 16
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		wg.Go(func() {
			errs[i] = Write(path, func(w io.Writer) error {
				for range 16 {
					if _, err := w.Write(bytes.Repeat([]byte{byte('a' + i)}, size/16)); err != nil {
						return err
					}
				}
				if i%4 == 3 {
					return fmt.Errorf("writer %d gives up", i)
				}
				return nil
			})
		})
	}
	wg.Wait()
	for i, err := range errs {
		assert.Equal(t, i%4 == 3, err != nil, "writer %d: %v", i, err)
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, data, size)
	assert.Equal(t, bytes.Repeat(data[:1], size), data, "parts of several writers")
	assert.NotEqual(t, 3, int(data[0]-'a')%4, "a writer that failed")
	names(t, filepath.Dir(path), "model.pt2")
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are none")
	}
	path := filepath.Join(t.TempDir(), "model.pt2")
	mode := func() os.FileMode {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	plain, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, plain.Close())
	usual := mode()
	require.NoError(t, os.Remove(path))
	require.NoError(t, Write(path, text("new")))
	assert.Equal(t, usual, mode(), "a new file has what the process gives new files")
	for _, perm := range []os.FileMode{0o600, 0o664, 0o444, 0o755} {
		require.NoError(t, os.Chmod(path, perm))
		require.NoError(t, Write(path, text("again")))
		assert.Equal(t, perm, mode(), "one that is replaced keeps its own")
	}
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "there", "model.pt2"), filepath.Join(dir, "here", "latest.pt2")
	require.NoError(t, os.Mkdir(filepath.Dir(target), 0o755))
	require.NoError(t, os.Mkdir(filepath.Dir(link), 0o755))
	require.NoError(t, Write(target, text("old")))
	if err := os.Symlink(filepath.Join("..", "there", "model.pt2"), link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	require.NoError(t, Write(link, text("new")))
	only(t, target, "new")
	only(t, link, "new")
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSymlink, info.Mode().Type(), "a link stays one")

	require.ErrorIs(t, Write(link, func(io.Writer) error { return io.ErrShortWrite }), io.ErrShortWrite)
	only(t, target, "new")

	// one that leads nowhere has no target to keep: the file takes its place
	require.NoError(t, os.Remove(target))
	require.NoError(t, Write(link, text("alone")))
	only(t, link, "alone")
}

func TestWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	called := false
	write := func(io.Writer) error {
		called = true
		return nil
	}
	err := Write(dir, write)
	require.Error(t, err)
	assert.ErrorContains(t, err, dir+": is no regular file")
	err = Write(os.DevNull, write)
	assert.ErrorContains(t, err, "is no regular file")
	require.ErrorIs(t, Write(filepath.Join(dir, "none", "model.pt2"), write), os.ErrNotExist)
	file := filepath.Join(dir, "file")
	require.NoError(t, Write(file, text("x")))
	require.Error(t, Write(filepath.Join(file, "model.pt2"), write), "a file is no folder")
	require.Error(t, Write("", write))
	assert.False(t, called, "refused before the content is made")
	names(t, dir, "file")
}

func TestAFolderThatMayNotBeWritten(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	path := filepath.Join(t.TempDir(), "model.pt2")
	require.NoError(t, Write(path, text("old")))
	dir := filepath.Dir(path)
	require.NoError(t, os.Chmod(dir, 0o500))
	defer os.Chmod(dir, 0o700)
	require.ErrorIs(t, Write(path, text("new")), os.ErrPermission)
	only(t, path, "old")
}

// Names as long as a file system takes leave room for what is added meanwhile.
func TestLongNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("n", 255))
	require.NoError(t, Write(path, text("long")))
	only(t, path, "long")
	t.Chdir(filepath.Dir(path))
	require.NoError(t, Write("beside", text("here"))) // a path without a folder
	names(t, ".", filepath.Base(path), "beside")
}

// Links that lead to where nothing is yet make the file there; those in a circle fail.
func TestLinksToNothingYet(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir, other := t.TempDir(), t.TempDir()
	link, second, file := filepath.Join(dir, "link"), filepath.Join(dir, "second"), filepath.Join(other, "model.pt2")
	require.NoError(t, os.Symlink(file, second))
	require.NoError(t, os.Symlink("second", link))
	assert.Equal(t, file, Target(link))
	require.NoError(t, Try(link))
	names(t, other)
	require.NoError(t, Write(link, text("new")))
	only(t, file, "new")
	names(t, dir, "link", "second")

	circle := filepath.Join(dir, "circle")
	require.NoError(t, os.Symlink("circle", circle))
	require.Error(t, Write(circle, text("new")))
	require.Error(t, Try(circle))
	names(t, dir, "link", "second", "circle")
}

func TestTry(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.pt2")
	require.NoError(t, Try(path))
	names(t, dir)
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.NoError(t, Try(path))
	only(t, path, "old")
	require.Error(t, Try(dir), "a folder")
	require.Error(t, Try(filepath.Join(dir, "none", "model.pt2")))
}
