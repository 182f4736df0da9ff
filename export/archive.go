package export

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/torchfx-go/torchfx/ir"
)

// The limits on what a file may claim. They are far above what PyTorch writes.
const (
	maxRecords  = 1 << 18 // entries of an archive
	maxText     = 1 << 28 // bytes of a JSON record
	maxInflated = 1032    // deflate cannot grow more than this per byte
	maxRatio    = 200     // bytes per deflated byte of a record above bombSize
	bombSize    = 16 << 20
	maxExtra    = 64 << 20 // bytes of extra files, all together
)

// An archive is a zip file under reading: its records by name, checked before
// anything in them is believed. Only the central directory counts: PyTorch's
// writer leaves the local headers empty.
type archive struct {
	span    *span
	records map[string]*record
	order   []string // names as in the central directory
	outside []string // names outside the root folder
	root    string   // the one folder that PyTorch puts everything in, "" where there is none
	sums    bool     // verify checksums
	stored  bool     // refuse deflated records: the archive was deflated itself
}

// A record is one entry of an archive.
type record struct {
	name     string    // below the root
	entry    *zip.File // nil once the record was placed
	off      int64     // of the data in the file
	packed   int64     // bytes in the file
	size     int64     // bytes of the content
	crc      uint32
	deflated bool
	checked  bool
	flawed   error // why the record cannot be read
}

// openArchive reads the directory of the zip file in s. All that is wrong with
// it is reported at once.
func openArchive(s *span) (*archive, error) {
	if s.size == 0 {
		return nil, ir.Errorf(ir.ErrFormat, "empty file: expected a .pt2 archive, got 0 bytes")
	}
	z, err := zip.NewReader(s, s.size)
	if err != nil {
		return nil, notAZip(s, err)
	}
	if len(z.File) > maxRecords {
		return nil, ir.Errorf(ir.ErrFormat, "archive: expected at most %d records, got %d", maxRecords, len(z.File))
	}
	a := &archive{span: s, records: make(map[string]*record, len(z.File))}
	var f faults
	for _, e := range z.File {
		a.add(e, &f)
	}
	if err := f.join(); err != nil {
		return nil, err
	}
	a.sums = slices.ContainsFunc(a.order, func(name string) bool { return a.records[name].crc != 0 })
	return a, nil
}

// add checks one entry of the directory and notes it.
func (a *archive) add(e *zip.File, f *faults) {
	if err := checkRecordName(e.Name); err != nil {
		f.err(err)
		return
	}
	if strings.HasSuffix(e.Name, "/") {
		return // a folder; PyTorch writes none
	}
	if _, dup := a.records[e.Name]; dup {
		f.add(ir.ErrFormat, "record %s: there are two of that name", e.Name)
		return
	}
	a.records[e.Name] = &record{name: e.Name, entry: e, crc: e.CRC32, deflated: e.Method == zip.Deflate}
	a.order = append(a.order, e.Name)
}

// place finds out where the content of a record lies, and whether the file can
// hold what its entry declares.
func (a *archive) place(r *record) error {
	e := r.entry
	size, packed := e.UncompressedSize64, e.CompressedSize64
	switch {
	case e.Method != zip.Store && e.Method != zip.Deflate:
		return ir.Errorf(ir.ErrUnsupported, "record %s: expected stored or deflated content, got zip method %d", r.name, e.Method)
	case e.Flags&1 != 0:
		return ir.Errorf(ir.ErrUnsupported, "record %s: is encrypted", r.name)
	case e.Method == zip.Deflate && a.stored:
		return ir.Errorf(ir.ErrUnsupported, "record %s: is deflated in an archive that is deflated itself", r.name)
	case packed > uint64(a.span.size):
		return a.tooLarge(r, packed)
	}
	off, err := e.DataOffset()
	switch {
	case err != nil:
		return ir.Errorf(ir.ErrFormat, "record %s: its header cannot be read: %w", r.name, err)
	case off < 0 || off > a.span.size || packed > uint64(a.span.size-off):
		return a.tooLarge(r, packed)
	case e.Method == zip.Store && size != packed:
		return ir.Errorf(ir.ErrFormat, "record %s: is stored, but declares %d bytes of content in %d bytes of file", r.name, size, packed)
	case e.Method == zip.Deflate && size/maxInflated > packed:
		return ir.Errorf(ir.ErrFormat, "record %s: declares %d bytes, more than its %d deflated bytes can hold", r.name, size, packed)
	case e.Method == zip.Deflate && size > bombSize && size/maxRatio > packed:
		return ir.Errorf(ir.ErrFormat, "record %s: declares %d bytes in %d deflated ones, as only a zip bomb does: expected at most %d a byte", r.name, size, packed, maxRatio)
	}
	r.off, r.packed, r.size = off, int64(packed), int64(size)
	return nil
}

func (a *archive) tooLarge(r *record, size uint64) error {
	return ir.Errorf(ir.ErrFormat, "record %s: declares %d bytes, more than the file has (%d)", r.name, size, a.span.size)
}

// checkRecordName refuses names that could lead out of a folder. No record is
// ever written to disk under its name, but other programs do that.
func checkRecordName(name string) error {
	switch {
	case name == "":
		return ir.Errorf(ir.ErrFormat, "record name: is empty")
	case len(name) > 4096:
		return ir.Errorf(ir.ErrFormat, "record name: expected at most 4096 bytes, got %d", len(name))
	case !utf8.ValidString(name) || strings.ContainsRune(name, '\\') || printable(name) != name:
		return ir.Errorf(ir.ErrFormat, "record name %q: expected printable UTF-8 text with forward slashes", name)
	case strings.HasPrefix(name, "/"):
		return ir.Errorf(ir.ErrFormat, "record name %q: is an absolute path", name)
	case slices.Contains(strings.Split(name, "/"), ".."):
		return ir.Errorf(ir.ErrFormat, "record name %q: has .. in it", name)
	}
	return nil
}

// findRoot strips the folder that PyTorch puts all records in from their names.
// Like PyTorch's reader it takes the text before the first slash of the first
// entry; what lies elsewhere is not part of the program.
func (a *archive) findRoot() {
	if len(a.order) == 0 || a.has(flatProgram) {
		return
	}
	root, _, ok := strings.Cut(a.order[0], "/")
	if !ok {
		return
	}
	records, order := make(map[string]*record, len(a.records)), a.order[:0]
	for _, name := range a.order {
		if below, ok := strings.CutPrefix(name, root+"/"); ok {
			r := a.records[name]
			r.name, records[below] = below, r
			order = append(order, below)
		} else {
			a.outside = append(a.outside, name)
		}
	}
	a.root, a.records, a.order = root, records, order
}

// has reports whether there is a record.
func (a *archive) has(name string) bool { return a.records[name] != nil }

// below yields the names of the records in a folder, in the order of the file.
func (a *archive) below(dir string) []string {
	var names []string
	for _, name := range a.order {
		if strings.HasPrefix(name, dir) {
			names = append(names, name)
		}
	}
	return names
}

// find returns a record, or an error that names what is missing or wrong.
func (a *archive) find(name string) (*record, error) {
	r := a.records[name]
	if r == nil {
		return nil, ir.Errorf(ir.ErrFormat, "record missing: %s", name)
	}
	if r.entry != nil {
		r.flawed = a.place(r)
		r.entry = nil
	}
	return r, r.flawed
}

// text returns a record that holds text, at most limit bytes of it.
func (a *archive) text(name string, limit int64) ([]byte, error) {
	r, err := a.find(name)
	if err != nil {
		return nil, err
	}
	if r.size > limit {
		return nil, ir.Errorf(ir.ErrFormat, "record %s: expected at most %d bytes, got %d", name, limit, r.size)
	}
	return a.content(r)
}

// content returns the bytes of a record: the mapped ones where it is stored in
// a mapped file, else a copy. The checksum is verified the first time, unless
// that was turned off.
func (a *archive) content(r *record) ([]byte, error) {
	data, err := a.span.slice(r.off, r.packed)
	if err != nil {
		return nil, ir.Errorf(ir.ErrFormat, "record %s: cannot be read: %w", r.name, err)
	}
	if r.deflated {
		if data, err = inflate(r, data); err != nil {
			return nil, err
		}
	}
	if a.sums && !r.checked {
		if sum := checksum(data, a.span.m != nil && !r.deflated); sum != r.crc {
			return nil, ir.Errorf(ir.ErrFormat, "record %s: checksum is wrong: expected %08x, got %08x", r.name, r.crc, sum)
		}
		r.checked = true
	}
	return data, nil
}

// checksum is the CRC-32 of a record. Of a mapped one, which is not handed out before, no
// more than a part lies in memory for it.
func checksum(data []byte, mapped bool) uint32 {
	const part = 16 << 20
	sum := uint32(0)
	for at := 0; at < len(data); at += part {
		piece := data[at:min(at+part, len(data))]
		if sum = crc32.Update(sum, crc32.IEEETable, piece); mapped {
			unmapPages(piece)
		}
	}
	return sum
}

// verify checks the sums of records that will be read, several at a time. What is wrong
// with one is told when it is read.
func (a *archive) verify(names []string) {
	if !a.sums || a.span.m == nil {
		return
	}
	var records []*record
	for _, name := range names {
		if r, err := a.find(name); err == nil && !r.deflated && !r.checked {
			records = append(records, r)
		}
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(records)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(records); i = int(next.Add(1)) - 1 {
				r := records[i]
				if data, err := a.span.slice(r.off, r.packed); err == nil {
					r.checked = checksum(data, true) == r.crc
				}
			}
		})
	}
	workers.Wait()
}

// live returns the content of a record of a file that may be closed meanwhile.
func (a *archive) live(name string) ([]byte, error) {
	if a.span.m != nil && !a.span.m.alive() {
		return nil, ir.Errorf(ir.ErrClosed, "record %s: its program was closed", name)
	}
	r, err := a.find(name)
	if err != nil {
		return nil, err
	}
	return a.content(r)
}

// inflate unpacks a deflated record. Memory grows with what comes out; at first
// there is no more of it than such a record commonly needs.
func inflate(r *record, packed []byte) ([]byte, error) {
	z := flate.NewReader(bytes.NewReader(packed))
	defer z.Close()
	var buf bytes.Buffer
	buf.Grow(int(min(r.size+bytes.MinRead, max(1<<20, 128*r.packed))))
	n, err := io.Copy(&buf, io.LimitReader(z, r.size+1))
	switch {
	case err != nil:
		return nil, ir.Errorf(ir.ErrFormat, "record %s: deflated content is damaged: %w", r.name, err)
	case n > r.size:
		return nil, ir.Errorf(ir.ErrFormat, "record %s: expected %d bytes, got more", r.name, r.size)
	case n < r.size:
		return nil, ir.Errorf(ir.ErrFormat, "record %s: expected %d bytes, got %d", r.name, r.size, n)
	}
	return buf.Bytes(), nil
}

// notAZip says what a file is that archive/zip does not take.
func notAZip(s *span, cause error) error {
	head := make([]byte, min(512, s.size))
	if _, err := s.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return ir.Errorf(ir.ErrFormat, "truncated zip archive: no end of central directory (%w); the file was not copied whole", cause)
	}
	what := sniff(head)
	if what != "" {
		what = ": looks like " + what
	}
	return ir.Errorf(ir.ErrFormat, "not a zip archive%s; a .pt2 file that torch.export.save wrote is one", what)
}

// sniff names well-known kinds of files by their first bytes, "" where it is
// none of them.
func sniff(head []byte) string {
	for _, k := range []struct{ magic, name string }{
		{"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19", "a torch.save file from before torch 1.6; open it with export.OpenTorchSave"},
		{"\x80\x02", "a Python pickle"}, {"\x80\x03", "a Python pickle"}, {"\x80\x04", "a Python pickle"}, {"\x80\x05", "a Python pickle"},
		{"\x7fELF", "a shared library or program"},
		{"\x1f\x8b", "a gzip file; unpack it first"},
		{"BZh", "a bzip2 file; unpack it first"},
		{"\xfd7zXZ", "an xz file; unpack it first"},
		{"(\xb5/\xfd", "a zstd file; unpack it first"},
		{"\x93NUMPY", "a NumPy .npy array"},
		{"\x89HDF", "an HDF5 file"},
		{"GGUF", "a GGUF file"},
		{"version https://git-lfs", "a Git LFS pointer; fetch the file itself"},
		{"<!DOCTYPE", "an HTML page; the download went wrong"}, {"<html", "an HTML page; the download went wrong"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.name
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return "a tar archive"
	}
	if len(head) > 9 && head[8] == '{' && head[5]|head[6]|head[7] == 0 {
		return "a safetensors file: weights without a program"
	}
	return ""
}
