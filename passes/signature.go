package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// A ParameterKind says how a parameter takes its argument, as
// inspect.Parameter.kind does in Python.
type ParameterKind uint8

// The kinds.
const (
	PositionalOrKeyword ParameterKind = iota // x
	PositionalOnly                           // x, /
	KeywordOnly                              // *, x
	VarPositional                            // *x
	VarKeyword                               // **x
)

// A Parameter is one parameter of a [Signature].
type Parameter struct {
	Name    string
	Kind    ParameterKind
	Default ir.Arg  // nil where the argument is required
	Type    ir.Type // of a schema; the zero Type where nothing says
}

// A Signature is how a function takes its arguments.
type Signature struct{ Params []Parameter }

// SignatureOf returns the signature of an operator as Python sees it: the first
// tensor, which schemas call self, is called input, and a parameter called from,
// a word of Python's, and those before it go by position only.
func SignatureOf(s *ir.Schema) *Signature {
	sig := &Signature{Params: make([]Parameter, 0, len(s.Args))}
	for _, a := range s.Args {
		p := Parameter{Name: a.Name, Default: a.Default, Type: a.Type}
		if a.KeywordOnly {
			p.Kind = KeywordOnly
		}
		if p.Name == "self" {
			p.Name = "input"
		}
		sig.Params = append(sig.Params, p)
		if p.Name == "from" {
			for i := range sig.Params {
				sig.Params[i].Kind = PositionalOnly
			}
		}
	}
	return sig
}

// A Bound is the arguments of a call by parameter.
type Bound struct {
	sig    *Signature
	values map[string]ir.Arg // without those left to their defaults
	rest   []ir.Arg          // of a parameter *x
	others []ir.Keyword      // of a parameter **x
}

// Arg returns the argument of a parameter, its default where the call leaves it
// out. ok is false where there is neither. A parameter *x has a tuple, **x a dict.
func (b *Bound) Arg(name string) (a ir.Arg, ok bool) {
	if a, ok := b.values[name]; ok {
		return a, true
	}
	i := b.sig.index(name)
	if i < 0 {
		return nil, false
	}
	switch p := b.sig.Params[i]; p.Kind {
	case VarPositional:
		return ir.TupleOf(b.rest...), true
	case VarKeyword:
		var pairs []ir.Pair
		for _, k := range b.others {
			pairs = append(pairs, ir.Pair{Key: ir.Str(k.Name), Value: k.Value})
		}
		return ir.DictOf(pairs...), true
	default:
		return p.Default, p.Default != nil
	}
}

// Given reports whether the call has an argument for a parameter.
func (b *Bound) Given(name string) bool { _, ok := b.values[name]; return ok }

func (s *Signature) index(name string) int {
	return slices.IndexFunc(s.Params, func(p Parameter) bool { return p.Name == name })
}

// Bind finds the parameter of every argument of a call, as Python does: an error
// of class ir.ErrType says which parameter has no argument, which has two, or what
// argument there is no parameter for.
func (s *Signature) Bind(args []ir.Arg, kwargs []ir.Keyword) (*Bound, error) {
	b := &Bound{sig: s, values: make(map[string]ir.Arg, len(s.Params))}
	named := make(map[string]ir.Arg, len(kwargs))
	for _, k := range kwargs {
		named[k.Name] = k.Value
	}
	next, takesRest, takesOthers := 0, false, false
	for _, p := range s.Params {
		switch p.Kind {
		case VarPositional:
			takesRest = true
			b.rest = append(b.rest, args[next:]...)
			next = len(args)
			continue
		case VarKeyword:
			takesOthers = true
			continue
		}
		byPosition := p.Kind != KeywordOnly && next < len(args)
		value, byName := named[p.Name]
		switch {
		case p.Kind == PositionalOnly && byName && !s.takesOthers():
			return nil, ir.Errorf(ir.ErrType, "bind: expected '%s' by position, got it as a keyword: it is positional only", p.Name)
		case byPosition && byName && p.Kind != PositionalOnly:
			return nil, ir.Errorf(ir.ErrType, "bind: multiple values for argument '%s'", p.Name)
		case byPosition:
			b.values[p.Name] = args[next]
			next++
		case byName && p.Kind != PositionalOnly:
			b.values[p.Name] = value
			delete(named, p.Name)
		case p.Default == nil && p.Kind == KeywordOnly:
			return nil, ir.Errorf(ir.ErrType, "bind: missing a required keyword-only argument: '%s'", p.Name)
		case p.Default == nil:
			return nil, ir.Errorf(ir.ErrType, "bind: missing a required argument: '%s'", p.Name)
		}
	}
	if next < len(args) && !takesRest {
		return nil, ir.Errorf(ir.ErrType, "bind: too many positional arguments: expected %d, got %d", next, len(args))
	}
	for _, k := range kwargs {
		if _, left := named[k.Name]; !left {
			continue
		}
		if !takesOthers {
			return nil, ir.Errorf(ir.ErrType, "bind: got an unexpected keyword argument '%s'", k.Name)
		}
		b.others = append(b.others, k)
	}
	return b, nil
}

func (s *Signature) takesOthers() bool {
	return slices.ContainsFunc(s.Params, func(p Parameter) bool { return p.Kind == VarKeyword })
}

// normalize binds a call and writes it out in the order of the parameters with all
// defaults: the first len(args) by position, unless only keywords are wanted, the
// others by name. ok is false for a signature that cannot be written so.
func (s *Signature) normalize(args []ir.Arg, kwargs []ir.Keyword, onlyKwargs bool) (newArgs []ir.Arg, newKwargs []ir.Keyword, ok bool, err error) {
	for _, p := range s.Params {
		if p.Kind != PositionalOrKeyword && p.Kind != KeywordOnly && !s.isUniform() {
			return nil, nil, false, nil
		}
	}
	b, err := s.Bind(args, kwargs)
	if err != nil {
		return nil, nil, false, err
	}
	for i, p := range s.Params {
		a, _ := b.Arg(p.Name)
		if !onlyKwargs && i < len(args) {
			newArgs = append(newArgs, a)
		} else {
			newKwargs = append(newKwargs, ir.Kw(p.Name, a))
		}
	}
	return newArgs, newKwargs, true, nil
}

// isUniform reports whether this is uniform_(self, from, to, *, generator), which
// is written with keywords although from is a word of Python's.
func (s *Signature) isUniform() bool {
	return slices.EqualFunc(s.Params, []string{"input", "from", "to", "generator"}, func(p Parameter, name string) bool { return p.Name == name })
}
