package torchops

import (
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
)

// Which signature takes the arguments of a call, and how each of them goes to the
// operator, follows nearly always from the kinds of the arguments alone. So a function
// runs its parser once for each form in which it is called, and remembers the way that
// the arguments went: see [public.fast].

// A callForm is what the parser decides by: the kinds of the arguments in order, with
// those of keywords marked, and the names of these.
type callForm struct {
	kinds    [formRoom]argKind
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
	ofGenerator
	ofScope           // an option of Go's
	asKeyword argKind = 1 << 7
)

// is reports whether two forms are one.
func (f *callForm) is(g *callForm) bool {
	if f.kinds != g.kinds {
		return false
	}
	for i := range f.keywords {
		if f.names[i] != g.names[i] {
			return false
		}
	}
	return true
}

// callArgs are the arguments of a call where they lie, which is on the stack of a
// caller: nothing here keeps them.
type callArgs struct {
	args, options []any   // one after another, keywords among the last
	kw            []Kwarg // keywords that stand apart
}

// form finds the form of a call and puts what the arguments hold into slots, one for
// each; and the scope that the results join. ok is false where there is none: for
// what is traced, what is closed, and kinds that are rare or tell too little.
func (a *callArgs) form(f *callForm, s *libtorch.Slots) (scope *Scope, ok bool) {
	n := len(a.args) + len(a.options) + len(a.kw)
	if n > formRoom {
		return nil, false
	}
	s.Begin(n)
	for i := range n {
		var k Kwarg
		var isKeyword bool
		var v any
		switch j := i - len(a.args); {
		case j < 0:
			v = a.args[i]
		case j < len(a.options):
			v = a.options[j]
		default:
			k, isKeyword = a.kw[j-len(a.options)], true
		}
		if !isKeyword {
			k, isKeyword = v.(Kwarg)
		}
		if isKeyword {
			v = k.Value
		}
		var kind argKind
		switch t, _ := v.(*Tensor); {
		case t == nil || t.value.recorder != nil:
			kind = slot(s, i, v, &scope)
		case s.Tensor(i, &t.handle): // as nearly all are
			kind = ofTensor
			if in := t.scope.Load(); in != nil {
				scope = younger(scope, in)
			}
		}
		switch {
		case kind == 0:
			return nil, false
		case isKeyword:
			if kind == ofScope || f.keywords == formKeywords {
				return nil, false
			}
			f.names[f.keywords] = k.Name
			f.keywords++
			kind |= asKeyword
		case f.keywords > 0 && kind != ofScope:
			return nil, false
		}
		f.kinds[i] = kind
	}
	return scope, true
}

// n is how many arguments there are.
func (f *callForm) n() int {
	n := slices.Index(f.kinds[:], 0)
	if n < 0 {
		n = formRoom
	}
	return n
}

// slot puts an argument that is no tensor into a slot and returns its kind, 0 for those that have no
// place in a form.
func slot(s *libtorch.Slots, i int, v any, scope **Scope) argKind {
	switch v := v.(type) {
	case *Tensor:
		if v == nil {
			return ofNone
		}
	case int:
		s.Int(i, int64(v))
		return ofInt
	case int64:
		s.Int(i, v)
		return ofInt
	case float64:
		s.Float(i, v)
		return ofFloat
	case bool:
		s.Bool(i, v)
		return ofBool
	case nil:
		return ofNone
	case []int:
		return ints(s, i, v)
	case []int64:
		return ints(s, i, v)
	case []any:
		return mixedInts(s, i, v)
	case List:
		return tensors(s, i, v, scope)
	case []*Tensor:
		return tensors(s, i, v, scope)
	case Tuple:
		return tensors(s, i, v, scope)
	case Tensors:
		if v.value.recorder == nil {
			return tensors(s, i, v.list, scope)
		}
	case SymInt:
		if !v.Traced() {
			s.Int(i, v.n)
			return ofInt
		}
	case string:
		if s.Str(i, v) {
			return ofString
		}
	case DType:
		if v.Valid() {
			s.Int(i, int64(v.C10()))
			return ofDType
		}
	case Layout:
		s.Int(i, int64(v.C10()))
		return ofLayout
	case MemoryFormat:
		s.Int(i, int64(v.C10()))
		return ofMemoryFormat
	case Device:
		s.Device(i, v)
		return ofDevice
	case *Generator:
		if v != nil && s.Generator(i, v) {
			return ofGenerator
		}
	case inScope:
		*scope = younger(*scope, v.scope)
		return ofScope
	}
	return 0
}

// The parser takes an empty list for one of anything.

func ints[T int | int64](s *libtorch.Slots, i int, list []T) argKind {
	at, ok := s.List(i, len(list))
	if !ok || len(list) == 0 {
		return 0
	}
	for j, n := range list {
		s.Int(at+j, int64(n))
	}
	return ofInts
}

func mixedInts(s *libtorch.Slots, i int, list []any) argKind {
	at, ok := s.List(i, len(list))
	if !ok || len(list) == 0 {
		return 0
	}
	for j, item := range list {
		switch n := item.(type) {
		case int:
			s.Int(at+j, int64(n))
		case int64:
			s.Int(at+j, n)
		default:
			return 0
		}
	}
	return ofInts
}

func tensors(s *libtorch.Slots, i int, list []*Tensor, scope **Scope) argKind {
	at, ok := s.List(i, len(list))
	if !ok || len(list) == 0 {
		return 0
	}
	for j, t := range list {
		if !isReal(t) || !s.Tensor(at+j, &t.handle) {
			return 0
		}
		*scope = younger(*scope, t.scope.Load())
	}
	return ofTensors
}

func isReal(t *Tensor) bool { return t != nil && t.value.recorder == nil }
