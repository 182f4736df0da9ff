package ir

import (
	"fmt"
	"iter"
	"math"
	"slices"
)

// An Arg is one argument value of a node: a node, a literal or a container of
// these. Args are immutable; a changed argument is a new value, and the setters
// of [Node] keep the users of nodes right. The implementations are
//
//	*Node                                  the value that a node yields
//	None Bool Int BigInt Float Complex Str literals
//	Ellipsis Range Enum                    more of Python's literals
//	DType Device Layout MemoryFormat       PyTorch's literals
//	*Func                                  a function passed as a value
//	List Tuple Dict Slice NamedTuple       containers
//	Opaque                                 anything else that the user's program knows
type Arg interface{ arg() }

// The literals.
type (
	None     struct{}   // Python's None
	Bool     bool       // Python's bool
	Int      int64      // Python's int, as far as 64 bits go
	BigInt   string     // Python's int beyond that, in decimal digits
	Float    float64    // Python's float
	Complex  complex128 // Python's complex
	Str      string     // Python's str
	Ellipsis struct{}   // Python's ...
	Range    struct {   // Python's range object
		Start, Stop, Step int64
	}
	// Opaque is a value with no meaning in the IR, compared by ==. It prints what
	// its Repr method returns, if it has one, as its Python repr.
	Opaque struct{ Value any }
)

// An Enum is a member of a Python enum class.
type Enum struct {
	Class  *Func  // the class
	Member string // its name, "RED"
	Value  Arg    // its value, a literal
	IsInt  bool   // the class is an IntEnum, whose str is the number
}

// String returns Python's repr of the range.
func (r Range) String() string {
	if r.Step == 1 {
		return fmt.Sprintf("range(%d, %d)", r.Start, r.Stop)
	}
	return fmt.Sprintf("range(%d, %d, %d)", r.Start, r.Stop, r.Step)
}

func (*Node) arg()        {}
func (None) arg()         {}
func (Bool) arg()         {}
func (Int) arg()          {}
func (BigInt) arg()       {}
func (Enum) arg()         {}
func (Float) arg()        {}
func (Complex) arg()      {}
func (Str) arg()          {}
func (Ellipsis) arg()     {}
func (Range) arg()        {}
func (Opaque) arg()       {}
func (DType) arg()        {}
func (Device) arg()       {}
func (Layout) arg()       {}
func (MemoryFormat) arg() {}
func (*Func) arg()        {}
func (List) arg()         {}
func (Tuple) arg()        {}
func (Dict) arg()         {}
func (Slice) arg()        {}
func (NamedTuple) arg()   {}

// seq is the immutable sequence behind List and Tuple.
type seq struct{ items []Arg }

// Len returns the number of items.
func (s seq) Len() int { return len(s.items) }

// At returns item i; it panics as a slice does when i is out of range.
func (s seq) At(i int) Arg { return s.items[i] }

// All yields the items with their positions.
func (s seq) All() iter.Seq2[int, Arg] { return slices.All(s.items) }

// A List is Python's list; use [ListOf].
type List struct{ seq }

// ListOf returns the list of items, which are copied; nil stands for [None].
func ListOf(items ...Arg) List { return List{seqOf(items)} }

func seqOf(items []Arg) seq {
	items = slices.Clone(items)
	noNil(items)
	return seq{items}
}

// noNil puts None where an argument was left out.
func noNil(items []Arg) {
	for i, a := range items {
		if a == nil {
			items[i] = None{}
		}
	}
}

// A Tuple is Python's tuple; use [TupleOf].
type Tuple struct{ seq }

// TupleOf returns the tuple of items, which are copied; nil stands for [None].
func TupleOf(items ...Arg) Tuple { return Tuple{seqOf(items)} }

// IntList returns a list of integers, as sizes and strides are written.
func IntList[T ~int | ~int64](values ...T) List {
	items := make([]Arg, len(values))
	for i, v := range values {
		items[i] = Int(v)
	}
	return List{seq{items}}
}

// A Slice is Python's slice(start, stop, step); an absent part is [None] or nil.
type Slice struct{ Start, Stop, Step Arg }

// A Pair is one entry of a Dict.
type Pair struct{ Key, Value Arg }

// A Dict is Python's dict, in insertion order; use [DictOf].
type Dict struct{ pairs []Pair }

// DictOf returns the dict of pairs, which are copied. Of equal keys the last
// value counts and the first place, as in Python.
func DictOf(pairs ...Pair) Dict {
	out := make([]Pair, 0, len(pairs))
	texts := map[Str]int{} // most keys are strings, and there may be many
	for _, p := range pairs {
		if p.Value == nil {
			p.Value = None{}
		}
		i := -1
		if key, ok := p.Key.(Str); !ok {
			i = slices.IndexFunc(out, func(q Pair) bool { return EqualArgs(p.Key, q.Key) })
		} else if j, ok := texts[key]; ok {
			i = j
		} else {
			texts[key] = len(out)
		}
		if i >= 0 {
			out[i].Value = p.Value
		} else {
			out = append(out, p)
		}
	}
	return Dict{out}
}

// Len returns the number of entries.
func (d Dict) Len() int { return len(d.pairs) }

// All yields the entries in order.
func (d Dict) All() iter.Seq2[Arg, Arg] {
	return func(yield func(Arg, Arg) bool) {
		for _, p := range d.pairs {
			if !yield(p.Key, p.Value) {
				return
			}
		}
	}
}

// Get returns the value under key.
func (d Dict) Get(key Arg) (Arg, bool) {
	for _, p := range d.pairs {
		if EqualArgs(p.Key, key) {
			return p.Value, true
		}
	}
	return nil, false
}

// A NamedTuple is an instance of a namedtuple class.
type NamedTuple struct {
	Type   *Func    // the class, which is also what builds one
	Fields []string // one name per item; not to be changed
	seq
}

// NamedTupleOf returns an instance of class with its fields and items.
func NamedTupleOf(class *Func, fields []string, items ...Arg) NamedTuple {
	return NamedTuple{class, slices.Clone(fields), seqOf(items)}
}

// MapArg rebuilds a with f applied to every leaf: every value that is no
// container. Dict keys stay. A container in which nothing changed is returned
// as it is. Same walk as torch.fx.node.map_aggregate.
func MapArg(a Arg, f func(Arg) Arg) Arg {
	switch a := a.(type) {
	case List:
		if items, changed := mapItems(a.items, f); changed {
			return List{seq{items}}
		}
		return a
	case Tuple:
		if items, changed := mapItems(a.items, f); changed {
			return Tuple{seq{items}}
		}
		return a
	case NamedTuple:
		if items, changed := mapItems(a.items, f); changed {
			return NamedTuple{a.Type, a.Fields, seq{items}}
		}
		return a
	case Dict:
		var pairs []Pair
		for i, p := range a.pairs {
			m := MapArg(p.Value, f)
			if pairs == nil && identical(m, p.Value) {
				continue
			}
			if pairs == nil {
				pairs = slices.Clone(a.pairs)
			}
			pairs[i].Value = m
		}
		if pairs != nil {
			return Dict{pairs}
		}
		return a
	case Slice:
		return Slice{MapArg(a.Start, f), MapArg(a.Stop, f), MapArg(a.Step, f)}
	case nil:
		return f(None{})
	default:
		return f(a)
	}
}

func mapItems(items []Arg, f func(Arg) Arg) (mapped []Arg, changed bool) {
	for i, item := range items {
		m := MapArg(item, f)
		if mapped == nil && identical(m, item) {
			continue
		}
		if mapped == nil {
			mapped = slices.Clone(items)
		}
		mapped[i] = m
	}
	return mapped, mapped != nil
}

// identical reports whether two args are the same value, containers by their
// storage alone, so that it costs nothing.
func identical(a, b Arg) bool {
	switch a := a.(type) {
	case List:
		b, ok := b.(List)
		return ok && sameItems(a.items, b.items)
	case Tuple:
		b, ok := b.(Tuple)
		return ok && sameItems(a.items, b.items)
	case NamedTuple:
		b, ok := b.(NamedTuple)
		return ok && a.Type == b.Type && sameItems(a.items, b.items)
	case Dict:
		b, ok := b.(Dict)
		return ok && sameItems(a.pairs, b.pairs)
	case Slice:
		b, ok := b.(Slice)
		return ok && identical(a.Start, b.Start) && identical(a.Stop, b.Stop) && identical(a.Step, b.Step)
	default:
		return EqualArgs(a, b)
	}
}

func sameItems[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// MapNodes rebuilds a with f applied to every node in it. Same walk as
// torch.fx.node.map_arg.
func MapNodes(a Arg, f func(*Node) Arg) Arg {
	return MapArg(a, func(leaf Arg) Arg {
		if n, ok := leaf.(*Node); ok {
			return f(n)
		}
		return leaf
	})
}

// Walk calls f on every leaf of a, in order.
func Walk(a Arg, f func(Arg)) {
	switch a := a.(type) {
	case List:
		for _, item := range a.items {
			Walk(item, f)
		}
	case Tuple:
		for _, item := range a.items {
			Walk(item, f)
		}
	case NamedTuple:
		for _, item := range a.items {
			Walk(item, f)
		}
	case Dict:
		for _, p := range a.pairs {
			Walk(p.Value, f)
		}
	case Slice:
		Walk(a.Start, f)
		Walk(a.Stop, f)
		Walk(a.Step, f)
	case nil:
		f(None{})
	default:
		f(a)
	}
}

// EqualArgs reports whether a and b have the same type and value; containers
// are compared item by item, nodes by identity. This is equality of programs,
// not of numbers: NaN equals NaN, 0.0 and -0.0 differ, and so do 1, 1.0 and True.
func EqualArgs(a, b Arg) bool {
	switch a := a.(type) {
	case nil, None:
		return b == nil || b == Arg(None{})
	case List:
		b, ok := b.(List)
		return ok && slices.EqualFunc(a.items, b.items, EqualArgs)
	case Tuple:
		b, ok := b.(Tuple)
		return ok && slices.EqualFunc(a.items, b.items, EqualArgs)
	case NamedTuple:
		b, ok := b.(NamedTuple)
		return ok && a.Type == b.Type && slices.EqualFunc(a.items, b.items, EqualArgs)
	case Dict:
		b, ok := b.(Dict)
		return ok && slices.EqualFunc(a.pairs, b.pairs, func(p, q Pair) bool {
			return EqualArgs(p.Key, q.Key) && EqualArgs(p.Value, q.Value)
		})
	case Slice:
		b, ok := b.(Slice)
		return ok && EqualArgs(a.Start, b.Start) && EqualArgs(a.Stop, b.Stop) && EqualArgs(a.Step, b.Step)
	case Float:
		b, ok := b.(Float)
		return ok && sameFloat(float64(a), float64(b))
	case Complex:
		b, ok := b.(Complex)
		return ok && sameFloat(real(a), real(b)) && sameFloat(imag(a), imag(b))
	case Enum:
		b, ok := b.(Enum)
		return ok && a.Class == b.Class && a.Member == b.Member
	case Opaque:
		b, ok := b.(Opaque)
		return ok && sameOpaque(a.Value, b.Value)
	default:
		return a == b
	}
}

func sameFloat(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// sameOpaque compares with == and takes incomparable values as different.
func sameOpaque(a, b any) (same bool) {
	defer func() { _ = recover() }()
	return a == b
}
