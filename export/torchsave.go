package export

import (
	"fmt"
	"io"
	"iter"
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
	Legacy   bool   // of torch before 1.6: no zip archive
	Writer   string // which releases of torch write such a file: "torch 2.7 or later"
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
	if err := o.take(opts); err != nil {
		return nil, err
	}
	return o.readSaved(s)
}

func (o *options) readSaved(s *span) (*Saved, error) {
	if isLegacy(s) {
		return readLegacy(s, o)
	}
	a, err := openArchive(s)
	if err != nil {
		return nil, err
	}
	a.findRoot()
	a.sums = a.sums && !o.skipSums
	a.stored = o.stored
	if !a.has("data.pkl") || a.has("constants.pkl") {
		if _, err := detect(a); err != nil {
			return nil, err
		}
		return nil, ir.Errorf(ir.ErrFormat, "this is an exported program, not a torch.save file; open it with export.Open")
	}
	return readPickled(a, o, "data")
}

// readPickled reads a record <name>.pkl of a zip archive of torch.save, whose
// storages are in the folder of that name.
func readPickled(a *archive, o *options, name string) (*Saved, error) {
	record := name + ".pkl"
	st := &zipStorages{a: a, dir: name + "/", bare: o.noWeights, storages: map[string]*zipStorage{}}
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
	text, err := a.text(record, maxPickle)
	if err != nil {
		return nil, err
	}
	if !o.noWeights {
		a.verify(a.below(st.dir))
	}
	var f faults
	u := &unpickler{storage: st.storage, classes: o.classes, f: &f}
	if r := a.records[record]; r.deflated {
		// values take more memory than the operations that make them, which deflate well
		u.ops = 1<<18 + 16*int(r.packed)
	}
	v, _, err := u.unpickle(text)
	if err != nil {
		return nil, ir.Errorf(ir.ClassOf(err), "record %s: %w", record, err)
	}
	saved := &Saved{Value: v, Warnings: f.warnings, attrs: u.attrs, Writer: "torch 1.6 to 2.6"}
	if a.has(".format_version") {
		saved.Writer = "torch 2.7 or later"
	}
	return saved, nil
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
// StateDict("model"). Entries that are no tensors are left out. Of a module that was
// saved whole it is [Saved.ModuleState].
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
	if i, ok := v.(*Instance); ok {
		if names, tensors, ok := stateOfModule(i); ok {
			return names, tensors, nil
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
	seen   map[any]bool
	yield  func(string, *Tensor) bool
	object func(*Instance) bool // called with each object, unless nil
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
		if w.object != nil && !w.object(v) {
			return false
		}
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
