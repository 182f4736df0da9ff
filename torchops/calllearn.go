package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Whether a tensor may stand for a number or an index is the one thing that the parser
// reads off the value of an argument. So a form is tried twice: with tensors that
// stand for neither, and with ones that stand for both. What the parser takes some way in
// both, it takes that way for all tensors, since it takes each argument by itself.
var noNumber, anyNumber = newTensor(), newTensor()

// learn finds the route of a form.
func (p *public) learn(f *callForm) *route {
	r := &route{form: *f}
	if o, args, ok := p.arguments(f, r); ok {
		r.call, _ = o.PrepareSlots(args)
	}
	return r
}

// arguments finds the operator that the calls of a form are, how its arguments are made
// of those of the call, and the rest of the route.
func (p *public) arguments(f *callForm, r *route) (o *libtorch.Operator, args []libtorch.Argument, ok bool) {
	m, places, ok := p.matchForm(f)
	if !ok {
		return nil, nil, false
	}
	s := m.signature
	if s.op == "" {
		return nil, nil, false // not only a call
	}
	out := s.out >= 0 && places[s.out].given()
	if s.options && (out || places[len(s.params)-1].given()) {
		return nil, nil, false // these do more than to call the operator
	}
	plan, err := s.plan(p.method, out)
	if err != nil {
		return nil, nil, false
	}
	schema := plan.operator.Schema()
	if r.results, ok = resultsOf(schema); !ok {
		return nil, nil, false
	}
	args = make([]libtorch.Argument, len(plan.from))
	for i, src := range plan.from {
		place := place{arg: -1}
		switch {
		case src.param == fromReceiver:
			place.arg, place.kind = 0, ofTensor
		case src.param >= 0:
			place = places[src.param]
		}
		if !place.given() {
			args[i] = libtorch.Argument{Kind: libtorch.ArgConstant, Value: src.absent}
			continue
		}
		var param *parameter
		if src.param >= 0 {
			param = &s.params[src.param]
		}
		if args[i], ok = place.argument(param, &schema.Args[i]); !ok || src.item >= 0 {
			return nil, nil, false
		}
		if n := schema.Args[i].Type.Required().Len; n > 1 && args[i].Kind == libtorch.ArgInts {
			r.lengths = append(r.lengths, length{place.arg, n})
		}
	}
	return plan.operator, args, true
}

// resultsOf is how many tensors an operator returns, or what else; ok is false for
// what the parser takes apart.
func resultsOf(schema *ir.Schema) (n int, ok bool) {
	if schema.VarReturns || len(schema.Returns) == 0 || len(schema.Returns) > maxResults {
		return 0, false
	}
	for i := range schema.Returns {
		switch t := &schema.Returns[i].Type; {
		case t.Kind == ir.TypeTensor:
			n++
		case len(schema.Returns) > 1:
			return 0, false
		case t.Kind == ir.TypeList && t.Elem.Kind == ir.TypeTensor:
			return aList, true
		case t.Kind == ir.TypeBool || t.Kind == ir.TypeInt || t.Kind == ir.TypeSymInt || t.Kind == ir.TypeFloat:
			return oneValue, true
		default:
			return 0, false
		}
	}
	return n, true
}

// A place is which argument of a call a parameter gets, -1 for none, or for a list of
// ints that is spread, the first of count.
type place struct {
	arg, count int
	kind       argKind
}

// given reports whether there is an argument and it is not None, which is as if there
// were none.
func (p place) given() bool { return p.arg >= 0 && p.kind != ofNone }

// argument says how the argument of a place is made one of the schema, as
// [call.convert] does it; false where that depends on more than the kinds, or fails.
func (p place) argument(param *parameter, a *ir.Param) (libtorch.Argument, bool) {
	t := a.Type.Required()
	made := libtorch.Argument{Kind: directly[p.kind], Slot: p.arg}
	number := p.kind == ofInt || p.kind == ofFloat || p.kind == ofBool
	switch t.Kind {
	case ir.TypeTensor:
		if number {
			made.Kind += libtorch.ArgWrapped
		}
		return made, number || p.kind == ofTensor
	case ir.TypeFloat, ir.TypeSymFloat:
		if p.kind == ofInt {
			made.Kind = libtorch.ArgReal
		}
		return made, p.kind == ofFloat || p.kind == ofInt
	case ir.TypeScalar:
		return made, number
	case ir.TypeList:
		elem := t.Elem.Required()
		if p.kind == ofTensors {
			return made, elem.Kind == ir.TypeTensor && t.Len == 0
		}
		if elem.Kind != ir.TypeInt && elem.Kind != ir.TypeSymInt || param == nil || param.kind != paramInts {
			return made, false
		}
		switch {
		case p.kind == ofInts:
			return made, true
		case p.count > 0:
			made.Kind, made.Count = libtorch.ArgRow, p.count
		case p.kind == ofInt:
			made.Kind, made.Count = libtorch.ArgTimes, max(param.size, 1)
		}
		return made, made.Count > 0 && (t.Len <= 1 || made.Count == t.Len)
	}
	return made, p.kind != 0 && p.kind == onlyOf[t.Kind]
}

// directly is how an argument of a kind goes to an operator that takes it as it is.
var directly = [...]libtorch.ArgumentKind{
	ofTensor: libtorch.ArgTensor, ofTensors: libtorch.ArgTensors, ofInt: libtorch.ArgInt, ofInts: libtorch.ArgInts,
	ofFloat: libtorch.ArgFloat, ofBool: libtorch.ArgBool, ofString: libtorch.ArgStr, ofDType: libtorch.ArgInt,
	ofLayout: libtorch.ArgInt, ofMemoryFormat: libtorch.ArgInt, ofDevice: libtorch.ArgDevice, ofGenerator: libtorch.ArgGenerator,
	ofScope: 0,
}

// onlyOf are the types that arguments of one kind are taken for.
var onlyOf = map[ir.TypeKind]argKind{
	ir.TypeInt: ofInt, ir.TypeSymInt: ofInt, ir.TypeBool: ofBool, ir.TypeStr: ofString, ir.TypeDType: ofDType, ir.TypeLayout: ofLayout,
	ir.TypeMemoryFormat: ofMemoryFormat, ir.TypeDevice: ofDevice, ir.TypeGenerator: ofGenerator,
}

// A matched is what the parser took for a form.
type matched struct {
	signature *signature
	spread    bool // the first parameter got all arguments
}

// matchForm asks the parser, and finds the argument of each parameter.
func (p *public) matchForm(f *callForm) (matched, []place, bool) {
	first, ok := p.matchWith(noNumber, f)
	if !ok {
		return first, nil, false
	}
	if second, ok := p.matchWith(anyNumber, f); !ok || second != first {
		return first, nil, false
	}
	// the arguments by position and by keyword, as places in the call
	var positional, keywords []int
	for i, kind := range f.kinds[:f.n()] {
		switch {
		case kind&asKeyword != 0:
			keywords = append(keywords, i)
		case kind != ofScope:
			positional = append(positional, i)
		}
	}
	if p.method {
		positional = positional[1:]
	}
	at := func(i int) place { return place{arg: i, kind: f.kinds[i] &^ asKeyword} }
	places := make([]place, len(first.signature.params))
	for i := range places {
		param := &first.signature.params[i]
		places[i] = place{arg: -1}
		switch {
		case i == 0 && first.spread:
			places[i] = at(positional[0])
			places[i].count = len(positional)
			for j, arg := range positional {
				if f.kinds[arg] != ofInt || arg != positional[0]+j {
					return first, nil, false
				}
			}
			positional = nil
		case len(positional) > 0:
			places[i], positional = at(positional[0]), positional[1:]
		default:
			for _, name := range param.spellings() {
				if k := indexOfName(f.names[:f.keywords], name); k >= 0 {
					places[i] = at(keywords[k])
					break
				}
			}
		}
	}
	return first, places, true
}

func indexOfName(names []string, name string) int {
	for i := range names {
		if names[i] == name {
			return i
		}
	}
	return -1
}

// spellings are the keywords of a parameter, the first that is given being taken.
func (p *parameter) spellings() []string { return append([]string{p.name}, p.aliases...) }

// example is an argument of a kind.
func (k argKind) example(t *Tensor) any {
	switch k {
	case ofTensor:
		return t
	case ofTensors:
		return []any{t}
	case ofInt:
		return int64(1)
	case ofInts:
		return []any{int64(1)}
	case ofFloat:
		return 1.0
	case ofBool:
		return true
	case ofString:
		return ""
	case ofDType:
		return Float32
	case ofLayout:
		return ir.Strided
	case ofMemoryFormat:
		return ir.ContiguousFormat
	case ofDevice:
		return CPU
	case ofGenerator:
		return new(Generator)
	}
	return nil
}

// matchWith runs the parser with an example of each argument; ok is false where it
// takes no such arguments.
func (p *public) matchWith(t *Tensor, f *callForm) (m matched, ok bool) {
	var args []any
	var kw []Kwarg
	for _, kind := range f.kinds[:f.n()] {
		switch v := (kind &^ asKeyword).example(t); {
		case kind == ofScope:
		case kind&asKeyword != 0:
			kw = append(kw, Kwarg{f.names[len(kw)], v})
		default:
			args = append(args, v)
		}
	}
	if p.method {
		if len(args) == 0 || args[0] != any(t) {
			return m, false
		}
		args = args[1:]
	}
	b := &binding{values: make([]any, p.most), args: args}
	s, err := p.choose(b, args, kw)
	if err != nil {
		return m, false
	}
	m.signature = s
	if len(s.params) > 0 && len(args) > 0 {
		_, isList := b.values[0].([]any)
		_, wasList := args[0].([]any)
		m.spread = isList && !wasList && s.spread
	}
	return m, true
}
