package export

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// buildGuards makes the guards of a program: from the values that its inputs
// had at export, its ranges, and the texts of guards_code.
func buildGuards(p *Program, nodes []*ir.Node, texts []string, record string, f *faults) *Guards {
	g := &Guards{checks: DefaultChecks, places: map[string]int{}, symbols: map[string]int{}}
	paths := leafPaths(p.InSpec, p.ArgNames)
	bounds := map[string]bound{}
	for _, r := range p.Ranges {
		if r.Expr != nil {
			bounds[r.Expr.String()] = bound{r.Min, r.Max}
		}
	}
	for i, spec := range p.Signature.Inputs {
		if spec.Kind != UserInput || i >= len(nodes) {
			continue
		}
		in := guardInput{name: spec.Name, constant: spec.Constant}
		// torch 2.5 leaves out the names of arguments, and has no texts that go by them
		if at := len(g.inputs); at < len(paths) && (len(p.ArgNames) > 0 || len(texts) > 0) {
			in.name = pathText(paths[at])
		}
		if spec.Constant == nil {
			g.expect(&in, nodes[i].Meta().Get(ir.MetaVal), bounds)
		}
		g.places[in.name] = len(g.inputs)
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
func (g *Guards) expect(in *guardInput, val any, bounds map[string]bound) {
	switch v := val.(type) {
	case ir.TensorMeta:
		in.dtype = v.DType
		for _, s := range v.Sizes {
			in.dims = append(in.dims, g.dimOf(s.Expr(), s.Hint(), bounds))
		}
	case ir.SymScalar:
		if v.Kind != ir.TypeSymInt || v.Expr == nil {
			in.free = true
			return
		}
		in.scalar = true
		hint, _ := v.Hint.(ir.Int)
		in.dims = []guardDim{g.dimOf(v.Expr, int64(hint), bounds)}
	default:
		in.free = true
	}
}

func (g *Guards) dimOf(e *ir.Expr, size int64, bounds map[string]bound) guardDim {
	d := guardDim{size: size, expr: e, symbol: -1, bound: unbound}
	if e == nil {
		return d
	}
	for _, s := range e.Symbols() {
		if _, known := g.symbols[s]; !known {
			g.symbols[s] = len(g.symbols)
		}
	}
	if s, ok := e.Symbol(); ok {
		d.symbol = g.symbols[s]
	}
	if b, ok := bounds[e.String()]; ok {
		d.bound = b
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
	if len(path) == 0 {
		return -1
	}
	if at, ok := g.places[pathText(path)]; ok {
		return at
	}
	if len(path) < 2 {
		return -1
	}
	base, isName := path[0].(ir.Str)
	i, isIndex := path[1].(ir.Int)
	if !isName || !isIndex {
		return -1
	}
	if base == "flat_args" && len(path) == 2 && i >= 0 && int(i) < len(g.inputs) {
		return int(i)
	}
	joined := append([]ir.Arg{base + "_" + ir.Str(ir.Repr(i))}, path[2:]...)
	if at, ok := g.places[pathText(joined)]; ok {
		return at
	}
	return -1
}
