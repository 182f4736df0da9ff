package functional

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

//go:embed forms.txt
var formsText string

// A form is a function that is Python code in PyTorch: its parameters, what is
// recorded of a call, and the operators that it calls.
type form struct {
	name       string
	target     *ir.Func
	params     []param
	positional []string // recorded by position, the others by keyword
	keyword    []string
	body       func(c *call) any
}

type param struct {
	name       string
	annotation string // Python's
	def        any
	hasDefault bool
}

var forms = map[string]*form{}

func init() {
	for _, add := range []func(){activations, attentions, dropouts, embeddings, losses, norms, pools, samplers} {
		add()
	}
	for line := range strings.Lines(formsText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := parseForm(line)
		f.body = bodies[f.name]
		forms[f.name] = f
		// A function without a body here has no implementation of its own: what
		// torchops knows of it stands.
		if f.body != nil {
			torch.Define(f.target.Name(), f.run)
		}
	}
	for name := range builtins {
		if _, python := forms[name]; python {
			panic("functional: " + name + " is listed twice")
		}
	}
}

// parseForm reads a line of forms.txt.
func parseForm(line string) *form {
	columns := strings.Split(strings.TrimRight(line, "\n"), "\t")
	f := &form{name: columns[0], target: ir.FuncOf(columns[1]), positional: names(columns[3]), keyword: names(columns[4])}
	depth, start := 0, 0
	for i, r := range columns[2] + "," {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			if text := strings.TrimSpace(columns[2][start:i]); text != "*" {
				f.params = append(f.params, parseParam(text))
			}
			start = i + 1
		}
	}
	return f
}

func parseParam(text string) (p param) {
	text, def, hasDefault := strings.Cut(text, " = ")
	p.name, p.annotation, _ = strings.Cut(text, ": ")
	p.hasDefault = hasDefault
	switch {
	case def == "True" || def == "False":
		p.def = def == "True"
	case strings.HasPrefix(def, "'"):
		p.def = strings.Trim(def, "'")
	default:
		if n, err := strconv.ParseInt(def, 10, 64); err == nil {
			p.def = n
		} else if x, err := strconv.ParseFloat(def, 64); err == nil {
			p.def = x
		}
	}
	return p
}

func names(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ", ")
}

// Recorded returns what a trace records of a call of torch.nn.functional.target,
// a function that is Python code in PyTorch: the parameters by position and those
// by keyword.
func Recorded(target string) (positional, keyword []string, ok bool) {
	for _, f := range forms {
		if f.target.Name() == "torch.nn.functional."+target {
			return slices.Clone(f.positional), slices.Clone(f.keyword), true
		}
	}
	return nil, nil, false
}

// bind returns the value of each parameter by name, as it was given.
func (f *form) bind(args []any, kw []torch.Kwarg) (map[string]any, error) {
	if len(args) > len(f.params) {
		return nil, ir.Errorf(ir.ErrType, "%s() takes %d positional arguments but %d were given", f.name, len(f.params), len(args))
	}
	values := make(map[string]any, len(f.params))
	for i, v := range args {
		values[f.params[i].name] = v
	}
	for _, k := range kw {
		if _, twice := values[k.Name]; twice {
			return nil, ir.Errorf(ir.ErrType, "%s() got multiple values for argument '%s'", f.name, k.Name)
		}
		if !f.has(k.Name) {
			return nil, ir.Errorf(ir.ErrType, "%s() got an unexpected keyword argument '%s'", f.name, k.Name)
		}
		values[k.Name] = k.Value
	}
	for _, p := range f.params {
		if _, given := values[p.name]; given {
			continue
		}
		if !p.hasDefault {
			return nil, ir.Errorf(ir.ErrType, "%s() missing 1 required positional argument: '%s'", f.name, p.name)
		}
		values[p.name] = p.def
	}
	return values, nil
}

func (f *form) has(name string) bool {
	for _, p := range f.params {
		if p.name == name {
			return true
		}
	}
	return false
}

// record notes a call in the form in which torch.fx records it, with every
// parameter.
func (f *form) record(values map[string]any) any {
	args := make([]any, len(f.positional))
	for i, name := range f.positional {
		args[i] = values[name]
	}
	kw := make([]torch.Kwarg, len(f.keyword))
	for i, name := range f.keyword {
		kw[i] = torch.Kw(name, values[name])
	}
	return torch.Dispatch(ir.CallFunction, f.target, args, kw)
}

// run computes a call on real values.
func (f *form) run(m *libtorch.Mode, args []any, kw []torch.Kwarg) (any, error) {
	values, err := f.bind(args, kw)
	if err != nil {
		return nil, err
	}
	if f.body == nil {
		return nil, errNoBody(f)
	}
	return f.compute(m, values), nil
}

func errNoBody(f *form) error {
	return ir.Errorf(ir.ErrUnsupported, "%s has no implementation here", f.target.Name())
}

// compute runs the body on real values; it panics with a *torch.Error.
func (f *form) compute(m *libtorch.Mode, values map[string]any) any {
	for name, v := range values {
		values[name] = Plain(v)
	}
	c := &call{mode: m, form: f, values: values}
	for i, p := range f.params { // the dispatcher would make a tensor of a number
		_, isTensor := values[p.name].(*torch.Tensor)
		if strings.HasSuffix(p.name, "_lengths") {
			continue // of ctc_loss: lists of numbers too
		}
		if !isTensor && (p.annotation == "Tensor" || p.annotation == "Tensor | None" && values[p.name] != nil) {
			c.fail(ir.ErrType, "%s(): argument '%s' (position %d) must be Tensor, not %s", f.name, p.name, i+1, torch.Describe(values[p.name]))
		}
	}
	done := false
	defer func() {
		if !done {
			c.finish(nil) // a failed call leaves nothing open
		}
	}()
	result := c.finish(f.body(c))
	done = true
	return result
}

// Call calls torch.nn.functional.<name> with arguments in Python's order: it
// computes on real tensors, and records the call where one is traced, in the
// form that torch.fx gives it. It panics with a *torch.Error.
func Call(name string, args []any, kw []torch.Kwarg) any {
	if b, ok := builtins[name]; ok {
		return torch.Dispatch(ir.CallFunction, ir.FuncOf(b.target), args, kw)
	}
	f, ok := forms[name]
	if !ok {
		panic(&torch.Error{Op: name, Err: ir.Errorf(ir.ErrUnsupported, "no function torch.nn.functional.%s", name)})
	}
	values, err := f.bind(args, kw)
	if err != nil {
		panic(&torch.Error{Op: f.target.Name(), Err: err})
	}
	if indices, _ := Plain(values["return_indices"]).(bool); indices && forms[name+"_with_indices"] != nil {
		f = forms[name+"_with_indices"]
	}
	for _, v := range values {
		if torch.Traced(v) {
			return f.record(values)
		}
	}
	if f.body == nil {
		panic(&torch.Error{Op: f.target.Name(), Err: errNoBody(f)})
	}
	return f.compute(nil, values)
}

// Has reports whether name is a function of torch.nn.functional that [Call]
// knows.
func Has(name string) bool {
	_, builtin := builtins[name]
	f, python := forms[name]
	return builtin || python && f.body != nil
}

// Plain returns v, a value of model code or a literal of a graph, as a run has
// it: int64, float64, bool, string, nil, []any, ir.PyTuple, *torch.Tensor.
func Plain(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case float32:
		return float64(v)
	case torch.SymInt:
		return int64(v.Int())
	case *torch.Tensor:
		if v == nil {
			return nil
		}
	case []int:
		list := make([]any, len(v))
		for i, n := range v {
			list[i] = int64(n)
		}
		return list
	case []float64:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = x
		}
		return list
	case ir.PyTuple:
		return ir.PyTuple(plainItems(v))
	case []any:
		return plainItems(v)
	case ir.Tuple:
		list := make(ir.PyTuple, v.Len())
		for i := range list {
			list[i] = Plain(v.At(i))
		}
		return list
	case ir.List:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = Plain(v.At(i))
		}
		return list
	case ir.Arg:
		return torch.FromArg(v)
	}
	return v
}

func plainItems(items []any) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = Plain(item)
	}
	return list
}

// one takes a result for a tensor.
func one(v any) *torch.Tensor { return torch.As[*torch.Tensor](v) }

// two takes a result for a pair of tensors; the second may be None.
func two(v any) (a, b *torch.Tensor) {
	if traced, ok := torch.ValueOf(v); ok {
		return traced.Index(int64(0)).Tensor(), traced.Index(int64(1)).Tensor()
	}
	pair, ok := v.(ir.PyTuple)
	if !ok || len(pair) != 2 {
		panic(&torch.Error{Op: "unpack", Err: ir.Errorf(ir.ErrType, "expected two results, got %s", torch.Describe(v))})
	}
	return one(pair[0]), one(pair[1])
}
