package torchops

import (
	"maps"
	"slices"
	"strings"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/spelling"
	"github.com/torchfx-go/torchfx/ir"
)

// implementationOf finds what f calls, nil where it is an operator overload or
// nothing that is known. What is found is kept.
func implementationOf(f *ir.Func) *implementation {
	if impl, ok := implementations.Load(f); ok {
		return impl.(*implementation)
	}
	impl := resolve(f)
	if impl == nil {
		return nil
	}
	kept, _ := implementations.LoadOrStore(f, impl)
	return kept.(*implementation)
}

// resolve looks a name up under all spellings that it has.
func resolve(f *ir.Func) *implementation {
	switch f.Kind() {
	case ir.Overload, ir.HigherOrder:
		return nil
	case ir.Packet:
		return packet(f)
	}
	for name := range spellings(f.Name()) {
		if impl, ok := implementations.Load(ir.FuncOf(name)); ok {
			return impl.(*implementation)
		}
		if lines, ok := signatureIndex()[name]; ok {
			list, err := readSignatures(name, lines)
			if err != nil {
				return nil // the table is tested
			}
			p := newPublic(name, strings.HasPrefix(name, tensorMethod), list)
			return &implementation{name: name, public: p, call: p.call}
		}
	}
	return nil
}

const tensorMethod = "torch.Tensor."

// A respelling says that names with one prefix are names with another.
type respelling struct{ from, to string }

// respellings are the places where Python has one object under two names: first
// where it is public, then what its __module__ and __qualname__ say, which is
// what torch.fx prints.
var respellings = []respelling{
	{"torch.linalg.", "torch._C._linalg.linalg_"},
	{"torch.fft.", "torch._C._fft.fft_"},
	{"torch.special.", "torch._C._special.special_"},
	{"torch.sparse.", "torch._C._sparse.sparse_"},
	{"torch.sparse.", "torch._C._sparse._sparse_"},
	{"torch.nested.", "torch._C._nested.nested_"},
	{"torch._segment_reduce", "torch.segment_reduce"},
	{"torch.functional.", "torch."},
	{"torch.", "torch.functional."},
	{"torch._VF.", "torch."},
	{"torch._C._VariableFunctions.", "torch."},
	{"torch._C._VariableFunctionsClass.", "torch."},
	{"torch._C.TensorBase.", tensorMethod},
	{"torch._C._TensorBase.", tensorMethod},
	{"torch._tensor.Tensor.", tensorMethod},
	{"torch.masked.", "torch.masked._ops."},
	{"torch.masked._ops.", "torch.masked."},
	{"torch.signal.windows.", "torch.signal.windows.windows."},
	{"torch.signal.windows.windows.", "torch.signal.windows."},
	{"_operator.", "operator."},
}

// functionals are the functions of torch.nn.functional that are builtins of
// another module.
var functionals = sync.OnceValue(func() map[string]string {
	names := map[string]string{"logsigmoid": "torch._C._nn.log_sigmoid"}
	for module, list := range map[string]string{
		"torch.": `adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d
			conv_transpose2d conv_transpose3d cosine_similarity hardshrink native_channel_shuffle pairwise_distance pdist
			pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ selu_ threshold_`,
		"torch._C._nn.": `avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear one_hot scaled_dot_product_attention softplus
			softshrink`,
	} {
		for name := range strings.FieldsSeq(list) {
			names[name] = module + name
		}
	}
	return names
})

// spellings yields name and the other names of the same function.
func spellings(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if !yield(name) {
			return
		}
		if rest, ok := strings.CutPrefix(name, "torch.nn.functional."); ok {
			if other, ok := functionals()[rest]; ok {
				yield(other)
			}
			return
		}
		for _, r := range respellings {
			rest, ok := strings.CutPrefix(name, r.from)
			if ok && (r.from != "torch." || !strings.Contains(rest, ".")) && !yield(r.to+rest) {
				return
			}
		}
	}
}

// Implemented reports whether [Invoke] knows what f is. For an operator it asks
// the libtorch that is set up.
func Implemented(f *ir.Func) bool {
	if implementationOf(f) != nil {
		return true
	}
	if f.Op() == "" {
		return false
	}
	_, err := libtorch.Find(f.Op())
	return err == nil
}

// Check says why [Invoke] cannot call f, and which known name is nearest or which
// device has a kernel; nil where it can. Looking for the nearest takes a fraction of a
// millisecond.
func Check(f *ir.Func) error {
	if f.Op() != "" {
		o, err := libtorch.Find(f.Op())
		if err != nil && implementationOf(f) == nil {
			return err
		}
		if err == nil {
			return withoutKernel(o)
		}
	}
	if impl := implementationOf(f); impl != nil && impl.public != nil {
		return impl.public.withoutKernel()
	} else if impl != nil || f.Name() == tensorMethod+f.Base() && ownNames[f.Base()] {
		return nil
	}
	return unknown(f)
}

// unknown says why f, which has no implementation here, cannot be called; nil where
// it is an operator that can.
func unknown(f *ir.Func) error {
	if f.Op() != "" {
		_, err := libtorch.Find(f.Op())
		return err
	}
	if f.Kind() == ir.Packet {
		if err := libtorch.Open(); err != nil {
			return err
		}
	}
	what := "function " + f.Name()
	method, isMethod := strings.CutPrefix(f.Name(), tensorMethod)
	if isMethod {
		what = "method " + method
	}
	if name, is := strings.CutSuffix(method, propertyEnd); is && isMethod {
		what = "property " + name
	}
	if why, known := leftOut()[f.Name()]; known {
		return ir.Errorf(ir.ErrUnsupported, "%s is left out: %s", what, why)
	}
	near := Nearest(f.Name())
	if namespace, base, ok := strings.Cut(strings.TrimPrefix(f.Name(), "torch.ops."), "."); ok && f.Kind() == ir.Packet {
		if op := ir.Operators().Nearest(namespace + "::" + base); op != "" {
			op, _, _ = strings.Cut(op, ".")
			near = "torch.ops." + strings.Replace(op, "::", ".", 1)
		}
	}
	if near != "" {
		near = "; the nearest is " + strings.TrimPrefix(near, tensorMethod)
	}
	if isMethod {
		return ir.Errorf(ir.ErrUnsupported, "%s: expected one that tensors have here%s", what, near)
	}
	return ir.Errorf(ir.ErrUnsupported, "%s: expected one that is implemented here%s", what, near)
}

// Names lists the functions, methods and properties that [Invoke] knows beside
// the operators of the dispatcher, by one spelling each, in order.
func Names() []string {
	names := map[string]bool{}
	for name := range signatureIndex() {
		names[name] = true
	}
	implementations.Range(func(key, _ any) bool {
		if f := key.(*ir.Func); f.Op() == "" {
			names[f.Name()] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(names))
}

const propertyEnd = ".__get__" // ends the name of a property

// Nearest returns the known name that is most like one that is not, "" where none
// is like it: the same module or class, and a name that differs in few letters.
func Nearest(name string) string {
	const longest = 128 // of a name that a file may hold
	if len(name) > longest {
		return ""
	}
	name, property := strings.CutSuffix(name, propertyEnd)
	cut := strings.LastIndexByte(name, '.') + 1
	module, base := name[:cut], name[cut:]
	// what is known may have another spelling, as torch.linalg.inv does
	modules := []string{module}
	for _, r := range respellings {
		if r.from == module {
			modules = append(modules, r.to)
		}
	}
	best, least := "", len(base)/3+1
	for _, known := range Names() {
		for _, of := range modules {
			rest, ok := strings.CutPrefix(known, of)
			rest, isProperty := strings.CutSuffix(rest, propertyEnd)
			if !ok || isProperty != property || strings.Contains(rest, ".") {
				continue
			}
			if d := spelling.Distance(base, rest, least); d < least || d == least && best == "" {
				best, least = module+rest, d
			}
		}
	}
	return best
}
