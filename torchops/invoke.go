package torchops

import (
	"slices"
	"strings"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Invoke calls what a graph's call_function names: an operator overload through
// the dispatcher, or the first that fits of a packet without overload; a function
// that Python binds to C++ by the first of its signatures that takes the arguments;
// and by an implementation here what has no kernel (Python's operator and math,
// sizes, symbolic numbers, functorch's batch dimensions). A method of a tensor is
// "torch.Tensor.<name>", a property "torch.Tensor.<name>.__get__". Of a function
// with several spellings, as torch.linalg.inv is torch._C._linalg.linalg_inv, each
// is known.
//
// Arguments, results and errors are those of [CallMode]. Functions that push and
// pop a vmap level change m, which therefore belongs to one run. What a graph's
// call_method names is called by [InvokeMethod].
func Invoke(m *libtorch.Mode, f *ir.Func, args []any, kw []Kwarg) (any, error) {
	if err := checkCall(args, kw); err != nil {
		return nil, failed(f.Name(), nil, nil, err)
	}
	if impl := implementationOf(f); impl != nil {
		v, err := impl.call(m, args, kw)
		return v, failedIn(f, args, kw, err)
	}
	if f.Op() != "" {
		return callNamed(m, f.Op(), args, kw, true)
	}
	return nil, failed(f.Name(), nil, nil, unknown(f))
}

// InvokeMethod calls what a graph's call_method names: a method of args[0], which may
// be a list, tuple, dict or string as well as a tensor; a graph tells no types.
func InvokeMethod(m *libtorch.Mode, name string, args []any, kw []Kwarg) (any, error) {
	f := methodOf(name)
	if err := checkCall(args, kw); err != nil {
		return nil, failed(f.Name(), nil, nil, err)
	}
	if len(args) > 0 && !isTensor(args[0]) {
		own, err := ownMethod(f, name, args[0])
		if err != nil {
			return nil, failed(f.Name(), args, kw, err)
		}
		f = own
	}
	return Invoke(m, f, args, kw)
}

var methods sync.Map // name -> *ir.Func

// methodOf is the function that a method of tensors is.
func methodOf(name string) *ir.Func {
	if f, ok := methods.Load(name); ok {
		return f.(*ir.Func)
	}
	f, _ := methods.LoadOrStore(name, ir.FuncOf(tensorMethod+name))
	return f.(*ir.Func)
}

// implementations holds what is computed on this side of the dispatcher, filled
// while packages are initialised, and what was found for other names since.
var implementations sync.Map // *ir.Func -> *implementation

// An implementation is a function with Python's way of taking arguments.
type implementation struct {
	name    string
	full    string // with its module
	params  []param
	rest    int     // the parameter that takes all further positional arguments, -1 for none
	wrapped bool    // a Go function given to Wrap
	public  *public // an operator of torch by its Python name
	parser  *public // what a function written by hand takes
	call    func(m *libtorch.Mode, args []any, kw []Kwarg) (any, error)
}

type param struct {
	name     string
	optional bool // nil where it is not given
}

// define registers an implementation. params is "a, b, n?" with "?" after an
// optional one and "*" before one that takes the rest; those behind it are given by
// keyword.
func define(name, params string, f func(m *libtorch.Mode, a []any) (any, error)) {
	impl := &implementation{name: name[strings.LastIndexByte(name, '.')+1:], full: name, rest: -1}
	for i, p := range strings.FieldsFunc(params, func(r rune) bool { return r == ',' || r == ' ' }) {
		if strings.HasPrefix(p, "*") {
			impl.rest = i
		}
		impl.params = append(impl.params, param{strings.Trim(p, "*?"), strings.HasSuffix(p, "?")})
	}
	impl.call = func(m *libtorch.Mode, args []any, kw []Kwarg) (v any, err error) {
		a, err := impl.bind(args, kw)
		if err != nil {
			return nil, err
		}
		defer recoverError(&err) // of what asks a closed tensor
		return f(m, a)
	}
	implementations.Store(ir.FuncOf(name), impl)
}

// refuse tells of too many arguments, and of too few or of keywords where CPython's
// C functions take neither, in its words.
func (impl *implementation) refuse(n, keywords int) error {
	most := len(impl.params)
	exact := impl.rest < 0 && !slices.ContainsFunc(impl.params, func(p param) bool { return p.optional })
	switch module, _, _ := strings.Cut(impl.full, "."); {
	case module == "torch" && n > most:
		return typeErrorf("%s() takes %d positional argument%s but %d %s given", impl.name, most, plural(most), n, was(n))
	case module == "torch" || !exact || module == "builtins" && most > 1:
	case keywords > 0:
		return typeErrorf("%s() takes no keyword arguments", inModule(impl.full))
	case n != most && most == 1:
		return typeErrorf("%s() takes exactly one argument (%d given)", inModule(impl.full), n)
	case n != most:
		return typeErrorf("%s expected %d arguments, got %d", impl.name, most, n)
	}
	if n > most {
		return typeErrorf("%s expected at most %d arguments, got %d", impl.name, most, n)
	}
	return nil
}

// inModule is the name that CPython prints of a C function: "_operator.add", "len".
func inModule(name string) string {
	if short, ok := strings.CutPrefix(name, "builtins."); ok {
		return short
	}
	return strings.Replace(name, "operator.", "_operator.", 1)
}

// bind returns one value per parameter.
func (impl *implementation) bind(args []any, kw []Kwarg) ([]any, error) {
	args, err := normalizeItems(withoutScopes(args))
	if err != nil {
		return nil, err
	}
	n := len(impl.params)
	a := make([]any, n)
	given := make([]bool, n)
	if r := impl.rest; r >= 0 {
		cut := min(r, len(args))
		a[r], given[r] = append([]any{}, args[cut:]...), true
		args = args[:cut]
	}
	if err := impl.refuse(len(args), len(kw)); err != nil {
		return nil, err
	}
	for i, v := range args {
		a[i], given[i] = v, true
	}
keywords:
	for _, k := range kw {
		for i := range impl.params {
			if impl.params[i].name != k.Name || i == impl.rest {
				continue
			}
			if given[i] {
				return nil, ir.Errorf(ir.ErrType, "%s() got multiple values for argument '%s'", impl.name, k.Name)
			}
			if a[i], err = normalize(k.Value); err != nil {
				return nil, err
			}
			given[i] = true
			continue keywords
		}
		return nil, ir.Errorf(ir.ErrType, "%s() got an unexpected keyword argument '%s'", impl.name, k.Name)
	}
	for i, p := range impl.params {
		if !given[i] && !p.optional {
			return nil, ir.Errorf(ir.ErrType, "%s() missing required argument '%s' (pos %d)", impl.name, p.name, i+1)
		}
	}
	return a, nil
}
