package export

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// maxSafetensorsHeader is the format's own limit on its header.
const maxSafetensorsHeader = 100_000_000

// A Safetensors is an open safetensors file: named tensors, contiguous and
// little-endian, without aliasing. Source of the format: the description in the
// repository of the safetensors library.
type Safetensors struct {
	span    *span
	close   func() error
	base    int64 // of the data in the file
	names   []string
	entries map[string]safeEntry
	meta    map[string]string
	shards  map[string]*Safetensors // of an index: the file of each name
	files   []string                // of a sharded set
}

type safeEntry struct {
	dtype      ir.DType
	shape      []int64
	begin, end int64
}

// OpenSafetensors opens a safetensors file, mapped copy-on-write where the
// platform can. The header is checked whole: dtypes, shapes, offsets, and that
// the tensors cover the data without overlaps or holes. All faults are reported
// at once, of class [ir.ErrFormat] or [ir.ErrUnsupported].
//
// A path that ends in .json is the index of a sharded set, whose files lie beside it;
// the set is as one file.
func OpenSafetensors(path string) (*Safetensors, error) {
	if strings.HasSuffix(path, ".json") {
		return openSharded(path)
	}
	return openOneFile(path)
}

func openOneFile(path string) (*Safetensors, error) {
	s, close, err := openSpan(path)
	if err != nil {
		return nil, err
	}
	f, err := readSafetensors(s)
	if err != nil {
		_ = close()
		return nil, err
	}
	f.close = close
	return f, nil
}

// ReadSafetensors is [OpenSafetensors] for size bytes that r reads. Tensors are
// copied to the heap when they are asked for.
func ReadSafetensors(r io.ReaderAt, size int64) (*Safetensors, error) {
	return readSafetensors(&span{r: r, size: size})
}

func readSafetensors(s *span) (*Safetensors, error) {
	if s.size < 8 {
		return nil, ir.Errorf(ir.ErrFormat, "safetensors: expected at least 8 bytes, got %d", s.size)
	}
	head, err := s.slice(0, 8)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(head)
	if n > maxSafetensorsHeader || int64(n) > s.size-8 {
		return nil, ir.Errorf(ir.ErrFormat, "safetensors: expected a header of at most %d bytes, got %d", min(maxSafetensorsHeader, s.size-8), n)
	}
	text, err := s.slice(8, int64(n))
	if err != nil {
		return nil, err
	}
	if len(text) == 0 || text[0] != '{' {
		return nil, ir.Errorf(ir.ErrFormat, "safetensors: expected a header that begins with {")
	}
	v, err := parseJSON(text, false)
	if err != nil {
		return nil, ir.Errorf(ir.ErrFormat, "safetensors header: %w", err)
	}
	f := &Safetensors{span: s, base: 8 + int64(n), entries: map[string]safeEntry{}, meta: map[string]string{}}
	var faults faults
	f.header(&decoder{faults: &faults, record: "safetensors"}, v)
	if !faults.any() {
		f.coverage(&faults)
	}
	return f, faults.join()
}

var safeFields = fieldsOf("a tensor", "dtype shape data_offsets", "")

func (f *Safetensors) header(d *decoder, v jsonValue) {
	d.table(v, "header", func(name string, item jsonValue) {
		defer d.in(clip(name))()
		if name == "__metadata__" {
			d.table(item, "metadata", func(key string, value jsonValue) { f.meta[key] = d.str(value, "metadata "+clip(key)) })
			return
		}
		if _, dup := f.entries[name]; dup {
			d.fault(ir.ErrFormat, "is there twice")
			return
		}
		var p [3]jsonValue
		if d.object(item, safeFields, p[:]) {
			f.entry(d, name, p[:])
		}
	})
}

// entry reads and checks the header of one tensor.
func (f *Safetensors) entry(d *decoder, name string, p []jsonValue) {
	var e safeEntry
	code := d.str(p[0], "dtype")
	for _, t := range ir.DTypes() {
		if t.Safetensors() == code && code != "" && t != ir.Float4E2M1FNX2 { // F4 counts half bytes
			e.dtype = t
		}
	}
	ok := true
	d.list(p[1], "shape", func(i int, item jsonValue) {
		n := d.int(item, "shape")
		ok = ok && n >= 0 && i < maxDims
		e.shape = append(e.shape, n)
	})
	var offsets []int64
	d.list(p[2], "data_offsets", func(i int, item jsonValue) {
		if i < 3 {
			offsets = append(offsets, d.int(item, "data_offsets"))
		}
	})
	n, fits := elements(e.shape)
	switch size := int64(max(e.dtype.Size(), 1)); {
	case !p[0].is() || !p[1].is() || !p[2].is(): // noted
	case !e.dtype.Valid():
		d.fault(ir.ErrUnsupported, "dtype %q is unknown", clip(code))
	case !ok || !fits || n > 1<<62/size:
		d.fault(ir.ErrFormat, "expected a shape of at most %d numbers from 0, got %v", maxDims, e.shape[:min(len(e.shape), 16)])
	case len(offsets) != 2 || offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > f.span.size-f.base:
		d.fault(ir.ErrFormat, "expected two data_offsets from 0 to %d, got %v", f.span.size-f.base, offsets)
	case offsets[1]-offsets[0] != n*size:
		d.fault(ir.ErrFormat, "expected %d bytes for %v of %s, got %d", n*size, e.shape, e.dtype, offsets[1]-offsets[0])
	default:
		e.begin, e.end = offsets[0], offsets[1]
		f.entries[name] = e
		f.names = append(f.names, name)
	}
}

// coverage checks that the tensors fill the data from its start to its end.
func (f *Safetensors) coverage(faults *faults) {
	order := slices.Clone(f.names)
	slices.SortFunc(order, func(a, b string) int {
		x, y := f.entries[a], f.entries[b]
		return cmp.Or(cmp.Compare(x.begin, y.begin), cmp.Compare(x.end, y.end))
	})
	at := int64(0)
	for _, name := range order {
		if e := f.entries[name]; e.begin != at {
			faults.add(ir.ErrFormat, "safetensors, %s: expected its data at %d, right behind the one before, got %d", clip(name), at, e.begin)
			return
		}
		at = f.entries[name].end
	}
	if end := f.span.size - f.base; at != end {
		faults.add(ir.ErrFormat, "safetensors: expected %d bytes of data, got %d", at, end)
	}
}

// Names returns the names of the tensors, in the order of the header.
func (f *Safetensors) Names() []string { return slices.Clone(f.names) }

// Metadata returns a copy of the header's __metadata__.
func (f *Safetensors) Metadata() map[string]string { return maps.Clone(f.meta) }

// Tensor returns a tensor with a storage of its own, mapped where the file is
// and the elements are aligned. It fails with ErrKey where there is no such
// name.
func (f *Safetensors) Tensor(name string) (*Tensor, error) {
	if shard := f.shards[name]; shard != nil {
		return shard.Tensor(name)
	}
	e, ok := f.entries[name]
	if !ok {
		return nil, ir.Errorf(ir.ErrKey, "safetensors: expected one of %d names, got %q", len(f.names), name)
	}
	if f.span.m != nil && !f.span.m.alive() {
		return nil, ir.Errorf(ir.ErrClosed, "safetensors: is closed")
	}
	data, err := f.span.slice(f.base+e.begin, e.end-e.begin)
	if err != nil {
		return nil, err
	}
	return &Tensor{Storage: storageOf(f.span, data, e.dtype.Size()), DType: e.dtype, Sizes: slices.Clone(e.shape), Strides: contiguous(e.shape)}, nil
}

// contiguous returns the row-major strides of a shape.
func contiguous(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(shape[i], 1)
	}
	return strides
}

// Close gives up the file; tensors that are mapped live on only where they are
// held, see [Storage.Hold]. A second Close does nothing.
func (f *Safetensors) Close() error {
	if f.close == nil {
		return nil
	}
	c := f.close
	f.close = nil
	return c()
}

// WriteSafetensors writes tensors with metadata, which may be nil. Tensors are
// written contiguous, those with the widest elements first and otherwise by
// name, as the safetensors library orders them; the header is padded to 8
// bytes. Aliases become copies. It fails, naming the tensor, on dtypes that the
// format does not have and on tensors without elements in memory.
func WriteSafetensors(w io.Writer, tensors map[string]*Tensor, metadata map[string]string) error {
	names := slices.Collect(maps.Keys(tensors))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(tensors[b].DType.Size(), tensors[a].DType.Size()), strings.Compare(a, b))
	})
	var header strings.Builder
	header.WriteByte('{')
	if len(metadata) > 0 {
		text, err := json.Marshal(metadata)
		if err != nil {
			return err
		}
		header.WriteString(`"__metadata__":` + string(text))
	}
	at := int64(0)
	for _, name := range names {
		t := tensors[name]
		if name == "__metadata__" || t.DType.Safetensors() == "" || t.DType == ir.Float4E2M1FNX2 {
			return ir.Errorf(ir.ErrUnsupported, "safetensors: tensor %q of %s cannot be written", name, t.DType)
		}
		end := at + t.Numel()*int64(t.DType.Size())
		entry := struct {
			DType   string   `json:"dtype"`
			Shape   []int64  `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}{t.DType.Safetensors(), append([]int64{}, t.Sizes...), [2]int64{at, end}}
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		text, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		if header.Len() > 1 {
			header.WriteByte(',')
		}
		header.WriteString(string(key) + ":" + string(text))
		at = end
	}
	header.WriteByte('}')
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(header.Len()))
	if _, err := w.Write(append(out, header.String()...)); err != nil {
		return err
	}
	for _, name := range names {
		data, err := tensors[name].Bytes()
		if err != nil {
			return ir.Errorf(ir.ErrClosed, "safetensors: tensor %q: %w", name, err)
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}
