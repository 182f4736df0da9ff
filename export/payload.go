package export

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// The prefixes of payload names that tell constants apart, as in
// torch/export/pt2_archive/constants.py.
const (
	tensorPrefix = "tensor_"
	objectPrefix = "custom_obj_"
	opaquePrefix = "opaque_obj_"
)

// An Object is a value that only PyTorch's own classes understand: carried as
// the bytes of the file, never decoded.
type Object struct {
	Class  string // the class that the signature names; "" where it names none
	Python bool   // a Python pickle, else one of TorchScript's
	Data   []byte // a copy of the record, which objects may share: not to be changed
}

// A state is the tensors and objects of a program by qualified name.
type state struct {
	names   []string // weights, then constants, in the order of the file
	tensors map[string]*Tensor
	objects map[string]*Object
	weights map[string]bool // names that are from the weights, not the constants
	claimed map[string]bool // names that a config has, whether their payloads are right or not
	partial bool            // a config could not be read: what is missing says nothing
	fake    map[string]bool // tensors whose record is empty although they have elements
	foreign [2][]byte       // the texts of configs that have fields that are not known
	pickled bool            // state dicts of torch.save, which need not say what a parameter is
	in      [2]string       // what messages call where weights and constants are
	kind    string          // what that is: "config" or "state dict"
}

func newState(weights, constants string) *state {
	return &state{
		tensors: map[string]*Tensor{}, objects: map[string]*Object{}, weights: map[string]bool{}, claimed: map[string]bool{}, fake: map[string]bool{},
		in: [2]string{weights, constants}, kind: "config",
	}
}

// loader reads the payloads of one program.
type loader struct {
	a       *archive
	faults  *faults
	bare    bool                // read the configs only, not the elements
	storage map[string]*Storage // by record
	blobs   map[string][]byte   // contents of objects, by record
}

// load reads weights and constants of the program called model.
func (l *loader) load(model string) *state {
	l.storage, l.blobs = map[string]*Storage{}, map[string][]byte{}
	st := newState("weights config", "constants config")
	for _, e := range l.config(st, 0, "weights", weightsDir, model+"_weights_config.json", model+"_model_param_config.json") {
		l.weight(st, e)
	}
	for _, e := range l.config(st, 1, "constants", constantsDir, model+"_constants_config.json", model+"_model_constants_config.json") {
		l.constant(st, e)
	}
	return st
}

// config reads a payload config under either of its names.
func (l *loader) config(st *state, k int, what, dir, name, old string) []payloadJSON {
	if !l.a.has(dir+name) && l.a.has(dir+old) {
		name = old
	}
	was := st.partial
	st.partial = true
	if !l.a.has(dir + name) {
		l.faults.add(ir.ErrFormat, "%s config record missing: %s%s", what, dir, name)
		return nil
	}
	text, err := l.a.text(dir+name, maxText)
	if err != nil {
		l.faults.err(err)
		return nil
	}
	v, err := parseJSON(text, false)
	if err != nil {
		l.faults.add(ir.ErrFormat, "%s%s: %w", dir, name, err)
		return nil
	}
	st.partial = was
	d := &decoder{faults: l.faults, record: dir + name}
	entries := d.payloadConfig(v)
	if !l.bare {
		names := map[string]bool{}
		for _, e := range entries {
			names[dir+e.path] = true
		}
		l.a.verify(sortedKeys(names))
	}
	if d.foreign {
		st.foreign[k] = slices.Clone(text)
	}
	for _, e := range entries {
		st.claimed[e.name] = true
	}
	return entries
}

func (l *loader) weight(st *state, e payloadJSON) {
	if t, ok := l.tensor(st, weightsDir, e); ok {
		st.names = append(st.names, e.name)
		st.tensors[e.name], st.weights[e.name] = t, true
	}
}

func (l *loader) constant(st *state, e payloadJSON) {
	switch {
	case strings.HasPrefix(e.path, tensorPrefix):
		t, ok := l.tensor(st, constantsDir, e)
		if !ok {
			return
		}
		if _, both := st.tensors[e.name]; both {
			l.faults.warn("%s: is among the weights and among the constants; the weight counts", e.name)
			return
		}
		t.Parameter = false
		st.names = append(st.names, e.name)
		st.tensors[e.name] = t
	case strings.HasPrefix(e.path, objectPrefix), strings.HasPrefix(e.path, opaquePrefix):
		o := &Object{Python: strings.HasPrefix(e.path, opaquePrefix)}
		if data, ok := l.bytes(constantsDir, e); ok {
			o.Data = data
			st.names = append(st.names, e.name)
			st.objects[e.name] = o
		}
	default:
		l.faults.add(ir.ErrUnsupported, "constant %s: expected a payload named %s, %s or %s, got %q", e.name, tensorPrefix, objectPrefix, opaquePrefix, clip(e.path))
	}
}

// record finds the record of a payload; its name may not lead elsewhere.
func (l *loader) record(dir string, e payloadJSON) (*record, bool) {
	if err := checkRecordName(e.path); err != nil {
		l.faults.add(ir.ErrFormat, "%s: payload %w", e.name, err)
		return nil, false
	}
	r, err := l.a.find(dir + e.path)
	if err != nil {
		l.faults.add(ir.ErrFormat, "%s: %w", e.name, err)
		return nil, false
	}
	return r, true
}

// bytes returns a copy of the content of a payload that is no tensor, the same
// one for all that share the record.
func (l *loader) bytes(dir string, e payloadJSON) ([]byte, bool) {
	r, ok := l.record(dir, e)
	if !ok || l.bare {
		return nil, ok
	}
	if blob, ok := l.blobs[r.name]; ok {
		return blob, true
	}
	data, err := l.a.content(r)
	if err != nil {
		l.faults.err(err)
		return nil, false
	}
	l.blobs[r.name] = slices.Clone(data)
	return l.blobs[r.name], true
}

// tensor reads one entry with raw elements and checks that its view lies
// inside its record.
func (l *loader) tensor(st *state, dir string, e payloadJSON) (*Tensor, bool) {
	switch {
	case e.pickle:
		l.faults.add(ir.ErrUnsupported, "%s: its payload %s is a Python pickle (a tensor subclass); such programs are not supported", e.name, clip(e.path))
		return nil, false
	case e.tensor == nil:
		l.faults.add(ir.ErrFormat, "%s: expected a tensor_meta for payload %s, got none", e.name, clip(e.path))
		return nil, false
	}
	t, ok := l.view(e)
	if !ok {
		return nil, false
	}
	r, ok := l.record(dir, e)
	if !ok {
		return nil, false
	}
	size := int64(t.DType.Size())
	need, _ := extent(t.Sizes, t.Strides, t.Offset)
	switch {
	case need > 0 && r.size == 0:
		// weights of a program that was exported without real ones; Python makes zeros of them
		st.fake[e.name] = true
		return t, true
	case r.size%size != 0:
		l.faults.add(ir.ErrFormat, "%s: record %s%s: size %d is not a multiple of the element size %d of %s", e.name, dir, e.path, r.size, size, t.DType)
		return nil, false
	case need > r.size/size:
		l.faults.add(ir.ErrFormat, "%s: record %s%s: expected at least %d elements of %s, got %d", e.name, dir, e.path, need, t.DType, r.size/size)
		return nil, false
	case l.bare:
		return t, true
	}
	t.Storage, ok = l.open(dir+e.path, r)
	return t, ok
}

// view makes the tensor that a config entry describes, without its elements.
func (l *loader) view(e payloadJSON) (*Tensor, bool) {
	m := e.tensor
	t := &Tensor{DType: m.dtype, Device: m.device, Parameter: e.param, RequiresGrad: m.requiresGrad}
	ok := m.dtype.Valid() && len(m.sizes) == len(m.strides) // else a fault was noted
	number := func(s symJSON, what string) int64 {
		n, plain := s.int()
		switch {
		case !plain:
			l.faults.add(ir.ErrFormat, "%s: expected a plain %s, got the expression %s", e.name, what, clip(s.expr))
			ok = false
		case n < 0:
			l.faults.add(ir.ErrFormat, "%s: negative %s: %d", e.name, what, n)
			ok = false
		}
		return n
	}
	t.Offset = number(m.offset, "storage offset")
	for _, s := range m.sizes {
		t.Sizes = append(t.Sizes, number(s, "size"))
	}
	for _, s := range m.strides {
		t.Strides = append(t.Strides, number(s, "stride"))
	}
	if m.layout != ir.Strided {
		l.faults.add(ir.ErrUnsupported, "%s: expected a strided tensor, got layout %s", e.name, m.layout)
		ok = false
	}
	if !ok {
		return nil, false
	}
	_, inRange := extent(t.Sizes, t.Strides, t.Offset)
	if n, fits := elements(t.Sizes); !inRange || !fits || n > 1<<62/int64(t.DType.Size()) {
		l.faults.add(ir.ErrFormat, "%s: sizes %v, strides %v and offset %d are too large for a tensor", e.name, t.Sizes, t.Strides, t.Offset)
		return nil, false
	}
	return t, true
}

// open returns the storage of a record, the same one for all tensors in it.
func (l *loader) open(name string, r *record) (*Storage, bool) {
	if s := l.storage[name]; s != nil {
		return s, true
	}
	data, err := l.a.content(r)
	if err != nil {
		l.faults.err(err)
		return nil, false
	}
	s := NewStorage(data)
	if !r.deflated {
		s = storageOf(l.a.span, data, alignment)
	}
	l.storage[name] = s
	return s, true
}
