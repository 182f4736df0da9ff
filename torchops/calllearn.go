package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Whether a tensor may stand for a number or an index is the one thing that the parser
// reads off the value of an argument. So a form is tried twice: with tensors that
// stand for neither, and with ones that stand for both. What the parser takes some way in
// both, it takes that way for all tensors, since it takes each argument by itself.
var noNumber, anyNumber = new(Tensor), new(Tensor)

// learn finds the route of a form.
func (p *public) learn(f *callForm) *route {
	w := &route{form: *f}
	m, places, ok := p.matchForm(f)
	if !ok {
		return w
	}
	s := m.signature
	if s.op == "" {
		return w // not only a call
	}
	out := s.out >= 0 && places[s.out].given()
	if s.options && (out || places[len(s.params)-1].given()) {
		return w // these do more than to call the operator
	}
	plan, err := s.plan(p.method, out)
	if err != nil {
		return w
	}
	schema := plan.operator.Schema()
	if schema.VarReturns || len(schema.Returns) == 0 || len(schema.Returns) > libtorch.MaxResults {
		return w
	}
	for i := range schema.Returns {
		if schema.Returns[i].Type.Kind != ir.TypeTensor {
			return w
		}
	}
	steps := make([]step, len(plan.from))
	for i, src := range plan.from {
		place := place{arg: -1}
		switch {
		case src.param == fromReceiver:
			place.arg, place.kind = 0, ofTensor
		case src.param >= 0:
			place = places[src.param]
		}
		if !place.given() {
			words, ok := plan.operator.Constant(i, src.absent)
			if !ok {
				return w
			}
			steps[i].words = words
			continue
		}
		var param *parameter
		if src.param >= 0 {
			param = &s.params[src.param]
		}
		if src.item >= 0 || !place.step(&steps[i], param, &schema.Args[i]) {
			return w
		}
	}
	w.operator, w.results, w.steps = plan.operator, len(schema.Returns), steps
	return w
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

// step says how the argument of a place is written for an argument of the schema, as
// [call.convert] does it; false where that depends on more than the kinds, or fails.
func (p place) step(s *step, param *parameter, a *ir.Param) bool {
	t := a.Type.Required()
	*s = step{kind: p.kind, arg: p.arg}
	switch t.Kind {
	case ir.TypeTensor:
		s.wrapped = p.kind != ofTensor
		return p.kind == ofTensor || p.kind == ofInt || p.kind == ofFloat || p.kind == ofBool
	case ir.TypeInt, ir.TypeSymInt:
		return p.kind == ofInt
	case ir.TypeFloat, ir.TypeSymFloat:
		s.kind = ofFloat
		return p.kind == ofFloat || p.kind == ofInt
	case ir.TypeScalar:
		return p.kind == ofInt || p.kind == ofFloat || p.kind == ofBool
	case ir.TypeBool:
		return p.kind == ofBool
	case ir.TypeStr:
		return p.kind == ofString
	case ir.TypeDType:
		return p.kind == ofDType
	case ir.TypeLayout:
		return p.kind == ofLayout
	case ir.TypeMemoryFormat:
		return p.kind == ofMemoryFormat
	case ir.TypeDevice:
		return p.kind == ofDevice
	case ir.TypeList:
		elem := t.Elem.Required()
		if p.kind == ofTensors {
			return elem.Kind == ir.TypeTensor && t.Len == 0
		}
		if elem.Kind != ir.TypeInt && elem.Kind != ir.TypeSymInt || param == nil || param.kind != paramInts {
			return false
		}
		if t.Len > 1 {
			s.fixed = t.Len
		}
		switch {
		case p.kind == ofInts:
			return true
		case p.count > 0:
			s.count = p.count
		case p.kind == ofInt:
			s.count, s.repeat = max(param.size, 1), true
		}
		return s.count > 0 && (s.fixed == 0 || s.count == s.fixed)
	}
	return false
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
	for i, kind := range f.kinds[:f.n] {
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
	}
	return nil
}

// matchWith runs the parser with an example of each argument; ok is false where it
// takes no such arguments.
func (p *public) matchWith(t *Tensor, f *callForm) (m matched, ok bool) {
	var args []any
	var kw []Kwarg
	for _, kind := range f.kinds[:f.n] {
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
