package export

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"

	"github.com/torchfx-go/torchfx/ir"
)

// ReadNpyHeader reads the header of a .npy array of size bytes, and returns the array
// without its elements. Its errors are those of [ReadNpy].
func ReadNpyHeader(r io.Reader, size int64) (*Tensor, error) {
	head := make([]byte, min(size, 12))
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, cutOff(err)
	}
	n, at, err := npyHeaderSize(head)
	if err != nil {
		return nil, err
	}
	if int64(at+n) > size {
		return nil, ir.Errorf(ir.ErrFormat, "npy: expected a header of at most %d bytes, got %d", size-int64(at), n)
	}
	text := make([]byte, n)
	got := copy(text, head[at:])
	if _, err := io.ReadFull(r, text[got:]); err != nil {
		return nil, cutOff(err)
	}
	t, _, err := npyTensor(string(text), size-int64(at+n))
	return t, err
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ir.Errorf(ir.ErrFormat, "npy: is cut off in its header")
	}
	return ir.Errorf(ir.ErrFormat, "npy: %w", err)
}

// Header returns an array without its elements, of which only the beginning is read.
func (z *Npz) Header(name string) (*Tensor, error) {
	r, err := z.find(name)
	if err != nil {
		return nil, err
	}
	packed, err := z.a.span.slice(r.off, r.packed)
	if err != nil {
		return nil, ir.Errorf(ir.ErrFormat, "record %s: cannot be read: %w", r.name, err)
	}
	var content io.Reader = bytes.NewReader(packed)
	if r.deflated {
		content = flate.NewReader(content)
	}
	t, err := ReadNpyHeader(content, r.size)
	if err != nil {
		return nil, ir.Errorf(ir.ClassOf(err), "npz, %s: %w", name, err)
	}
	return t, nil
}
