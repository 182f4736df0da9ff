package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A signature is one way to call a function of Python.
type signature struct {
	params  []param
	results form
	text    string // as the documentation shows it
	op      string // of aten, "" for Python code
}

// A param is one parameter.
type param struct {
	name     string
	typ      string // Go's
	required bool   // has no default
	keyword  bool   // given by name only
	rest     bool   // takes all further arguments
	python   string // the type as signatures write it
	def      string // the default as it is written
}

// goTypes are the Go types of the parser's; what is not here is any.
var goTypes = map[string]string{
	"Tensor": "*Tensor", "double": "float64", "int64_t": "int", "SymInt": "Int", "DeviceIndex": "int",
	"IntArrayRef": "Ints", "SymIntArrayRef": "Ints", "ArrayRef<double>": "[]float64", "TensorList": "Seq", "bool": "bool",
	"ScalarType": "DType", "Layout": "Layout", "MemoryFormat": "MemoryFormat", "Device": "Device", "Generator": "*Generator",
	"c10::string_view": "string",
}

// pythonTypes are what the documentation calls the parser's types.
var pythonTypes = strings.NewReplacer("int64_t", "int", "DeviceIndex", "int", "SymIntArrayRef", "int[]", "IntArrayRef", "int[]", "SymInt", "int",
	"ArrayRef<double>", "float[]", "double", "float", "TensorList", "Tensor[]", "ScalarList", "Number[]", "ScalarType", "dtype", "Scalar", "Number",
	"c10::List<::std::optional<Tensor>>", "Tensor?[]", "c10::string_view", "str", "Device", "device", "Layout", "layout", "MemoryFormat", "memory_format",
	"PyObject*", "object", "None", "None")

// takesNumbers are the functions that take a number for a tensor.
var takesNumbers = map[string]bool{
	"add": true, "sub": true, "subtract": true, "mul": true, "multiply": true, "div": true, "divide": true, "true_divide": true,
	"floor_divide": true, "copy": true,
}

// readBound reads torchops/signatures.txt, without the deprecated signatures.
func readBound(root string) (map[string][]signature, error) {
	text, err := os.ReadFile(filepath.Join(root, "torchops/signatures.txt"))
	if err != nil {
		return nil, err
	}
	all, name := map[string][]signature{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if line[0] != '\t' {
			name = line
			continue
		}
		columns := strings.Split(line[1:], "\t")
		if len(columns) > 3 {
			continue // deprecated
		}
		s, err := boundSignature(name, columns[0], "aten::"+columns[1])
		if err != nil {
			return nil, err
		}
		all[name] = append(all[name], s)
	}
	return all, nil
}

func boundSignature(name, params, op string) (signature, error) {
	function := name[strings.LastIndexByte(name, '.')+1:]
	numbers := takesNumbers[strings.TrimSuffix(function, "_")]
	s := signature{op: op}
	keyword := false
	for _, text := range split(params) {
		if text == "*" {
			keyword = true
			continue
		}
		typ, name, ok := strings.Cut(text, " ")
		if !ok {
			return s, fmt.Errorf("%s: expected a type and a name, got %q", name, text)
		}
		name, def, optional := strings.Cut(name, "=")
		plain, _, _ := strings.Cut(strings.TrimSuffix(typ, "?"), "[")
		p := param{name: name, typ: goTypes[plain], required: !optional, keyword: keyword, python: typ, def: def}
		switch {
		case p.typ == "", numbers && p.typ == "*Tensor" && name != "input":
			p.typ = "any"
		case strings.HasSuffix(typ, "?") && p.typ != "*Tensor" && p.typ != "*Generator":
			p.typ = "any" // nil is None
		}
		s.params = append(s.params, p)
	}
	schema := ir.Operators().Lookup(op)
	if schema == nil {
		return s, fmt.Errorf("%s: no schema of %s", name, op)
	}
	s.results = resultsOf(schema)
	s.text = strings.ReplaceAll(pythonTypes.Replace(params), "[][", "[")
	return s, nil
}

// resultsOf are the Go types of what an operator returns.
func resultsOf(s *ir.Schema) (f form) {
	for _, r := range s.Returns {
		typ := "any"
		switch r.Type.Kind {
		case ir.TypeTensor:
			typ = "Tensor"
		case ir.TypeBool, ir.TypeSymBool:
			typ = "SymBool"
		case ir.TypeInt, ir.TypeSymInt:
			typ = "SymInt"
		case ir.TypeList:
			if r.Type.Elem.Kind == ir.TypeTensor {
				typ = "Tensors"
			}
		}
		f.results, f.names = append(f.results, typ), append(f.names, r.Name)
	}
	if len(f.results) > 1 {
		for _, typ := range f.results {
			if typ != "Tensor" {
				return form{results: []string{"any"}, names: []string{""}} // a tuple of several kinds
			}
		}
	}
	return f
}

// readComposed reads torchops/composed.txt: parameters by each name, and the name
// that graphs have.
func readComposed(root string) (params, target map[string]string, err error) {
	text, err := os.ReadFile(filepath.Join(root, "torchops/composed.txt"))
	params, target = map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "\t")
		if len(columns) < 3 {
			continue
		}
		names := strings.Fields(columns[0])
		for _, name := range names {
			params[name], target[name] = columns[2], names[0]
		}
	}
	return params, target, err
}

// pythonSignature reads the parameters of a Python function.
func pythonSignature(params string, method bool) signature {
	s := signature{text: params}
	keyword := false
	for i, text := range split(params) {
		switch {
		case text == "*":
			keyword = true
			continue
		case text == "/", method && i == 0 && text == "self":
			continue
		}
		text, def, optional := strings.Cut(text, " = ")
		name, annotation, _ := strings.Cut(text, ": ")
		p := param{name: name, typ: "any", required: !optional, keyword: keyword, python: "any", def: def}
		if p.name, p.rest = strings.CutPrefix(name, "*"); p.rest {
			p.required = true
		}
		switch annotation {
		case "Tensor", "float", "bool", "int", "str":
			p.typ = map[string]string{"Tensor": "*Tensor", "float": "float64", "bool": "bool", "int": "int", "str": "string"}[annotation]
		case "Seq", "Int", "Ints", "DType":
			p.typ = annotation
		}
		s.params = append(s.params, p)
	}
	s.text = strings.TrimPrefix(strings.TrimPrefix(s.text, "self"), ", ")
	return s
}

// split splits at the commas that are outside of brackets and quotes.
func split(text string) (parts []string) {
	depth, start, quoted := 0, 0, false
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i] == ',' && depth == 0 && !quoted {
			if part := strings.TrimSpace(text[start:i]); part != "" {
				parts = append(parts, part)
			}
			start = i + 1
			continue
		}
		switch text[i] {
		case '[', '{', '(', '<':
			depth++
		case ']', '}', ')', '>':
			depth--
		case '\'', '"':
			quoted = !quoted
		}
	}
	return parts
}
