package torchops

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// What the functions and methods are made of, written or generated. They take what
// Python's have no default for, and options behind it: further arguments in
// Python's order, then keywords by [Kw], and a scope for the results by [In].

// Ints is a list of integers, sizes or dimensions: a []int, a []Int that holds
// symbolic sizes, or one integer where Python takes one.
type Ints = any

// callFunction calls a function of Python by the name that graphs have.
func callFunction(name string, args ...any) any {
	f, impl := calledFunctions.find(name, ir.FuncOf)
	return callTyped(f, impl, "", nil, args, nil)
}

// callFunctionWith is callFunction with options behind the arguments.
func callFunctionWith(name string, options []any, args ...any) any {
	f, impl := calledFunctions.find(name, ir.FuncOf)
	return callTyped(f, impl, "", nil, args, options)
}

// callMethod calls a method by its name.
func (x *Tensor) callMethod(name string, args ...any) any {
	f, impl := calledMethods.find(name, methodOf)
	return callTyped(f, impl, name, x, args, nil)
}

// callMethodWith is callMethod with options behind the arguments.
func (x *Tensor) callMethodWith(name string, options []any, args ...any) any {
	f, impl := calledMethods.find(name, methodOf)
	return callTyped(f, impl, name, x, args, options)
}

// callees remember what names stand for, by where their text lies: the names in
// generated code are literals, and nearly each has an entry of its own.
type callees [2048]atomic.Pointer[callee]

type callee struct {
	name string
	f    *ir.Func
	impl *implementation
}

var calledFunctions, calledMethods callees

func (c *callees) find(name string, funcOf func(name string) *ir.Func) (*ir.Func, *implementation) {
	at := uintptr(unsafe.Pointer(unsafe.StringData(name)))
	entry := &c[(at^at>>11)%uintptr(len(c))]
	if e := entry.Load(); e != nil && e.name == name { // equal at a glance where it is one literal
		return e.f, e.impl
	}
	e := &callee{name: name, f: funcOf(name)}
	if e.impl = implementationOf(e.f); e.impl != nil {
		entry.Store(e)
	}
	return e.f, e.impl
}

// An argumentList is the memory of the arguments of one call, reused: args of the
// functions above then stay on the stack of their callers.
type argumentList struct{ args []any }

var argumentLists = sync.Pool{New: func() any { return new(argumentList) }}

func (l *argumentList) put() {
	clear(l.args)
	l.args = l.args[:0]
	argumentLists.Put(l)
}

// callTyped is [Dispatch] of a call whose arguments are all there, for least cost:
// an operator of torch that is called with real arguments allocates nothing but its
// results. method is "" for a function.
func callTyped(f *ir.Func, impl *implementation, method string, self *Tensor, args, options []any) any {
	var cause error
	var p *public
	if impl != nil {
		if p = impl.public; p == nil {
			p = impl.parser
		}
	}
	if p != nil {
		receiver := [1]any{self}
		a := callArgs{lists: [3][]any{receiver[:], args, options}}
		if method == "" {
			a.lists[0] = nil
		}
		v, ok, err := p.fast(nil, &a)
		if ok && err == nil {
			return v
		}
		cause = err
	}
	l := argumentLists.Get().(*argumentList)
	defer l.put()
	if method != "" {
		l.args = append(l.args, self)
	}
	l.args = append(append(l.args, args...), options...)
	sequences(l.args)
	list, kw := splitKwargs(l.args)
	if p == nil || p.run != nil && cause == nil || recorderOf(list, kw) != nil {
		// whatever this does may keep the list
		list = slices.Clone(list)
		if method != "" {
			return Dispatch(ir.CallMethod, method, list, kw)
		}
		return Dispatch(ir.CallFunction, f, list, kw)
	}
	for i, a := range list {
		if n, isInt := a.(int); isInt {
			list[i] = int64(n) // in place, where normalize copies
		}
	}
	v, err := p.parse(nil, list, kw, cause)
	if err != nil {
		mustNot(f.Name(), failedIn(f, list, kw, err))
	}
	return v
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

// with puts options behind arguments.
func with(options []any, args ...any) []any { return append(args, options...) }

// anys makes arguments of tensors.
func anys(tensors []*Tensor) []any {
	args := make([]any, len(tensors))
	for i, t := range tensors {
		args[i] = t
	}
	return args
}
