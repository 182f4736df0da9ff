package ir_test

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
)

// Reading code, and what an error says of code that is not torch.fx's.
func ExampleParseCode() {
	g, err := ir.ParseCode(`
def forward(self, x, y):
    add = x + y;  x = y = None
    linear = self.linear(add);  add = None
    return linear
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g)

	_, err = ir.ParseCode("def forward(self, x):\n    return torch.relu(x)")
	fmt.Println(err)
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %y : [num_users=1] = placeholder[target=y]
	//     %add : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})
	//     %linear : [num_users=1] = call_module[target=linear](args = (%add,), kwargs = {})
	//     return linear
	// code, line 2, column 12: expected a local or a literal, got a call of "torch.relu"; a call has a line of its own: y = torch.relu(…)
}

// The code of a module says what its graph is, with the globals that it names.
func ExampleWithGlobals() {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.Output(g.CallFunction(ir.FuncOf("my.package.helper"), []ir.Arg{x}))
	code, err := g.PythonCode("self")
	if err != nil {
		fmt.Println(err)
		return
	}
	read, err := ir.ParseCode(code.Source, ir.WithGlobals(code.Globals...))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ir.Equal(read, g))
	// Output: <nil>
}
