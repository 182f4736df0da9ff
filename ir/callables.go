package ir

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
)

// callablesText says what kind of object Python has under a function's name;
// scripts/record_callables.py makes it and describes it.
//
//go:embed callables.txt
var callablesText string

// callables maps a qualified name to its kind; a function with another
// __qualname__ to that, after a colon.
var callables = sync.OnceValue(func() map[string]string {
	kinds := map[string]string{}
	for line := range strings.Lines(callablesText) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		for _, name := range fields[1:] {
			switch kind := fields[0]; kind {
			case "qualname":
				name, qualname, _ := strings.Cut(name, ":")
				kinds[name] = ":" + qualname
			case "tensor-function":
				kinds["torch.Tensor."+name] = kind
			default:
				kinds[name] = kind
			}
		}
	}
	return kinds
})

func pythonTensorMethod(name string) bool {
	return callables()["torch.Tensor."+name] == "tensor-function"
}

// objectText is Python's str or repr of a function object. Addresses are zeros,
// since there is no object. Whether a name outside torch and the standard
// library is a class shows by its capital letter, as Python writes names.
func (f *Func) objectText(repr bool) string {
	const address = "0x000000000000"
	switch f.kind {
	case Overload:
		name, overload := f.name[len("torch.ops."):], "default"
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			name, overload = name[:i], name[i+1:]
		}
		if repr {
			return "<OpOverload(op='" + name + "', overload='" + overload + "')>"
		}
		return name + "." + overload
	case Packet:
		if repr {
			return "<OpOverloadPacket(op='" + f.name[len("torch.ops."):] + "')>"
		}
		return f.name[len("torch.ops."):]
	case HigherOrder:
		return f.Base()
	}
	base := f.Base()
	kind := callables()[f.name]
	switch {
	case kind == "builtin-method":
		return "<built-in method " + base + " of type object at " + address + ">"
	case kind == "builtin-function":
		return "<built-in function " + base + ">"
	case kind == "class":
		return "<class '" + f.pythonName() + "'>"
	case kind == "tensor-function":
		return "<function Tensor." + base + " at " + address + ">"
	case strings.HasPrefix(kind, ":"):
		return "<function " + kind[1:] + " at " + address + ">"
	case strings.HasPrefix(f.name, "torch.Tensor."):
		return "<method '" + base + "' of 'torch._C.TensorBase' objects>"
	case strings.HasPrefix(f.name, "torch._C."), f.kind == Operator, strings.HasPrefix(f.name, "math."):
		return "<built-in function " + base + ">"
	case unicode.IsUpper(rune(base[0])):
		return "<class '" + f.name + "'>"
	}
	return "<function " + base + " at " + address + ">"
}
