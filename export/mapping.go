package export

import (
	"io"
	"os"
	"runtime"
	"sync"
)

// A mapping is a file in memory: mapped copy-on-write, so that a program may
// write into its state and the file stays as it is. The memory goes when the
// last holder has released it, or when the collector finds the mapping dead.
type mapping struct {
	mu      sync.Mutex
	data    []byte
	holders int
	cleanup runtime.Cleanup
}

// mapFile maps the whole of f, which may be closed afterwards. It reports false
// where the platform or the file (a pipe, an odd file system) has no mapping;
// the caller then reads.
func mapFile(f *os.File, size int64) (*mapping, bool) {
	if size <= 0 || int64(int(size)) != size {
		return nil, false
	}
	data, err := mmap(f, int(size))
	if err != nil {
		return nil, false
	}
	m := &mapping{data: data, holders: 1}
	m.cleanup = runtime.AddCleanup(m, func(data []byte) { _ = munmap(data) }, data)
	return m, true
}

// hold adds a holder. It reports false when the memory is gone already.
func (m *mapping) hold() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.data == nil {
		return false
	}
	m.holders++
	return true
}

// release drops a holder; the last one unmaps.
func (m *mapping) release() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holders--; m.holders > 0 || m.data == nil {
		return nil
	}
	data := m.data
	m.data = nil
	m.cleanup.Stop()
	return munmap(data)
}

// alive reports whether the memory is still mapped.
func (m *mapping) alive() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data != nil
}

// A span is readable bytes at known places: a mapped file, bytes in memory, or
// whatever an io.ReaderAt reads.
type span struct {
	r    io.ReaderAt
	size int64
	m    *mapping // nil unless mapped
	base int64    // of a part of a file: where it starts
}

// part is n bytes of s at off, which the caller has checked, as a span.
func (s *span) part(off, n int64) *span { return &span{r: s.r, size: n, m: s.m, base: s.base + off} }

// slice returns n bytes at off, without a copy where the file is mapped. The
// caller has checked off and n against the size.
func (s *span) slice(off, n int64) ([]byte, error) {
	off += s.base
	if s.m != nil {
		return s.m.data[off : off+n : off+n], nil
	}
	buf := make([]byte, n)
	if _, err := s.r.ReadAt(buf, off); err != nil && !(err == io.EOF && n == 0) {
		return nil, err
	}
	return buf, nil
}

// ReadAt makes a span an io.ReaderAt.
func (s *span) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= s.size {
		return 0, io.EOF
	}
	end := min(s.size-off, int64(len(p)))
	var n int
	if s.m == nil {
		var err error
		if n, err = s.r.ReadAt(p[:end], s.base+off); err != nil && (err != io.EOF || int64(n) < end) {
			return n, err
		}
	} else {
		n = copy(p[:end], s.m.data[s.base+off:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// openSpan opens path as a span, mapped where that works. The file itself is
// closed again, unless reads need it; close then closes it.
func openSpan(path string) (s *span, close func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &os.PathError{Op: "open", Path: path, Err: errIsDirectory}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	if m, ok := mapFile(f, info.Size()); ok {
		f.Close()
		return &span{size: info.Size(), m: m}, m.release, nil
	}
	return &span{r: f, size: info.Size()}, f.Close, nil
}
