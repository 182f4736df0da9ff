package torchfxdoc_test

import (
	"fmt"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// A transformation takes a module and returns one. This is the long form, where
// the caller brings the tracer.
func Example_transform() {
	transform := func(m nn.Module, t *torchfx.Tracer) (*torchfx.GraphModule, error) {
		// Step 1: acquire a Graph that represents the code in m
		graph, err := t.Trace(m)
		if err != nil {
			return nil, err
		}

		// Step 2: modify this Graph or create a new one
		for n := range graph.Nodes() {
			if n.Target() == ir.Path("clamp") {
				n.UpdateKwarg("max", ir.Float(6))
			}
		}

		// Step 3: construct a module to return
		return torchfx.NewGraphModule(m, graph)
	}
	printCode(must(transform(NewMyModule(), tracer.New())))
	// Output:
	// def forward(self, x):
	//     param = self.param
	//     add = x + param;  x = param = None
	//     linear = self.linear(add);  add = None
	//     clamp = linear.clamp(min = 0.0, max = 6.0);  linear = None
	//     return clamp
}

// The short form. There is nothing to recompile: code is generated when it is
// asked for, and the interpreter runs the graph.
func Example_transformInPlace() {
	transform := func(m nn.Module) (*torchfx.GraphModule, error) {
		gm, err := torchfx.SymbolicTrace(m)
		if err != nil {
			return nil, err
		}

		// Modify gm.Graph()
		gm.Graph().Lookup("clamp").UpdateKwarg("min", ir.Float(-1))

		return gm, nil
	}
	gm := must(transform(NewMyModule()))
	fmt.Println(gm.Graph().Lookup("clamp").Format())
	// Output:
	// %clamp : [num_users=1] = call_method[target=clamp](args = (%linear,), kwargs = {min: -1.0, max: 1.0})
}

// A TopK is the documentation's second MyModule.
type TopK struct {
	nn.Base `forward:"x"`
	Param   *torch.Tensor
	Linear  *nn.Linear
}

// Functions that torchops has no Go function for are called by their name.
func call(name string, args ...any) any {
	args, kw := torch.SplitKwargs(args)
	return torch.Dispatch(ir.CallFunction, ir.FuncOf(name), args, kw)
}

func (m *TopK) Forward(x *torch.Tensor) any {
	return call("torch.topk", call("torch.sum",
		m.Linear.Forward(operator.Add(x, m.Linear.Weight)).Relu(), torch.Kw("dim", -1)), 3)
}

func Example_printTabular() {
	m := &TopK{Param: torch.Rand(3, 4), Linear: nn.NewLinear(4, 5)}
	gm := must(torchfx.SymbolicTrace(m))
	fmt.Print(gm.Graph().Tabular())
	// Output:
	// opcode         name           target                                                   args                kwargs
	// -------------  -------------  -------------------------------------------------------  ------------------  -----------
	// placeholder    x              x                                                        ()                  {}
	// get_attr       linear_weight  linear.weight                                            ()                  {}
	// call_function  add            <built-in function add>                                  (x, linear_weight)  {}
	// call_module    linear         linear                                                   (add,)              {}
	// call_method    relu           relu                                                     (linear,)           {}
	// call_function  sum_1          <built-in method sum of type object at 0x000000000000>   (relu,)             {'dim': -1}
	// call_function  topk           <built-in method topk of type object at 0x000000000000>  (sum_1, 3)          {}
	// output         output         output                                                   (topk,)             {}
}

// An M is the sample module of the documentation.
type M struct {
	nn.Base `forward:"x, y"`
}

func (*M) Forward(x, y *torch.Tensor) *torch.Tensor { return torch.Add(x, y) }

// Direct manipulation of the graph: every torch.add becomes a torch.mul.
func Example_replaceTargets() {
	transform := func(m nn.Module, t *torchfx.Tracer) (*torchfx.GraphModule, error) {
		graph, err := t.Trace(m)
		if err != nil {
			return nil, err
		}
		// FX represents its Graph as an ordered list of
		// nodes, so we can iterate through them.
		for n := range graph.Nodes() {
			// Checks if we're calling a function (i.e: torch.add)
			if n.Op() == ir.CallFunction {
				// The target is the function that call_function calls.
				if n.Func() == torch.FnAdd {
					if err := n.SetTarget(torch.FnMul); err != nil {
						return nil, err
					}
				}
			}
		}
		if err := graph.Lint(); err != nil { // Does some checks to make sure the Graph is well-formed.
			return nil, err
		}
		return torchfx.NewGraphModule(m, graph)
	}
	printCode(must(transform(&M{}, tracer.New())))
	// Output:
	// def forward(self, x, y):
	//     add = torch.mul(x, y);  x = y = None
	//     return add
}

// Torch.fx's own ReplaceAllUsesWith would make the new node its own input here;
// this one leaves the replacement as it is.
func Example_insertAfter() {
	traced := must(torchfx.SymbolicTrace(&M{}))
	node := traced.Graph().Lookup("add")

	// Specifies the insertion point. Any nodes added to the
	// Graph until restore are inserted after node
	restore, err := traced.Graph().InsertAfter(node)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Insert a new call_function node calling torch.relu
	newNode := traced.Graph().CallFunction(torch.FnRelu, []ir.Arg{node})

	// We want all places that used the value of node to
	// now use that value after the relu call we've added.
	node.ReplaceAllUsesWith(newNode)
	restore()

	printCode(traced)
	// Output:
	// def forward(self, x, y):
	//     add = torch.add(x, y);  x = y = None
	//     relu = torch.relu(add);  add = None
	//     return relu
}
