package torchops

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

//go:embed composed.txt
var composedText string

// A composed function is Python code in PyTorch: it calls operators, which its
// body here calls in the same order, so that the bits are the same.
type composed struct {
	name   string   // as Python's messages have it
	target *ir.Func // as torch.fx prints it
	params []pyParam
	// What a trace records: every parameter, by position or by keyword. Both are
	// empty for a function that does not hand itself to torch.fx.
	positional, keyword []string
	// lookedAt are the parameters of which one must be traced for that; where none is,
	// Python runs the function.
	lookedAt []string
	body     func(f *frame) any
	// indices is the form of a pooling function that return_indices chooses.
	indices *composed
}

// A pyParam is a parameter of a Python function.
type pyParam struct {
	name       string
	kind       pyKind
	annotation string // Python's
	def        any
	hasDefault bool
}

type pyKind uint8

const (
	byEither pyKind = iota
	byPosition
	byKeyword
	byRest // *name
)

// composedFunctions holds them by each of their names.
var composedFunctions = map[*ir.Func]*composed{}

// bodies returns what the functions of a module compute, by their names in it.
var bodies = map[string]func() map[string]func(f *frame) any{
	"torch.nn.functional.":          functionalBodies,
	"torch.functional.":             torchBodies,
	"torch._linalg_utils.":          removedBodies,
	"torch._lowrank.":               lowrankBodies,
	"torch._lobpcg.":                lobpcgBodies,
	"torch.Tensor.":                 methodBodies,
	"torch.masked.":                 maskedBodies,
	"torch.signal.windows.windows.": windowBodies,
}

func init() {
	of := map[string]map[string]func(f *frame) any{}
	for module, make := range bodies {
		of[module] = make()
	}
	for line := range strings.Lines(composedText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(strings.TrimRight(line, "\n"), "\t")
		names := strings.Fields(columns[0])
		cut := strings.LastIndexByte(names[0], '.') + 1
		body := of[names[0][:cut]][names[0][cut:]]
		if body == nil {
			continue // what has none is listed in a test
		}
		c := &composed{
			name: columns[1], target: ir.FuncOf(names[0]), params: parseSignature(columns[2]),
			positional: splitNames(columns[3]), keyword: splitNames(columns[4]),
			lookedAt: splitNames(columns[5]), body: body,
		}
		for _, name := range names {
			f := ir.FuncOf(name)
			composedFunctions[f] = c
			implementations.Store(f, &implementation{name: name, call: c.call})
		}
	}
	for f, c := range composedFunctions {
		c.indices = composedFunctions[ir.FuncOf(f.Name()+"_with_indices")]
	}
}

func splitNames(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ", ")
}

// parseSignature reads parameters as Python writes them.
func parseSignature(text string) (params []pyParam) {
	depth, start, kind := 0, 0, byEither
	for i, r := range text + "," {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			switch item := strings.TrimSpace(text[start:i]); {
			case item == "":
			case item == "*":
				kind = byKeyword
			case item == "/":
				for j := range params {
					params[j].kind = byPosition
				}
			case item[0] == '*':
				params = append(params, pyParam{name: item[1:], kind: byRest})
				kind = byKeyword
			default:
				p := parseParam(item)
				p.kind = kind
				params = append(params, p)
			}
			start = i + 1
		}
	}
	return params
}

func parseParam(text string) (p pyParam) {
	text, def, hasDefault := strings.Cut(text, " = ")
	p.name, p.annotation, _ = strings.Cut(text, ": ")
	p.annotation = strings.ReplaceAll(strings.Trim(p.annotation, "'"), "torch.Tensor", "Tensor")
	p.hasDefault = hasDefault
	switch {
	case def == "True" || def == "False":
		p.def = def == "True"
	case def == "torch.strided":
		p.def = ir.Strided
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

// bind returns the value of each parameter, as Python binds the arguments of a
// call; those of a *name are one []any.
func (c *composed) bind(args []any, kw []Kwarg) ([]any, error) {
	values := make([]any, len(c.params))
	given := make([]bool, len(c.params))
	next, most, least := 0, 0, 0
	for i, p := range c.params {
		switch p.kind {
		case byRest:
			values[i], given[i] = append([]any{}, args[min(next, len(args)):]...), true
			next = len(args)
			most = len(args)
			continue
		case byKeyword:
			continue
		}
		most++
		if !p.hasDefault {
			least++
		}
		if next < len(args) {
			values[i], given[i] = args[next], true
			next++
		}
	}
	if len(args) > most {
		takes := strconv.Itoa(most)
		if least < most {
			takes = fmt.Sprintf("from %d to %d", least, most)
		}
		were := "were"
		if len(args) == 1 {
			were = "was"
		}
		plural := "s"
		if most == 1 && least == most {
			plural = ""
		}
		return nil, ir.Errorf(ir.ErrType, "%s() takes %s positional argument%s but %d %s given", c.name, takes, plural, len(args), were)
	}
	for _, k := range kw {
		i := c.param(k.Name)
		if i < 0 || c.params[i].kind == byPosition || c.params[i].kind == byRest {
			return nil, ir.Errorf(ir.ErrType, "%s() got an unexpected keyword argument '%s'", c.name, k.Name)
		}
		if given[i] {
			return nil, ir.Errorf(ir.ErrType, "%s() got multiple values for argument '%s'", c.name, k.Name)
		}
		values[i], given[i] = k.Value, true
	}
	var missing, missingKeyword []string
	for i, p := range c.params {
		switch {
		case given[i]:
		case p.hasDefault:
			values[i] = p.def
		case p.kind == byKeyword:
			missingKeyword = append(missingKeyword, "'"+p.name+"'")
		default:
			missing = append(missing, "'"+p.name+"'")
		}
	}
	if len(missing) > 0 {
		return nil, errMissing(c.name, "positional", missing)
	}
	if len(missingKeyword) > 0 {
		return nil, errMissing(c.name, "keyword-only", missingKeyword)
	}
	return values, nil
}

// errMissing is Python's message of arguments that were not given.
func errMissing(name, kind string, missing []string) error {
	n := len(missing)
	list := missing[n-1]
	switch {
	case n == 2:
		list = missing[0] + " and " + list
	case n > 2:
		list = strings.Join(missing[:n-1], ", ") + ", and " + list
	}
	plural := ""
	if n > 1 {
		plural = "s"
	}
	return ir.Errorf(ir.ErrType, "%s() missing %d required %s argument%s: %s", name, n, kind, plural, list)
}

// param returns the place of a parameter, -1 where there is none.
func (c *composed) param(name string) int {
	for i := range c.params {
		if c.params[i].name == name {
			return i
		}
	}
	return -1
}

// call is what Invoke runs: it binds the arguments and computes.
func (c *composed) call(m *libtorch.Mode, args []any, kw []Kwarg) (result any, err error) {
	scope := scopeOf(args, kw)
	if args, err = normalizeItems(withoutScopes(args)); err != nil {
		return nil, err
	}
	for i, k := range kw {
		v, err := normalize(k.Value)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			kw = append([]Kwarg(nil), kw...)
		}
		kw[i].Value = v
	}
	values, err := c.bind(args, kw)
	if err != nil {
		return nil, err
	}
	if c = c.chosen(values); c.body == nil {
		return nil, ir.Errorf(ir.ErrUnsupported, "%s has no implementation here", c.target.Name())
	}
	f := &frame{mode: m, of: c, values: values, positional: len(args), keywords: map[string]bool{}}
	for _, k := range kw {
		f.keywords[k.Name] = true
	}
	return Try(func() any { return c.compute(f, scope) })
}

// chosen returns the form of a pooling function that return_indices asks for.
func (c *composed) chosen(values []any) *composed {
	if c.indices == nil {
		return c
	}
	if c.flag(values, "return_indices") {
		return c.indices
	}
	return c
}

// flag is the truth of a parameter that chooses the form of a function, which must
// not be traced.
func (c *composed) flag(values []any, name string) bool {
	v := values[c.param(name)]
	if list, kind := items(v); kind != "" {
		return len(list) > 0
	}
	flag, err := normalize(v)
	if err != nil {
		mustNot(c.target.Name(), ir.Errorf(ir.ErrTrace, noControlFlow))
	}
	return truth(flag)
}

// flags are the parameters that choose among the forms of other functions, which
// torch.fx records under one name.
var flags = map[string][]string{
	"torch.functional.lu": {"get_infos"}, "torch.functional.unique": {"return_inverse", "return_counts"},
	"torch.functional.unique_consecutive": {"return_inverse", "return_counts"},
}

// RecordedForm returns what a trace records of a call of f, a function that is
// Python code in PyTorch: the parameters by position and those by keyword. ok is
// false for functions that are recorded as they were called.
func RecordedForm(f *ir.Func) (positional, keyword []string, ok bool) {
	c := composedFunctions[f]
	if c == nil || c.positional == nil && c.keyword == nil {
		return nil, nil, false
	}
	return slices.Clone(c.positional), slices.Clone(c.keyword), true
}

// record notes a call in the form in which torch.fx records it.
func (c *composed) record(r Recorder, args []any, kw []Kwarg) any {
	values, err := c.bind(args, kw)
	mustNot(c.target.Name(), err)
	if c = c.chosen(values); c.positional == nil && c.keyword == nil {
		into, ok := passedOn[c.target.Name()]
		if strings.HasPrefix(c.target.Name(), "torch._linalg_utils.") {
			return c.body(&frame{of: c, values: values}) // which refuses whatever it gets
		}
		if !ok && strings.HasPrefix(c.target.Name(), "torch.signal.windows.") {
			f := &frame{of: c, values: values}
			if window, err := Try(func() any { return c.compute(f, scopeOf(args, kw)) }); err == nil {
				return window // of so few elements that nothing traced was asked for
			}
		}
		if !ok {
			mustNot(c.target.Name(), ir.Errorf(ir.ErrTrace, noControlFlow))
		}
		return into(func(name string) any { return values[c.param(name)] })
	}
	for _, name := range flags[c.target.Name()] {
		c.flag(values, name)
	}
	if c.target == fnEinsum && (c.handsOver(values) || len(values[0].([]any)) > 0 && typeName(values[0].([]any)[0]) == "str") {
		f := &frame{of: c, values: values}
		return r.Record(ir.CallFunction, c.target, f.einsumRecorded(values[0].([]any)), nil)
	}
	if f, list := c.ofList(values); f != nil {
		return r.Record(ir.CallFunction, f, []any{list}, givenKeywords(kw))
	}
	if !c.handsOver(values) {
		c.refuse(values)
	}
	var positional []any
	for _, name := range c.positional {
		if rest, ok := strings.CutPrefix(name, "*"); ok {
			positional = append(positional, values[c.param(rest)].([]any)...)
		} else {
			positional = append(positional, values[c.param(name)])
		}
	}
	keywords := make([]Kwarg, len(c.keyword))
	for i, name := range c.keyword {
		keywords[i] = Kwarg{name, values[c.param(name)]}
	}
	return r.Record(ir.CallFunction, c.target, positional, keywords)
}

// handsOver reports whether one of the parameters that the function looks at is a
// tensor. A real one beside traced values Python would compute with; here too the call
// is recorded, and the tensor becomes a constant of the graph.
func (c *composed) handsOver(values []any) bool {
	if len(c.lookedAt) == 0 {
		return true // of parameters that are put together before
	}
	for _, name := range c.lookedAt {
		if i := c.param(name); c.params[i].kind != byRest && isTensorLike(values[i]) ||
			c.params[i].kind == byRest && slices.ContainsFunc(values[i].([]any), isTensorLike) {
			return true
		}
	}
	return false
}

func isTensorLike(v any) bool {
	_, traced := ValueOf(v)
	return traced || isTensor(v)
}

// refuse is what Python's code says of arguments that are no tensors.
func (c *composed) refuse(values []any) {
	f := &frame{of: c, values: values}
	i := c.param(c.lookedAt[0])
	if c.params[i].kind == byRest {
		of := "nothing"
		if rest := values[i].([]any); len(rest) > 0 {
			of = typeName(rest[0])
		}
		f.fail(ir.ErrType, "expected Tensor as element 0 in argument 0, but got %s", of)
	}
	f.misused(i)
}

// ofList returns what is recorded where a function of any number of tensors gets
// one list of them: Python does not look into it, and the function of C++ does.
func (c *composed) ofList(values []any) (f *ir.Func, list any) {
	name := strings.TrimPrefix(c.target.Name(), "torch.functional.")
	if name != "meshgrid" && !strings.HasPrefix(name, "atleast_") {
		return nil, nil
	}
	if rest := values[0].([]any); len(rest) == 1 {
		if _, traced := ValueOf(rest[0]); !traced {
			return ir.FuncOf("torch." + name), rest[0]
		}
	}
	return nil, nil
}

// givenKeywords leaves out keywords that are None.
func givenKeywords(kw []Kwarg) []Kwarg {
	return slices.DeleteFunc(slices.Clone(kw), func(k Kwarg) bool { return k.Value == nil })
}

// passedOn are the functions that do not hand themselves to torch.fx but call
// one function or method that does.
var passedOn map[string]func(arg func(name string) any) any

func init() {
	interpolate := ir.FuncOf("torch.nn.functional.interpolate")
	resized := func(arg func(string) any, kw ...Kwarg) any {
		kw = append([]Kwarg{{"size", arg("size")}, {"scale_factor", arg("scale_factor")}}, kw...)
		return Dispatch(ir.CallFunction, interpolate, []any{arg("input")}, kw)
	}
	passedOn = map[string]func(arg func(name string) any) any{
		"torch.nn.functional.sigmoid": func(arg func(string) any) any { return Dispatch(ir.CallMethod, "sigmoid", []any{arg("input")}, nil) },
		"torch.nn.functional.tanh":    func(arg func(string) any) any { return Dispatch(ir.CallMethod, "tanh", []any{arg("input")}, nil) },
		"torch.nn.functional.upsample": func(arg func(string) any) any {
			return resized(arg, Kw("mode", arg("mode")), Kw("align_corners", arg("align_corners")))
		},
		"torch.nn.functional.upsample_nearest": func(arg func(string) any) any { return resized(arg, Kw("mode", "nearest")) },
		"torch.nn.functional.upsample_bilinear": func(arg func(string) any) any {
			return resized(arg, Kw("mode", "bilinear"), Kw("align_corners", true))
		},
		"torch.nn.functional.grouped_mm": func(arg func(string) any) any {
			return Dispatch(ir.CallFunction, ir.FuncOf("torch._grouped_mm"), []any{arg("mat_a"), arg("mat_b")},
				[]Kwarg{{"offs", arg("offs")}, {"bias", arg("bias")}, {"out_dtype", arg("out_dtype")}})
		},
	}
}
