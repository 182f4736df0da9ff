package passes_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// parsed is a module of a graph in Python's text.
func parsed(lines ...string) *ir.GraphModule {
	g, err := ir.ParseCode(strings.Join(lines, "\n    "))
	if err != nil {
		panic(err)
	}
	gm, err := ir.NewGraphModule(nil, g)
	if err != nil {
		panic(err)
	}
	return gm
}

// Each rewrite states its tolerance, 0 where it promises equal bits; a few are made only
// when they are asked for.
func ExampleRewrites() {
	for _, r := range passes.Rewrites() {
		if r.Off {
			fmt.Printf("%s, within %g: %s\n", r.Name, r.Tolerance, r.Doc)
		}
	}
	// Output:
	// bfloat16, within 0.05: convolutions, linear layers and what lies between them compute in bfloat16
}

// Rewrites are chosen by name; what was done stands in the report.
func ExampleOnlyRewrites() {
	gm := parsed("def forward(self, x):",
		"a = torch.ops.aten.dropout.default(x, 0.5, False)",
		"b = torch.ops.aten.relu.default(a)",
		"return b")
	frozen, err := passes.Freeze(context.Background(), gm, passes.OnlyRewrites("drop-identities"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer frozen.Close()
	fmt.Println(frozen.Report.Count("drop-identities"), frozen.Report.Tolerance())
	fmt.Println(frozen.Module.Graph())
	// Output:
	// 1 0
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %b : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
	//     return b
}

// A rewrite of one's own is a function of a graph, held against what it was made of.
func ExampleReplaceTargets() {
	ctx := context.Background()
	gm := parsed("def forward(self, x):",
		"y = torch.ops.aten.mul.Tensor(x, x)",
		"z = torch.ops.aten.relu.default(y)",
		"return z")
	x := torch.Ones([]int{2, 3})
	defer x.Close()
	before, err := interpreter.New(gm).Run(ctx, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	changed, err := passes.ReplaceTargets(gm.Graph(),
		ir.CallFunction, ir.OverloadOf("aten::relu"), ir.CallFunction, ir.OverloadOf("aten::abs"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(changed), gm.Graph().Lint())
	after, err := interpreter.New(gm).Run(ctx, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(torch.Equal(before.(*torch.Tensor), after.(*torch.Tensor)))
	// Output:
	// 1 <nil>
	// true <nil>
}

// A drawing for Graphviz has a box for each node.
func ExampleDot() {
	gm := parsed("def forward(self, x):", "y = torch.relu(x)", "return y")
	text := passes.Dot(gm, "relu")
	fmt.Println(strings.Count(text, "->"), "edges")
	// Output: 2 edges
}

// What depends on attributes alone is computed once, ahead of the runs.
func ExampleConstFold() {
	g, err := ir.ParseCode("def forward(self, x):\n    w = self.w\n    d = torch.add(w, w)\n    y = torch.mul(x, d)\n    return y")
	if err != nil {
		fmt.Println(err)
		return
	}
	w := torch.Ones([]int{2})
	gm, err := ir.NewGraphModule(map[string]any{"w": w}, g)
	if err != nil {
		fmt.Println(err)
		return
	}
	folded, err := passes.ConstFold(gm)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer folded.Close()
	x := torch.Ones([]int{2})
	defer x.Close()
	if err := folded.Run(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	out, err := interpreter.New(folded.Module).Run(context.Background(), x)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(torch.Data[float32](out.(*torch.Tensor)))
	// Output: [2 2] <nil>
}

// Nodes of a module become one of their own.
func ExampleExtractSubgraph() {
	gm := parsed("def forward(self, x):", "a = torch.add(x, 1)", "b = torch.relu(a)", "c = torch.neg(b)", "return c")
	named := map[string]*ir.Node{}
	for n := range gm.Graph().Nodes() {
		named[n.Name()] = n
	}
	part, err := passes.ExtractSubgraph(gm, []*ir.Node{named["b"]}, []*ir.Node{named["a"]}, []*ir.Node{named["b"]})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(part.Graph())
	// Output:
	// graph():
	//     %a : [num_users=1] = placeholder[target=a]
	//     %b : [num_users=1] = call_function[target=torch.relu](args = (%a,), kwargs = {})
	//     return [b]
}
