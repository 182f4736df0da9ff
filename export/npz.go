package export

import (
	"archive/zip"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// An Npz is an open .npz archive: a zip file of .npy arrays.
type Npz struct {
	a     *archive
	close func() error
	names []string
}

// OpenNpz opens a .npz archive, mapped where the platform can. Checksums are
// verified as arrays are read.
func OpenNpz(path string) (*Npz, error) {
	s, close, err := openSpan(path)
	if err != nil {
		return nil, err
	}
	z, err := readNpz(s)
	if err != nil {
		_ = close()
		return nil, err
	}
	z.close = close
	return z, nil
}

// ReadNpz is [OpenNpz] for size bytes that r reads.
func ReadNpz(r io.ReaderAt, size int64) (*Npz, error) { return readNpz(&span{r: r, size: size}) }

func readNpz(s *span) (*Npz, error) {
	a, err := openArchive(s)
	if err != nil {
		return nil, err
	}
	z := &Npz{a: a}
	for _, record := range a.order {
		name, ok := strings.CutSuffix(record, ".npy")
		if !ok {
			return nil, ir.Errorf(ir.ErrFormat, "npz: expected records named *.npy, got %q", clip(record))
		}
		z.names = append(z.names, name)
	}
	return z, nil
}

// Names returns the names of the arrays, in the order of the file.
func (z *Npz) Names() []string { return slices.Clone(z.names) }

// Tensor reads an array; see [ReadNpy].
func (z *Npz) Tensor(name string) (*Tensor, error) {
	r, err := z.find(name)
	if err != nil {
		return nil, err
	}
	data, err := z.a.content(r)
	if err != nil {
		return nil, err
	}
	t, body, err := parseNpy(data)
	if err != nil {
		return nil, ir.Errorf(ir.ClassOf(err), "npz, %s: %w", name, err)
	}
	t.Storage = NewStorage(slices.Clone(body))
	return t, nil
}

// find returns the record of an array.
func (z *Npz) find(name string) (*record, error) {
	if !slices.Contains(z.names, name) {
		return nil, ir.Errorf(ir.ErrKey, "npz: expected one of %s, got %q", quoted(z.names), name)
	}
	if m := z.a.span.m; m != nil && !m.alive() {
		return nil, ir.Errorf(ir.ErrClosed, "npz: is closed")
	}
	return z.a.find(name + ".npy")
}

// Close gives up the file. Tensors that were read stay. A second Close does
// nothing.
func (z *Npz) Close() error {
	if z.close == nil {
		return nil
	}
	c := z.close
	z.close = nil
	return c()
}

// WriteNpz writes tensors as an uncompressed .npz archive, by name. See
// [WriteNpy] for the dtypes.
func WriteNpz(w io.Writer, tensors map[string]*Tensor) error {
	z := zip.NewWriter(w)
	for _, name := range sortedKeys(tensors) {
		data, err := npyBytes(tensors[name])
		if err != nil {
			return ir.Errorf(ir.ClassOf(err), "npz, %s: %w", name, err)
		}
		// sizes and checksum are known, so that no data descriptor is needed
		e, err := z.CreateRaw(&zip.FileHeader{Name: name + ".npy", Method: zip.Store, CRC32: crc32.ChecksumIEEE(data),
			CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data))})
		if err != nil {
			return err
		}
		if _, err := e.Write(data); err != nil {
			return err
		}
	}
	return z.Close()
}
