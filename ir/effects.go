package ir

import (
	"slices"
	"strings"
)

// Effects are what an operator does beside computing its results from its
// arguments, read from its schema and tags: the one answer for removing,
// reordering, merging and folding nodes and for planning memory.
type Effects struct {
	Writes    []int // positions of the arguments that are written, or whose items are
	Updates   []int // positions of arguments that may be written though the schema does not say so; see [Effects.Settle]
	Flag      int   // position of the bool that Updates wait for; -1 where there is none and they are always written
	Random    bool  // draws random numbers: tagged so, or with a generator as argument
	Assertion bool  // returns nothing and writes nothing: it is there to check, print or set something
	View      bool  // a result shares memory with an argument that is not written
	MayAlias  bool  // a result may share memory with an argument, depending on the values
	Opaque    bool  // touches objects that the schema says nothing about: packed weights, streams, process groups
}

// Effects returns the effects of the operator. The result does not depend on
// the arguments of a call, so that it is the worst case.
//
// Batch and instance norm are the one family with unmarked writes: their
// optional running statistics change when they train (see testdata/effects).
func (s *Schema) Effects() Effects {
	e := Effects{
		Flag:     -1,
		Random:   s.Tags.Has(TagNondeterministicSeeded),
		MayAlias: s.Tags.Has(TagMaybeAliasingOrMutating),
		Opaque:   s.VarArgs || s.Namespace() == "profiler", // whose handles are tensors in the schema
	}
	var written []string
	for i := range s.Args {
		a := &s.Args[i]
		if a.Alias.writes() {
			e.Writes = append(e.Writes, i)
			written = append(written, a.Alias.entry()...)
		}
		e.Opaque = e.Opaque || a.Type.isOpaque()
		e.Random = e.Random || a.Type.Required().Kind == TypeGenerator
	}
	for i := range s.Returns {
		e.Opaque = e.Opaque || s.Returns[i].Type.isOpaque()
		for _, set := range s.Returns[i].Alias.exit() {
			e.View = e.View || !slices.Contains(written, set)
		}
	}
	e.Assertion = len(s.Returns) == 0 && !s.VarReturns && len(e.Writes) == 0
	s.runningStats(&e)
	return e
}

// runningStats finds unmarked running statistics: optional tensors of that
// name beside a momentum. In functional forms they are not optional, in
// backward forms there is no momentum.
func (s *Schema) runningStats(e *Effects) {
	if _, ok := s.Arg("momentum"); !ok {
		if _, ok = s.Arg("exponential_average_factor"); !ok {
			return
		}
	}
	if strings.HasSuffix(s.Name(), "_no_update") {
		return
	}
	for _, name := range []string{"running_mean", "running_var"} {
		if i, ok := s.Arg(name); ok && s.Args[i].Type.Kind == TypeOptional && !s.Args[i].Alias.writes() {
			e.Updates = append(e.Updates, i)
		}
	}
	for _, name := range []string{"training", "use_input_stats"} {
		if i, ok := s.Arg(name); ok && e.Updates != nil {
			e.Flag = i
		}
	}
}

// isOpaque reports whether values of the type are objects with a state of
// their own.
func (t *Type) isOpaque() bool {
	switch t.Kind {
	case TypeStorage, TypeStream, TypeAny, TypeFuture, TypeClass, TypeVar:
		return true
	case TypeOptional, TypeList:
		return t.Elem.isOpaque()
	}
	return slices.ContainsFunc(t.Elems, func(e Type) bool { return e.isOpaque() })
}

// Settle returns the effects of one call. arg returns the argument at a position
// of the schema; the nil interface means that it is not known. Updates become
// Writes where the call does write them, and go away where it does not; both for
// as far as the literals among the arguments tell.
func (e Effects) Settle(arg func(i int) Arg) Effects {
	if len(e.Updates) == 0 {
		return e
	}
	flag := Arg(Bool(true))
	if e.Flag >= 0 {
		flag = arg(e.Flag)
	}
	updates := slices.DeleteFunc(slices.Clone(e.Updates), func(i int) bool { return arg(i) == None{} })
	switch flag {
	case Bool(true):
		e.Writes = slices.Sorted(slices.Values(append(slices.Clone(e.Writes), updates...)))
		e.Updates = nil
	case Bool(false):
		e.Updates = nil
	default:
		e.Updates = updates
	}
	return e
}

// Pure reports whether a call whose results nobody uses can be removed, and one
// with the same arguments can take its place.
func (e Effects) Pure() bool {
	return len(e.Writes) == 0 && len(e.Updates) == 0 && !e.Random && !e.Assertion && !e.Opaque
}

// Aliases returns the positions of the arguments with which result i shares
// memory by the schema: the one it views, or the one that was written and is
// returned. A result in the alias set "*" may share memory with any tensor
// among the arguments.
func (s *Schema) Aliases(i int) []int {
	sets := s.Returns[i].Alias.exit()
	if len(sets) == 0 {
		return nil
	}
	var at []int
	for k := range s.Args {
		a := &s.Args[k]
		shared := slices.Contains(sets, "*") && a.Type.HasTensor()
		for _, set := range a.Alias.entry() {
			shared = shared || slices.Contains(sets, set)
		}
		if shared {
			at = append(at, k)
		}
	}
	return at
}
