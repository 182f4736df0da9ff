package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// The NumPy array format, versions 1.0 to 3.0; source: numpy.lib.format.
const (
	npyMagic     = "\x93NUMPY"
	maxNpyHeader = 1 << 20
)

// npyTypes are the array types that have a dtype, without their byte order.
var npyTypes = map[string]ir.DType{
	"b1": ir.Bool8, "i1": ir.Int8, "i2": ir.Int16, "i4": ir.Int32, "i8": ir.Int64,
	"u1": ir.UInt8, "u2": ir.UInt16, "u4": ir.UInt32, "u8": ir.UInt64,
	"f2": ir.Float16, "f4": ir.Float32, "f8": ir.Float64, "c8": ir.Complex64, "c16": ir.Complex128,
}

// ReadNpy reads one .npy array, and nothing may follow it. Arrays in Fortran
// order keep it as strides; big-endian ones are swapped. It fails with
// [ir.ErrUnsupported] on types that no dtype is, among them objects, which would
// be pickles, and with [ir.ErrFormat] on damage.
func ReadNpy(r io.Reader) (*Tensor, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	t, body, err := parseNpy(data)
	if err != nil {
		return nil, err
	}
	t.Storage = NewStorage(body)
	return t, nil
}

// parseNpy reads a header and returns what it describes with its bytes, in
// little-endian order.
func parseNpy(data []byte) (t *Tensor, body []byte, err error) {
	header, body, err := npyHeader(data)
	if err != nil {
		return nil, nil, err
	}
	t, swap, err := npyTensor(header, int64(len(body)))
	if err == nil && swap {
		body = swapped(body, t.DType)
	}
	return t, body, err
}

// npyTensor returns what a header describes, of which the file has so many bytes.
func npyTensor(header string, bytes int64) (t *Tensor, swap bool, err error) {
	p := npyParser{text: header}
	descr, fortran, shape, err := p.dict()
	if err != nil {
		return nil, false, ir.Errorf(ir.ErrFormat, "npy header %q: %w", clip(header), err)
	}
	dtype, swap, err := npyType(descr)
	if err != nil {
		return nil, false, err
	}
	n, fits := elements(shape)
	size := int64(dtype.Size())
	if !fits || n > 1<<62/size || n*size != bytes {
		return nil, false, ir.Errorf(ir.ErrFormat, "npy: expected the elements of %v of %s, got %d bytes", shape, dtype, bytes)
	}
	t = &Tensor{DType: dtype, Sizes: shape, Strides: contiguous(shape)}
	if fortran {
		reversed := slices.Clone(shape)
		slices.Reverse(reversed)
		t.Strides = contiguous(reversed)
		slices.Reverse(t.Strides)
	}
	return t, swap, nil
}

// npyHeader cuts a file into its header text and the elements.
func npyHeader(data []byte) (header string, body []byte, err error) {
	n, at, err := npyHeaderSize(data)
	if err != nil {
		return "", nil, err
	}
	if n > uint64(len(data))-at {
		return "", nil, ir.Errorf(ir.ErrFormat, "npy: expected a header of at most %d bytes, got %d", uint64(len(data))-at, n)
	}
	return string(data[at : at+n]), data[at+n:], nil
}

// npyHeaderSize says how long the header text is and where it begins.
func npyHeaderSize(data []byte) (n, at uint64, err error) {
	if len(data) < 10 || string(data[:6]) != npyMagic {
		return 0, 0, ir.Errorf(ir.ErrFormat, "npy: expected the magic string %q", npyMagic)
	}
	switch data[6] {
	case 1:
		n, at = uint64(binary.LittleEndian.Uint16(data[8:])), 10
	case 2, 3:
		if len(data) < 12 {
			return 0, 0, ir.Errorf(ir.ErrFormat, "npy: is cut off in its header")
		}
		n, at = uint64(binary.LittleEndian.Uint32(data[8:])), 12
	default:
		return 0, 0, ir.Errorf(ir.ErrVersion, "npy: expected format version 1 to 3, got %d", data[6])
	}
	if n > maxNpyHeader {
		return 0, 0, ir.Errorf(ir.ErrFormat, "npy: expected a header of at most %d bytes, got %d", maxNpyHeader, n)
	}
	return n, at, nil
}

func npyType(descr string) (t ir.DType, swap bool, err error) {
	if descr != "" {
		if t, ok := npyTypes[descr[1:]]; ok && strings.ContainsRune("<>|=", rune(descr[0])) {
			return t, descr[0] == '>' && t.Size() > 1, nil
		}
	}
	if strings.Contains(descr, "O") {
		return 0, false, ir.Errorf(ir.ErrUnsupported, "npy: arrays of Python objects are pickles and are not read")
	}
	return 0, false, ir.Errorf(ir.ErrUnsupported, "npy: type %q is no dtype", clip(descr))
}

// swapped turns big-endian numbers into little-endian ones.
func swapped(data []byte, t ir.DType) []byte {
	n := t.Size()
	if t.IsComplex() {
		n /= 2
	}
	out := make([]byte, len(data))
	for at := 0; at+n <= len(data); at += n {
		for i := range n {
			out[at+i] = data[at+n-1-i]
		}
	}
	return out
}

// npyParser reads the one Python literal of a header:
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
type npyParser struct {
	text string
	at   int
}

func (p *npyParser) take(token string) bool {
	for p.at < len(p.text) && strings.ContainsRune(" \t\n\r", rune(p.text[p.at])) {
		p.at++
	}
	if strings.HasPrefix(p.text[p.at:], token) {
		p.at += len(token)
		return true
	}
	return false
}

func (p *npyParser) fail(want string) error {
	return ir.Errorf(ir.ErrFormat, "expected %s at character %d", want, p.at)
}

func (p *npyParser) dict() (descr string, fortran bool, shape []int64, err error) {
	if !p.take("{") {
		return "", false, nil, p.fail("{")
	}
	seen := map[string]bool{}
	for !p.take("}") {
		key, err := p.str()
		switch {
		case err != nil:
			return "", false, nil, err
		case seen[key]:
			return "", false, nil, p.fail("each key once")
		case !p.take(":"):
			return "", false, nil, p.fail("a colon")
		}
		seen[key] = true
		switch key {
		case "descr":
			descr, err = p.str()
		case "fortran_order":
			if fortran = p.take("True"); !fortran && !p.take("False") {
				err = p.fail("True or False")
			}
		case "shape":
			shape, err = p.shape()
		default:
			err = p.fail("descr, fortran_order or shape")
		}
		if err != nil {
			return "", false, nil, err
		}
		if !p.take(",") && !strings.HasPrefix(strings.TrimSpace(p.text[p.at:]), "}") {
			return "", false, nil, p.fail("a comma")
		}
	}
	p.take("")
	if len(seen) != 3 || p.at != len(p.text) {
		return "", false, nil, p.fail("descr, fortran_order and shape and nothing else")
	}
	return descr, fortran, shape, nil
}

func (p *npyParser) str() (string, error) {
	quote := "'"
	if !p.take(quote) {
		if quote = `"`; !p.take(quote) {
			return "", p.fail("a plain type in quotes")
		}
	}
	s, _, ok := strings.Cut(p.text[p.at:], quote)
	if !ok || strings.Contains(s, `\`) {
		return "", p.fail("the end of a string")
	}
	p.at += len(s) + 1
	return s, nil
}

func (p *npyParser) shape() ([]int64, error) {
	if !p.take("(") {
		return nil, p.fail("a tuple")
	}
	shape := []int64{}
	for !p.take(")") {
		start := p.at
		for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			p.at++
		}
		n, err := strconv.ParseInt(p.text[start:p.at], 10, 64)
		if err != nil || len(shape) == maxDims {
			return nil, p.fail("a size")
		}
		p.take("L") // as Python 2 wrote long integers
		shape = append(shape, n)
		if !p.take(",") && !strings.HasPrefix(strings.TrimSpace(p.text[p.at:]), ")") {
			return nil, p.fail("a comma")
		}
		p.take("")
	}
	return shape, nil
}

// WriteNpy writes a tensor as a .npy array of version 1.0, in C order. It fails
// with [ir.ErrUnsupported] on dtypes that NumPy does not have, such as bfloat16.
func WriteNpy(w io.Writer, t *Tensor) error {
	data, err := t.Bytes()
	if err != nil {
		return err
	}
	header, err := makeNpyHeader(t)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

func makeNpyHeader(t *Tensor) ([]byte, error) {
	descr := ""
	for code, dtype := range npyTypes {
		if dtype == t.DType {
			descr = "<" + code
			if t.DType.Size() == 1 {
				descr = "|" + code
			}
		}
	}
	if descr == "" {
		return nil, ir.Errorf(ir.ErrUnsupported, "npy: NumPy has no %s; write safetensors instead", t.DType)
	}
	var shape strings.Builder
	for i, n := range t.Sizes {
		if i > 0 {
			shape.WriteString(", ")
		}
		fmt.Fprint(&shape, n)
	}
	if len(t.Sizes) == 1 {
		shape.WriteString(",")
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape.String())
	// the elements begin at a multiple of 64 bytes
	pad := 63 - (10+len(dict))%64
	dict += strings.Repeat(" ", pad) + "\n"
	out := append([]byte(npyMagic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(dict)))
	return append(out, dict...), nil
}

// npyBytes is a whole .npy file in memory.
func npyBytes(t *Tensor) ([]byte, error) {
	var b bytes.Buffer
	err := WriteNpy(&b, t)
	return b.Bytes(), err
}
