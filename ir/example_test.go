package ir_test

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
)

// A graph is built node by node and read as torch.fx prints it.
func ExampleGraph() {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	add := g.CallFunction(ir.FuncOf("operator.add"), []ir.Arg{x, ir.Int(1)})
	relu := g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{add})
	g.Output(relu)
	fmt.Println(g)
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %add : [num_users=1] = call_function[target=operator.add](args = (%x, 1), kwargs = {})
	//     %relu : [num_users=1] = call_function[target=torch.relu](args = (%add,), kwargs = {})
	//     return relu
}

// The code of a graph is Python, with each value dropped after its last use.
func ExampleGraph_PythonCode() {
	g := ir.NewGraph()
	x := g.Placeholder("x", ir.WithType("torch.Tensor"))
	w := g.GetAttr("layers.0.weight")
	y := g.CallFunction(ir.FuncOf("operator.matmul"), []ir.Arg{x, w})
	z := g.CallMethod("sum", []ir.Arg{y}, ir.Kwargs(ir.Kw("dim", ir.ListOf(ir.Int(-1)))))
	g.Output(ir.TupleOf(z, y))
	code, err := g.PythonCode("self")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(code.Source)
	// Output:
	// def forward(self, x : torch.Tensor):
	//     layers_0_weight = getattr(self.layers, "0").weight
	//     matmul = x @ layers_0_weight;  x = layers_0_weight = None
	//     sum_1 = matmul.sum(dim = [-1])
	//     return (sum_1, matmul)
}

// A rewrite replaces a node and lets dead-code removal take the rest.
func ExampleNode_ReplaceAllUsesWith() {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	drop := g.CallFunction(ir.FuncOf("torch.ops.aten.mul.Tensor"), []ir.Arg{x, ir.Int(1)})
	g.Output(g.CallFunction(ir.FuncOf("torch.ops.aten.relu.default"), []ir.Arg{drop}))

	for n := range g.Nodes() {
		if n.Func() == ir.OverloadOf("aten::mul.Tensor") && ir.EqualArgs(n.Arg(1), ir.Int(1)) {
			n.ReplaceAllUsesWith(n.Arg(0).(*ir.Node))
		}
	}
	changed, err := g.EliminateDeadCode()
	fmt.Println(changed, err, g.Lint())
	fmt.Println(g)
	// Output:
	// true <nil> <nil>
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %relu_default : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
	//     return relu_default
}

// New nodes go to the end of the graph unless an insertion point says otherwise.
func ExampleGraph_InsertBefore() {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	relu := g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{x})
	g.Output(relu)

	restore, err := g.InsertBefore(relu)
	if err != nil {
		fmt.Println(err)
		return
	}
	neg := g.CallFunction(ir.FuncOf("torch.neg"), []ir.Arg{x})
	relu.SetArgs(neg)
	restore()
	for n := range g.Nodes() {
		fmt.Println(n)
	}
	// Output:
	// x
	// neg
	// relu
	// output
}

// Lint reports every fault at once, in torch.fx's words.
func ExampleGraph_Lint() {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	w := g.GetAttr("w")
	g.Output(ir.TupleOf(x, w))
	m, err := ir.NewGraphModule(map[string]any{"w": 1}, g)
	if err != nil {
		fmt.Println(err)
		return
	}
	m.DeleteAttr("w")
	if err := w.SetTarget(ir.Path("weights.w")); err != nil {
		fmt.Println(err)
	}
	fmt.Println(g.Lint())
	// Output:
	// Node w target weights.w references nonexistent attribute weights of
}

// Equal explains the first difference.
func ExampleEqual() {
	build := func(times int) *ir.Graph {
		g := ir.NewGraph()
		g.Output(g.CallFunction(ir.FuncOf("operator.mul"), []ir.Arg{g.Placeholder("x"), ir.Int(times)}))
		return g
	}
	fmt.Println(ir.Equal(build(2), build(2)))
	fmt.Println(ir.Equal(build(2), build(3)))
	// Output:
	// <nil>
	// graphs differ at node 1 (mul): argument 1: expected 3, got 2
}

// A module's readable form shows what is known of each value.
func ExampleGraphModule_Readable() {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	rows, err := ir.ParseExpr("s27")
	if err != nil {
		fmt.Println(err)
		return
	}
	x.Meta().Set(ir.MetaVal, ir.TensorMeta{DType: ir.Float32, Sizes: []ir.Size{ir.SymbolicSize(rows, 8), ir.SizeOf(3)}})
	g.Output(x)
	m, err := ir.NewGraphModule(nil, g, ir.ClassName("Net"))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := m.Readable()
	fmt.Println(text, err)
	// Output:
	// class Net(torch.nn.Module):
	//     def forward(self, x: "f32[s27, 3]"):
	//         return x
	//  <nil>
}
