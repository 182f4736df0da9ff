package torchops

import (
	"slices"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Which signature takes the arguments of a call, and how each of them goes to the
// operator, follows nearly always from the kinds of the arguments alone. So a function
// runs its parser once for each form in which it is called, and remembers the way that
// the arguments went: see [public.fast].

// A callForm is what the parser decides by.
type callForm struct {
	kinds    [formRoom]argKind // of the arguments in order, with those of keywords marked
	n        int
	keywords int
	names    [formKeywords]string
}

const (
	formRoom     = 16
	formKeywords = 4
)

// An argKind is the kind of an argument.
type argKind uint8

const (
	ofTensor argKind = iota + 1
	ofTensors
	ofInt
	ofInts
	ofFloat
	ofBool
	ofString
	ofNone
	ofDType
	ofLayout
	ofMemoryFormat
	ofDevice
	ofScope           // an option of Go's
	asKeyword argKind = 1 << 7
)

// is reports whether two forms are one.
func (f *callForm) is(g *callForm) bool {
	if f.n != g.n || f.kinds != g.kinds || f.keywords != g.keywords {
		return false
	}
	for i, name := range f.names[:f.keywords] {
		if name != g.names[i] {
			return false
		}
	}
	return true
}

// callArgs are the arguments of a call where they lie, which is on the stack of a
// caller: nothing here keeps them. Lists of lists let the compiler see that.
type callArgs struct {
	lists [3][]any // one after another, keywords among the last
	kw    []Kwarg  // keywords that stand apart
}

func (a *callArgs) len() int {
	return len(a.lists[0]) + len(a.lists[1]) + len(a.lists[2]) + len(a.kw)
}

// at returns an argument; a keyword as it stands.
func (a *callArgs) at(i int) any {
	for j := range a.lists {
		if i < len(a.lists[j]) {
			return a.lists[j][i]
		}
		i -= len(a.lists[j])
	}
	return a.kw[i].Value
}

// value is at without the name of a keyword.
func (a *callArgs) value(i int) any {
	v := a.at(i)
	if k, ok := v.(Kwarg); ok {
		return k.Value
	}
	return v
}

// form finds the form of a call, and the scope that its results join. ok is false
// where there is none: for what is traced, and for kinds that are rare or tell too
// little.
func (a *callArgs) form(f *callForm) (scope *Scope, ok bool) {
	n := a.len()
	if n > formRoom {
		return nil, false
	}
	apart := n - len(a.kw)
	for i := range n {
		v := a.at(i)
		k, isKeyword := v.(Kwarg)
		switch {
		case isKeyword:
			v = k.Value
		case i >= apart:
			k.Name, isKeyword = a.kw[i-apart].Name, true
		}
		kind := kindOfArg(v)
		if kind == 0 || kind == ofScope && isKeyword || f.keywords > 0 && !isKeyword && kind != ofScope {
			return nil, false
		}
		if kind <= ofTensors || kind == ofScope {
			scope = younger(scope, findScope(v))
		}
		if isKeyword {
			if f.keywords == formKeywords {
				return nil, false
			}
			f.names[f.keywords] = k.Name
			f.keywords++
			kind |= asKeyword
		}
		f.kinds[i] = kind
	}
	f.n = n
	return scope, true
}

// kindOfArg is the kind of an argument, 0 for those that have no place in a form.
func kindOfArg(v any) argKind {
	switch v := v.(type) {
	case *Tensor:
		if isReal(v) {
			return ofTensor
		}
		if v == nil {
			return ofNone
		}
	case int, int64:
		return ofInt
	case float64:
		return ofFloat
	case bool:
		return ofBool
	case nil:
		return ofNone
	case []int:
		return nonEmpty(v, ofInts)
	case []int64:
		return nonEmpty(v, ofInts)
	case []any:
		for _, item := range v {
			switch item.(type) {
			case int, int64:
			default:
				return 0
			}
		}
		return nonEmpty(v, ofInts)
	case List:
		return kindOfTensors(v)
	case []*Tensor:
		return kindOfTensors(v)
	case Tuple:
		return kindOfTensors(v)
	case Tensors:
		if v.value.recorder == nil {
			return kindOfTensors(v.list)
		}
	case SymInt:
		if !v.Traced() {
			return ofInt
		}
	case string:
		return ofString
	case DType:
		return ofDType
	case Layout:
		return ofLayout
	case MemoryFormat:
		return ofMemoryFormat
	case Device:
		return ofDevice
	case inScope:
		return ofScope
	}
	return 0
}

func isReal(t *Tensor) bool { return t != nil && t.value.recorder == nil }

// The parser takes an empty list for one of anything.
func nonEmpty[T any](list []T, kind argKind) argKind {
	if len(list) == 0 {
		return 0
	}
	return kind
}

func kindOfTensors(list []*Tensor) argKind {
	for _, t := range list {
		if !isReal(t) {
			return 0
		}
	}
	return nonEmpty(list, ofTensors)
}

// A route is how the arguments of calls in one form go to the operator.
type route struct {
	form     callForm
	operator *libtorch.Operator // nil where each call needs the parser
	results  int
	steps    []step
}

// A step writes one argument of the operator.
type step struct {
	kind    argKind // what is written, 0 for the constant
	arg     int     // which argument of the call it is; with count, the first of these
	count   int     // of a list of ints: how many arguments make it, as in x.view(2, 3), or with repeat, how often one stands in it
	fixed   int     // the length that a list of ints must have, 0 for any
	repeat  bool
	wrapped bool // a number that stands for a tensor
	words   []uint64
}

// formRoutes is the most forms that a function remembers. One that is called in more is
// called with numbers of keywords or sizes that change, and the rest through the parser.
const formRoutes = 64

// fast calls the function with arguments whose form has a route. ok is false where it has
// none, and nothing was called; the error is that of the operator.
func (p *public) fast(m *libtorch.Mode, a *callArgs) (v any, ok bool, err error) {
	var form callForm
	scope, ok := a.form(&form)
	if !ok || !m.Ordinary() {
		return nil, false, nil
	}
	w := p.routeOf(&form)
	if w == nil || w.operator == nil {
		return nil, false, nil
	}
	var words libtorch.Words
	if !w.write(&words, a) || words.Failed() {
		words.Drop()
		return nil, false, nil // the parser says why
	}
	if w.results == 1 {
		t := new(Tensor)
		if err := w.operator.CallWords(&words, []*libtorch.Tensor{&t.handle}); err != nil {
			return nil, true, err
		}
		if !t.real() {
			return nil, true, nil
		}
		if scope != nil {
			scope.Add(t)
		}
		return t, true, nil
	}
	return w.several(&words, scope)
}

// several calls an operator that returns several tensors.
func (w *route) several(words *libtorch.Words, scope *Scope) (v any, ok bool, err error) {
	var handles [libtorch.MaxResults]*libtorch.Tensor
	results := make([]Tensor, w.results)
	for i := range results {
		handles[i] = &results[i].handle
	}
	if err := w.operator.CallWords(words, handles[:w.results]); err != nil {
		return nil, true, err
	}
	tuple := make(ir.PyTuple, w.results)
	for i := range results {
		if t := &results[i]; t.real() {
			tuple[i] = t
			if scope != nil {
				scope.Add(t)
			}
		}
	}
	return tuple, true, nil
}

// write writes the arguments of a call. ok is false where one is not what the
// operator takes after all.
func (w *route) write(words *libtorch.Words, a *callArgs) (ok bool) {
	for i := range w.steps {
		s := &w.steps[i]
		if s.kind == 0 {
			words.Copy(s.words)
			continue
		}
		if s.wrapped {
			words.Wrapped()
		}
		if s.count > 0 {
			words.Ints(s.count)
			for j := range s.count {
				if s.repeat {
					j = 0
				}
				words.Item(intOf(a.value(s.arg + j)))
			}
			continue
		}
		if !s.one(words, a.value(s.arg)) {
			return false
		}
	}
	return true
}

func (s *step) one(words *libtorch.Words, v any) (ok bool) {
	switch s.kind {
	case ofTensor:
		words.Tensor(&v.(*Tensor).handle)
	case ofInt:
		words.Int(intOf(v))
	case ofFloat:
		x, isFloat := v.(float64)
		if !isFloat {
			x = float64(intOf(v))
		}
		words.Float(x)
	case ofBool:
		words.Bool(v.(bool))
	case ofInts:
		return s.ints(words, v)
	case ofTensors:
		list, _ := tensorsOf(v)
		words.Tensors(len(list))
		for _, t := range list {
			words.TensorItem(&t.handle)
		}
	case ofString:
		words.Str(v.(string))
	case ofDType:
		dt := v.(DType)
		words.Int(int64(dt.C10()))
		return dt.Valid()
	case ofLayout:
		words.Int(int64(v.(Layout).C10()))
	case ofMemoryFormat:
		words.Int(int64(v.(MemoryFormat).C10()))
	case ofDevice:
		words.Device(v.(Device))
	}
	return true
}

func (s *step) ints(words *libtorch.Words, v any) (ok bool) {
	var n int
	switch v := v.(type) {
	case []int:
		n = len(v)
		words.Ints(n)
		for _, x := range v {
			words.Item(int64(x))
		}
	case []int64:
		n = len(v)
		words.Ints(n)
		for _, x := range v {
			words.Item(x)
		}
	case []any:
		n = len(v)
		words.Ints(n)
		for _, x := range v {
			words.Item(intOf(x))
		}
	}
	return s.fixed == 0 || n == s.fixed
}

func intOf(v any) int64 {
	switch v := v.(type) {
	case int:
		return int64(v)
	case int64:
		return v
	case SymInt:
		return v.n
	}
	return 0
}

func tensorsOf(v any) (list []*Tensor, ok bool) {
	switch v := v.(type) {
	case List:
		return v, true
	case Tuple:
		return v, true
	case []*Tensor:
		return v, true
	case Tensors:
		return v.list, true
	}
	return nil, false
}

// routeOf returns the route of a form, which is found where it is new; nil where the
// function remembers no more.
func (p *public) routeOf(f *callForm) *route {
	known := p.routes.Load()
	if known != nil {
		for _, r := range *known {
			if r.form.is(f) {
				return r
			}
		}
		if len(*known) >= formRoutes {
			return nil
		}
	}
	return p.addRoute(*f)
}

func (p *public) addRoute(f callForm) *route {
	for i, name := range f.names {
		f.names[i] = strings.Clone(name) // their memory is the caller's
	}
	r := p.learn(&f)
	p.learning.Lock()
	defer p.learning.Unlock()
	known := []*route{r}
	if list := p.routes.Load(); list != nil {
		known = append(slices.Clip(*list), r)
	}
	p.routes.Store(&known)
	return r
}
