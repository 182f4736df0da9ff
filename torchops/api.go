package torchops

import (
	"cmp"
	"strings"
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

// CallTensor calls a function that returns one tensor, by the name that graphs have, or
// a method of args[0], "torch.Tensor.add": what a typed function is made of. options
// are further arguments. It records the call where an argument is traced, and panics
// with an *[Error] as [Dispatch] does.
//
// A call of an operator allocates its result and nothing else: nothing that it is given
// escapes, so that numbers, keywords and lists stay on the stack of whoever wrote
// them, and one form of call is looked at by the argument parser once.
func CallTensor(name string, options []any, args ...any) *Tensor {
	c := callees.find(name)
	a := callArgs{args: hidden(args), options: hidden(options)}
	var o outcome
	if ok, err := c.parser.fast(nil, &a, &o); !ok || err != nil {
		return As[*Tensor](c.inFull(&a, err))
	}
	if o.route.results == oneTensor {
		return o.tensor()
	}
	return As[*Tensor](o.value())
}

// CallAny is [CallTensor] for a function that returns whatever it does.
func CallAny(name string, options []any, args ...any) any {
	c := callees.find(name)
	a := callArgs{args: hidden(args), options: hidden(options)}
	var o outcome
	if ok, err := c.parser.fast(nil, &a, &o); !ok || err != nil {
		return c.inFull(&a, err)
	}
	return o.value()
}

// CallTensors is [CallTensor] for a function that returns a list or a tuple of tensors.
func CallTensors(name string, options []any, args ...any) Tensors {
	c := callees.find(name)
	a := callArgs{args: hidden(args), options: hidden(options)}
	var o outcome
	if ok, err := c.parser.fast(nil, &a, &o); !ok || err != nil {
		return As[Tensors](c.inFull(&a, err))
	}
	if o.route.results == oneValue {
		return As[Tensors](o.value())
	}
	return Tensors{list: o.tensors()}
}

// CallTensors2 is [CallTensor] for a function that returns two tensors.
func CallTensors2(name string, options []any, args ...any) (x, y *Tensor) {
	c := callees.find(name)
	a := callArgs{args: hidden(args), options: hidden(options)}
	var o outcome
	var list [2]*Tensor
	if ok, err := c.parser.fast(nil, &a, &o); o.returned(2, ok, err) {
		o.put(new([2]Tensor)[:], list[:])
	} else {
		c.several(&a, &o, ok, err, list[:])
	}
	return list[0], list[1]
}

// CallTensors3 is [CallTensor] for a function that returns three tensors.
func CallTensors3(name string, options []any, args ...any) (x, y, z *Tensor) {
	c := callees.find(name)
	a := callArgs{args: hidden(args), options: hidden(options)}
	var o outcome
	var list [3]*Tensor
	if ok, err := c.parser.fast(nil, &a, &o); o.returned(3, ok, err) {
		o.put(new([3]Tensor)[:], list[:])
	} else {
		c.several(&a, &o, ok, err, list[:])
	}
	return list[0], list[1], list[2]
}

// CallTensors4 is [CallTensor] for a function that returns four tensors.
func CallTensors4(name string, options []any, args ...any) (x, y, z, w *Tensor) {
	c := callees.find(name)
	a := callArgs{args: hidden(args), options: hidden(options)}
	var o outcome
	var list [4]*Tensor
	if ok, err := c.parser.fast(nil, &a, &o); o.returned(4, ok, err) {
		o.put(new([4]Tensor)[:], list[:])
	} else {
		c.several(&a, &o, ok, err, list[:])
	}
	return list[0], list[1], list[2], list[3]
}

// returned reports whether a call by a route returned n tensors, each by itself.
func (o *outcome) returned(n int, ok bool, err error) bool {
	return ok && err == nil && o.route.results == n
}

// several takes as many tensors as there are in list from whatever else came of a call.
func (c *callee) several(a *callArgs, o *outcome, ok bool, err error, list []*Tensor) {
	var got Tensors
	if ok && err == nil {
		got = As[Tensors](o.value())
	} else {
		got = As[Tensors](c.inFull(a, err))
	}
	for i := range list {
		list[i] = got.At(i)
	}
}

// A callee is a function or method by its name.
type callee struct {
	name   string
	f      *ir.Func
	method string  // its bare name where it is one
	parser *public // nil where Python code has none, or it is not known yet
}

// calleeTable remembers what names stand for, by where their text lies: the names in
// generated code are literals, and nearly each has an entry of its own.
type calleeTable [2048]atomic.Pointer[callee]

var callees calleeTable

func (t *calleeTable) find(name string) *callee {
	at := uintptr(unsafe.Pointer(unsafe.StringData(name)))
	entry := &t[(at^at>>11)%uintptr(len(t))]
	if c := entry.Load(); c != nil && unsafe.StringData(c.name) == unsafe.StringData(name) && len(c.name) == len(name) {
		return c
	}
	return newCallee(name, entry)
}

func newCallee(name string, entry *atomic.Pointer[callee]) *callee {
	c := &callee{name: name, f: ir.FuncOf(name)}
	c.method, _ = strings.CutPrefix(name, tensorMethod)
	if c.method == name {
		c.method = ""
	}
	impl := implementationOf(c.f)
	if impl == nil {
		return c // it may be defined later
	}
	c.parser = cmp.Or(impl.public, impl.parser)
	entry.Store(c)
	return c
}

// inFull is the call of what has no route, or that failed with cause: then nothing is
// called any more, and the error says of what arguments.
func (c *callee) inFull(a *callArgs, cause error) any {
	k := keeping{call: c.name}
	args := append(k.all(a.args), k.all(a.options)...)
	sequences(args)
	list, kw := splitKwargs(args)
	p := c.parser
	traced := recorderOf(list, kw) != nil
	k.refuseLost(traced)
	if p == nil || p.run != nil && cause == nil || traced {
		if c.method != "" {
			return Dispatch(ir.CallMethod, c.method, list, kw)
		}
		return Dispatch(ir.CallFunction, c.f, list, kw)
	}
	v, err := p.parse(nil, list, kw, cause)
	if err != nil {
		mustNot(c.f.Name(), failedIn(c.f, list, kw, err))
	}
	return v
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
