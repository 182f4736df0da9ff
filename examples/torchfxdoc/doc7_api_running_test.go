package torchfxdoc_test

import (
	"context"
	"fmt"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
	"github.com/torchfx-go/torchfx/transformer"
)

// A NegSigmSwap computes neg where the graph has sigmoid, and the other way round.
// (The documentation's own text calls super with a name that is not there.)
type NegSigmSwap struct{ interpreter.Default }

func (s NegSigmSwap) CallFunction(r *interpreter.Run, target *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
	if target == torch.FnSigmoid {
		return torch.Call("aten::neg", args[0])
	}
	return s.Default.CallFunction(r, target, args, kwargs)
}

func (s NegSigmSwap) CallMethod(r *interpreter.Run, target string, args []any, kwargs []torch.Kwarg) (any, error) {
	if target == "neg" {
		return s.Default.CallMethod(r, "sigmoid", args, kwargs)
	}
	return s.Default.CallMethod(r, target, args, kwargs)
}

func sigmoidNeg(x *torch.Tensor) *torch.Tensor { return torch.Sigmoid(x).Neg() }

func Example_interpreter() {
	gm := must(torchfx.SymbolicTrace(sigmoidNeg))
	input := torch.Randn(3, 4)
	result := must(interpreter.New(gm, interpreter.WithHandler(NegSigmSwap{})).Run(context.Background(), input))
	fmt.Println(allClose(result, torch.Neg(input).Sigmoid()))
	// Output:
	// true
}

// A NegSigmSwapXformer makes a graph of the swap instead of computing it.
type NegSigmSwapXformer struct{ transformer.Default }

func (s NegSigmSwapXformer) CallFunction(r *interpreter.Run, target *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
	if target == torch.FnSigmoid {
		return torch.Neg(args[0].(torchfx.Proxy).Tensor()), nil
	}
	return s.Default.CallFunction(r, target, args, kwargs)
}

func (s NegSigmSwapXformer) CallMethod(r *interpreter.Run, target string, args []any, kwargs []torch.Kwarg) (any, error) {
	if target == "neg" {
		return args[0].(torchfx.Proxy).Method("sigmoid", args[1:], kwargs...), nil
	}
	return s.Default.CallMethod(r, target, args, kwargs)
}

func Example_transformer() {
	gm := must(torchfx.SymbolicTrace(sigmoidNeg))
	transformed := must(transformer.Transform(context.Background(), gm, func(d transformer.Default) interpreter.Handler {
		return NegSigmSwapXformer{d}
	}))
	printCode(transformed)
	input := torch.Randn(3, 4)
	fmt.Println(allClose(run(transformed, input), torch.Neg(input).Sigmoid()))
	// Output:
	// def forward(self, x):
	//     neg = torch.neg(x);  x = None
	//     sigmoid = neg.sigmoid();  neg = None
	//     return sigmoid
	// true
}

// Patterns and replacements are Go functions here; graphs and code text do as
// well. The sum belongs to the pattern and goes with it. (The documentation's
// printed result is of a replacement that had it too.)
func Example_replacePattern() {
	m := func(x, w1, w2 *torch.Tensor) *torch.Tensor {
		m1 := torch.Cat(torch.List{w1, w2}).Sum()
		m2 := torch.Cat(torch.List{w1, w2}).Sum()
		return operator.Add(operator.Add(x, torch.Max(m1)), torch.Max(m2))
	}
	pattern := func(w1, w2 *torch.Tensor) *torch.Tensor {
		return torch.Cat(torch.List{w1, w2}).Sum()
	}
	replacement := func(w1, w2 *torch.Tensor) *torch.Tensor {
		return torch.Stack(torch.List{w1, w2})
	}

	tracedModule := must(torchfx.SymbolicTrace(m, tracer.Signature("x, w1, w2")))
	matches := must(torchfx.ReplacePattern(tracedModule, pattern, replacement))
	fmt.Println(len(matches))
	printCode(tracedModule)
	// Output:
	// 2
	// def forward(self, x, w1, w2):
	//     stack = torch.stack([w1, w2])
	//     max_1 = torch.max(stack);  stack = None
	//     add = x + max_1;  x = max_1 = None
	//     stack_1 = torch.stack([w1, w2]);  w1 = w2 = None
	//     max_2 = torch.max(stack_1);  stack_1 = None
	//     add_1 = add + max_2;  add = max_2 = None
	//     return add_1
}

// A replacement has the parameters of the pattern, also those it does not use.
func Example_replacePatternParameters() {
	m := must(torchfx.SymbolicTrace(func(a, b *torch.Tensor) *torch.Tensor {
		return operator.Add(torch.Neg(a), torch.Relu(b))
	}, tracer.Signature("a, b")))
	pattern := func(x, y *torch.Tensor) *torch.Tensor {
		return operator.Add(torch.Neg(x), torch.Relu(y))
	}
	replacement := func(x, y *torch.Tensor) *torch.Tensor {
		return torch.Relu(x)
	}
	for _, match := range must(torchfx.ReplacePattern(m, pattern, replacement)) {
		fmt.Println(match.At(), len(match.Nodes))
	}
	printCode(m)
	// Output:
	// add 5
	// def forward(self, a, b):
	//     relu_1 = torch.relu(a);  a = None
	//     return relu_1
}
