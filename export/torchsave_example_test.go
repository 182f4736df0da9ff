package export_test

import (
	"fmt"
	"path/filepath"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
)

// A checkpoint holds a state dict among other things.
func ExampleOpenTorchSave() {
	s, err := export.OpenTorchSave(filepath.Join("testdata", "torchsave", "checkpoint.pt"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	names, tensors, err := s.StateDict("model")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range names[:2] {
		fmt.Println(name, tensors[name].DType, tensors[name].Sizes)
	}
	epoch, _ := s.Value.(*ir.PyDict).Get("epoch")
	fmt.Println("epoch", epoch)
	// Output:
	// 0.weight torch.float32 [2 3]
	// 0.bias torch.float32 [2]
	// epoch 3
}

// A whole GraphModule is its code and its parts.
func ExampleSaved_Module() {
	s, err := export.OpenTorchSave(filepath.Join("testdata", "torchsave", "graph_module_nested.pt"), export.Classes(export.ModuleClasses))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	m, err := s.Module()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.(*ir.GraphModule).Graph())
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %inner : [num_users=1] = call_module[target=inner](args = (%x,), kwargs = {})
	//     %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%inner, y), kwargs = {})
	//     %relu : [num_users=1] = call_method[target=relu](args = (%getitem,), kwargs = {})
	//     return relu
}

func ExampleSignatureOnly() {
	p, err := export.Open(linear, export.SignatureOnly())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	for _, in := range p.Signature.Inputs {
		fmt.Println(in.Kind, in.Name, in.Target)
	}
	// Output:
	// parameter p_l_weight l.weight
	// parameter p_l_bias l.bias
	// user_input x
}
