package parity

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// fxValues reads the tagged values of a case.
type fxValues struct {
	program *fxProgram
	nodes   map[string]*ir.Node
}

func (f fxValues) list(raw []json.RawMessage) ([]ir.Arg, error) {
	var args []ir.Arg
	for _, r := range raw {
		a, err := f.arg(r)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	return args, nil
}

// arg reads one value: null, a boolean, or an object with one tag.
func (f fxValues) arg(raw json.RawMessage) (ir.Arg, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return f.decode(v)
}

func (f fxValues) decode(v any) (ir.Arg, error) {
	switch v := v.(type) {
	case nil:
		return ir.None{}, nil
	case bool:
		return ir.Bool(v), nil
	case map[string]any:
		if class, ok := v["namedtuple"].(string); ok {
			return f.namedTuple(class, v["fields"])
		}
		if len(v) == 1 {
			for tag, x := range v {
				return f.tagged(tag, x)
			}
		}
	}
	return nil, ir.Errorf(ir.ErrUnsupported, "recorded value: %v is of no known kind", v)
}

func (f fxValues) namedTuple(class string, fields any) (ir.Arg, error) {
	pairs, _ := fields.([]any)
	var names []string
	var items []ir.Arg
	for _, p := range pairs {
		pair, ok := p.([]any)
		if !ok || len(pair) != 2 {
			return nil, ir.Errorf(ir.ErrFormat, "recorded namedtuple: expected a field and its value, got %v", p)
		}
		item, err := f.decode(pair[1])
		if err != nil {
			return nil, err
		}
		name, _ := pair[0].(string)
		names, items = append(names, name), append(items, item)
	}
	return ir.NamedTupleOf(ir.FuncOf(class), names, items...), nil
}

func (f fxValues) tagged(tag string, x any) (ir.Arg, error) {
	text, isText := x.(string)
	items, isList := x.([]any)
	bad := func() (ir.Arg, error) {
		return nil, ir.Errorf(ir.ErrFormat, "recorded value: %v is no %s", x, tag)
	}
	switch tag {
	case "tuple", "list", "slice", "size", "range", "complex", "dict":
		if !isList {
			return bad()
		}
		return f.container(tag, items)
	case "ellipsis":
		return ir.Ellipsis{}, nil
	}
	if !isText {
		return bad()
	}
	switch tag {
	case "node":
		if n := f.nodes[text]; n != nil {
			return n, nil
		}
		return bad()
	case "int":
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return ir.Int(i), nil
		}
		return ir.BigInt(text), nil
	case "float":
		v, err := strconv.ParseFloat(text, 64)
		return ir.Float(v), err
	case "str":
		return ir.Str(text), nil
	case "dtype":
		return argOf(ir.ParseDType(text))
	case "device":
		return argOf(ir.ParseDevice(text))
	case "layout":
		return argOf(ir.ParseLayout(text))
	case "memory_format":
		return argOf(ir.ParseMemoryFormat(text))
	case "function", "type":
		return ir.FuncOf(text), nil
	case "enum":
		return f.program.enum(text), nil
	case "bytes":
		data, err := hex.DecodeString(text)
		return ir.Opaque{Value: ir.CodeBytes(data)}, err
	}
	return nil, ir.Errorf(ir.ErrUnsupported, "recorded value: tag %q is unknown", tag)
}

func argOf[T ir.Arg](v T, err error) (ir.Arg, error) { return v, err }

func (f fxValues) container(tag string, raw []any) (ir.Arg, error) {
	if tag == "dict" {
		return f.dict(raw)
	}
	items := make([]ir.Arg, len(raw))
	var ints []int64
	for i, r := range raw {
		switch n := r.(type) {
		case float64: // of a size or a range
			items[i] = ir.Int(int64(n))
			ints = append(ints, int64(n))
			continue
		case string: // of a complex number
			v, err := strconv.ParseFloat(n, 64)
			if err != nil {
				return nil, err
			}
			items[i] = ir.Float(v)
			continue
		}
		var err error
		if items[i], err = f.decode(r); err != nil {
			return nil, err
		}
	}
	switch {
	case tag == "list":
		return ir.ListOf(items...), nil
	case tag == "tuple" || tag == "size":
		return ir.TupleOf(items...), nil
	case tag == "slice" && len(items) == 3:
		return ir.Slice{Start: items[0], Stop: items[1], Step: items[2]}, nil
	case tag == "range" && len(ints) == 3:
		return ir.Range{Start: ints[0], Stop: ints[1], Step: ints[2]}, nil
	case tag == "complex" && len(items) == 2:
		re, _ := items[0].(ir.Float)
		im, _ := items[1].(ir.Float)
		return ir.Complex(complex(float64(re), float64(im))), nil
	}
	return nil, ir.Errorf(ir.ErrFormat, "recorded value: %v is no %s", raw, tag)
}

func (f fxValues) dict(raw []any) (ir.Arg, error) {
	var pairs []ir.Pair
	for _, r := range raw {
		kv, ok := r.([]any)
		if !ok || len(kv) != 2 {
			return nil, ir.Errorf(ir.ErrFormat, "recorded dict: expected a key and a value, got %v", r)
		}
		k, err := f.decode(kv[0])
		if err != nil {
			return nil, err
		}
		v, err := f.decode(kv[1])
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, ir.Pair{Key: k, Value: v})
	}
	return ir.DictOf(pairs...), nil
}

// meta notes a recorded fact on n, where texts show it.
func (f fxValues) meta(n *ir.Node, key string, raw json.RawMessage) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	switch key {
	case ir.MetaIsWrapped, ir.MetaAutogradBackward, ir.MetaStackTrace:
		n.Meta().Set(key, v)
	case ir.MetaDesc:
		items, ok := v.([]any)
		if !ok {
			n.Meta().Set(key, v)
			return nil
		}
		descs := make([]string, len(items))
		for i, d := range items {
			descs[i], _ = d.(string)
		}
		n.Meta().Set(key, descs)
	case ir.MetaCustom:
		if text, ok := v.(string); ok {
			n.Meta().Set(key, text)
		} else {
			n.Meta().Set(key, string(raw))
		}
	case ir.MetaTensorMeta:
		return tensorMeta(n, raw)
	}
	return nil
}

func tensorMeta(n *ir.Node, raw json.RawMessage) error {
	var m struct {
		Shape  []int64 `json:"shape"`
		DType  string  `json:"dtype"`
		Stride []int64 `json:"stride"`
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.DType == "" {
		return nil // several results, which texts do not show
	}
	d, err := ir.ParseDType(m.DType)
	if err != nil {
		return err
	}
	meta := ir.TensorMeta{DType: d}
	for _, s := range m.Shape {
		meta.Sizes = append(meta.Sizes, ir.SizeOf(s))
	}
	for _, s := range m.Stride {
		meta.Strides = append(meta.Strides, ir.SizeOf(s))
	}
	n.Meta().Set(ir.MetaTensorMeta, meta)
	return nil
}

// fxProgram is what the replay reads in a program.py: the enums, whose values
// the other files do not have.
type fxProgram struct{ enums map[string]ir.Enum }

var (
	enumClass  = regexp.MustCompile(`^class (\w+)\((?:enum\.)?(Enum|IntEnum)\):`)
	enumMember = regexp.MustCompile(`^    (\w+) = (-?\d+)$`)
)

func readProgram(name string) *fxProgram {
	p := &fxProgram{enums: map[string]ir.Enum{}}
	data, err := os.ReadFile(name)
	if err != nil || len(data) > maxMeta {
		return p // an enum that is missing then is found missing
	}
	class, isInt := "", false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if m := enumClass.FindStringSubmatch(line); m != nil {
			class, isInt = m[1], m[2] == "IntEnum"
		} else if line != "" && line[0] != ' ' {
			class = ""
		}
		if m := enumMember.FindStringSubmatch(line); m != nil && class != "" {
			v, err := strconv.ParseInt(m[2], 10, 64)
			if err == nil {
				p.enums["program."+class+"."+m[1]] = ir.Enum{Value: ir.Int(v), IsInt: isInt}
			}
		}
	}
	return p
}

// enum returns a member by its qualified name.
func (p *fxProgram) enum(name string) ir.Enum {
	e := p.enums[name]
	dot := strings.LastIndexByte(name, '.')
	e.Class, e.Member = ir.FuncOf(name[:max(dot, 0)]), name[dot+1:]
	return e
}
