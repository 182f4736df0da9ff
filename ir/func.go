package ir

import (
	"runtime"
	"strings"
	"sync"
	"weak"
)

// A Target says what a node calls, reads or names: a [*Func] for call_function,
// a [Path] for everything else.
type Target interface {
	String() string
	target()
}

// A Path is the target of a node that is no call_function: a parameter name, a
// dotted attribute path, a method name, or "output".
type Path string

// String returns the path.
func (p Path) String() string { return string(p) }

func (Path) target()  {}
func (*Func) target() {}

// A Func names a function that a graph calls. It is interned: two Funcs with
// one name are one pointer, as long as somebody holds it. It holds no code; what a name means is known to
// package torchops, so that graphs can be read and rewritten without tensors.
type Func struct {
	name string // qualified: "torch.ops.aten.add.Tensor", "torch.relu", "operator.add"
	kind FuncKind
	op   string // dispatcher name of an overload: "aten::add.Tensor", "aten::relu"

	candidate string // what the names of its calls are made from
}

// A FuncKind is the family that a function belongs to.
type FuncKind uint8

// The families.
const (
	PythonFunc  FuncKind = iota // a function known by its Python name: torch.relu, math.sqrt, a user's
	Overload                    // torch.ops.<namespace>.<name>.<overload>
	HigherOrder                 // torch.ops.higher_order.<name>
	Operator                    // Python's operator module
	Packet                      // torch.ops.<namespace>.<name>, all overloads of an operator
)

// funcs holds the functions that somebody holds: files name as many as they like, and
// their names must not outlive them.
var funcs sync.Map // qualified name -> weak.Pointer[Func]

// FuncOf returns the function with a qualified name. A name without a module is
// one of Python's builtins: "getattr" is builtins.getattr. "_operator.add", as
// torch.export and Python itself write it, is operator.add.
func FuncOf(name string) *Func {
	if rest, ok := strings.CutPrefix(name, "_operator."); ok {
		name = "operator." + rest
	} else if !strings.Contains(name, ".") {
		name = "builtins." + name
	}
	held, ok := funcs.Load(name)
	if ok {
		if f := held.(weak.Pointer[Func]).Value(); f != nil {
			return f
		}
	}
	made := newFunc(strings.Clone(name)) // which may be a part of a whole text
	for at := weak.Make(made); ; {
		if ok && funcs.CompareAndSwap(name, held, at) {
			break // the one before is gone, and its clean-up finds another
		}
		if held, ok = funcs.LoadOrStore(made.name, at); !ok {
			break
		}
		if f := held.(weak.Pointer[Func]).Value(); f != nil {
			return f // another goroutine was faster
		}
	}
	runtime.AddCleanup(made, func(name string) {
		if at, ok := funcs.Load(name); ok && at.(weak.Pointer[Func]).Value() == nil {
			funcs.CompareAndDelete(name, at)
		}
	}, made.name)
	return made
}

// OverloadOf returns the function that calls a dispatcher operator, given as
// "aten::add.Tensor"; no overload name means the default one.
func OverloadOf(op string) *Func {
	ns, rest, _ := strings.Cut(op, "::")
	name, overload, found := strings.Cut(rest, ".")
	if !found {
		overload = "default"
	}
	return FuncOf("torch.ops." + ns + "." + name + "." + overload)
}

func newFunc(name string) *Func {
	f := &Func{name: name}
	if rest, ok := strings.CutPrefix(name, "torch.ops.higher_order."); ok && rest != "" {
		f.kind = HigherOrder
	} else if rest, ok := strings.CutPrefix(name, "torch.ops."); ok {
		switch p := strings.Split(rest, "."); len(p) {
		case 2:
			f.kind = Packet
		case 3:
			f.kind, f.op = Overload, p[0]+"::"+p[1]
			if p[2] != "default" {
				f.op += "." + p[2]
			}
		}
	} else if strings.HasPrefix(name, "operator.") {
		f.kind = Operator
	}
	f.candidate = identifier(snakeCase(f.Base()))
	return f
}

// Name returns the qualified name.
func (f *Func) Name() string { return f.name }

// String returns the qualified name, as fx texts print a target.
func (f *Func) String() string { return f.name }

// Kind returns the family.
func (f *Func) Kind() FuncKind { return f.kind }

// Op returns the dispatcher's name of an [Overload], "aten::add.Tensor" or
// "aten::relu" where the overload is the default one; "" for other kinds.
func (f *Func) Op() string { return f.op }

// Packet returns the name without an overload, "add" for aten::add.Tensor; it is what
// make_fx and torch.export name a node after.
func (f *Func) Packet() string {
	name, _, _ := strings.Cut(f.Base(), ".")
	return name
}

// Base returns what Python's __name__ is: "relu" for torch.relu, "add.Tensor"
// for an overload, "cond" for a higher-order operator.
func (f *Func) Base() string {
	if f.kind == Overload {
		// torch.ops.<namespace>.<name>.<overload>
		rest := f.name[len("torch.ops."):]
		return rest[strings.IndexByte(rest, '.')+1:]
	}
	return f.name[strings.LastIndexByte(f.name, '.')+1:]
}

// pythonName is the qualified name as Python has it, from which generated code
// names a global: "getattr", "_operator.abs", "program.helper".
func (f *Func) pythonName() string {
	if rest, ok := strings.CutPrefix(f.name, "builtins."); ok {
		return rest
	}
	if f.kind == Operator {
		return "_" + f.name
	}
	return f.name
}

// fromTorch reports whether generated code writes an object by its qualified
// name, because the module torch leads to it
// (torch.fx.graph._is_from_torch).
func fromTorch(qualified string) bool {
	rest, ok := strings.CutPrefix(qualified, "torch.")
	if !ok || qualified == "torch.device" {
		return false
	}
	if method, ok := strings.CutPrefix(rest, "Tensor."); ok {
		// a method bound to C++ has no module
		return pythonTensorMethod(method)
	}
	parts := strings.Split(rest, ".")
	for i, p := range parts {
		if (p == "_dynamo" || p == "_inductor") && i < len(parts)-2 || !isIdentifier(p) {
			return false
		}
	}
	return true
}
