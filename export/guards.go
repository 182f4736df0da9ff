package export

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// Checks are kinds of checks on the inputs of a call that Python's `.module()`
// does not make.
type Checks uint8

// The checks beyond Python's.
const (
	CheckDTypes      Checks = 1 << iota // a tensor has the dtype that was exported
	CheckNone                           // None stays None
	CheckDerived                        // a dimension 4*s is divisible by 4
	CheckLowerBounds                    // a lower bound of up to 2 holds; PyTorch writes 2 for every dynamic dimension and lets 1 pass
)

// DefaultChecks are those that are made unless switched off.
const DefaultChecks = CheckDTypes | CheckNone | CheckDerived

// Guards are the conditions under which a program may run on inputs. They are
// immutable and safe for concurrent use.
type Guards struct {
	inputs  []guardInput
	places  map[string]int // input by the text of its path
	symbols map[string]int // number of each symbol
	conds   []condition
	checks  Checks
}

// IsImpure reports true, so that the removal of dead code keeps the call of the
// guards although nobody reads its result; PyTorch marks its own the same way.
func (*Guards) IsImpure() bool { return true }

// A guardInput is what one flat input has to be.
type guardInput struct {
	name     string // as messages call it, and its path in the arguments: "x", "d['p'][0]"
	constant ir.Arg // not nil for a fixed value
	scalar   bool   // a symbolic number: dims[0] is about itself
	free     bool   // nothing is known
	dtype    ir.DType
	dims     []guardDim
}

// A guardDim is what one dimension has to be.
type guardDim struct {
	size   int64    // the size; of a dynamic one, what it was at export
	expr   *ir.Expr // of a dynamic dimension
	symbol int      // number of the symbol, where expr is one; else -1
	bound
}

type bound struct{ min, max int64 }

var unbound = bound{math.MinInt64, math.MaxInt64}

// A condition is one text of guards_code.
type condition struct {
	expr   *ir.Expr
	text   string
	places map[string]place // by symbol
}

// A place is where a number of a condition comes from.
type place struct {
	input int
	dim   int // -1 for the value itself
}

// shaped is what a tensor answers to be checked.
type shaped interface {
	Shape() []int
	DType() ir.DType
}

// With returns guards that also make the given checks.
func (g *Guards) With(c Checks) *Guards {
	h := *g
	h.checks |= c
	return &h
}

// Without returns guards that leave the given checks out.
func (g *Guards) Without(c Checks) *Guards {
	h := *g
	h.checks &^= c
	return &h
}

// Len returns the number of flat inputs.
func (g *Guards) Len() int { return len(g.inputs) }

// Names returns what messages call the flat inputs: "x", "d['p'][0]".
func (g *Guards) Names() []string {
	names := make([]string, len(g.inputs))
	for i := range g.inputs {
		names[i] = g.inputs[i].name
	}
	return names
}

// Check looks at the flat inputs of a call, in the order of the program's
// InSpec. Tensors answer Shape and DType; numbers are int, int64 or float64;
// nil is None. It returns an error of class ir.ErrInput that names every input
// and dimension that does not fit, or nil. A tensor that panics with an error of
// class ir.ErrClosed is named in an error of that class.
func (g *Guards) Check(leaves []any) error {
	c := checking{Guards: g, leaves: leaves}
	if len(leaves) != len(g.inputs) {
		return ir.Errorf(ir.ErrInput, "inputs: expected %d (%s), got %d", len(g.inputs), strings.Join(g.Names(), ", "), len(leaves))
	}
	if len(g.symbols) > 0 {
		c.bound = make([]binding, len(g.symbols))
	}
	for i := range g.inputs {
		c.input(i, &g.inputs[i])
	}
	if !c.faults.any() {
		c.deferredDims()
	}
	if !c.faults.any() {
		c.conditions()
	}
	return c.faults.join()
}

// checking is one run of Check.
type checking struct {
	*Guards
	leaves   []any
	bound    []binding
	deferred []dimAt
	faults   faults
}

// A binding is the value of a symbol and where it was seen first.
type binding struct {
	value int64
	known bool
	at    dimAt
}

type dimAt struct{ input, dim int }

func (c *checking) fail(format string, args ...any) { c.faults.add(ir.ErrInput, format, args...) }

func (c *checking) input(i int, in *guardInput) {
	leaf := c.leaves[i]
	switch {
	case in.free:
	case in.constant != nil:
		c.constant(in, leaf)
	case in.scalar:
		n, ok := asInteger(leaf)
		if !ok {
			c.fail("%s: expected an integer, got %s", in.name, typeName(leaf))
			return
		}
		c.dim(in, dimAt{i, -1}, &in.dims[0], n)
	default:
		t, ok := leaf.(shaped)
		if !ok {
			c.fail("%s: expected a tensor, got %s", in.name, typeName(leaf))
			return
		}
		if v := reflect.ValueOf(leaf); v.Kind() == reflect.Pointer && v.IsNil() {
			c.fail("%s: expected a tensor, got a nil %T", in.name, leaf)
			return
		}
		shape, d, open := ask(t)
		if !open {
			c.faults.add(ir.ErrClosed, "%s: expected an open tensor, got one that is closed", in.name)
			return
		}
		if d != in.dtype && c.checks&CheckDTypes != 0 {
			c.fail("%s: expected dtype %s, got %s", in.name, in.dtype, d)
		}
		if len(shape) != len(in.dims) {
			c.fail("%s: expected %d dimensions, got %d", in.name, len(in.dims), len(shape))
			return
		}
		for d, n := range shape {
			c.dim(in, dimAt{i, d}, &in.dims[d], int64(n))
		}
	}
}

// ask returns what a tensor answers, or that it is closed.
func ask(t shaped) (shape []int, dtype ir.DType, open bool) {
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(error); !ok || !errors.Is(err, ir.ErrClosed) {
				panic(p)
			}
		}
	}()
	return t.Shape(), t.DType(), true
}

// dim checks one number against what is known before all inputs were seen.
func (c *checking) dim(in *guardInput, at dimAt, d *guardDim, n int64) {
	switch {
	case d.expr == nil:
		if n != d.size {
			c.fail("%s is %d, expected %d", in.what(at.dim), n, d.size)
		}
		return
	case n > d.max:
		c.fail("%s is %d, expected at most %d", in.what(at.dim), n, d.max)
		return
	case n < d.min && (d.min > 2 || c.checks&CheckLowerBounds != 0):
		c.fail("%s is %d, expected at least %d", in.what(at.dim), n, d.min)
		return
	case d.symbol < 0:
		c.deferred = append(c.deferred, at)
		return
	}
	b := &c.bound[d.symbol]
	if !b.known {
		*b = binding{n, true, at}
		return
	}
	if b.value != n {
		c.fail("%s is %d, expected %d, as %s", in.what(at.dim), n, b.value, c.inputs[b.at.input].what(b.at.dim))
	}
}

// what names a dimension, or the input itself for dimension -1.
func (in *guardInput) what(dim int) string {
	if dim < 0 {
		return in.name
	}
	return in.name + ": dimension " + strconv.Itoa(dim)
}

// number returns the size of a dimension, or the value of an input.
func (c *checking) number(at dimAt) (int64, bool) {
	if at.dim < 0 {
		return asInteger(c.leaves[at.input])
	}
	t, ok := c.leaves[at.input].(shaped)
	if !ok {
		return 0, false
	}
	shape := t.Shape()
	if at.dim >= len(shape) {
		return 0, false
	}
	return int64(shape[at.dim]), true
}

// env gives the symbols that inputs have bound.
func (c *checking) env(symbol string) (ir.Arg, bool) {
	if i, ok := c.symbols[symbol]; ok && c.bound[i].known {
		return ir.Int(c.bound[i].value), true
	}
	return nil, false
}

// deferredDims checks the dimensions that are more than a symbol, such as 2*s27.
// Where that symbol is no dimension itself, the first one gives its value.
func (c *checking) deferredDims() {
	for _, at := range c.deferred {
		in := &c.inputs[at.input]
		d := &in.dims[max(at.dim, 0)]
		n, _ := c.number(at)
		var unknown []string
		for _, s := range d.expr.Symbols() {
			if _, ok := c.env(s); !ok {
				unknown = append(unknown, s)
			}
		}
		switch len(unknown) {
		case 0:
			want, err := d.expr.Eval(c.env)
			if w, ok := want.(ir.Int); err == nil && ok && int64(w) != n {
				c.fail("%s is %d, expected %s = %d", in.what(at.dim), n, d.expr, int64(w))
			}
		case 1:
			c.solve(in, at, d.expr, unknown[0], n)
		}
	}
}

// solve finds the value of the one unknown symbol of a linear expression.
func (c *checking) solve(in *guardInput, at dimAt, e *ir.Expr, symbol string, n int64) {
	f := func(x int64) (int64, bool) {
		v, err := e.Eval(func(s string) (ir.Arg, bool) {
			if s == symbol {
				return ir.Int(x), true
			}
			return c.env(s)
		})
		w, ok := v.(ir.Int)
		return int64(w), err == nil && ok
	}
	f1, ok1 := f(1)
	f2, ok2 := f(2)
	f5, ok5 := f(5)
	slope := f2 - f1
	if !ok1 || !ok2 || !ok5 || slope == 0 || f5-f1 != 4*slope {
		return // not linear: nothing can be said
	}
	x := 1 + (n-f1)/slope
	if got, ok := f(x); !ok || got != n {
		if c.checks&CheckDerived != 0 {
			c.fail("%s is %d, expected a number of the form %s", in.what(at.dim), n, e)
		}
		return
	}
	c.bound[c.symbols[symbol]] = binding{x, true, at}
}

// conditions checks the texts of guards_code.
func (c *checking) conditions() {
	for i := range c.conds {
		cond := &c.conds[i]
		v, err := cond.expr.Eval(func(symbol string) (ir.Arg, bool) {
			p, ok := cond.places[symbol]
			if !ok {
				return nil, false
			}
			return c.at(p)
		})
		if b, ok := v.(ir.Bool); err == nil && ok && !bool(b) {
			c.fail("inputs: expected %s, got %s", cond.text, c.values(cond))
		}
	}
}

func (c *checking) at(p place) (ir.Arg, bool) {
	if p.dim >= 0 {
		n, ok := c.number(dimAt(p))
		return ir.Int(n), ok
	}
	switch v := c.leaves[p.input].(type) {
	case bool:
		return ir.Bool(v), true
	case float64:
		return ir.Float(v), true
	}
	n, ok := asInteger(c.leaves[p.input])
	return ir.Int(n), ok
}

// values lists the numbers that a condition is about.
func (c *checking) values(cond *condition) string {
	var parts []string
	for _, s := range cond.expr.Symbols() {
		if p, ok := cond.places[s]; ok {
			if v, ok := c.at(p); ok {
				parts = append(parts, c.inputs[p.input].what(p.dim)+" is "+ir.Repr(v))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// constant checks a fixed input, by Python's equality: 3.0 stands for 3.
func (c *checking) constant(in *guardInput, leaf any) {
	if _, none := in.constant.(ir.None); none {
		if leaf != nil && c.checks&CheckNone != 0 {
			c.fail("%s: expected None, as it was exported, got %s", in.name, typeName(leaf))
		}
		return
	}
	if !equalConstant(in.constant, leaf) {
		c.fail("%s: expected %s, as it was exported, got %s", in.name, ir.Repr(in.constant), valueText(leaf))
	}
}
