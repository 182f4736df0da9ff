package export

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/torchfx-go/torchfx/ir"
)

// recordAlignment is where PyTorch's writer begins the content of a record: at a
// multiple of it, so that it can be mapped.
const recordAlignment = 64

// A zipWriter writes a zip archive of stored records as PyTorch's own writer lays
// it out, but with the sizes and checksums in the local headers, too. archive/zip
// gives no say in where content begins and leaves ZIP64 out of local headers.
type zipWriter struct {
	w       *bufio.Writer
	at      uint64 // bytes written
	root    string // the folder of all records, "" or with a slash at the end
	entries []zipEntry
	names   map[string]bool
	err     error
	wrote   func(n int) // told of content written; may be nil
}

type zipEntry struct {
	name   string
	crc    uint32
	size   uint64
	offset uint64
}

const (
	zipLocal     = 0x04034b50
	zipCentral   = 0x02014b50
	zipEnd       = 0x06054b50
	zipEnd64     = 0x06064b50
	zipLocator64 = 0x07064b50
	zipUTF8      = 0x0800     // flag: names are UTF-8
	zipDate      = 0x0021     // 1980-01-01, the first there is
	zipMax32     = 0xffffffff // what stands where ZIP64 has the number
	zipMax16     = 0xffff
	zipExtra64   = 0x0001
	zipPadding   = 0x4246 // "FB", the extra field with which PyTorch pads
)

func newZipWriter(w io.Writer, root string) *zipWriter {
	return &zipWriter{w: bufio.NewWriterSize(w, 1<<16), root: root, names: map[string]bool{}}
}

// add writes a record. The bytes are read twice, for the checksum and to be
// written; they may be those of a mapped file.
func (z *zipWriter) add(name string, data []byte) {
	name = z.root + name
	switch {
	case z.err != nil:
		return
	case z.names[name]:
		z.err = ir.Errorf(ir.ErrAssertion, "archive: record %s is written twice", name)
		return
	}
	z.names[name] = true
	e := zipEntry{name: name, crc: crc32.ChecksumIEEE(data), size: uint64(len(data)), offset: z.at}
	z.entries = append(z.entries, e)
	z.local(e)
	const chunk = 1 << 20
	for len(data) > 0 && z.err == nil {
		n := min(chunk, len(data))
		z.write(data[:n])
		if data = data[n:]; z.wrote != nil {
			z.wrote(n)
		}
	}
}

// local writes the header in front of a record's content.
func (z *zipWriter) local(e zipEntry) {
	var extra []byte
	size := uint32(min(e.size, zipMax32))
	if e.size >= zipMax32 {
		size = zipMax32
		extra = binary.LittleEndian.AppendUint16(extra, zipExtra64)
		extra = binary.LittleEndian.AppendUint16(extra, 16)
		extra = binary.LittleEndian.AppendUint64(extra, e.size)
		extra = binary.LittleEndian.AppendUint64(extra, e.size)
	}
	begin := z.at + 30 + uint64(len(e.name)+len(extra)) + 4
	pad := (recordAlignment - begin%recordAlignment) % recordAlignment
	extra = binary.LittleEndian.AppendUint16(extra, zipPadding)
	extra = binary.LittleEndian.AppendUint16(extra, uint16(pad))
	for range pad {
		extra = append(extra, 'Z')
	}
	z.numbers(uint32(zipLocal), z.version(e), uint16(zipUTF8), uint16(0), uint16(0), uint16(zipDate), e.crc, size, size,
		uint16(len(e.name)), uint16(len(extra)))
	z.write([]byte(e.name))
	z.write(extra)
}

// version is the version of the format that a reader must know.
func (z *zipWriter) version(e zipEntry) uint16 {
	if e.size >= zipMax32 || e.offset >= zipMax32 {
		return 45
	}
	return 20
}

// close writes the central directory.
func (z *zipWriter) close() error {
	start := z.at
	for _, e := range z.entries {
		z.central(e)
	}
	size, n := z.at-start, uint64(len(z.entries))
	if start >= zipMax32 || size >= zipMax32 || n >= zipMax16 {
		end := z.at
		z.numbers(uint32(zipEnd64), uint64(44), uint16(45), uint16(45), uint32(0), uint32(0), n, n, size, start)
		z.numbers(uint32(zipLocator64), uint32(0), end, uint32(1))
	}
	z.numbers(uint32(zipEnd), uint16(0), uint16(0), uint16(min(n, zipMax16)), uint16(min(n, zipMax16)),
		uint32(min(size, zipMax32)), uint32(min(start, zipMax32)), uint16(0))
	if z.err != nil {
		return z.err
	}
	return z.w.Flush()
}

// central writes an entry of the central directory.
func (z *zipWriter) central(e zipEntry) {
	var big []byte
	size, offset := uint32(min(e.size, zipMax32)), uint32(min(e.offset, zipMax32))
	if e.size >= zipMax32 {
		big = binary.LittleEndian.AppendUint64(big, e.size)
		big = binary.LittleEndian.AppendUint64(big, e.size)
	}
	if e.offset >= zipMax32 {
		big = binary.LittleEndian.AppendUint64(big, e.offset)
	}
	extra := 0
	if big != nil {
		extra = 4 + len(big)
	}
	z.numbers(uint32(zipCentral), z.version(e), z.version(e), uint16(zipUTF8), uint16(0), uint16(0), uint16(zipDate), e.crc, size, size,
		uint16(len(e.name)), uint16(extra), uint16(0), uint16(0), uint16(0), uint32(0), offset)
	z.write([]byte(e.name))
	if big != nil {
		z.numbers(uint16(zipExtra64), uint16(len(big)))
		z.write(big)
	}
}

// numbers writes little-endian numbers of 2, 4 and 8 bytes.
func (z *zipWriter) numbers(values ...any) {
	var b []byte
	for _, v := range values {
		switch v := v.(type) {
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, v)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, v)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	z.write(b)
}

func (z *zipWriter) write(b []byte) {
	if z.err != nil {
		return
	}
	n, err := z.w.Write(b)
	z.at += uint64(n)
	z.err = err
}
