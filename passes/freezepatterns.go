package passes

import (
	"errors"
	"math"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/rewriter"
)

// A fusion is a pattern of operators that one operator computes.
type fusion struct {
	name        string
	pattern     string // the body of a function, in which the arguments are its inputs
	inputs      string
	replacement string
	fits        func(m *rewriter.Match) bool // nil for always
}

// fusions lists them, longer patterns before those that they hold. Operands that
// commute match in either order.
//
// There is none for the norm by root mean square: on the CPU libtorch computes
// aten::rms_norm by the same operators.
var fusions = []fusion{
	{name: "layer norm", inputs: "x, weight, bias, eps", fits: normOverLast, pattern: `
mean = torch.ops.aten.mean.dim(x, [-1], True)
d = torch.ops.aten.sub.Tensor(x, mean)
square = torch.ops.aten.pow.Tensor_Scalar(d, 2)
var = torch.ops.aten.mean.dim(square, [-1], True)
shifted = torch.ops.aten.add.Tensor(var, eps)
root = torch.ops.aten.sqrt.default(shifted)
n = torch.ops.aten.div.Tensor(d, root)
scaled = torch.ops.aten.mul.Tensor(n, weight)
return torch.ops.aten.add.Tensor(scaled, bias)`, replacement: layerNorm},
	{name: "layer norm", inputs: "x, weight, bias, eps", fits: normOverLast, pattern: `
mean = torch.ops.aten.mean.dim(x, [-1], True)
d = torch.ops.aten.sub.Tensor(x, mean)
square = torch.ops.aten.pow.Tensor_Scalar(d, 2)
var = torch.ops.aten.mean.dim(square, [-1], True)
shifted = torch.ops.aten.add.Tensor(var, eps)
root = torch.ops.aten.rsqrt.default(shifted)
n = torch.ops.aten.mul.Tensor(d, root)
scaled = torch.ops.aten.mul.Tensor(n, weight)
return torch.ops.aten.add.Tensor(scaled, bias)`, replacement: layerNorm},
	{name: "layer norm", inputs: "x, weight, bias, eps", fits: normOverLast, pattern: `
mean = torch.ops.aten.mean.dim(x, [-1], True)
var = torch.ops.aten.var.correction(x, [-1], correction=0, keepdim=True)
d = torch.ops.aten.sub.Tensor(x, mean)
shifted = torch.ops.aten.add.Tensor(var, eps)
root = torch.ops.aten.sqrt.default(shifted)
n = torch.ops.aten.div.Tensor(d, root)
scaled = torch.ops.aten.mul.Tensor(n, weight)
return torch.ops.aten.add.Tensor(scaled, bias)`, replacement: layerNorm},
	{name: "gelu", inputs: "x, half, root, one", fits: literals(0.5, math.Sqrt2, 1), pattern: `
scaled = torch.ops.aten.div.Tensor(x, root)
erf = torch.ops.aten.erf.default(scaled)
shifted = torch.ops.aten.add.Tensor(erf, one)
h = torch.ops.aten.mul.Tensor(x, half)
return torch.ops.aten.mul.Tensor(h, shifted)`, replacement: "return torch.ops.aten.gelu.default(x)"},
	{name: "gelu", inputs: "x, half, root, one", fits: literals(0.5, math.Sqrt2/2, 1), pattern: `
scaled = torch.ops.aten.mul.Tensor(x, root)
erf = torch.ops.aten.erf.default(scaled)
shifted = torch.ops.aten.add.Tensor(erf, one)
h = torch.ops.aten.mul.Tensor(x, half)
return torch.ops.aten.mul.Tensor(h, shifted)`, replacement: "return torch.ops.aten.gelu.default(x)"},
	{name: "gelu", inputs: "x, half, root, one", fits: literals(0.5, math.Sqrt2, 1), pattern: `
scaled = torch.ops.aten.div.Tensor(x, root)
erf = torch.ops.aten.erf.default(scaled)
shifted = torch.ops.aten.add.Tensor(erf, one)
h = torch.ops.aten.mul.Tensor(x, shifted)
return torch.ops.aten.mul.Tensor(h, half)`, replacement: "return torch.ops.aten.gelu.default(x)"},
	{name: "gelu by tanh", inputs: "x, half, cubic, root, one", fits: literals(0.5, 0.044715, math.Sqrt(2/math.Pi), 1), pattern: `
h = torch.ops.aten.mul.Tensor(x, half)
cube = torch.ops.aten.pow.Tensor_Scalar(x, 3.0)
c = torch.ops.aten.mul.Tensor(cube, cubic)
sum = torch.ops.aten.add.Tensor(x, c)
inner = torch.ops.aten.mul.Tensor(sum, root)
tanh = torch.ops.aten.tanh.default(inner)
shifted = torch.ops.aten.add.Tensor(tanh, one)
return torch.ops.aten.mul.Tensor(h, shifted)`, replacement: "return torch.ops.aten.gelu.default(x, approximate='tanh')"},
	{name: "hardswish", inputs: "x, three, low, six, by", fits: literals(3, 0, 6, 6), pattern: `
shifted = torch.ops.aten.add.Tensor(x, three)
clamped = torch.ops.aten.hardtanh.default(shifted, low, six)
product = torch.ops.aten.mul.Tensor(x, clamped)
return torch.ops.aten.div.Tensor(product, by)`, replacement: "return torch.ops.aten.hardswish.default(x)"},
	{name: "silu", inputs: "x", fits: literals(), pattern: `
s = torch.ops.aten.sigmoid.default(x)
return torch.ops.aten.mul.Tensor(x, s)`, replacement: "return torch.ops.aten.silu.default(x)"},
}

// layerNorm is completed with the size of the last dimension.
const layerNorm = "return torch.ops.aten.layer_norm.default(x, [LAST], weight, bias, eps)"

// fusePatterns replaces patterns of operators by the operator that computes them.
func (f *freezer) fusePatterns() error {
	for _, fusion := range fusions {
		if err := f.fusePattern(&fusion); err != nil {
			return err
		}
	}
	return nil
}

func (f *freezer) fusePattern(p *fusion) error {
	pattern, err := function(p.inputs, p.pattern)
	if err != nil {
		return err
	}
	fits := func(m *rewriter.Match, _, _ *ir.Graph) bool { return p.fits == nil || p.fits(m) }
	make := func(m *rewriter.Match, _, _ *ir.Graph) (*ir.Graph, error) {
		text := p.replacement
		// an input may be new, from a match before, and nothing be noted of it
		if meta, ok := valueOf(m.Result[0]); ok && len(meta.Sizes) > 0 {
			text = strings.ReplaceAll(text, "LAST", meta.Sizes[len(meta.Sizes)-1].String())
		}
		return function(p.inputs, text)
	}
	replaced, err := rewriter.Replace(f.module, pattern, rewriter.Commutative(), rewriter.LooseArguments(), rewriter.FilterBy(fits), rewriter.WithFunc(make))
	return f.fused(p.name, replaced, err)
}

// fused reports replaced patterns and notes their values. A match that cannot be
// replaced in the order of the graph's effects is left, with those behind it.
func (f *freezer) fused(name string, replaced []rewriter.Replaced, err error) error {
	for _, r := range replaced {
		last := r.Made[len(r.Made)-1]
		last.Meta().CopyFrom(r.Result[0].Meta())
		f.applied(last, "%s of %d nodes", name, len(r.Removed))
	}
	if errors.Is(err, ir.ErrRuntime) {
		f.report.Kept = append(f.report.Kept, NotApplied{f.rewrite, name, err.Error()})
		return nil
	}
	return err
}

// function reads the body of a function of inputs as a graph.
func function(inputs, body string) (*ir.Graph, error) {
	body = strings.TrimSpace(body)
	i := strings.LastIndex(body, "return ")
	lines := body[:i] + "result = " + body[i+len("return "):] + "\nreturn result"
	return ir.ParseCode("def forward(self, " + inputs + "):\n    " + strings.ReplaceAll(lines, "\n", "\n    "))
}

// literals demands that the inputs behind the first are these numbers, as near as
// float32 tells them apart.
func literals(want ...float64) func(*rewriter.Match) bool {
	return func(m *rewriter.Match) bool {
		for i, w := range want {
			v, ok := literal(m.Inputs[1+i])
			if !ok || float32(v) != float32(w) {
				return false
			}
		}
		return floating(m.Inputs[0])
	}
}

func literal(a ir.Arg) (float64, bool) {
	switch a := a.(type) {
	case ir.Int:
		return float64(a), true
	case ir.Float:
		return float64(a), true
	}
	return 0, false
}

// floating reports whether a value is noted as a tensor of floating point.
func floating(a ir.Arg) bool {
	n, ok := a.(*ir.Node)
	if !ok {
		return false
	}
	meta, ok := valueOf(n)
	return ok && meta.DType.IsFloat()
}

// normOverLast demands of a layer norm that weight and bias are vectors of the last
// dimension, which is known, that eps is a number, and that the result lies in rows, as
// the operator's does.
func normOverLast(m *rewriter.Match) bool {
	if _, ok := literal(m.Inputs[3]); !ok || !floating(m.Inputs[0]) || !inRows(m.Inputs[0].(*ir.Node)) {
		return false
	}
	x, _ := valueOf(m.Inputs[0].(*ir.Node))
	if len(x.Sizes) == 0 {
		return false
	}
	last := x.Sizes[len(x.Sizes)-1]
	if _, known := last.Known(); !known {
		return false
	}
	for _, a := range m.Inputs[1:3] {
		n, ok := a.(*ir.Node)
		if !ok {
			return false
		}
		v, ok := valueOf(n)
		if !ok || len(v.Sizes) != 1 || !sameSize(v.Sizes[0], last) || v.DType != x.DType {
			return false
		}
	}
	return true
}
