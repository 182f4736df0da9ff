package torchfxdoc_test

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func Example_graph() {
	m := &TopK{Param: torch.Rand(3, 4), Linear: nn.NewLinear(4, 5)}
	gm := must(torchfx.SymbolicTrace(m))
	fmt.Println(gm.Graph())
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %linear_weight : [num_users=1] = get_attr[target=linear.weight]
	//     %add : [num_users=1] = call_function[target=operator.add](args = (%x, %linear_weight), kwargs = {})
	//     %linear : [num_users=1] = call_module[target=linear](args = (%add,), kwargs = {})
	//     %relu : [num_users=1] = call_method[target=relu](args = (%linear,), kwargs = {})
	//     %sum_1 : [num_users=1] = call_function[target=torch.sum](args = (%relu,), kwargs = {dim: -1})
	//     %topk : [num_users=1] = call_function[target=torch.topk](args = (%sum_1, 3), kwargs = {})
	//     return topk
}

// A WithDeadCode computes something that nobody reads.
type WithDeadCode struct {
	nn.Base `forward:"x"`
	Attr1   *torch.Tensor `nn:"attr_1"`
}

func (m *WithDeadCode) Forward(x *torch.Tensor) *torch.Tensor {
	operator.Add(x, 1)
	return operator.Add(x, m.Attr1)
}

func Example_eliminateDeadCode() {
	gm := must(torchfx.SymbolicTrace(&WithDeadCode{Attr1: torch.Ones(3)}))
	printCode(gm)
	fmt.Println(must(gm.Graph().EliminateDeadCode()))
	printCode(gm)
	// Output:
	// def forward(self, x):
	//     add = x + 1;  add = None
	//     attr_1 = self.attr_1
	//     add_1 = x + attr_1;  x = attr_1 = None
	//     return add_1
	// true
	// def forward(self, x):
	//     attr_1 = self.attr_1
	//     add_1 = x + attr_1;  x = attr_1 = None
	//     return add_1
}

// The insertion point: what `with` undoes in Python, restore undoes in Go. Under
// InsertAfter each new node goes directly behind n.
func Example_insertionPoint() {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	n := g.CallFunction(torch.FnRelu, []ir.Arg{x})
	g.Output(n)

	restore := must(g.InsertAfter(n))
	g.CallFunction(torch.FnNeg, []ir.Arg{n}) // inserting after node n
	restore()                                // insert point restored to what it was previously

	_ = must(g.InsertBefore(n)) // set the insert point permanently
	g.CallFunction(torch.FnAbs, []ir.Arg{x})
	fmt.Println(g)
	// Output:
	// graph():
	//     %x : [num_users=2] = placeholder[target=x]
	//     %abs_1 : [num_users=0] = call_function[target=torch.abs](args = (%x,), kwargs = {})
	//     %relu : [num_users=2] = call_function[target=torch.relu](args = (%x,), kwargs = {})
	//     %neg : [num_users=0] = call_function[target=torch.neg](args = (%relu,), kwargs = {})
	//     return relu
}

func Example_nodeCopy() {
	g := must(torchfx.SymbolicTrace(NewMyModule())).Graph()

	// Copying all the nodes in g into newGraph
	newGraph := ir.NewGraph()
	valueRemap := map[*torchfx.Node]ir.Arg{}
	for node := range g.Nodes() {
		valueRemap[node] = must(newGraph.CopyNode(node, func(n *torchfx.Node) ir.Arg { return valueRemap[n] }))
	}
	fmt.Println(ir.Equal(g, newGraph))
	// Output:
	// <nil>
}

// A function changes the body of the generated code.
func Example_onGenerateCode() {
	gm := must(torchfx.SymbolicTrace(&Sum{}))

	// This is a code transformer we want to register. This code
	// transformer prepends a pdb import and trace statement at the very
	// beginning of the generated torch.fx code to allow for manual
	// debugging with the PDB library.
	insertPdb := func(body []string) []string {
		return append([]string{"import pdb; pdb.set_trace()\n"}, body...)
	}

	// Registers insertPdb, and overwrites the current registered
	// code transformer (given by _ to the function):
	restore := gm.Graph().OnGenerateCode(func(_ ir.BodyFunc) ir.BodyFunc { return insertPdb })
	printCode(gm)

	// Or alternatively, registers a code transformer which first
	// runs body through existing registered transformer, then
	// through insertPdb:
	restoreTwo := gm.Graph().OnGenerateCode(func(current ir.BodyFunc) ir.BodyFunc {
		return func(body []string) []string {
			if current != nil {
				body = current(body)
			}
			return insertPdb(body)
		}
	})
	fmt.Println(strings.Count(must(gm.Code()), "set_trace"))

	// now the previous code transformers are restored, one after the other
	restoreTwo()
	restore()
	fmt.Println(strings.Count(must(gm.Code()), "set_trace"))
	// Output:
	// def forward(self, x, y):
	//     import pdb; pdb.set_trace()
	//     add = x + y;  x = y = None
	//     return add
	// 2
	// 0
}

// Prepend moves a node.
//
//	Before: p -> self        After: p -> x -> self
//	        bx -> x -> ax           bx -> ax
func Example_prepend() {
	g := must(ir.ParseCode(`
def forward(self, p):
    self_1 = torch.relu(p)
    bx = torch.neg(p)
    x = torch.abs(p)
    ax = torch.exp(p)
    return (self_1, bx, x, ax)
`))
	order := func() {
		var names []string
		for n := range g.Nodes() {
			names = append(names, n.Name())
		}
		fmt.Println(strings.Join(names, " -> "))
	}
	order()
	if err := g.Lookup("self_1").Prepend(g.Lookup("x")); err != nil {
		fmt.Println(err)
	}
	order()
	// Output:
	// p -> self_1 -> bx -> x -> ax -> output
	// p -> x -> self_1 -> bx -> ax -> output
}

// A proxy has no length, but a loop of a known number of rounds is traced.
func Example_proxyIndexing() {
	someHyperparameter := 2
	f := func(proxiedValue torchfx.Proxy) any {
		var total any = 0
		for i := range someHyperparameter {
			indexedItem := proxiedValue.Index(i)
			total = operator.Add(total, indexedItem)
		}
		return total
	}
	printCode(must(torchfx.SymbolicTrace(f)))
	// Output:
	// def forward(self, x):
	//     getitem = x[0]
	//     add = 0 + getitem;  getitem = None
	//     getitem_1 = x[1];  x = None
	//     add_1 = add + getitem_1;  add = getitem_1 = None
	//     return add_1
}
