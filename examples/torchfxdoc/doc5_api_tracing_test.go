package torchfxdoc_test

import (
	"fmt"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// Concrete arguments: b is fixed, and the graph checks it. (The documentation
// says that other values of b are ignored; torch.fx has refused them for long.)
func Example_concreteValue() {
	f := func(a *torch.Tensor, b bool) any {
		if b {
			return a
		}
		return operator.Mul(a, 2)
	}
	gm := must(torchfx.SymbolicTrace(f, tracer.Signature("a, b"), tracer.Concrete(map[string]any{"b": false})))
	fmt.Println(run(gm, 3, false))
	// Output:
	// 6
}

// Concrete arguments take containers apart; PH marks what stays symbolic.
func Example_concreteContainer() {
	f := func(x map[string]torchfx.Proxy) any {
		var out any = 0
		for _, key := range []string{"a", "b", "c"} {
			out = operator.Add(out, x[key])
		}
		return out
	}
	gm := must(torchfx.SymbolicTrace(f, tracer.Signature("x"), tracer.Concrete(map[string]any{
		"x": map[string]any{"a": torchfx.PH, "b": torchfx.PH, "c": torchfx.PH},
	})))
	fmt.Println(run(gm, map[string]any{"a": 1, "b": 2, "c": 4}))
	// Output:
	// 7
}

// A wrapped function is a leaf: one call_function node. Wrap returns the function
// that a trace sees, as the decorator does in Python; the package variable is
// what "at module level" means.
var myCustomFunction = torchfx.Wrap("torchfxdoc.my_custom_function", func(x, y *torch.Tensor) *torch.Tensor {
	return operator.Add(operator.Mul(x, x), operator.Mul(y, y))
})

func Example_wrapFunction() {
	fnToBeTraced := func(x, y *torch.Tensor) *torch.Tensor {
		// When symbolic tracing, the below call to myCustomFunction will be inserted into
		// the graph rather than tracing it.
		return myCustomFunction(x, y)
	}
	gm := must(torchfx.SymbolicTrace(fnToBeTraced, tracer.Signature("x, y")))
	fmt.Println(gm.Graph())
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %y : [num_users=1] = placeholder[target=y]
	//     %my_custom_function : [num_users=1] = call_function[target=torchfxdoc.my_custom_function](args = (%x, %y), kwargs = {})
	//     return my_custom_function
}
