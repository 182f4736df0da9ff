package torchops

import (
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// The methods of Python's lists, tuples, dicts and strings that graphs call:
// x.size().numel(), the keys of an argument that is a dict. What a method is of
// shows with its receiver alone. Those that would change the receiver are not
// here: a run shares its values.

// ownMethods are these methods by type and name, "dict.keys".
var ownMethods = map[string]*ir.Func{}

// ownNames are their names.
var ownNames = map[string]bool{}

// changingMethods change their receiver.
var changingMethods = map[string]bool{
	"append": true, "extend": true, "insert": true, "pop": true, "remove": true, "clear": true, "reverse": true, "sort": true,
	"update": true, "setdefault": true, "popitem": true,
}

// own defines a method of a type of Python's, "dict.keys".
func own(method, params string, f func(m *libtorch.Mode, a []any) (any, error)) {
	name := "builtins." + method
	of, base, _ := strings.Cut(method, ".")
	define(name, params, func(m *libtorch.Mode, a []any) (any, error) {
		if ownType(a[0]) != of {
			return nil, typeErrorf("descriptor '%s' for '%s' objects doesn't apply to a '%s' object", base, of, typeName(a[0]))
		}
		return f(m, a)
	})
	ownMethods[method] = ir.FuncOf(name)
	ownNames[base] = true
}

func init() {
	entries := func(of func(key, value any) any) func(*libtorch.Mode, []any) (any, error) {
		return func(_ *libtorch.Mode, a []any) (any, error) {
			list := []any{}
			for key, value := range a[0].(*ir.PyDict).All() {
				list = append(list, of(key, value))
			}
			return list, nil
		}
	}
	own("dict.keys", "self", entries(func(key, _ any) any { return key }))
	own("dict.values", "self", entries(func(_, value any) any { return value }))
	own("dict.items", "self", entries(func(key, value any) any { return ir.PyTuple{key, value} }))
	own("dict.get", "self, key, default?", func(_ *libtorch.Mode, a []any) (any, error) {
		if v, ok := a[0].(*ir.PyDict).Get(a[1]); ok {
			return v, nil
		}
		return a[2], nil
	})
	countOf, indexOf := ir.FuncOf("operator.countOf"), ir.FuncOf("operator.indexOf")
	for _, sequence := range []string{"list", "tuple"} {
		own(sequence+".count", "self, value", func(m *libtorch.Mode, a []any) (any, error) { return Invoke(m, countOf, a, nil) })
		own(sequence+".index", "self, value", func(m *libtorch.Mode, a []any) (any, error) { return Invoke(m, indexOf, a, nil) })
	}
	own("tuple.numel", "self", func(_ *libtorch.Mode, a []any) (any, error) { // of a torch.Size
		n := int64(1)
		for _, size := range a[0].(ir.PyTuple) {
			v, ok := size.(int64)
			if !ok {
				return nil, ir.Errorf(ir.ErrAttribute, "'tuple' object has no attribute 'numel'")
			}
			n *= v
		}
		return n, nil
	})
	text := func(method string, f func(s, t string) any) {
		own("str."+method, "self, other", func(_ *libtorch.Mode, a []any) (any, error) {
			s, _ := a[0].(string)
			t, ok := a[1].(string)
			if !ok {
				return nil, typeErrorf("%s: expected a str, got %s", method, typeName(a[1]))
			}
			return f(s, t), nil
		})
	}
	text("startswith", func(s, t string) any { return strings.HasPrefix(s, t) })
	text("endswith", func(s, t string) any { return strings.HasSuffix(s, t) })
}

// ownType returns the type of a value that has methods here, else "".
func ownType(v any) string {
	switch v := v.(type) {
	case string:
		return "str"
	case []any:
		return "list"
	case ir.PyTuple:
		return "tuple"
	case *ir.PyDict:
		if v != nil {
			return "dict"
		}
	case *callable, *ir.Func:
		return "object"
	}
	return ""
}

// ownMethod returns the method of the name that a value of Python has, which for a
// tensor is f.
func ownMethod(f *ir.Func, name string, v any) (*ir.Func, error) {
	v, err := normalize(v)
	if err != nil || isTensor(v) {
		return f, err
	}
	of := ownType(v)
	if own := ownMethods[of+"."+name]; own != nil {
		return own, nil
	}
	if op, ok := syntaxMethods[name]; ok && (of != "" || kindOf(v) != notNumber) && !strings.HasPrefix(name, "__i") {
		return ir.FuncOf("operator." + op), nil
	}
	if of != "" && changingMethods[name] {
		return nil, ir.Errorf(ir.ErrUnsupported, "method %s: expected one that leaves its %s as it is", name, of)
	}
	return nil, ir.Errorf(ir.ErrAttribute, "'%s' object has no attribute '%s'", typeName(v), name)
}
