package passes

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A PyType is a Python type, as far as choosing among overloads needs it:
// "torch.Tensor", "torch.nn.Parameter", "int", "float", "bool", "complex", "str",
// "NoneType", "torch.dtype", "list[int]", "tuple[torch.Tensor, ...]". "" is not
// known, and "Any" what is not of one type.
type PyType string

// TypeHint returns the type of a list or tuple of items of these types: the widest
// of them where one takes in all others, Any otherwise. Same as
// torch.fx.operator_schemas.create_type_hint.
func TypeHint(tuple bool, items ...PyType) PyType {
	base := PyType("Any")
	for i, t := range items {
		switch {
		case t == "" || strings.Contains(string(t), "["):
			return "" // of a list of lists torch.fx says nothing either
		case i == 0 || isSubtype(base, t):
			base = t
		case !isSubtype(t, base):
			base = "Any"
		}
		if base == "Any" {
			break
		}
	}
	if tuple {
		return "tuple[" + base + ", ...]"
	}
	return "list[" + base + "]"
}

// TypeOf returns the Python type of an argument. That of a node is what [ShapeProp]
// noted, "" where nothing is.
func TypeOf(a ir.Arg) PyType {
	items := func(tuple bool, n int, at func(int) ir.Arg) PyType {
		types := make([]PyType, n)
		for i := range types {
			types[i] = TypeOf(at(i))
		}
		return TypeHint(tuple, types...)
	}
	switch a := a.(type) {
	case *ir.Node:
		noted, _ := a.Meta().Get(MetaType).(string)
		return PyType(strings.TrimPrefix(noted, "builtins."))
	case nil, ir.None:
		return "NoneType"
	case ir.Bool:
		return "bool"
	case ir.Int, ir.BigInt:
		return "int"
	case ir.Float:
		return "float"
	case ir.Complex:
		return "complex"
	case ir.Str:
		return "str"
	case ir.DType:
		return "torch.dtype"
	case ir.Device:
		return "torch.device"
	case ir.Layout:
		return "torch.layout"
	case ir.MemoryFormat:
		return "torch.memory_format"
	case ir.List:
		return items(false, a.Len(), a.At)
	case ir.Tuple:
		return items(true, a.Len(), a.At)
	}
	return ""
}

// supertypes are the types that have others below them.
var supertypes = map[PyType]PyType{"bool": "int", "torch.nn.Parameter": "torch.Tensor", "torch.nn.parameter.Parameter": "torch.Tensor"}

// isSubtype reports whether t is of, or derives from, base.
func isSubtype(t, base PyType) bool { return t == base || supertypes[t] == base && t != "" }

// schemaTypes are the Python types of the kinds of schema types.
var schemaTypes = map[ir.TypeKind]PyType{ir.TypeTensor: "torch.Tensor", ir.TypeInt: "int", ir.TypeSymInt: "int",
	ir.TypeDType: "int", ir.TypeLayout: "int", ir.TypeMemoryFormat: "int", ir.TypeFloat: "float",
	ir.TypeSymFloat: "float", ir.TypeBool: "bool", ir.TypeSymBool: "bool", ir.TypeComplex: "complex", ir.TypeStr: "str",
	ir.TypeDevice: "torch.device", ir.TypeNone: "NoneType", ir.TypeDimname: "str"}

// TypeMatches reports whether an argument of a Python type goes into a parameter of
// a schema type. An int goes where a list of ints is asked for, a tuple where a list
// is, a dtype, which schemas have as a number, into an int. Same as
// torch.fx.operator_schemas.type_matches.
func TypeMatches(param ir.Type, arg PyType) bool {
	switch param.Kind {
	case ir.TypeOptional:
		return arg == "NoneType" || TypeMatches(*param.Elem, arg)
	case ir.TypeScalar:
		return arg == "int" || arg == "float"
	case ir.TypeList:
		elem := schemaTypes[param.Elem.Kind]
		if elem == "int" && arg == "int" {
			return true
		}
		item, ok := strings.CutPrefix(string(arg), "list[")
		if ok {
			item = strings.TrimSuffix(item, "]")
		} else if item, ok = strings.CutPrefix(string(arg), "tuple["); ok {
			item = strings.TrimSuffix(item, ", ...]")
		}
		return ok && elem != "" && isSubtype(PyType(item), elem)
	}
	want := schemaTypes[param.Kind]
	switch {
	case want == "" || arg == "":
		return false
	case want == "int" && (arg == "torch.dtype" || isSubtype(arg, "int")):
		return true
	}
	return isSubtype(arg, want)
}
