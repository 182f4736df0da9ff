package torchfxdoc_test

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A MyModule is a simple module for demonstration.
type MyModule struct {
	nn.Base `forward:"x"`
	Param   *torch.Tensor
	Linear  *nn.Linear
}

func NewMyModule() *MyModule {
	return &MyModule{Param: torch.Rand(3, 4), Linear: nn.NewLinear(4, 5)}
}

func (m *MyModule) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Linear.Forward(operator.Add(x, m.Param)).Clamp(torch.Kw("min", 0.0), torch.Kw("max", 1.0))
}

func Example_overview() {
	module := NewMyModule()

	// Symbolic tracing frontend - captures the semantics of the module
	symbolicTraced, err := torchfx.SymbolicTrace(module)
	if err != nil {
		fmt.Println(err)
		return
	}

	// High-level intermediate representation (IR) - Graph representation
	fmt.Println(symbolicTraced.Graph())

	// Code generation - valid Python code
	code, err := symbolicTraced.Code()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.TrimSpace(code))
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %param : [num_users=1] = get_attr[target=param]
	//     %add : [num_users=1] = call_function[target=operator.add](args = (%x, %param), kwargs = {})
	//     %linear : [num_users=1] = call_module[target=linear](args = (%add,), kwargs = {})
	//     %clamp : [num_users=1] = call_method[target=clamp](args = (%linear,), kwargs = {min: 0.0, max: 1.0})
	//     return clamp
	// def forward(self, x):
	//     param = self.param
	//     add = x + param;  x = param = None
	//     linear = self.linear(add);  add = None
	//     clamp = linear.clamp(min = 0.0, max = 1.0);  linear = None
	//     return clamp
}
