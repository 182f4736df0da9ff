package export

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// The values of a torch.save file that have no Go type of their own.
type (
	// A PySet is Python's set, in the order of the file.
	PySet []any

	// A PyGlobal is a class, function or constant of Python that a file names
	// without calling it, by its full name: "torch.per_tensor_affine".
	PyGlobal string

	// An Instance is an object of a class that was let through by [Classes],
	// as the data that it was saved with.
	Instance struct {
		Class string     // full name of the class, or of the function that would make it
		Args  ir.PyTuple // what it would be called with
		State any        // what __setstate__ would get, mostly a *ir.PyDict of attributes
	}
)

// A pickleFunc is a class or function that a pickle may name: what a call of it
// makes.
type pickleFunc struct {
	name  string
	dtype ir.DType // of storage classes; invalid for an untyped one
	kind  funcKind
	call  func(u *unpickler, args ir.PyTuple) (any, error) // nil where it may not be called
}

type funcKind uint8

const (
	plainFunc funcKind = iota
	storageClass
	instanceClass
)

// pickleFuncs are the functions and classes that torch.load(weights_only=True)
// allows. Source: _get_allowed_globals in torch/_weights_only_unpickler.py of
// 2.15.0. Tensor classes may be named, not called: torch.save never does.
var pickleFuncs map[string]*pickleFunc

func init() { // its functions refer to it
	calls := map[string]func(*unpickler, ir.PyTuple) (any, error){
		"collections.OrderedDict":                             callDict,
		"collections.Counter":                                 callDict,
		"torch.Size":                                          callSize,
		"torch.device":                                        callDevice,
		"torch.serialization._get_layout":                     callLayout,
		"_codecs.encode":                                      callEncode,
		"builtins.bytearray":                                  callByteArray,
		"builtins.set":                                        callSet,
		"builtins.complex":                                    callComplex,
		"torch.nn.parameter.Parameter":                        callParameter,
		"torch.Tensor":                                        nil,
		"torch._utils._rebuild_parameter":                     callParameter,
		"torch._utils._rebuild_parameter_with_state":          callParameter,
		"torch._utils._rebuild_tensor":                        callTensor,
		"torch._utils._rebuild_tensor_v2":                     callTensor,
		"torch._utils._rebuild_tensor_v3":                     callTensorV3,
		"torch._utils._rebuild_qtensor":                       callParts("torch.quantized", "values", "quantizer_params"),
		"torch._utils._rebuild_sparse_tensor":                 callParts("torch.sparse", "layout", "data"),
		"torch._utils._rebuild_meta_tensor_no_storage":        callMeta,
		"torch._utils._rebuild_device_tensor_from_cpu_tensor": callDeviceTensor,
		"torch._utils._rebuild_wrapper_subclass":              nil,
		"torch._utils._rebuild_device_tensor_from_numpy":      nil,
		"torch._tensor._rebuild_from_type_v2":                 callFromType,
	}
	for _, name := range []string{"per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric", "per_channel_affine_float_qparams"} {
		calls["torch."+name] = nil
	}
	pickleFuncs = map[string]*pickleFunc{}
	for name, call := range calls {
		pickleFuncs[name] = &pickleFunc{name: name, call: call}
	}
	storages := map[string]ir.DType{
		"Double": ir.Float64, "Float": ir.Float32, "Half": ir.Float16, "BFloat16": ir.BFloat16,
		"Long": ir.Int64, "Int": ir.Int32, "Short": ir.Int16, "Char": ir.Int8, "Byte": ir.UInt8, "Bool": ir.Bool8,
		"ComplexDouble": ir.Complex128, "ComplexFloat": ir.Complex64,
		"QInt8": ir.QInt8, "QInt32": ir.QInt32, "QUInt8": ir.QUInt8, "QUInt4x2": ir.QUInt4x2, "QUInt2x4": ir.QUInt2x4,
	}
	for short, dtype := range storages {
		for _, module := range []string{"torch.", "torch.cuda."} {
			name := module + short + "Storage"
			pickleFuncs[name] = &pickleFunc{name: name, kind: storageClass, dtype: dtype}
			if dtype != ir.Complex64 && dtype != ir.Complex128 && !strings.HasPrefix(short, "Q") {
				for _, class := range []string{module + short + "Tensor", module + "sparse." + short + "Tensor"} {
					pickleFuncs[class] = &pickleFunc{name: class}
				}
			}
		}
	}
	for _, name := range []string{"torch.storage.UntypedStorage", "torch.UntypedStorage", "torch.storage.TypedStorage"} {
		pickleFuncs[name] = &pickleFunc{name: name, kind: storageClass}
	}
}

// global pushes what a name stands for.
func (u *unpickler) global() error {
	name, err := u.globalName()
	if err != nil {
		return err
	}
	if f := pickleFuncs[name]; f != nil {
		return u.push(f)
	}
	if short, ok := strings.CutPrefix(name, "torch."); ok {
		if d, err := ir.ParseDType(short); err == nil {
			return u.push(d)
		}
	}
	if u.classes != nil && u.classes(name) {
		return u.push(&pickleFunc{name: name, kind: instanceClass})
	}
	return u.refuse(name)
}

func (u *unpickler) globalName() (string, error) {
	module, err := u.line()
	if err != nil {
		return "", err
	}
	name, err := u.line()
	if module == "__builtin__" { // Python 2's name, which protocol 2 keeps
		module = "builtins"
	}
	return module + "." + name, err
}

// refuse says which classes the rest of the pickle needs, and what to do.
func (u *unpickler) refuse(first string) error {
	names := []string{first}
	for len(names) < 10 && u.at < len(u.text) {
		// a rough look is enough here: whatever reads like the name of a class
		i := slices.Index(u.text[u.at:], opGlobal)
		if i < 0 {
			break
		}
		u.at += i + 1
		here := u.at
		name, err := u.globalName()
		if err != nil || !isDotted(name) {
			u.at = here
			continue
		}
		known := pickleFuncs[name] != nil || slices.Contains(names, name) || u.classes != nil && u.classes(name)
		if _, err := ir.ParseDType(strings.TrimPrefix(name, "torch.")); !known && err != nil {
			names = append(names, name)
		}
	}
	what := "save tensors in dicts, lists and tuples only"
	switch {
	case slices.ContainsFunc(names, func(n string) bool {
		return strings.HasPrefix(n, "torch.nn.modules.") || strings.HasPrefix(n, "torch.fx.")
	}):
		what = "it holds a whole module: open it with export.Classes(export.ModuleClasses) for what is not Python code; or in Python, " +
			"save module.state_dict() instead, or export the module with torch.export.export (or trace it with torch.fx.symbolic_trace) and save that"
	case slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "numpy") }):
		what = "in Python, make tensors or numbers of NumPy's values and save again"
	case strings.HasPrefix(first, "torch._export.serde.serialize."), strings.HasPrefix(first, "torch._subclasses.fake_tensor"):
		what = "it holds tensors without elements (fake ones); export the model with real weights"
	case strings.HasPrefix(first, "torch._C.") || strings.HasPrefix(first, "torch.ScriptObject"):
		what = "it holds a custom object of C++, which is not supported"
	}
	return ir.Errorf(ir.ErrUnsupported, "class %s is not allowed: expected what torch.load(weights_only=True) reads; %s", strings.Join(names, ", "), what)
}

func isDotted(name string) bool {
	for _, part := range strings.Split(name, ".") {
		if !isIdentifier(part) {
			return false
		}
	}
	return true
}

// apply is the call of a function, or the making of an object by a class.
func (u *unpickler) apply(object bool) error {
	a, err := u.pop()
	if err != nil {
		return err
	}
	f, err := u.pop()
	if err != nil {
		return err
	}
	args, ok := a.(ir.PyTuple)
	fn, isFunc := f.(*pickleFunc)
	switch {
	case !ok:
		return ir.Errorf(ir.ErrFormat, "expected a tuple of arguments, got %s", pyTypeName(a))
	case !isFunc:
		return ir.Errorf(ir.ErrUnsupported, "expected a function or class to call, got %s", pyTypeName(f))
	case fn.kind == instanceClass:
		return u.push(&Instance{Class: fn.name, Args: args})
	case fn.call == nil:
		return ir.Errorf(ir.ErrUnsupported, "a call of %s is not supported: expected plain tensors and containers", fn.name)
	case object && fn.name != "torch.nn.parameter.Parameter" && fn.name != "collections.OrderedDict":
		return ir.Errorf(ir.ErrUnsupported, "an object of class %s is not supported", fn.name)
	}
	v, err := fn.call(u, args)
	if err != nil {
		return ir.Errorf(ir.ClassOf(err), "%s: %w", fn.name, err)
	}
	return u.push(v)
}

// build gives an object its state.
func (u *unpickler) build() error {
	state, err := u.pop()
	if err != nil {
		return err
	}
	to, err := u.top()
	if err != nil {
		return err
	}
	switch to := to.(type) {
	case *ir.PyDict:
		attrs, ok := state.(*ir.PyDict)
		if !ok {
			return ir.Errorf(ir.ErrFormat, "expected the attributes of an ordered dict as a dict, got %s", pyTypeName(state))
		}
		if u.attrs == nil {
			u.attrs = map[*ir.PyDict]*ir.PyDict{}
		}
		u.attrs[to] = attrs
		return nil
	case *Instance:
		to.State = state
		return nil
	}
	return ir.Errorf(ir.ErrUnsupported, "expected an ordered dict to give attributes to, got %s", pyTypeName(to))
}

func arity(args ir.PyTuple, least, most int) error {
	if len(args) < least || len(args) > most {
		return ir.Errorf(ir.ErrFormat, "expected %d to %d arguments, got %d", least, most, len(args))
	}
	return nil
}

// items returns what a list or tuple holds.
func items(v any) ([]any, bool) {
	switch v := v.(type) {
	case *pyList:
		return v.items, true
	case ir.PyTuple:
		return v, true
	case PySet:
		return v, true
	}
	return nil, false
}

func callDict(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 0, 1); err != nil {
		return nil, err
	}
	d := &ir.PyDict{}
	if len(args) == 0 {
		return d, nil
	}
	if from, ok := args[0].(*ir.PyDict); ok {
		for k, v := range from.All() {
			d.Set(k, v)
		}
		return d, u.spend(from.Len())
	}
	pairs, ok := items(args[0])
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "expected pairs, got %s", pyTypeName(args[0]))
	}
	if err := u.spend(len(pairs)); err != nil {
		return nil, err
	}
	for _, p := range pairs {
		pair, ok := items(p)
		if !ok || len(pair) != 2 {
			return nil, ir.Errorf(ir.ErrFormat, "expected a pair, got %s", pyTypeName(p))
		}
		if err := setItems(d, pair); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func callSize(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 1, 1); err != nil {
		return nil, err
	}
	dims, err := u.dims(args[0])
	out := make(ir.PyTuple, len(dims))
	for i, n := range dims {
		out[i] = n
	}
	return out, err
}

func callDevice(_ *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 1, 2); err != nil {
		return nil, err
	}
	name, ok := args[0].(string)
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "expected the name of a device, got %s", pyTypeName(args[0]))
	}
	if len(args) == 2 {
		index, ok := args[1].(int64)
		if !ok {
			return nil, ir.Errorf(ir.ErrFormat, "expected the index of a device, got %s", pyTypeName(args[1]))
		}
		name = fmt.Sprintf("%s:%d", name, index)
	}
	return ir.ParseDevice(clip(name))
}

func callLayout(_ *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 1, 1); err != nil {
		return nil, err
	}
	name, _ := args[0].(string)
	return ir.ParseLayout(strings.TrimPrefix(clip(name), "torch."))
}

// callEncode makes bytes of the letters that stand for them.
func callEncode(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 2, 2); err != nil {
		return nil, err
	}
	text, ok := args[0].(string)
	if encoding, _ := args[1].(string); !ok || encoding != "latin1" && encoding != "latin-1" {
		return nil, ir.Errorf(ir.ErrUnsupported, "expected bytes as letters of latin1, got %s in %q", pyTypeName(args[0]), clip(encoding))
	}
	if err := u.spend(len(text)); err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return nil, ir.Errorf(ir.ErrFormat, "expected letters of latin1, got %q", r)
		}
		out = append(out, byte(r))
	}
	return out, nil
}

// callByteArray copies bytes; bytearray(n), which would make n of them, is
// refused.
func callByteArray(u *unpickler, args ir.PyTuple) (any, error) {
	if len(args) == 0 {
		return []byte{}, nil
	}
	if b, ok := args[0].([]byte); ok && len(args) == 1 {
		return slices.Clone(b), u.spend(len(b))
	}
	return callEncode(u, args) // as protocol 2 writes it
}

func callSet(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 0, 1); err != nil || len(args) == 0 {
		return PySet{}, err
	}
	from, ok := items(args[0])
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "expected a list, got %s", pyTypeName(args[0]))
	}
	return PySet(slices.Clone(from)), u.spend(len(from))
}

func callComplex(_ *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 2, 2); err != nil {
		return nil, err
	}
	re, ok1 := args[0].(float64)
	im, ok2 := args[1].(float64)
	if !ok1 || !ok2 {
		return nil, ir.Errorf(ir.ErrFormat, "expected two floats, got %s and %s", pyTypeName(args[0]), pyTypeName(args[1]))
	}
	return complex(re, im), nil
}

// pyTypeName names the type of a value as Python does.
func pyTypeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int64, *big.Int:
		return "an int"
	case float64:
		return "a float"
	case string:
		return "a string"
	case []byte:
		return "bytes"
	case *pyList, []any:
		return "a list"
	case ir.PyTuple:
		return "a tuple"
	case PySet:
		return "a set"
	case *ir.PyDict:
		return "a dict"
	case *Tensor:
		return "a tensor"
	case *storageRef:
		return "a storage"
	case *pickleFunc:
		return v.name
	case *Instance:
		return "a " + v.Class
	}
	return fmt.Sprintf("%T", v)
}
