package tracer_test

import (
	"fmt"

	"github.com/torchfx-go/torchfx/nn"
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

// A recording holds the operators that libtorch was called for.
func ExampleRecord() {
	x := torch.Ones(2, 3)
	gm, err := tracer.Record(func(x *torch.Tensor) *torch.Tensor {
		y := torch.Softmax(x.Add(1), -1)
		return y.Mul(2)
	}, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(gm.Graph())
	// Output:
	// graph():
	//     %arg0_1 : [num_users=1] = placeholder[target=arg0_1]
	//     %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%arg0_1, 1), kwargs = {})
	//     %softmax : [num_users=1] = call_function[target=torch.ops.aten.softmax.int](args = (%add, -1), kwargs = {})
	//     %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%softmax, 2), kwargs = {})
	//     return mul
}

// At the leaves, operators that are made of others give way to these; a size that is
// asked for stays a symbol.
func ExampleRecording_Record() {
	linear := nn.NewLinear(3, 4)
	gm, err := tracer.Recording{Leaf: true, Names: []string{"x"}, Dynamic: []tracer.Dim{{Symbol: "batch"}}}.Record(linear, torch.Ones(2, 3))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := gm.Readable()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(text)
	// Output:
	// class Linear(torch.nn.Module):
	//     def forward(self, x: "f32[s_batch, 3]"):
	//         # No stacktrace found for following nodes
	//         weight: "f32[4, 3]" = self.weight
	//         t: "f32[3, 4]" = torch.ops.aten.t.default(weight);  weight = None
	//         bias: "f32[4]" = self.bias
	//         addmm: "f32[s_batch, 4]" = torch.ops.aten.addmm.default(bias, x, t);  bias = x = t = None
	//         return addmm
}
