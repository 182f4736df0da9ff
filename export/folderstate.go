package export

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// A State is a state dict: tensors under their qualified names, in the file's
// order. It is not changed once read and safe for concurrent use then.
type State struct {
	names   []string
	tensors map[string]*Tensor
	close   func() error
}

// OpenState reads a state dict from a file that torch.save or safetensors wrote;
// which of them, its content tells. Nothing in the file is executed: of a pickle
// only what makes up tensors is understood, by the rules of torch.load with
// weights_only. Tensors that share a storage in the file share it here.
//
// Errors are of class [ir.ErrFormat], or [ir.ErrUnsupported] for pickled objects
// that are no tensors and for the format that torch.save had before 1.6.
func OpenState(path string) (*State, error) {
	s, close, err := openSpan(path)
	if err != nil {
		return nil, err
	}
	state, err := readState(s)
	if err != nil {
		return nil, errors.Join(err, close())
	}
	state.close = close
	return state, nil
}

func readState(s *span) (*State, error) {
	head, err := s.slice(0, min(s.size, 16))
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(string(head), "PK"):
		return readTorchSave(s)
	case strings.HasPrefix(string(head), "\x80\x02\x8a\x0a"):
		return nil, ir.Errorf(ir.ErrUnsupported, "state: expected a zip archive of torch.save, got its format from before torch 1.6; load and save it again")
	}
	f, err := readSafetensors(s)
	if err != nil {
		return nil, err
	}
	state := &State{tensors: map[string]*Tensor{}}
	for _, name := range f.Names() {
		t, err := f.Tensor(name)
		if err != nil {
			return nil, err
		}
		state.names = append(state.names, name)
		state.tensors[name] = t
	}
	return state, nil
}

// Names returns the names in order.
func (s *State) Names() []string { return slices.Clone(s.names) }

// Tensor returns the tensor called name.
func (s *State) Tensor(name string) (*Tensor, bool) {
	t, ok := s.tensors[name]
	return t, ok
}

// All yields names and tensors in order.
func (s *State) All() iter.Seq2[string, *Tensor] {
	return func(yield func(string, *Tensor) bool) {
		for _, name := range s.names {
			if !yield(name, s.tensors[name]) {
				return
			}
		}
	}
}

// Close gives up the file. The tensors are gone then, unless their storage is
// held. It is idempotent.
func (s *State) Close() error {
	if s.close == nil {
		return nil
	}
	close := s.close
	s.close = nil
	return close()
}

// storageClasses are PyTorch's classes of typed storages.
var storageClasses = map[ir.DType]string{
	ir.Float64: "DoubleStorage", ir.Float32: "FloatStorage", ir.Float16: "HalfStorage", ir.BFloat16: "BFloat16Storage",
	ir.Int64: "LongStorage", ir.Int32: "IntStorage", ir.Int16: "ShortStorage", ir.Int8: "CharStorage", ir.UInt8: "ByteStorage",
	ir.Bool8: "BoolStorage", ir.Complex128: "ComplexDoubleStorage", ir.Complex64: "ComplexFloatStorage",
}

const untypedStorage pickleGlobal = "torch.storage UntypedStorage"

// storageDType returns the dtype of a storage class; ok is false for a global
// that is none. The dtype of an untyped storage is invalid.
func storageDType(g pickleGlobal) (d ir.DType, ok bool) {
	if g == untypedStorage {
		return ir.InvalidDType, true
	}
	for d, class := range storageClasses {
		if g == pickleGlobal("torch "+class) {
			return d, true
		}
	}
	return ir.InvalidDType, false
}

// A savedStorage is a storage that a pickle mentions.
type savedStorage struct {
	storage *Storage
	dtype   ir.DType // invalid for an untyped one
}

// saveReader reads an archive of torch.save.
type saveReader struct {
	archive  *archive
	storages map[string]*Storage // by key
}

func readTorchSave(s *span) (*State, error) {
	a, err := openArchive(s)
	if err != nil {
		return nil, err
	}
	a.findRoot()
	r := &saveReader{archive: a, storages: map[string]*Storage{}}
	if a.has("byteorder") {
		order, err := a.text("byteorder", 16)
		if err != nil {
			return nil, err
		}
		if native := nativeOrder(); string(order) != native {
			return nil, ir.Errorf(ir.ErrUnsupported, "state: expected %s-endian storages, got %s", native, order)
		}
	}
	data, err := a.text("data.pkl", maxPickle)
	if err != nil {
		return nil, err
	}
	p := &unpickler{data: data, persistent: r.storage, reduce: r.reduce}
	v, err := p.load()
	if err != nil {
		return nil, err
	}
	return stateOf(v)
}

func nativeOrder() string {
	one := uint16(1)
	if *(*byte)(unsafe.Pointer(&one)) == 1 {
		return "little"
	}
	return "big"
}

// stateOf takes a state dict from what a pickle made.
func stateOf(v any) (*State, error) {
	d, ok := v.(*pickleDict)
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "state: expected a dict of tensors, got %s", pickleKind(v))
	}
	s := &State{tensors: map[string]*Tensor{}}
	var faults faults
	for i, k := range d.keys {
		name, isName := k.(string)
		t, isTensor := d.values[i].(*Tensor)
		switch {
		case !isName:
			faults.add(ir.ErrFormat, "state: expected names as keys, got %s", pickleKind(k))
		case !isTensor:
			faults.add(ir.ErrFormat, "state %s: expected a tensor, got %s", name, pickleKind(d.values[i]))
		default:
			if _, again := s.tensors[name]; !again {
				s.names = append(s.names, name)
			}
			s.tensors[name] = t
		}
	}
	return s, faults.join()
}

// pickleKind names a value's type for an error.
func pickleKind(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case pickleTuple:
		return "tuple"
	case *pickleList:
		return "list"
	case *pickleDict:
		return "dict"
	case pickleGlobal:
		return string(v)
	case *Tensor:
		return "tensor"
	}
	return "another object"
}

// storage returns what a persistent id stands for: ("storage", class, key,
// location, numel).
func (r *saveReader) storage(id any) (any, error) {
	t, _ := id.(pickleTuple)
	if len(t) != 5 || t[0] != "storage" {
		return nil, ir.Errorf(ir.ErrFormat, "pickle: expected the description of a storage, got %s", pickleKind(id))
	}
	class, _ := t[1].(pickleGlobal)
	dtype, ok := storageDType(class)
	key, isKey := t[2].(string)
	numel, isNum := t[4].(int64)
	if !ok || !isKey || !isNum {
		return nil, ir.Errorf(ir.ErrUnsupported, "pickle: storage class %s is unknown", printable(string(class)))
	}
	s := r.storages[key]
	if s == nil {
		rec, err := r.archive.find("data/" + key)
		if err != nil {
			return nil, err
		}
		data, err := r.archive.content(rec)
		if err != nil {
			return nil, err
		}
		s = storageOf(r.archive.span, data)
		r.storages[key] = s
	}
	size := int64(1)
	if dtype.Valid() {
		size = int64(dtype.Size())
	}
	if numel < 0 || numel > int64(s.Len())/size {
		return nil, ir.Errorf(ir.ErrFormat, "storage %s: expected %d elements, got %d bytes", printable(key), numel, s.Len())
	}
	return &savedStorage{s, dtype}, nil
}

// reduce makes what a pickle wants made, of the few things that a state holds.
func (r *saveReader) reduce(g pickleGlobal, args pickleTuple) (any, error) {
	switch g {
	case "collections OrderedDict":
		if len(args) == 0 {
			return &pickleDict{}, nil
		}
	case "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor_v3":
		return rebuildTensor(g, args)
	case "torch._utils _rebuild_parameter", "torch._utils _rebuild_parameter_with_state":
		if len(args) >= 3 {
			t, isTensor := args[0].(*Tensor)
			grad, isBool := args[1].(bool)
			if isTensor && isBool {
				p := *t
				p.Parameter, p.RequiresGrad = true, grad
				return &p, nil
			}
		}
	case "torch Size":
		if len(args) == 1 {
			if items, ok := args[0].(pickleTuple); ok {
				return items, nil
			}
		}
	default:
		return nil, ir.Errorf(ir.ErrUnsupported, "pickle: %s is not called: only what makes up tensors is", printable(strings.Replace(string(g), " ", ".", 1)))
	}
	return nil, ir.Errorf(ir.ErrFormat, "pickle: arguments of %s are not those that torch.save writes", printable(string(g)))
}

// rebuildTensor reads (storage, offset, size, stride, requires_grad, hooks) and
// for v3 the dtype.
func rebuildTensor(g pickleGlobal, args pickleTuple) (any, error) {
	bad := ir.Errorf(ir.ErrFormat, "pickle: arguments of %s are not those that torch.save writes", string(g))
	v3 := strings.HasSuffix(string(g), "v3")
	if len(args) < 6 || v3 && len(args) < 7 {
		return nil, bad
	}
	s, isStorage := args[0].(*savedStorage)
	offset, isInt := args[1].(int64)
	sizes, sized := pickleInts(args[2])
	strides, strided := pickleInts(args[3])
	grad, isBool := args[4].(bool)
	if !isStorage || !isInt || !sized || !strided || !isBool || len(sizes) != len(strides) || len(sizes) > 64 {
		return nil, bad
	}
	t := &Tensor{Storage: s.storage, DType: s.dtype, Device: cpu, Sizes: sizes, Strides: strides, Offset: offset, RequiresGrad: grad}
	if v3 {
		name, ok := args[6].(pickleGlobal)
		module, base, _ := strings.Cut(string(name), " ")
		d, err := ir.ParseDType("torch." + base)
		if !ok || module != "torch" || err != nil {
			return nil, bad
		}
		t.DType = d
	}
	n, ok := extent(sizes, strides, offset)
	total, fits := elements(sizes)
	size := int64(max(t.DType.Size(), 1))
	if ok && fits && total > (int64(s.storage.Len())+maxExpanded)/size {
		return nil, ir.Errorf(ir.ErrUnsupported, "tensor: expected sizes of at most %d bytes beyond their storage, got %v", maxExpanded, sizes)
	}
	if !ok || !fits || !t.DType.Valid() || n > int64(s.storage.Len())/size {
		return nil, ir.Errorf(ir.ErrFormat, "tensor: expected sizes %v and strides %v at %d within a storage of %d bytes", sizes, strides, offset, s.storage.Len())
	}
	return t, nil
}

// maxExpanded bounds what a tensor with strides of 0 may seem to be, since to
// read its elements is to make them.
const maxExpanded = 1 << 31 // bytes

var cpu = func() ir.Device { d, _ := ir.ParseDevice("cpu"); return d }()

func pickleInts(v any) ([]int64, bool) {
	t, ok := v.(pickleTuple)
	ints := make([]int64, len(t))
	for i, item := range t {
		n, isInt := item.(int64)
		ints[i], ok = n, ok && isInt
	}
	return ints, ok
}
