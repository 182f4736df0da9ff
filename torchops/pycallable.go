package torchops

import (
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Values of a run that can be called: functions by their names, what
// operator.itemgetter, attrgetter and methodcaller return, and Go functions of
// numbers.

// A callable is an object of Python that is called with one argument.
type callable struct {
	class string // "operator.itemgetter"
	text  string // as Python writes it
	call  func(m *libtorch.Mode, v any) (any, error)
}

// String writes the object as Python's repr does.
func (c *callable) String() string { return c.text }

// callValue is f(args...).
func callValue(m *libtorch.Mode, f any, args ...any) (any, error) {
	switch f := f.(type) {
	case *ir.Func:
		return Invoke(m, f, args, nil)
	case *callable:
		if len(args) != 1 {
			return nil, typeErrorf("%s expected 1 argument, got %d", strings.TrimPrefix(f.class, "operator."), len(args))
		}
		return f.call(m, args[0])
	case func(float64) float64:
		if len(args) == 1 && kindOf(args[0]) != notNumber {
			return f(asFloat(args[0])), nil
		}
	case func(a, b float64) float64:
		if len(args) == 2 && kindOf(args[0]) != notNumber && kindOf(args[1]) != notNumber {
			return f(asFloat(args[0]), asFloat(args[1])), nil
		}
	}
	return nil, typeErrorf("'%s' object is not callable", typeName(f))
}

func init() {
	define("operator.itemgetter", "*items", func(_ *libtorch.Mode, a []any) (any, error) {
		return getter("itemgetter", a[0].([]any), func(m *libtorch.Mode, v, item any) (any, error) {
			return Invoke(m, fnGetItem, []any{v, item}, nil)
		})
	})
	define("operator.attrgetter", "*attrs", func(_ *libtorch.Mode, a []any) (any, error) {
		for _, name := range a[0].([]any) {
			if !isText(name) {
				return nil, typeErrorf("attribute name must be a string")
			}
		}
		return getter("attrgetter", a[0].([]any), func(m *libtorch.Mode, v, path any) (_ any, err error) {
			for name := range strings.SplitSeq(path.(string), ".") {
				if v, err = getAttr(m, v, name); err != nil {
					return nil, err
				}
			}
			return v, nil
		})
	})
	implementations.Store(ir.FuncOf("operator.methodcaller"), &implementation{name: "methodcaller", call: methodCaller})
	own("object.__call__", "self, *args", func(m *libtorch.Mode, a []any) (any, error) { return callValue(m, a[0], a[1].([]any)...) })
}

// getter makes an itemgetter or attrgetter: one part is returned as it is, several as
// a tuple.
func getter(name string, parts []any, get func(m *libtorch.Mode, v, part any) (any, error)) (any, error) {
	if len(parts) == 0 {
		return nil, typeErrorf("%s expected 1 argument, got 0", name)
	}
	text := strings.TrimSuffix(strings.Trim(reprOf(ir.PyTuple(parts)), "()"), ",")
	c := &callable{class: "operator." + name, text: "operator." + name + "(" + text + ")"}
	c.call = func(m *libtorch.Mode, v any) (any, error) {
		if len(parts) == 1 {
			return get(m, v, parts[0])
		}
		all := make(ir.PyTuple, len(parts))
		for i, part := range parts {
			var err error
			if all[i], err = get(m, v, part); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return c, nil
}

// methodCaller is operator.methodcaller(name, *args, **kwargs).
func methodCaller(_ *libtorch.Mode, args []any, kw []Kwarg) (any, error) {
	args, err := normalizeItems(withoutScopes(args))
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return nil, typeErrorf("methodcaller needs at least one argument, the method name")
	}
	name, ok := args[0].(string)
	if !ok {
		return nil, typeErrorf("method name must be a string")
	}
	rest := args[1:]
	var parts []string
	for _, v := range args {
		parts = append(parts, reprOf(v))
	}
	for _, k := range kw {
		parts = append(parts, k.Name+"="+reprOf(k.Value))
	}
	return &callable{
		class: "operator.methodcaller",
		text:  "operator.methodcaller(" + strings.Join(parts, ", ") + ")",
		call: func(m *libtorch.Mode, v any) (any, error) {
			return InvokeMethod(m, name, append([]any{v}, rest...), kw)
		},
	}, nil
}
