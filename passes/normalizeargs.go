package passes

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A NormalizeOption changes how arguments are normalised.
type NormalizeOption func(*normalizer)

type normalizer struct {
	argTypes   []PyType
	kwargTypes map[string]PyType
	typed      bool
	onlyKwargs bool
}

// ArgTypes gives the types of the arguments, by which one of several overloads that
// the call fits is chosen. Default: a call that fits several is an error.
func ArgTypes(args []PyType, kwargs map[string]PyType) NormalizeOption {
	return func(n *normalizer) { n.argTypes, n.kwargTypes, n.typed = args, kwargs, true }
}

// OnlyKwargs gives every argument by keyword. Default: those that the call has by
// position stay there. [NormalizeArgs] has it the other way round, see
// [KeepPositional].
func OnlyKwargs() NormalizeOption { return func(n *normalizer) { n.onlyKwargs = true } }

// KeepPositional leaves the arguments that a call has by position there. Default,
// for [NormalizeArgs] alone: every argument is given by keyword.
func KeepPositional() NormalizeOption { return func(n *normalizer) { n.onlyKwargs = false } }

func newNormalizer(opts []NormalizeOption) (*normalizer, error) {
	if err := ir.CheckOptions("normalize", opts); err != nil {
		return nil, err
	}
	n := &normalizer{}
	for _, o := range opts {
		o(n)
	}
	return n, nil
}

// NormalizeFunction writes the arguments of a call of f out in the order of its
// parameters, with all defaults. The names are those of Python: what schemas call
// self is input. ok is false, and the call to be left as it is, where the signature
// of f is not known, or takes arguments by position only or any number of them, or
// where the call fits none of the overloads.
//
// It fails with class ir.ErrRuntime, listing the schemas, when the call fits several
// overloads and [ArgTypes] does not say which, and with class ir.ErrType when it does
// not fit a function written in Python. Same as
// torch.fx.operator_schemas.normalize_function.
func NormalizeFunction(f *ir.Func, args []ir.Arg, kwargs []ir.Keyword, opts ...NormalizeOption) (newArgs []ir.Arg, newKwargs []ir.Keyword, ok bool, err error) {
	z, err := newNormalizer(opts)
	if err != nil {
		return nil, nil, false, err
	}
	return z.function(f, args, kwargs)
}

func (z *normalizer) function(f *ir.Func, args []ir.Arg, kwargs []ir.Keyword) ([]ir.Arg, []ir.Keyword, bool, error) {
	if sig := pythonSignature(f.Name()); sig != nil {
		return sig.normalize(args, kwargs, z.onlyKwargs)
	}
	var fits []*Signature
	all := SignaturesOf(f)
	for _, s := range all {
		if _, err := s.Bind(args, kwargs); err == nil {
			fits = append(fits, s)
		}
	}
	switch {
	case len(fits) == 0:
		return nil, nil, false, nil
	case len(fits) == 1:
		return fits[0].normalize(args, kwargs, z.onlyKwargs)
	case !z.typed:
		var b strings.Builder
		for _, s := range fits {
			b.WriteString("\n" + s.String())
		}
		return nil, nil, false, ir.Errorf(ir.ErrRuntime, "Tried to normalize arguments to %s but the schema match was ambiguous! "+
			"Please provide argument types to the normalize_arguments() call. Available schemas:%s", f.Name(), b.String())
	}
	for _, s := range fits {
		if s.matches(z.argTypes, z.kwargTypes) {
			return s.normalize(args, kwargs, z.onlyKwargs)
		}
	}
	return nil, nil, false, nil
}

// matches reports whether arguments of these types go into the parameters.
func (s *Signature) matches(args []PyType, kwargs map[string]PyType) bool {
	position := 0
	for _, p := range s.Params {
		t, given := kwargs[p.Name]
		if p.Kind != KeywordOnly && position < len(args) {
			t, given = args[position], true
			position++
		}
		if given && !TypeMatches(p.Type, t) {
			return false
		}
	}
	return position == len(args)
}

// String returns the parameters as Python writes them, "(input, other, *, alpha=1)".
func (s *Signature) String() string {
	var parts []string
	star, slash := false, false
	for i, p := range s.Params {
		text := p.Name
		switch p.Kind {
		case VarPositional:
			text, star = "*"+text, true
		case VarKeyword:
			text = "**" + text
		case KeywordOnly:
			if !star {
				parts, star = append(parts, "*"), true
			}
		}
		if t := p.Type.String(); t != "" && p.Type.Kind != 0 {
			text += ": " + t
		}
		if p.Default != nil {
			text += "=" + ir.Repr(p.Default)
		}
		parts = append(parts, text)
		if p.Kind == PositionalOnly && !slash && (i+1 == len(s.Params) || s.Params[i+1].Kind != PositionalOnly) {
			parts, slash = append(parts, "/"), true
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// NormalizeModule does what [NormalizeFunction] does for the call of the module at
// a path of m; ok is false unless that is a layer of torch.nn itself. It fails with
// class ir.ErrRuntime when there is no module. Same as
// torch.fx.operator_schemas.normalize_module.
func NormalizeModule(m *ir.GraphModule, path string, args []ir.Arg, kwargs []ir.Keyword, opts ...NormalizeOption) (newArgs []ir.Arg, newKwargs []ir.Keyword, ok bool, err error) {
	if m == nil {
		return nil, nil, false, ir.Errorf(ir.ErrInput, "normalize: expected a graph module, got nil")
	}
	z, err := newNormalizer(opts)
	if err != nil {
		return nil, nil, false, err
	}
	return z.module(m, path, args, kwargs)
}

func (z *normalizer) module(m *ir.GraphModule, path string, args []ir.Arg, kwargs []ir.Keyword) ([]ir.Arg, []ir.Keyword, bool, error) {
	v, found := m.Attr(path)
	if !found {
		return nil, nil, false, ir.Errorf(ir.ErrRuntime, "Tried to normalize node with target %s but root did not have that target!", path)
	}
	sig := pythonSignature(moduleClass(v))
	if sig == nil {
		return nil, nil, false, nil
	}
	return sig.normalize(args, kwargs, z.onlyKwargs)
}

// NormalizedArguments does it for a node: [NormalizeFunction] for a call of a
// function, [NormalizeModule] for one of a module of m; ok is false for any other.
// Same as torch.fx.Node.normalized_arguments.
func NormalizedArguments(m *ir.GraphModule, n *ir.Node, opts ...NormalizeOption) (args []ir.Arg, kwargs []ir.Keyword, ok bool, err error) {
	switch n.Op() {
	case ir.CallFunction:
		return NormalizeFunction(n.Func(), n.Args(), n.Kwargs(), opts...)
	case ir.CallModule:
		return NormalizeModule(m, n.Target().String(), n.Args(), n.Kwargs(), opts...)
	}
	return nil, nil, false, nil
}

// NormalizeArgs writes the arguments of every call of a function or layer whose
// signature is known by keyword, in the order of the parameters and with all
// defaults, and returns the nodes that it changed. Where a call fits several
// overloads the types of its arguments decide, those of nodes as [ShapeProp] noted
// them; where they do not, it stays as it is.
//
// It fails, having changed nothing, with class ir.ErrType at a call that does not
// fit its function. Follows torch.fx.experimental.normalize.NormalizeArgs, which
// makes a new module and takes the type of the result for that of each argument.
func NormalizeArgs(m *ir.GraphModule, opts ...NormalizeOption) ([]*ir.Node, error) {
	if err := given("normalize", m, opts); err != nil {
		return nil, err
	}
	type change struct {
		node   *ir.Node
		args   []ir.Arg
		kwargs []ir.Keyword
	}
	var changes []change
	for n := range m.Graph().Nodes() {
		z, err := newNormalizer(append([]NormalizeOption{OnlyKwargs()}, opts...))
		if err != nil {
			return nil, err
		}
		z.typed, z.kwargTypes = true, map[string]PyType{}
		z.argTypes = nil
		for _, a := range n.Args() {
			z.argTypes = append(z.argTypes, TypeOf(a))
		}
		for _, k := range n.Kwargs() {
			z.kwargTypes[k.Name] = TypeOf(k.Value)
		}
		var c change
		var ok bool
		switch n.Op() {
		case ir.CallFunction:
			c.args, c.kwargs, ok, err = z.function(n.Func(), n.Args(), n.Kwargs())
		case ir.CallModule:
			c.args, c.kwargs, ok, err = z.module(m, n.Target().String(), n.Args(), n.Kwargs())
		}
		if err != nil {
			return nil, ir.Errorf(ir.ClassOf(err), "normalize %s: %w", n, err)
		}
		if ok {
			c.node = n
			changes = append(changes, c)
		}
	}
	var nodes []*ir.Node
	for _, c := range changes {
		c.node.SetOperands(c.args, c.kwargs)
		nodes = append(nodes, c.node)
	}
	return nodes, nil
}
