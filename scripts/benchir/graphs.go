package main

import "github.com/torchfx-go/torchfx/ir"

var (
	fnAdd   = ir.FuncOf("torch.add")
	fnRelu  = ir.FuncOf("torch.relu")
	fnNeg   = ir.FuncOf("torch.neg")
	fnClamp = ir.FuncOf("torch.clamp")
	fnMul   = ir.FuncOf("operator.mul")
	fnCat   = ir.FuncOf("torch.cat")
	fnSum   = ir.FuncOf("torch.sum")
)

// The graphs, as scripts/bench_ir.py makes them.
var graphs = map[string]func(n int) *ir.Graph{"chain": chain, "dag": dag}

func chain(n int) *ir.Graph {
	g := ir.NewGraph()
	y, x := g.Placeholder("y"), g.Placeholder("x")
	for range (n - 3) / 3 {
		x = g.CallFunction(fnAdd, []ir.Arg{x, y})
		x = g.CallFunction(fnRelu, []ir.Arg{x})
		x = g.CallFunction(fnNeg, []ir.Arg{x})
	}
	g.Output(x)
	return g
}

// dag has values with several users, lists, literals and keyword arguments; some
// of its nodes are dead.
func dag(n int) *ir.Graph {
	g := ir.NewGraph()
	values := []*ir.Node{g.Placeholder("x"), g.Placeholder("w")}
	state := uint64(1)
	pick := func() *ir.Node {
		state = state*6364136223846793005 + 1442695040888963407
		back := int(state>>33) % 64
		return values[len(values)-1-back%len(values)]
	}
	made := 3
	for i := 0; made < n; i++ {
		made++
		var v *ir.Node
		switch kind := i % 8; {
		case kind == 0:
			v = g.CallFunction(fnAdd, []ir.Arg{pick(), values[1]}, ir.Kwargs(ir.Kw("alpha", ir.Int(2))))
		case kind == 1:
			v = g.CallFunction(fnClamp, []ir.Arg{pick()}, ir.Kwargs(ir.Kw("min", ir.Float(-1)), ir.Kw("max", ir.Float(1.5))))
		case kind == 2:
			v = g.CallFunction(fnMul, []ir.Arg{pick(), ir.Float(0.5)})
		case kind == 3:
			v = g.CallFunction(fnCat, []ir.Arg{ir.ListOf(pick(), pick(), pick())}, ir.Kwargs(ir.Kw("dim", ir.Int(1))))
		case kind == 4:
			v = g.CallMethod("reshape", []ir.Arg{pick(), ir.IntList(2, -1)})
		case kind == 5 && made < n:
			made++
			v = g.CallFunction(fnRelu, []ir.Arg{g.CallFunction(fnAdd, []ir.Arg{pick(), pick()})})
		case kind == 6:
			g.CallFunction(fnNeg, []ir.Arg{pick()})
			continue
		default:
			v = g.CallFunction(fnSum, []ir.Arg{pick(), ir.IntList(0, 1)}, ir.Kwargs(ir.Kw("keepdim", ir.Bool(true))))
		}
		values = append(values, v)
	}
	last := len(values) - 1
	g.Output(ir.TupleOf(values[last], ir.DictOf(ir.Pair{Key: ir.Str("last"), Value: values[last-1]})))
	return g
}

const (
	pattern = `
def forward(self, a, b):
    add = torch.add(a, b)
    relu = torch.relu(add)
    return relu`
	replacement = `
def forward(self, a, b):
    sub = torch.sub(a, b)
    sin = torch.sin(sub)
    return sin`
)
