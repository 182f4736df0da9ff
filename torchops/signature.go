package torchops

import (
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A signature is one way to call a function that Python binds to C++, as
// PyTorch's argument parser has it (torch/csrc/utils/python_arg_parser.h).
type signature struct {
	function   string // its name in messages
	params     []parameter
	positional int  // how many parameters may be given by position
	required   int  // how many have no default
	hidden     bool // deprecated: tried last, and not told of
	spread     bool // one list of ints is all that is given by position: x.view(2, 3)
	options    bool // ends in dtype, layout, device, pin_memory, requires_grad
	out        int  // place of out, -1 for none

	op, outOp string   // operators of aten that are called without and with out
	call      []string // where they have other names, as in a deprecated signature: the arguments of op by name, or a number
	plans     [2]plan  // how the arguments of op and outOp are filled
}

// A parameter is one parameter of a signature.
type parameter struct {
	name     string
	kind     parameterKind
	size     int    // of a list that one value may stand for: int[2]
	nullable bool   // None is the same as absent
	optional bool   // there is a default
	text     string // the default as it is written
	numbers  bool   // a number may stand for the tensor
	aliases  []string
}

// A parameterKind is what a parameter takes.
type parameterKind uint8

const (
	paramTensor parameterKind = iota
	paramScalar
	paramFloat
	paramInt
	paramSymInt
	paramInts
	paramFloats
	paramScalars
	paramTensors
	paramBool
	paramDType
	paramLayout
	paramMemoryFormat
	paramDevice
	paramGenerator
	paramStream
	paramString
	paramStorage
	paramObject
)

// parameterKinds are the types as the parser's signatures write them.
var parameterKinds = map[string]parameterKind{
	"Tensor": paramTensor, "Scalar": paramScalar, "double": paramFloat, "int64_t": paramInt, "DeviceIndex": paramInt,
	"SymInt": paramSymInt, "IntArrayRef": paramInts, "SymIntArrayRef": paramInts, "ArrayRef<double>": paramFloats,
	"ScalarList": paramScalars, "TensorList": paramTensors, "c10::List<::std::optional<Tensor>>": paramTensors, "bool": paramBool,
	"ScalarType": paramDType, "Layout": paramLayout, "MemoryFormat": paramMemoryFormat, "Device": paramDevice,
	"Generator": paramGenerator, "Stream": paramStream, "c10::string_view": paramString, "Storage": paramStorage, "PyObject*": paramObject,
}

// names are what messages call the kinds.
var parameterNames = [...]string{
	paramTensor: "Tensor", paramScalar: "Number", paramFloat: "float", paramInt: "int", paramSymInt: "int", paramInts: "tuple of ints",
	paramFloats: "tuple of floats", paramScalars: "tuple of Scalars", paramTensors: "tuple of Tensors", paramBool: "bool",
	paramDType: "torch.dtype", paramLayout: "torch.layout", paramMemoryFormat: "torch.memory_format", paramDevice: "torch.device",
	paramGenerator: "torch.Generator", paramStream: "torch.Stream", paramString: "str", paramStorage: "torch.Storage", paramObject: "object",
}

// numpyNames are the keywords of NumPy that are taken for those of torch.
var numpyNames = map[string][]string{
	"dim": {"axis"}, "keepdim": {"keepdims"}, "input": {"x", "a", "x1"}, "other": {"x2"},
}

// takesNumbers are the functions where a number may stand for a tensor, without
// the "_" of their in-place forms.
var takesNumbers = map[string]bool{
	"add": true, "sub": true, "subtract": true, "mul": true, "multiply": true, "div": true, "divide": true, "true_divide": true,
	"floor_divide": true, "to": true, "_to_copy": true, "copy": true, "_conj": true,
}

// readSignature reads the parameters of a signature, "Tensor input, *, Scalar
// alpha=1".
func readSignature(function, params string) (*signature, error) {
	s := &signature{function: function, positional: -1, out: -1}
	numbers := takesNumbers[strings.TrimSuffix(function, "_")]
	for text := range splitParameters(params) {
		if text == "*" {
			s.positional = len(s.params)
			continue
		}
		typ, name, ok := strings.Cut(text, " ")
		if !ok {
			return nil, ir.Errorf(ir.ErrFormat, "signature of %s: expected a type and a name, got %q", function, text)
		}
		p := parameter{}
		p.name, p.text, p.optional = strings.Cut(name, "=")
		p.nullable = p.text == "None"
		if rest, nullable := strings.CutSuffix(typ, "?"); nullable {
			typ, p.nullable = rest, true
		}
		if open := strings.IndexByte(typ, '['); open >= 0 {
			n, err := strconv.Atoi(strings.TrimSuffix(typ[open+1:], "]"))
			if err != nil {
				return nil, ir.Errorf(ir.ErrFormat, "signature of %s: expected a size, got %q", function, typ)
			}
			typ, p.size = typ[:open], n
		}
		if p.kind, ok = parameterKinds[typ]; !ok {
			return nil, ir.Errorf(ir.ErrFormat, "signature of %s: expected a type, got %q", function, typ)
		}
		p.numbers = numbers && p.kind == paramTensor
		p.aliases = numpyNames[p.name]
		if !p.optional {
			s.required++
		}
		switch p.name {
		case "out":
			s.out = len(s.params)
		case "requires_grad":
			s.options = p.kind == paramBool && p.nullable
		}
		s.params = append(s.params, p)
	}
	if s.positional < 0 {
		s.positional = len(s.params)
	}
	s.spread = s.positional == 1 && s.params[0].kind == paramInts
	return s, nil
}

// splitParameters yields the parts between commas that are outside of braces and
// quotes.
func splitParameters(params string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start, braces, quoted := 0, 0, false
		for i := 0; i <= len(params); i++ {
			switch {
			case i < len(params) && params[i] == '"' && (i == 0 || params[i-1] != '\\'):
				quoted = !quoted
			case quoted && i < len(params):
			case i < len(params) && params[i] == '{':
				braces++
			case i < len(params) && params[i] == '}':
				braces--
			case i == len(params) || params[i] == ',' && braces == 0:
				if part := strings.TrimSpace(params[start:i]); part != "" && !yield(part) {
					return
				}
				start = i + 1
			}
		}
	}
}

// String writes the signature as Python's messages list it.
func (s *signature) String() string {
	var b strings.Builder
	b.WriteByte('(')
	for i, p := range s.params {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == s.positional {
			b.WriteString("*, ")
		}
		b.WriteString(parameterNames[p.kind] + " " + p.name)
		if p.optional {
			b.WriteString(" = " + p.text)
		}
	}
	b.WriteByte(')')
	return b.String()
}
