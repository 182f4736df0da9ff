package torchfxdoc_test

import (
	"errors"
	"fmt"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// Control flow that depends on a traced value is an error, with the line of the
// model's source.
func Example_dynamicControlFlow() {
	funcToTrace := func(x *torch.Tensor) *torch.Tensor {
		if operator.Gt(x.Sum(), 0).Bool() {
			return torch.Relu(x)
		}
		return torch.Neg(x)
	}

	_, err := torchfx.SymbolicTrace(funcToTrace)
	fmt.Println(errors.Is(err, ir.ErrTrace))
	var e *tracer.Error
	if errors.As(err, &e) {
		fmt.Println(e.Unwrap())
		fmt.Println(e.Source)
	}
	// Output:
	// true
	// bool: symbolically traced variables cannot be used as inputs to control flow
	// doc4_limits_test.go:19
}

// A Gated has static control flow.
type Gated struct {
	nn.Base      `forward:"x"`
	DoActivation bool
	Linear       *nn.Linear
}

func NewGated(doActivation bool) *Gated {
	return &Gated{DoActivation: doActivation, Linear: nn.NewLinear(512, 512)}
}

func (m *Gated) Forward(x *torch.Tensor) *torch.Tensor {
	x = m.Linear.Forward(x)
	// This if-statement is so-called static control flow.
	// Its condition does not depend on any input values
	if m.DoActivation {
		x = torch.Relu(x)
	}
	return x
}

func Example_staticControlFlow() {
	withoutActivation := NewGated(false)
	withActivation := NewGated(true)

	printCode(must(torchfx.SymbolicTrace(withoutActivation)))
	printCode(must(torchfx.SymbolicTrace(withActivation)))
	// Output:
	// def forward(self, x):
	//     linear = self.linear(x);  x = None
	//     return linear
	// def forward(self, x):
	//     linear = self.linear(x);  x = None
	//     relu = torch.relu(linear);  linear = None
	//     return relu
}

// A parameter that cannot stand for a node has to be given; Python finds that
// out when it meets the condition.
func Example_concreteFlag() {
	f := func(x *torch.Tensor, flag bool) *torch.Tensor {
		if flag {
			return x
		}
		return operator.Mul(x, 2)
	}

	_, err := torchfx.SymbolicTrace(f, tracer.Signature("x, flag")) // Fails!
	fmt.Println(err)

	gm := must(torchfx.SymbolicTrace(f, tracer.Signature("x, flag"), tracer.Concrete(map[string]any{"flag": true})))
	printCode(gm)
	// Output:
	// trace at doc4_limits_test.go:85: parameter flag: a bool cannot stand for a node; give it by Concrete
	// def forward(self, x, flag_1):
	//     eq = flag_1 == True;  flag_1 = None
	//     _assert = torch._assert(eq, 'flag has been specialized to have value True but got another value');  eq = _assert = None
	//     return x
}

// The length of a traced value is not known.
func Example_lenError() {
	normalize := func(x *torch.Tensor) *torch.Tensor {
		return operator.TrueDiv(x, x.Len())
	}
	_, err := torchfx.SymbolicTrace(normalize)
	var e *tracer.Error
	if errors.As(err, &e) {
		fmt.Println(e.Unwrap())
	}
	// Output:
	// len: 'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call torch.fx.wrap('len') at module scope
}

// Wrapped functions are nodes. WrapNamed takes those that Python has, Wrap those
// of the program.
var (
	length = torch.WrapNamed[func(x any) any]("len")
	sqrt   = torch.WrapNamed[func(x any) any]("math.sqrt")
)

func Example_wrap() {
	// Normalize x by the size of the batch dimension
	normalize := func(x *torch.Tensor) *torch.Tensor {
		return operator.TrueDiv(x, sqrt(length(x)))
	}
	traced := must(torchfx.SymbolicTrace(normalize))
	printCode(traced)
	x := torch.Ones(4, 2)
	fmt.Println(allClose(run(traced, x), x.Div(2)))
	// Output:
	// torch.fx._symbolic_trace.wrap("len")
	// torch.fx._symbolic_trace.wrap("math_sqrt")
	//
	// def forward(self, x):
	//     len_1 = len(x)
	//     sqrt = math_sqrt(len_1);  len_1 = None
	//     truediv = x / sqrt;  x = sqrt = None
	//     return truediv
	// true
}

// A ReluOnes is traced by a tracer of one's own.
type ReluOnes struct {
	nn.Base `forward:"x"`
}

func (*ReluOnes) Forward(x *torch.Tensor) *torch.Tensor {
	return operator.Add(torch.Relu(x), torch.Ones(3, 4))
}

// Where Python overrides methods of a subclass, Go gives the tracer functions.
func Example_customTracer() {
	myCustomTracer := tracer.New(
		tracer.OnCreateNode(func(s tracer.NodeSpec, create func(tracer.NodeSpec) (*ir.Node, error)) (*ir.Node, error) {
			fmt.Println("creating", s.Op, s.Target)
			return create(s)
		}),
	)

	// Let's use this custom tracer to trace through this module
	mod := &ReluOnes{}
	tracedGraph := must(myCustomTracer.Trace(mod))
	// Trace returns a Graph. Let's wrap it up in a
	// GraphModule to make it runnable. The constant that the trace met is the
	// tracer's: Python stores it in mod
	traced := must(torchfx.NewGraphModule(myCustomTracer, tracedGraph))
	printCode(traced)
	// Output:
	// creating placeholder x
	// creating call_function torch.relu
	// creating get_attr _tensor_constant0
	// creating call_function operator.add
	// creating output output
	// def forward(self, x):
	//     relu = torch.relu(x);  x = None
	//     _tensor_constant0 = self._tensor_constant0
	//     add = relu + _tensor_constant0;  relu = _tensor_constant0 = None
	//     return add
}

// A MySpecialSubmodule is traced through.
type MySpecialSubmodule struct {
	nn.Base `forward:"x"`
}

func (*MySpecialSubmodule) Forward(x *torch.Tensor) *torch.Tensor { return torch.Neg(x) }

// A WithSubmodule calls a layer and a module of its own.
type WithSubmodule struct {
	nn.Base `forward:"x"`
	Linear  *nn.Linear
	Submod  *MySpecialSubmodule
}

func (m *WithSubmodule) Forward(x *torch.Tensor) *torch.Tensor {
	return nn.Call(m.Submod, m.Linear.Forward(x))
}

// linear is preserved as a call, yet submod is traced though.
// This is because the default set of leaf modules includes all
// standard layers of package nn.
func Example_leafModules() {
	model := &WithSubmodule{Linear: nn.NewLinear(3, 4), Submod: &MySpecialSubmodule{}}
	printCode(must(torchfx.SymbolicTrace(model)))

	everyModule := tracer.IsLeaf(func(nn.Module, string) bool { return true })
	printCode(must(torchfx.SymbolicTrace(model, everyModule)))
	// Output:
	// def forward(self, x):
	//     linear = self.linear(x);  x = None
	//     neg = torch.neg(linear);  linear = None
	//     return neg
	// def forward(self, x):
	//     linear = self.linear(x);  x = None
	//     submod = self.submod(linear);  linear = None
	//     return submod
}
