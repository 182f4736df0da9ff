package torchfxdoc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/examples/vision"
	"github.com/torchfx-go/torchfx/gosource"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// Is the transformed module right? Equality of tensors is element by element, so
// that the whole has no truth; torch.AllClose asks for it.
func Example_compareOutputs() {
	transform := func(m nn.Module) (*torchfx.GraphModule, error) {
		gm, err := torchfx.SymbolicTrace(m)
		// Imagine we're doing some transforms here
		return gm, err
	}
	resnet18 := vision.NewResNet18(10)
	transformedResnet18 := must(transform(resnet18))

	inputImage := torch.Randn(2, 3, 64, 64)
	want, got := resnet18.Forward(inputImage), run(transformedResnet18, inputImage).(*torch.Tensor)

	_, err := torch.Try(func() bool { return want.Eq(got).Bool() })
	fmt.Println(errors.Unwrap(err))
	fmt.Println(allClose(want, got))
	// Output:
	// Boolean value of Tensor with more than one value is ambiguous
	// true
}

// Python's debugger steps through the generated code line by line. Here a
// handler around each node sees the same: what runs, and what came out.
func Example_stepThrough() {
	myPass := func(inp nn.Module, t *torchfx.Tracer) (*torchfx.GraphModule, error) {
		graph, err := t.Trace(inp)
		if err != nil {
			return nil, err
		}
		// Transformation logic here

		// Return new module
		return torchfx.NewGraphModule(inp, graph)
	}
	myModuleTransformed := must(myPass(NewMyModule(), tracer.New()))
	inputValue := torch.Randn(3, 4)

	step := interpreter.Around(interpreter.Default{}, func(r *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
		v, err := run() // a breakpoint of delve stops here at every node
		fmt.Println(n, v.(*torch.Tensor).Shape())
		return v, err
	})
	_ = must(interpreter.New(myModuleTransformed, interpreter.WithHandler(step)).Run(context.Background(), inputValue))
	// Output:
	// x [3 4]
	// param [3 4]
	// add [3 4]
	// linear [3 5]
	// clamp [3 5]
	// output [3 5]
}

// A WithParam is the module of the next example.
type WithParam struct {
	nn.Base `forward:"y"`
	X       *torch.Tensor
}

func (m *WithParam) Forward(y *torch.Tensor) *torch.Tensor { return operator.Add(m.X, y) }

// A Pasted is WithParam with the generated Forward, as the example below prints it.
type Pasted struct {
	X *torch.Tensor
}

func (m *Pasted) Forward(y any) any {
	add := call("operator.add", m.X, y)
	return add
}

// The generated code as code of the program: print it, paste it, look at it under
// a debugger, compare. Package gosource writes Go as well as gm.Code writes Python.
func Example_pasteGeneratedCode() {
	m := &WithParam{X: torch.Rand(3)}
	traced := must(torchfx.SymbolicTrace(m))

	// Copy this code for later
	printCode(traced)
	text := string(must(gosource.Generate(traced)))
	_, forward, _ := strings.Cut(text, "returns it.\n")
	forward, _, _ = strings.Cut(forward, "\n\n")
	fmt.Println(forward)

	// Create an instance with the pasted Forward.
	// We can now compare the output of both the original and the traced version.
	y := torch.Rand(3)
	fmt.Println(allClose(m.Forward(y), (&Pasted{X: m.X}).Forward(y)))
	// Output:
	// def forward(self, y):
	//     x = self.x
	//     add = x + y;  x = y = None
	//     return add
	// func (m *WithParam) Forward(y any) *torch.Tensor {
	// 	add := operator.Add(m.X, y)
	// 	return add
	// }
	// true
}

// A saved folder is a Python package: `from foo import Bar` works in Python.
// LoadFolder reads it in Go without running it.
func Example_toFolder() {
	dir, err := os.MkdirTemp("", "torchfxdoc")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	foo := filepath.Join(dir, "foo")

	m := must(torchfx.SymbolicTrace(NewMyModule()))
	if err := torchfx.ToFolder(m, foo, "Bar"); err != nil {
		log.Fatal(err)
	}
	y, _, err := torchfx.LoadFolder(foo)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y.ClassName())
	fmt.Println(ir.Equal(m.Graph(), y.Graph()) == nil)
	x := torch.Rand(3, 4)
	fmt.Println(allClose(run(m, x), run(y, x)))
	// Output:
	// Bar
	// true
	// true
}

// A Sum is the sample module of the section on inspecting graphs.
type Sum struct {
	nn.Base `forward:"x, y"`
}

func (*Sum) Forward(x, y *torch.Tensor) *torch.Tensor { return operator.Add(x, y) }

func Example_inspect() {
	// Create an instance of Sum
	m := &Sum{}

	// Symbolically trace an instance of Sum (returns a GraphModule).
	traced := must(torchfx.SymbolicTrace(m))

	// Print the code produced by tracing the module.
	printCode(traced)

	// Print the internal Graph.
	fmt.Println(traced.Graph())

	// Print a tabular representation of the internal Graph.
	fmt.Print(traced.Graph().Tabular())

	transformGraph := func(module *torchfx.GraphModule, t *torchfx.Tracer) (*torchfx.GraphModule, error) {
		// Get the Graph from our traced module
		g, err := t.Trace(module)
		if err != nil {
			return nil, err
		}
		// Transformations on g go here
		for n := range g.Nodes() {
			if n.Func() == ir.FuncOf("operator.add") {
				if err := n.SetTarget(ir.FuncOf("operator.sub")); err != nil {
					return nil, err
				}
			}
		}
		return torchfx.NewGraphModule(module, g)
	}

	// Transform the Graph
	transformed := must(transformGraph(traced, tracer.New()))

	// Print the new code after our transforms. Check to see if it was
	// what we expected
	printCode(transformed)
	// Output:
	// def forward(self, x, y):
	//     add = x + y;  x = y = None
	//     return add
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %y : [num_users=1] = placeholder[target=y]
	//     %add : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})
	//     return add
	// opcode         name    target                   args    kwargs
	// -------------  ------  -----------------------  ------  --------
	// placeholder    x       x                        ()      {}
	// placeholder    y       y                        ()      {}
	// call_function  add     <built-in function add>  (x, y)  {}
	// output         output  output                   (add,)  {}
	// def forward(self, x, y):
	//     add = x - y;  x = y = None
	//     return add
}
