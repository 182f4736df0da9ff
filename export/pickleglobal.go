package export

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
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
