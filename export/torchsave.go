package export

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A Saved is an open file of torch.save: tensors in containers, such as a state
// dict or a checkpoint.
type Saved struct {
	// Value is what was saved: nil, bool, int64 (a *big.Int where that is too
	// small), float64, complex128, string, []byte, []any for a list, and
	// [ir.PyTuple], *[ir.PyDict], [PySet], *[Tensor], [ir.DType], [ir.Device],
	// [ir.Layout], [PyGlobal], *[Instance]. What the file shares is shared:
	// tensors of one storage have the same *[Storage], and a container may hold
	// itself.
	Value    any
	Legacy   bool // of torch before 1.6: no zip archive
	Warnings []string

	attrs map[*ir.PyDict]*ir.PyDict
	close func() error
}

// Classes lets objects of more classes into a torch.save file that
// [OpenTorchSave] reads: those whose full names allow takes. They become an
// [Instance], which is data; no code of a class is known here or run.
func Classes(allow func(name string) bool) Option { return func(o *options) { o.classes = allow } }

// OpenTorchSave reads a file of torch.save, of the zip form (torch 1.6 and later)
// or the one before, with the rules of torch.load(weights_only=True): a fixed
// list of operations and classes, and nothing is ever executed. Storages are
// mapped copy-on-write where the platform can; the file must not be truncated
// while it is open. The options [SkipChecksums], [WithoutWeights] and [Classes]
// count.
//
// Sparse and quantized tensors come as an [Instance] of the class torch.sparse
// (layout, data) or torch.quantized (values, quantizer parameters).
//
// Errors are of class [ir.ErrFormat] for damage and [ir.ErrUnsupported] for what
// is not read; one about a class names it, and says what to do instead.
func OpenTorchSave(path string, opts ...Option) (*Saved, error) {
	s, close, err := openSpan(path)
	if err != nil {
		return nil, err
	}
	saved, err := readTorchSave(s, opts)
	if err != nil {
		_ = close()
		return nil, err
	}
	saved.close = close
	return saved, nil
}

// ReadTorchSave is [OpenTorchSave] for size bytes that r reads. Storages are
// copied to the heap.
func ReadTorchSave(r io.ReaderAt, size int64, opts ...Option) (*Saved, error) {
	return readTorchSave(&span{r: r, size: size}, opts)
}

func readTorchSave(s *span, opts []Option) (*Saved, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if isLegacy(s) {
		return readLegacy(s, &o)
	}
	a, err := openArchive(s)
	if err != nil {
		return nil, err
	}
	a.findRoot()
	a.sums = a.sums && !o.skipSums
	if !a.has("data.pkl") || a.has("constants.pkl") {
		if _, err := detect(a); err != nil {
			return nil, err
		}
		return nil, ir.Errorf(ir.ErrFormat, "this is an exported program, not a torch.save file; open it with export.Open")
	}
	return readPickled(a, &o)
}

// readPickled reads a zip archive of torch.save.
func readPickled(a *archive, o *options) (*Saved, error) {
	st := &zipStorages{a: a, bare: o.noWeights, storages: map[string]*zipStorage{}}
	if a.has("byteorder") {
		order, err := a.text("byteorder", 64)
		switch {
		case err != nil:
			return nil, err
		case string(order) == "big":
			st.big = true
		case string(order) != "little":
			return nil, ir.Errorf(ir.ErrFormat, "record byteorder: expected little or big, got %q", clip(string(order)))
		}
	}
	text, err := a.text("data.pkl", maxPickle)
	if err != nil {
		return nil, err
	}
	var f faults
	u := &unpickler{storage: st.storage, classes: o.classes, f: &f}
	v, _, err := u.unpickle(text)
	if err != nil {
		return nil, ir.Errorf(ir.ClassOf(err), "record data.pkl: %w", err)
	}
	return &Saved{Value: v, Warnings: f.warnings, attrs: u.attrs}, nil
}

// zipStorages are the storages of a zip archive: one record each.
type zipStorages struct {
	a        *archive
	bare     bool // do not read elements
	big      bool // elements are big-endian
	storages map[string]*zipStorage
}

type zipStorage struct {
	*Storage
	width int // of what was swapped, in bytes
}

// storageID takes a persistent id apart: ("storage", class, key, location, numel).
func storageID(id ir.PyTuple) (ref *storageRef, key string, err error) {
	bad := func() (*storageRef, string, error) {
		return nil, "", ir.Errorf(ir.ErrFormat, "expected the persistent id of a storage: its class, key, location and size")
	}
	if len(id) < 5 {
		return bad()
	}
	kind, _ := id[0].(string)
	class, ok1 := id[1].(*pickleFunc)
	key, ok2 := id[2].(string)
	location, ok3 := id[3].(string)
	numel, ok4 := id[4].(int64)
	if kind != "storage" || !ok1 || !ok2 || !ok3 || !ok4 || class.kind != storageClass {
		return bad()
	}
	ref = &storageRef{dtype: class.dtype}
	width := int64(1)
	if ref.dtype.Valid() {
		width = int64(ref.dtype.Size())
	}
	if numel < 0 || numel > 1<<62/width {
		return nil, "", ir.Errorf(ir.ErrFormat, "storage %s: expected a size of 0 or more, got %d", clip(key), numel)
	}
	ref.size = numel * width
	if ref.device, err = ir.ParseDevice(clip(location)); err != nil {
		return nil, "", ir.Errorf(ir.ErrUnsupported, "storage %s: location %w", clip(key), err)
	}
	return ref, key, nil
}

func (z *zipStorages) storage(id ir.PyTuple) (any, error) {
	ref, key, err := storageID(id)
	if err != nil {
		return nil, err
	}
	r, err := z.a.find("data/" + key)
	if err != nil {
		return nil, err
	}
	if ref.size > r.size {
		return nil, ir.Errorf(ir.ErrFormat, "record %s: expected at least %d bytes, got %d", r.name, ref.size, r.size)
	}
	if z.bare {
		return ref, nil
	}
	width := 1
	if z.big && ref.dtype.Valid() {
		if width = ref.dtype.Size(); ref.dtype.IsComplex() {
			width /= 2
		}
	}
	st := z.storages[key]
	if st == nil {
		if st, err = z.open(r, width); err != nil {
			return nil, err
		}
		z.storages[key] = st
	}
	if st.width != width {
		return nil, ir.Errorf(ir.ErrUnsupported, "record %s: big-endian elements of %d and of %d bytes in one storage", r.name, st.width, width)
	}
	ref.storage = st.Storage
	return ref, nil
}

// open reads the record of a storage, and swaps elements of more than one byte.
func (z *zipStorages) open(r *record, width int) (*zipStorage, error) {
	data, err := z.a.content(r)
	if err != nil {
		return nil, err
	}
	if width == 1 {
		if r.deflated {
			return &zipStorage{NewStorage(data), 1}, nil
		}
		return &zipStorage{storageOf(z.a.span, data), 1}, nil
	}
	data = slices.Clone(data)
	for i := 0; i+width <= len(data); i += width {
		slices.Reverse(data[i : i+width])
	}
	return &zipStorage{NewStorage(data), width}, nil
}

// legacyMagic is the pickle that files before torch 1.6 start with.
const legacyMagic = "\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."

func isLegacy(s *span) bool {
	if s.size < int64(len(legacyMagic)) {
		return false
	}
	head, err := s.slice(0, int64(len(legacyMagic)))
	return err == nil && string(head) == legacyMagic
}

// readLegacy reads the form before torch 1.6: pickles of a version, of facts
// about the machine, of the value and of the storages' keys; then each storage,
// its length in front. Follows _legacy_load in torch/serialization.py.
func readLegacy(s *span, o *options) (*Saved, error) {
	text, err := s.slice(0, min(s.size, maxPickle))
	if err != nil {
		return nil, err
	}
	at := int64(len(legacyMagic))
	var f faults
	l := &legacyStorages{roots: map[string]*storageRef{}, bare: o.noWeights}
	u := &unpickler{classes: o.classes, f: &f}
	next := func(what string) (any, error) {
		if at > int64(len(text)) {
			return nil, ir.Errorf(ir.ErrFormat, "%s: expected a pickle, got the end", what)
		}
		v, n, err := u.unpickle(text[at:])
		at += int64(n)
		if err != nil {
			return nil, ir.Errorf(ir.ClassOf(err), "%s: %w", what, err)
		}
		return v, nil
	}
	switch v, err := next("protocol version"); {
	case err != nil:
		return nil, err
	case v != int64(1001):
		return nil, ir.Errorf(ir.ErrVersion, "protocol version: expected 1001, got %s", valueText(v))
	}
	if _, err := next("system information"); err != nil {
		return nil, err
	}
	u.storage = l.storage
	v, err := next("value")
	if err != nil {
		return nil, err
	}
	attrs := u.attrs
	u.storage = nil
	keys, err := next("storage keys")
	if err != nil {
		return nil, err
	}
	if err := l.fill(s, at, keys); err != nil {
		return nil, err
	}
	return &Saved{Value: v, Legacy: true, Warnings: f.warnings, attrs: attrs}, nil
}

// legacyStorages are storages whose elements come behind the value.
type legacyStorages struct {
	roots map[string]*storageRef
	bare  bool
}

func (l *legacyStorages) storage(id ir.PyTuple) (any, error) {
	ref, key, err := storageID(id)
	if err != nil {
		return nil, err
	}
	root := l.roots[key]
	if root == nil {
		root = ref
		if !l.bare {
			root.storage = &Storage{}
		}
		l.roots[key] = root
	}
	if root.size != ref.size {
		return nil, ir.Errorf(ir.ErrFormat, "storage %s: expected %d bytes as before, got %d", clip(key), root.size, ref.size)
	}
	view := &storageRef{storage: root.storage, dtype: ref.dtype, device: ref.device, size: ref.size}
	if len(id) < 6 || id[5] == nil {
		return view, nil
	}
	v, ok := id[5].(ir.PyTuple)
	if !ok || len(v) != 3 {
		return nil, ir.Errorf(ir.ErrFormat, "storage %s: expected a view as key, offset and size, got %s", clip(key), pyTypeName(id[5]))
	}
	offset, ok1 := v[1].(int64)
	numel, ok2 := v[2].(int64)
	width := int64(1)
	if ref.dtype.Valid() {
		width = int64(ref.dtype.Size())
	}
	if !ok1 || !ok2 || offset < 0 || numel < 0 || offset > ref.size/width || numel > ref.size/width-offset {
		return nil, ir.Errorf(ir.ErrFormat, "storage %s: expected a view inside its %d bytes", clip(key), ref.size)
	}
	view.begin, view.size = offset*width, numel*width
	return view, nil
}

// fill reads the elements, which start at a place of the file.
func (l *legacyStorages) fill(s *span, at int64, keys any) error {
	list, ok := keys.([]any)
	if !ok {
		return ir.Errorf(ir.ErrFormat, "storage keys: expected a list, got %s", pyTypeName(keys))
	}
	filled := map[string]bool{}
	for _, k := range list {
		key, _ := k.(string)
		root := l.roots[key]
		switch {
		case root == nil || filled[key]:
			return ir.Errorf(ir.ErrFormat, "storage %s: expected the key of a storage of the value, once", valueText(k))
		case s.size-at < 8:
			return ir.Errorf(ir.ErrFormat, "storage %s: expected its size, got the end of the file", clip(key))
		}
		head, err := s.slice(at, 8)
		if err != nil {
			return err
		}
		at += 8
		width := int64(1)
		if root.dtype.Valid() {
			width = int64(root.dtype.Size())
		}
		if n := binary.LittleEndian.Uint64(head); n != uint64(root.size/width) {
			return ir.Errorf(ir.ErrFormat, "storage %s: expected %d elements, got %d", clip(key), root.size/width, n)
		}
		if root.size > s.size-at {
			return ir.Errorf(ir.ErrFormat, "storage %s: expected %d bytes, got the end of the file after %d", clip(key), root.size, s.size-at)
		}
		if !l.bare {
			data, err := s.slice(at, root.size)
			if err != nil {
				return err
			}
			*root.storage = *storageOf(s, data)
		}
		at += root.size
		filled[key] = true
	}
	if len(filled) != len(l.roots) {
		return ir.Errorf(ir.ErrFormat, "storages: expected %d, got %d", len(l.roots), len(filled))
	}
	return nil
}

// Close gives up the mapped file; see [Program.Close].
func (s *Saved) Close() error {
	if s.close == nil {
		return nil
	}
	c := s.close
	s.close = nil
	return c()
}

// Attributes returns the Python attributes that an ordered dict of the file has,
// nil where it has none: a state dict keeps the versions of its modules under
// _metadata.
func (s *Saved) Attributes(d *ir.PyDict) *ir.PyDict { return s.attrs[d] }

// StateDict returns the tensors of a state dict by qualified name, and the names
// in their order. keys lead to it where it lies deeper, as in a checkpoint:
// StateDict("model"). Entries that are no tensors are left out.
//
// It fails with [ir.ErrKey] where a key does not lead on, and [ir.ErrType] where
// no dict of tensors is there; the errors say what is.
func (s *Saved) StateDict(keys ...string) (names []string, tensors map[string]*Tensor, err error) {
	v := s.Value
	for i, key := range keys {
		d, ok := v.(*ir.PyDict)
		if !ok {
			return nil, nil, ir.Errorf(ir.ErrType, "state dict: expected a dict at %q, got %s", strings.Join(keys[:i], "."), pyTypeName(v))
		}
		if v, ok = d.Get(key); !ok {
			return nil, nil, ir.Errorf(ir.ErrKey, "state dict: no key %q; there are %s", key, dictKeys(d))
		}
	}
	d, ok := v.(*ir.PyDict)
	if !ok {
		return nil, nil, ir.Errorf(ir.ErrType, "state dict: expected a dict of tensors, got %s", pyTypeName(v))
	}
	tensors = map[string]*Tensor{}
	for key, item := range d.All() {
		name, ok1 := key.(string)
		t, ok2 := item.(*Tensor)
		if ok1 && ok2 {
			names = append(names, name)
			tensors[name] = t
		}
	}
	if len(names) == 0 && d.Len() > 0 {
		return nil, nil, ir.Errorf(ir.ErrType, "state dict: expected a dict of tensors, got one without any; its keys are %s", dictKeys(d))
	}
	return names, tensors, nil
}

// dictKeys lists the first keys of a dict for a message.
func dictKeys(d *ir.PyDict) string {
	var keys []string
	for k := range d.All() {
		if len(keys) == 10 {
			keys = append(keys, "...")
			break
		}
		if s, ok := k.(string); ok {
			keys = append(keys, fmt.Sprintf("%q", clip(s)))
		} else {
			keys = append(keys, valueText(k))
		}
	}
	return strings.Join(keys, ", ")
}

// Tensors yields every tensor of the file by its path, keys and positions joined
// by dots: "model.fc.weight", "optimizer.state.0.exp_avg". Containers that are
// shared are walked once.
func (s *Saved) Tensors() iter.Seq2[string, *Tensor] {
	return func(yield func(string, *Tensor) bool) {
		w := &tensorWalk{seen: map[any]bool{}, yield: yield}
		w.walk("", s.Value)
	}
}

type tensorWalk struct {
	seen  map[any]bool
	yield func(string, *Tensor) bool
}

func (w *tensorWalk) walk(path string, v any) bool {
	below := func(key any) string {
		if path == "" {
			return fmt.Sprint(key)
		}
		return path + "." + fmt.Sprint(key)
	}
	var list []any
	switch v := v.(type) {
	case *Tensor:
		return w.yield(path, v)
	case *ir.PyDict:
		if w.seen[v] {
			return true
		}
		w.seen[v] = true
		for key, item := range v.All() {
			if !w.walk(below(key), item) {
				return false
			}
		}
		return true
	case *Instance:
		if w.seen[v] {
			return true
		}
		w.seen[v] = true
		return w.walk(path, v.Args) && w.walk(path, v.State)
	case []any:
		list = v
	case ir.PyTuple:
		list = v
	case PySet:
		list = v
	}
	if len(list) == 0 || w.seen[&list[0]] {
		return true
	}
	w.seen[&list[0]] = true
	for i, item := range list {
		if !w.walk(below(i), item) {
			return false
		}
	}
	return true
}
