package torchops

import (
	"math"
	"slices"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Functions of torch on symbolic numbers, which in a run are plain ones, and
// the sizes of tensors, which need no operator call.

func init() {
	define("torch.sym_int", "a", func(m *libtorch.Mode, a []any) (any, error) { return toInt(m, a[0]) })
	define("torch.sym_float", "a", func(m *libtorch.Mode, a []any) (any, error) { return toFloat(m, a[0]) })
	define("torch.sym_not", "a", func(m *libtorch.Mode, a []any) (any, error) {
		t, err := truthOf(m, a[0])
		return !t, err
	})
	for _, name := range []string{"max", "min"} {
		define("torch.sym_"+name, "a, b", func(m *libtorch.Mode, a []any) (any, error) {
			for _, v := range a {
				if k := kindOf(v); k == notNumber && !isInteger64(v) || k == complexKind {
					return nil, ir.Errorf(ir.ErrAssertion, "expected (<class 'numpy.integer'>, <class 'numpy.floating'>, <class 'int'>, <class 'float'>), got <class '%s'>", className(v))
				}
			}
			v, err := (&extremum{name: name}).of(m, a)
			if err == nil && max(kindOf(a[0]), kindOf(a[1])) == floatKind {
				v = asFloat(v)
			}
			return v, err
		})
	}
	define("torch.sym_sum", "*args", func(m *libtorch.Mode, a []any) (any, error) {
		list := a[0].([]any)
		if len(list) == 1 {
			if inner, kind := items(list[0]); kind != "" {
				list = inner
			}
		}
		return sum(m, list, int64(0))
	})
	define("torch.sym_ite", "b, t, f", func(_ *libtorch.Mode, a []any) (any, error) {
		b, ok := a[0].(bool)
		if !ok {
			return nil, ir.Errorf(ir.ErrAssertion, "expected SymBool or bool, got <class '%s'>", className(a[0]))
		}
		if x, y := className(a[1]), className(a[2]); x != y {
			return nil, ir.Errorf(ir.ErrAssertion, "type mismatch: <class '%s'> vs <class '%s'>", x, y)
		}
		if b {
			return a[1], nil
		}
		return a[2], nil
	})
	define("torch.sym_fresh_size", "expr", func(m *libtorch.Mode, a []any) (any, error) {
		t, err := Invoke(m, ir.FuncOf("torch.tensor"), a, nil)
		if err != nil {
			return nil, err
		}
		defer func() { _, _ = discard(t, nil) }()
		return item(m, t.(*Tensor))
	})
	symMath := map[string]func(float64) float64{"sym_sqrt": math.Sqrt, "_sym_sqrt": math.Sqrt}
	for _, name := range []string{"cos", "cosh", "sin", "sinh", "tan", "tanh", "acos", "asin", "atan", "log2"} {
		symMath["_sym_"+name] = libtorch.CMath[name]
	}
	for name, f := range symMath {
		define("torch."+name, "a", func(m *libtorch.Mode, a []any) (any, error) { return callMath(m, f, a[0]) })
	}

	aboutTensor("aten::sym_size.int", sizeAt(func(i libtorch.TensorInfo) []int64 { return i.Sizes }))
	aboutTensor("aten::sym_stride.int", sizeAt(func(i libtorch.TensorInfo) []int64 { return i.Strides }))
	aboutTensor("aten::sym_size", func(i libtorch.TensorInfo, _ []any) (any, error) { return []any(intTuple(i.Sizes)), nil })
	aboutTensor("aten::sym_stride", func(i libtorch.TensorInfo, _ []any) (any, error) { return []any(intTuple(i.Strides)), nil })
	aboutTensor("aten::sym_numel", func(i libtorch.TensorInfo, _ []any) (any, error) { return i.Numel, nil })
	aboutTensor("aten::sym_storage_offset", func(i libtorch.TensorInfo, _ []any) (any, error) { return i.Offset, nil })
}

// symbolicFunctions are the functions on symbolic numbers as a trace records them: with
// all parameters by position.
var symbolicFunctions = map[*ir.Func]*composed{}

func init() {
	form := func(name, recorded, params string) {
		c := &composed{name: recorded, target: ir.FuncOf("torch." + recorded), params: parseSignature(params)}
		symbolicFunctions[ir.FuncOf("torch."+name)] = c
	}
	for name := range strings.FieldsSeq("sym_int sym_float sym_not _sym_sqrt _sym_cos _sym_cosh _sym_sin _sym_sinh _sym_tan _sym_tanh _sym_acos _sym_asin _sym_atan _sym_log2") {
		form(name, name, "a")
	}
	form("sym_sqrt", "_sym_sqrt", "a")
	form("sym_max", "sym_max", "a, b")
	form("sym_min", "sym_min", "a, b")
	form("sym_ite", "sym_ite", "b, t, f")
	form("sym_sum", "sym_sum", "*args")
}

// recordNumbers notes a call of a function on symbolic numbers. One that looks at no traced
// value, since a list holds them, is refused as a run refuses the list.
func (c *composed) recordNumbers(r Recorder, args []any, kw []Kwarg) any {
	values, err := c.bind(args, kw)
	mustNot(c.target.Name(), err)
	traced := func(v any) bool { _, is := ValueOf(v); return is }
	lookedAt, recorded := values, values
	if c.params[0].kind == byRest {
		lookedAt = values[0].([]any)
		recorded = []any{ir.PyTuple(lookedAt)}
		if len(lookedAt) == 1 && !traced(lookedAt[0]) { // a list, which holds what is traced
			return r.Record(ir.CallFunction, c.target, lookedAt, nil)
		}
	}
	if slices.ContainsFunc(lookedAt, traced) {
		return r.Record(ir.CallFunction, c.target, recorded, nil)
	}
	v, err := Invoke(nil, c.target, args, kw)
	mustNot(c.target.Name(), err)
	return v
}

func tensorArg(v any) (*Tensor, error) {
	t, ok := v.(*Tensor)
	if !ok {
		return nil, ir.Errorf(ir.ErrType, "expected a Tensor, got %s", typeName(v))
	}
	return t, nil
}

// aboutTensor makes a function of an operator that only reads facts about a tensor, its
// first argument; f gets the rest. Arguments are matched with its schema, as of any other.
func aboutTensor(op string, f func(i libtorch.TensorInfo, rest []any) (any, error)) {
	name := ir.OverloadOf(op)
	implementations.Store(name, &implementation{name: name.Name(), call: func(m *libtorch.Mode, args []any, kw []Kwarg) (any, error) {
		o, err := libtorch.Find(op)
		if err != nil {
			return nil, err
		}
		c := call{mode: m, schema: o.Schema(), strict: true}
		defer c.release()
		bound, err := c.bind(args, kw)
		if err != nil {
			return nil, err
		}
		info, err := bound[0].(*libtorch.Tensor).Info()
		if err != nil {
			return nil, err
		}
		return f(info, bound[1:])
	}})
}

// sizeAt reads one of a tensor's sizes or strides.
func sizeAt(of func(libtorch.TensorInfo) []int64) func(libtorch.TensorInfo, []any) (any, error) {
	return func(info libtorch.TensorInfo, rest []any) (any, error) {
		dim, sizes := rest[0].(int64), of(info)
		n := int64(len(sizes))
		if dim < -n || dim >= n {
			if n == 0 {
				return nil, ir.Errorf(ir.ErrIndex, "Dimension specified as %d but tensor has no dimensions", dim)
			}
			return nil, ir.Errorf(ir.ErrIndex, "Dimension out of range (expected to be in range of [%d, %d], but got %d)", -n, n-1, dim)
		}
		if dim < 0 {
			dim += n
		}
		return sizes[dim], nil
	}
}

// className is what Python prints of the class of a value.
func className(v any) string {
	if isTensor(v) {
		return "torch.Tensor"
	}
	return typeName(v)
}
