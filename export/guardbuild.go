package export

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// buildGuards makes the guards of a program: from the values that its inputs
// had at export, its ranges, and the texts of guards_code.
func buildGuards(p *Program, nodes []*ir.Node, texts []string, record string, f *faults) *Guards {
	g := &Guards{checks: DefaultChecks}
	paths := leafPaths(p.InSpec, p.ArgNames)
	for i, spec := range p.Signature.Inputs {
		if spec.Kind != UserInput || i >= len(nodes) {
			continue
		}
		in := guardInput{constant: spec.Constant}
		if at := len(g.inputs); at < len(paths) {
			in.path, in.name = paths[at], pathText(paths[at])
		} else {
			in.path, in.name = []ir.Arg{ir.Str(spec.Name)}, spec.Name
		}
		if spec.Constant == nil {
			g.expect(&in, nodes[i].Meta().Get(ir.MetaVal), p.Ranges)
		}
		g.inputs = append(g.inputs, in)
	}
	for _, text := range texts {
		cond, err := g.condition(text)
		if err != nil {
			f.warn("%s: guard %q is not understood and not checked: %v", record, clip(text), err)
			continue
		}
		g.conds = append(g.conds, cond)
	}
	return g
}

// expect notes what is known of an input's value.
func (g *Guards) expect(in *guardInput, val any, ranges []Range) {
	switch v := val.(type) {
	case ir.TensorMeta:
		in.dtype = v.DType
		for _, s := range v.Sizes {
			in.dims = append(in.dims, g.dimOf(s.Expr(), s.Hint(), ranges))
		}
	case ir.SymScalar:
		if v.Kind != ir.TypeSymInt || v.Expr == nil {
			in.free = true
			return
		}
		in.scalar = true
		hint, _ := v.Hint.(ir.Int)
		in.dims = []guardDim{g.dimOf(v.Expr, int64(hint), ranges)}
	default:
		in.free = true
	}
}

func (g *Guards) dimOf(e *ir.Expr, size int64, ranges []Range) guardDim {
	d := guardDim{size: size, expr: e, symbol: -1, bound: unbound}
	if e == nil {
		return d
	}
	for _, s := range e.Symbols() {
		if !slices.Contains(g.symbols, s) {
			g.symbols = append(g.symbols, s)
		}
	}
	if s, ok := e.Symbol(); ok {
		d.symbol = slices.Index(g.symbols, s)
	}
	for _, r := range ranges {
		if r.Expr != nil && r.Expr.String() == e.String() {
			d.bound = bound{r.Min, r.Max}
		}
	}
	return d
}

// condition parses one text of guards_code and finds its places among the
// inputs.
func (g *Guards) condition(text string) (condition, error) {
	e, err := ir.ParseGuard(text)
	if err != nil {
		return condition{}, err
	}
	c := condition{expr: e, text: text, places: map[string]place{}}
	for _, s := range e.Symbols() {
		gp, err := ir.ParseGuardPlace(s)
		if err != nil {
			return condition{}, err
		}
		at := g.find(gp.Path)
		switch {
		case at < 0:
			return condition{}, ir.Errorf(ir.ErrKey, "%s is none of the inputs (%s)", clip(s), strings.Join(g.Names(), ", "))
		case gp.Of == "size" && gp.Dim >= 0:
			c.places[s] = place{at, gp.Dim}
		case gp.Of == "":
			c.places[s] = place{at, -1}
		default:
			return condition{}, ir.Errorf(ir.ErrUnsupported, "%s of an input is not checked", gp.Of)
		}
	}
	return c, nil
}

// find returns the input at a path. Texts that come from before an argument
// list was flattened name its items L['args'][0] or L['flat_args'][0].
func (g *Guards) find(path []ir.Arg) int {
	same := func(want []ir.Arg) int {
		return slices.IndexFunc(g.inputs, func(in guardInput) bool { return slices.EqualFunc(in.path, want, ir.EqualArgs) })
	}
	if at := same(path); at >= 0 || len(path) < 2 {
		return at
	}
	base, isName := path[0].(ir.Str)
	i, isIndex := path[1].(ir.Int)
	if !isName || !isIndex {
		return -1
	}
	if base == "flat_args" && len(path) == 2 && i >= 0 && int(i) < len(g.inputs) {
		return int(i)
	}
	joined := ir.Str(string(base) + "_" + ir.Repr(i))
	return same(append([]ir.Arg{joined}, path[2:]...))
}
