package nn_test

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/nn/functional"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

type Classifier struct {
	nn.Base `forward:"x"`
	Body    *nn.Sequential
	Head    *nn.Linear
}

func (c *Classifier) Forward(x *torch.Tensor) *torch.Tensor {
	return functional.Softmax(c.Head.Forward(c.Body.Forward(x)), torch.Kw("dim", -1))
}

func newClassifier() *Classifier {
	return &Classifier{
		Body: nn.NewSequential(nn.NewLinear(4, 8), nn.NewReLU(), nn.NewDropout(nn.WithP(0.1))),
		Head: nn.NewLinear(8, 2, nn.WithBias(false)),
	}
}

// The text of a model is Python's.
func ExampleRepr() {
	fmt.Println(nn.Repr(newClassifier()))
	// Output:
	// Classifier(
	//   (body): Sequential(
	//     (0): Linear(in_features=4, out_features=8, bias=True)
	//     (1): ReLU()
	//     (2): Dropout(p=0.1, inplace=False)
	//   )
	//   (head): Linear(in_features=8, out_features=2, bias=False)
	// )
}

// The keys of a state dict are Python's.
func ExampleStateDict() {
	for name, t := range nn.StateDict(newClassifier()) {
		fmt.Println(name, t.Shape())
	}
	// Output:
	// body.0.weight [8 4]
	// body.0.bias [8]
	// head.weight [2 8]
}

// What does not fit is said in Python's words.
func ExampleLoadStateDict() {
	bias := torch.Zeros(2)
	defer bias.Close()
	_, err := nn.LoadStateDict(nn.NewLinear(3, 2), func(yield func(string, *torch.Tensor) bool) {
		yield("bias", bias)
	})
	fmt.Println(err)
	// Output:
	// Error(s) in loading state_dict for Linear:
	// 	Missing key(s) in state_dict: "weight".
}

// The same seed gives the parameters that it gives in Python.
func ExampleNewLinear() {
	if err := torch.ManualSeed(0); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(nn.NewLinear(2, 2).Weight)
	// Output:
	// tensor([[-0.0053,  0.3793],
	//         [-0.5820, -0.5204]])
}

// A layer comes back from its repr, as saved folders need it.
func ExampleFromRepr() {
	m, err := nn.FromRepr("torch.nn.modules.conv.Conv2d", "Conv2d(3, 8, kernel_size=(3, 3), stride=(2, 2), bias=False)")
	if err != nil {
		fmt.Println(err)
		return
	}
	stride, _ := nn.Attribute(m, "stride")
	fmt.Println(nn.Repr(m), ir.Repr(stride))
	// Output:
	// Conv2d(3, 8, kernel_size=(3, 3), stride=(2, 2), bias=False) (2, 2)
}

// A trace has the layers as calls of modules.
func ExampleLayer() {
	gm, err := tracer.SymbolicTrace(newClassifier())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(gm.Graph())
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %body_0 : [num_users=1] = call_module[target=body.0](args = (%x,), kwargs = {})
	//     %body_1 : [num_users=1] = call_module[target=body.1](args = (%body_0,), kwargs = {})
	//     %body_2 : [num_users=1] = call_module[target=body.2](args = (%body_1,), kwargs = {})
	//     %head : [num_users=1] = call_module[target=head](args = (%body_2,), kwargs = {})
	//     %softmax : [num_users=1] = call_function[target=torch.nn.functional.softmax](args = (%head,), kwargs = {dim: -1, _stacklevel: 3, dtype: None})
	//     return softmax
}
