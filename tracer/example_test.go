package tracer_test

import (
	"fmt"

	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

func ExampleSymbolicTrace() {
	gm, err := tracer.SymbolicTrace(func(x, y *torch.Tensor) *torch.Tensor {
		return torch.Relu(operator.Add(x, y)).View(x.Size(0), -1)
	}, tracer.Signature("x, y"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(gm.Graph())
	// Output:
	// graph():
	//     %x : [num_users=2] = placeholder[target=x]
	//     %y : [num_users=1] = placeholder[target=y]
	//     %add : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})
	//     %relu : [num_users=1] = call_function[target=torch.relu](args = (%add,), kwargs = {})
	//     %size : [num_users=1] = call_method[target=size](args = (%x, 0), kwargs = {})
	//     %view : [num_users=1] = call_method[target=view](args = (%relu, %size, -1), kwargs = {})
	//     return view
}

func ExampleConcrete() {
	sum := func(x map[string]*torch.Tensor, negate bool) *torch.Tensor {
		out := operator.Add(x["a"], x["b"])
		if negate {
			out = operator.Neg(out)
		}
		return out
	}
	gm, err := tracer.SymbolicTrace(sum, tracer.Signature("x, negate"), tracer.Concrete(map[string]any{
		"x":      map[string]any{"a": tracer.PH, "b": tracer.PH},
		"negate": false,
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	code, err := gm.Code()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(code)
	// Output:
	// def forward(self, x, negate):
	//     x_1, x_2, negate_1, = fx_pytree.tree_flatten_spec([x, negate], self._in_spec)
	//     eq = negate_1 == False;  negate_1 = None
	//     _assert = torch._assert(eq, 'negate has been specialized to have value False but got another value');  eq = _assert = None
	//     add = x_1 + x_2;  x_1 = x_2 = None
	//     return pytree.tree_unflatten([add], self._out_spec)
}
