package interpreter_test

import (
	"context"
	"fmt"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// productGraph is (x + y) * 2.
func productGraph() *ir.GraphModule {
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	sum := g.CallFunction(ir.FuncOf("operator.add"), []ir.Arg{x, y})
	g.Output(g.CallFunction(ir.FuncOf("operator.mul"), []ir.Arg{sum, ir.Int(2)}))
	gm, err := ir.NewGraphModule(nil, g)
	if err != nil {
		panic(err)
	}
	return gm
}

// Values are tensors in programs that PyTorch saved; Python's numbers do as well.
func ExampleInterpreter_Run() {
	in := interpreter.New(productGraph())
	out, err := in.Run(context.Background(), 3, 4)
	fmt.Println(out, err)
	// Output: 14 <nil>
}

// A Swapping computes sums as products.
type Swapping struct{ interpreter.Default }

func (s Swapping) CallFunction(r *interpreter.Run, fn *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
	if fn == ir.FuncOf("operator.add") {
		fn = ir.FuncOf("operator.mul")
	}
	return s.Default.CallFunction(r, fn, args, kwargs)
}

// Embedding Default and overriding one step is what Python does by subclassing.
func ExampleHandler() {
	in := interpreter.New(productGraph(), interpreter.WithHandler(Swapping{}))
	out, err := in.Run(context.Background(), 3, 4)
	fmt.Println(out, err)
	// Output: 24 <nil>
}

func ExampleAround() {
	watch := interpreter.Around(interpreter.Default{}, func(r *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
		v, err := run()
		fmt.Println(n.Name(), v)
		return v, err
	})
	in := interpreter.New(productGraph(), interpreter.WithHandler(watch))
	if _, err := in.Run(context.Background(), 3, 4); err != nil {
		fmt.Println(err)
	}
	// Output:
	// x 3
	// y 4
	// add 7
	// mul 14
	// output 14
}

// Everything that a module needs and that is not there is told at once.
func ExampleCheck() {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(ir.FuncOf("mylib.encode"), []ir.Arg{x})
	b := g.CallFunction(ir.FuncOf("torch.ops.higher_order.triton_kernel_wrapper_functional"), []ir.Arg{a})
	g.Output(b)
	gm, err := ir.NewGraphModule(nil, g)
	if err != nil {
		panic(err)
	}
	fmt.Println(interpreter.Check(gm))
	// Output:
	// node encode: function mylib.encode: expected one that is implemented here
	// node triton_kernel_wrapper_functional: higher-order operator triton_kernel_wrapper_functional: not supported: its kernel is Python code for the Triton compiler
}

// A plan computes what an interpreter does, in one crossing; its dump tells how.
func ExampleCompile() {
	plan, err := interpreter.Compile(productGraph())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer plan.Close()
	text, err := plan.Dump()
	if err != nil {
		fmt.Println(err)
	}
	fmt.Print(text)
	out, err := plan.Run(context.Background(), int64(6), int64(7))
	fmt.Println(out, err)
	// Output:
	// plan of GraphModule: 3 steps, 0 of them in Go, 4 slots, 2 inputs
	// takes x %0, y %1; returns %3
	// step  node    by   kernel                                                    reads  writes  frees  attributes
	// 0     add     C++  number | aten::add.Tensor (out) | aten::add.Tensor (out)  %0 %1  %2      %0 %1
	// 1     mul     C++  number | aten::mul.Tensor (out)                           %2     %3      %2
	// 2     output  C++  done                                                      %3
	// 26 <nil>
}
