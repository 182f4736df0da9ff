package interpreter_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"pgregory.net/rapid"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A randomProgram is a graph that was run while it was made, so that most of its calls
// succeed on the inputs that it was made with.
type randomProgram struct {
	graph  *ir.Graph
	inputs []randomInput
	attrs  []randomInput
	bodies map[string]*ir.GraphModule // of higher-order operators
}

// module makes the program with tensors of its own.
func (p *randomProgram) module() *ir.GraphModule {
	attrs := map[string]any{}
	for i, v := range makeInputs(p.attrs) {
		attrs[fmt.Sprintf("a%d", i)] = v
	}
	for name, body := range p.bodies {
		attrs[name] = body
	}
	gm, err := ir.NewGraphModule(attrs, p.graph)
	if err != nil {
		panic(err)
	}
	return gm
}

// A programmer draws a program.
type programmer struct {
	t       *rapid.T
	g       *ir.Graph
	scope   *torch.Scope
	nodes   []*ir.Node
	values  []any
	program *randomProgram
	depth   int  // of higher-order operators around
	sound   bool // no call fails
	plain   bool // operators alone, as saved programs have them: neither functions of torch nor methods
}

func newProgrammer(t *rapid.T) *programmer {
	p := &programmer{t: t, g: ir.NewGraph(), scope: torch.NewScope()}
	p.program = &randomProgram{graph: p.g, bodies: map[string]*ir.GraphModule{}}
	return p
}

// drawProgram draws a program of operators of torch, methods and Python's operators.
func drawProgram(t *rapid.T) *randomProgram { return newProgrammer(t).draw() }

func (p *programmer) draw() *randomProgram {
	defer p.scope.Close()
	for range 1 + p.n(4) {
		p.program.inputs = append(p.program.inputs, p.input())
	}
	for i, v := range makeInputs(p.program.inputs) {
		p.have(p.g.Placeholder(fmt.Sprintf("x%d", i)), v)
	}
	for range p.n(3) {
		in := p.input()
		in.number = nil
		p.program.attrs = append(p.program.attrs, in)
	}
	for i, v := range makeInputs(p.program.attrs) {
		p.have(p.g.GetAttr(fmt.Sprintf("a%d", i)), v)
	}
	for range 4 + p.n(24) {
		p.step()
	}
	return p.finish()
}

// finish ends the program with some of its last values.
func (p *programmer) finish() *randomProgram {
	outs := make([]ir.Arg, 1+p.n(4))
	for i := range outs {
		outs[i] = p.nodes[len(p.nodes)-1-p.n(min(len(p.nodes), 8))]
	}
	if len(outs) == 1 && p.coin() {
		p.g.Output(outs[0])
	} else {
		p.g.Output(ir.TupleOf(outs...))
	}
	return p.program
}

// n draws a number below bound.
func (p *programmer) n(bound int) int { return rapid.IntRange(0, bound-1).Draw(p.t, "n") }

func (p *programmer) coin() bool { return p.n(2) == 0 }

func oneOf[T any](p *programmer, list ...T) T { return list[p.n(len(list))] }

func (p *programmer) have(n *ir.Node, v any) {
	p.nodes, p.values = append(p.nodes, n), append(p.values, v)
}

// A reference is a value that was made before, by number.
type reference int

// pick draws a value of a kind, a late one more often than an early one.
func (p *programmer) pick(is func(any) bool) (reference, bool) {
	var fit []int
	for i, v := range p.values {
		if is(v) {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return 0, false
	}
	k := p.n(len(fit))
	if p.coin() {
		k = max(k, p.n(len(fit)))
	}
	return reference(fit[k]), true
}

func isTensor(v any) bool { _, ok := v.(*torch.Tensor); return ok }

func isFloats(v any) bool {
	t, ok := v.(*torch.Tensor)
	return ok && (t.DType() == ir.Float32 || t.DType() == ir.Float64)
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64, bool:
		return true
	}
	return false
}

func isSequence(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) > 0
	case ir.PyTuple:
		return len(v) > 0
	}
	return false
}

// call appends a call of an operator "aten::name.overload", a function "torch.name" or
// a method ".name", unless it fails; once in a while also then.
func (p *programmer) call(name string, args ...any) bool {
	if p.plain && !strings.Contains(name, "::") && !strings.HasPrefix(name, "operator.") {
		return false
	}
	var target *ir.Func
	switch {
	case strings.HasPrefix(name, "."):
		target = ir.FuncOf("torch.Tensor" + name)
	case strings.Contains(name, "::"):
		target = ir.OverloadOf(name)
	default:
		target = ir.FuncOf(name)
	}
	values, operands := make([]any, len(args)), make([]ir.Arg, len(args))
	for i, a := range args {
		values[i], operands[i] = p.value(a), p.operand(a)
	}
	v, err := torch.Invoke(nil, target, append(values, torch.In(p.scope)), nil)
	if err != nil && (p.sound || strings.Contains(err.Error(), "not implemented here") || p.n(64) != 63) {
		return false
	}
	if t, ok := v.(*torch.Tensor); ok && t.Numel() > 5000 {
		return false
	}
	if strings.HasPrefix(name, ".") {
		p.have(p.g.CallMethod(name[1:], operands), v)
	} else {
		p.have(p.g.CallFunction(target, operands), v)
	}
	return true
}

func (p *programmer) operand(a any) ir.Arg {
	switch a := a.(type) {
	case reference:
		return p.nodes[a]
	case int:
		return ir.Int(a)
	case float64:
		return ir.Float(a)
	case bool:
		return ir.Bool(a)
	case string:
		return ir.Str(a)
	case nil:
		return ir.None{}
	case ir.DType:
		return a
	case []any:
		items := make([]ir.Arg, len(a))
		for i := range a {
			items[i] = p.operand(a[i])
		}
		return ir.ListOf(items...)
	}
	panic(fmt.Sprintf("%T", a))
}

func (p *programmer) value(a any) any {
	switch a := a.(type) {
	case reference:
		return p.values[a]
	case int:
		return int64(a)
	case []any:
		items := make([]any, len(a))
		for i := range a {
			items[i] = p.value(a[i])
		}
		return items
	}
	return a
}

// A randomInput says how an input is made, so that it can be made again.
type randomInput struct {
	dtype  ir.DType
	shape  []int
	form   inputForm
	seed   uint64
	number any     // instead of a tensor
	grad   bool    // floating: it requires gradients, and so do views of it
	smooth bool    // elements are finite and as weights are
	over   float64 // of those: they are this and more
}

type inputForm int

const (
	dense inputForm = iota
	transposed
	sliced
	expanded
	aliasing // the input before
	rowOf    // the input before
	inputForms
)

var randomDTypes = []ir.DType{ir.Float32, ir.Float32, ir.Float32, ir.Float64, ir.Int64, ir.Bool8, ir.Complex64, ir.Int32, ir.BFloat16}

func (p *programmer) input() randomInput {
	in := randomInput{
		dtype: oneOf(p, randomDTypes...),
		shape: oneOf(p, []int{2, 3}, []int{}, []int{3}, []int{3, 3}, []int{1, 3}, []int{2, 1}, []int{2, 3, 4}, []int{0, 3}, []int{0}, []int{1}, []int{4, 2, 2, 3}, []int{3, 2}, []int{2, 2, 2}, []int{40, 50}),
		seed:  uint64(p.n(1 << 16)),
	}
	if p.coin() {
		in.form = inputForm(p.n(int(inputForms)))
	}
	in.grad = p.n(4) == 3
	if p.n(12) == 11 {
		in.number = oneOf[any](p, int64(2), 1.5, true, int64(-3))
	}
	return in
}

// others draws inputs for a later run: of other elements, sizes, strides or dtypes.
func (p *programmer) others(inputs []randomInput) []randomInput {
	out := slices.Clone(inputs)
	for i := range out {
		switch p.n(4) {
		case 0:
			out[i].shape = slices.Clone(out[i].shape)
			if k := len(out[i].shape); k > 0 {
				out[i].shape[p.n(k)] = p.n(5)
			}
		case 1:
			out[i].seed++
		case 2:
			out[i].form = inputForm(p.n(int(inputForms)))
		case 3:
			if p.n(4) == 3 {
				out[i].dtype = oneOf(p, randomDTypes...)
			}
		}
	}
	return out
}

func makeInputs(ins []randomInput) (made []any) {
	for _, in := range ins {
		made = append(made, in.make(made))
	}
	return made
}

func (in randomInput) make(before []any) any {
	if in.number != nil {
		return in.number
	}
	if len(before) > 0 && in.form >= aliasing {
		if t, ok := before[len(before)-1].(*torch.Tensor); ok {
			if in.form == rowOf && t.Dim() > 0 && t.Shape()[0] > 0 {
				return made("aten::select.int", t, 0, 0)
			}
			return made("aten::alias", t)
		}
	}
	s := slices.Clone(in.shape)
	switch {
	case in.form == transposed && len(s) >= 2:
		s[len(s)-1], s[len(s)-2] = s[len(s)-2], s[len(s)-1]
		return made("aten::transpose.int", in.elements(s), -1, -2)
	case in.form == sliced && len(s) >= 1:
		s[0] = 2*s[0] + 1
		return made("aten::slice.Tensor", in.elements(s), 0, 1, nil, 2)
	case in.form == expanded && len(s) >= 1:
		s[0] = 1
		return made("aten::expand", in.elements(s), in.shape)
	}
	return in.elements(s)
}

// elements are small halves and a NaN here and there, or whole numbers of 0 to 3.
func (in randomInput) elements(shape []int) *torch.Tensor {
	r := rand.New(rand.NewPCG(in.seed, 0))
	n := 1
	for _, s := range shape {
		n *= s
	}
	data := make([]float64, n)
	for i := range data {
		switch {
		case in.smooth && in.over > 0:
			data[i] = in.over + r.Float64()
		case in.smooth:
			data[i] = r.NormFloat64() / 2
		case in.dtype == ir.Int64 || in.dtype == ir.Int32 || in.dtype == ir.Bool8:
			data[i] = float64(r.IntN(4))
		case r.IntN(40) == 0:
			data[i] = nan
		default:
			data[i] = float64(r.IntN(13)-6) / 2
		}
	}
	x, err := torch.From(data, n)
	if err != nil {
		panic(err)
	}
	elements := made("aten::view", made("aten::to.dtype", x, in.dtype), shape)
	if in.grad && (in.dtype.IsFloat() || in.dtype.IsComplex()) {
		elements.RequiresGradInPlace()
	}
	return elements
}

// made calls an operator of one result.
func made(op string, args ...any) *torch.Tensor {
	v, err := torch.Call(op, args...)
	if err != nil {
		panic(err)
	}
	return v.(*torch.Tensor)
}

// shares reports whether two tensors look at the same memory.
func shares(a, b *torch.Tensor) bool {
	x, err := a.Handle()
	if err != nil {
		return false
	}
	y, err := b.Handle()
	return err == nil && libtorch.IsAlias(x, y)
}
