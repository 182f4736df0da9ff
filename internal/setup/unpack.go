package setup

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// markDir holds, inside a libtorch folder, one mark for each component that is
// completely unpacked.
const markDir = ".components"

// A mark says what was unpacked: enough to see that all of it is still there.
type mark struct {
	SHA256 string           `json:"sha256"` // of the wheel
	Files  map[string]int64 `json:"files"`  // slash-separated path → size
}

// unpackedIn reports whether all files of c lie below dir with their sizes.
func (c *component) unpackedIn(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, markDir, c.name+".json"))
	if err != nil {
		return false
	}
	var m mark
	if json.Unmarshal(data, &m) != nil || m.SHA256 != c.wheel.sha256 || len(m.Files) == 0 {
		return false
	}
	for name, size := range m.Files {
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || info.Size() != size {
			return false
		}
	}
	return true
}

// unpack writes the files of c from the wheel into dir and then its mark. Files
// that are already there with the right content stay; others are written in the
// folder stage first and renamed, so that a library in use is never changed under
// its user.
func (c *component) unpack(ctx context.Context, wheelFile, dir, stage string, show Reporter) error {
	z, err := zip.OpenReader(wheelFile)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(wheelFile), err)
	}
	defer z.Close()
	files, err := c.selectFiles(&z.Reader)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(wheelFile), err)
	}
	var total int64
	for _, f := range files {
		total += int64(f.UncompressedSize64)
	}
	task := show.Begin("unpack "+c.name, total)
	defer task.End()
	var done atomic.Int64
	defer every(func() { task.At(min(done.Load(), total)) })()

	m := mark{SHA256: c.wheel.sha256, Files: map[string]int64{}}
	for len(files) > 0 {
		// the large ones first, so that the workers end together
		slices.SortStableFunc(files, func(a, b *zip.File) int {
			return cmp.Compare(b.UncompressedSize64, a.UncompressedSize64)
		})
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(max(2, runtime.NumCPU()))
		for _, f := range files {
			m.Files[f.Name] = int64(f.UncompressedSize64)
			g.Go(func() error { return unpackFile(ctx, f, dir, stage, &done) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		// what the libraries need is read from them: it differs by processor
		if files, err = c.dependencies(&z.Reader, files, dir, m.Files); err != nil {
			return err
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeAside(filepath.Join(dir, markDir, c.name+".json"), stage, bytes.NewReader(data))
}

// selectFiles returns the roots of c and the files that it keeps.
func (c *component) selectFiles(z *zip.Reader) ([]*zip.File, error) {
	var out []*zip.File
	roots := 0
	for _, f := range z.File {
		switch {
		case strings.HasSuffix(f.Name, "/"):
		case !filepath.IsLocal(f.Name) || strings.Contains(f.Name, `\`):
			return nil, fmt.Errorf("a path that leads outside: %q", f.Name)
		case slices.Contains(c.roots, f.Name):
			roots++
			out = append(out, f)
		case c.keep(f.Name):
			out = append(out, f)
		}
	}
	if roots < len(c.roots) || len(out) == 0 {
		return nil, fmt.Errorf("expected the libraries of %s in it, got none", c.name)
	}
	return out, nil
}

// dependencies returns the files of the archive that the libraries among files
// need and that are not in have. Only components with roots follow them.
func (c *component) dependencies(z *zip.Reader, files []*zip.File, dir string, have map[string]int64) ([]*zip.File, error) {
	if len(c.roots) == 0 {
		return nil, nil
	}
	byBase := map[string]*zip.File{}
	for _, f := range z.File {
		if isLibrary(f.Name) {
			byBase[path.Base(f.Name)] = f
		}
	}
	var out []*zip.File
	for _, f := range files {
		if !isLibrary(f.Name) {
			continue
		}
		libs, _, err := neededOf(filepath.Join(dir, filepath.FromSlash(f.Name)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		for _, lib := range libs {
			if dep := byBase[lib]; dep != nil && !slices.Contains(out, dep) {
				if _, ok := have[dep.Name]; !ok {
					out = append(out, dep)
				}
			}
		}
	}
	return out, nil
}

// isLibrary reports whether file is a shared library by its name: "libgomp.so.1",
// "libomp.dylib".
func isLibrary(file string) bool {
	base := path.Base(file)
	return strings.HasSuffix(base, ".dylib") || strings.HasSuffix(base, ".so") || strings.Contains(base, ".so.")
}

// unpackFile writes one file of an archive below dir and adds its bytes to done.
func unpackFile(ctx context.Context, f *zip.File, dir, stage string, done *atomic.Int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := filepath.Join(dir, filepath.FromSlash(f.Name))
	if sameContent(name, f) {
		done.Add(int64(f.UncompressedSize64))
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	return writeAside(name, stage, &counted{ctx, r, done})
}

// sameContent reports whether the file has the size and checksum that the
// archive states.
func sameContent(name string, f *zip.File) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || uint64(info.Size()) != f.UncompressedSize64 {
		return false
	}
	sum := crc32.NewIEEE()
	_, err = io.Copy(sum, file)
	return err == nil && sum.Sum32() == f.CRC32
}

// counted adds what is read to n and stops when ctx ends.
type counted struct {
	ctx context.Context
	r   io.Reader
	n   *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
