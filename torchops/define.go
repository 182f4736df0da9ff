package torchops

import (
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Define makes f what [Invoke] calls for the function name, unless it has an
// implementation already. It is for packages that hold what is Python code in
// PyTorch, such as nn/functional, and called while packages are initialised.
//
// f gets values of the kinds that a run has, see the package comment, and may
// panic with an *[Error].
func Define(name string, f func(m *libtorch.Mode, args []any, kw []Kwarg) (any, error)) {
	impl := &implementation{name: name, call: func(m *libtorch.Mode, args []any, kw []Kwarg) (any, error) {
		args, err := normalizeItems(withoutScopes(args))
		if err != nil {
			return nil, err
		}
		keywords := make([]Kwarg, len(kw))
		for i, k := range kw {
			v, err := normalize(k.Value)
			if err != nil {
				return nil, err
			}
			keywords[i] = Kwarg{k.Name, v}
		}
		type result struct {
			v   any
			err error
		}
		r, err := Try(func() result {
			v, err := f(m, args, keywords)
			return result{v, err}
		})
		if err == nil {
			err = r.err
		}
		return r.v, err
	}}
	implementations.LoadOrStore(ir.FuncOf(name), impl)
}

// DefineClass makes a call of the class name an *ir.PyObject of these fields, as
// Python's namedtuples and dataclasses are made: by position or by name, every
// field exactly once.
func DefineClass(name string, fields ...string) {
	Define(name, func(_ *libtorch.Mode, args []any, kw []Kwarg) (any, error) {
		if len(args) > len(fields) {
			return nil, ir.Errorf(ir.ErrType, "%s: expected %d fields, got %d", name, len(fields), len(args))
		}
		values, given := make([]any, len(fields)), make([]bool, len(fields))
		for i, v := range args {
			values[i], given[i] = v, true
		}
		for _, k := range kw {
			i := slices.Index(fields, k.Name)
			if i < 0 || given[i] {
				return nil, ir.Errorf(ir.ErrType, "%s: expected the fields %v once each, got %s", name, fields, k.Name)
			}
			values[i], given[i] = k.Value, true
		}
		if i := slices.Index(given, false); i >= 0 {
			return nil, ir.Errorf(ir.ErrType, "%s: expected a value for %s, got none", name, fields[i])
		}
		return &ir.PyObject{Type: name, Fields: fields, Values: values}, nil
	})
}
