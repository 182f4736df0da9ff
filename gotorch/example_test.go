//go:build gotorch

package gotorch_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	gt "github.com/wangkuiyi/gotorch"
	gnn "github.com/wangkuiyi/gotorch/nn"
	"github.com/wangkuiyi/gotorch/vision/models"

	torchfx "github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/gotorch"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The network of gotorch's MNIST example, as Python would write it.
func ExampleTrace() {
	gm, err := gotorch.Trace(models.MLP(), torch.Randn(1, 1, 28, 28))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(gm.Graph())
	// Output:
	// graph():
	//     %arg0_1 : [num_users=1] = placeholder[target=arg0_1]
	//     %view : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%arg0_1, [-1, 784]), kwargs = {})
	//     %fc1_weight : [num_users=1] = get_attr[target=fc1.weight]
	//     %t : [num_users=1] = call_function[target=torch.ops.aten.t.default](args = (%fc1_weight,), kwargs = {})
	//     %fc1_bias : [num_users=1] = get_attr[target=fc1.bias]
	//     %addmm : [num_users=1] = call_function[target=torch.ops.aten.addmm.default](args = (%fc1_bias, %view, %t), kwargs = {})
	//     %tanh : [num_users=1] = call_function[target=torch.ops.aten.tanh.default](args = (%addmm,), kwargs = {})
	//     %fc2_weight : [num_users=1] = get_attr[target=fc2.weight]
	//     %t_1 : [num_users=1] = call_function[target=torch.ops.aten.t.default](args = (%fc2_weight,), kwargs = {})
	//     %fc2_bias : [num_users=1] = get_attr[target=fc2.bias]
	//     %addmm_1 : [num_users=1] = call_function[target=torch.ops.aten.addmm.default](args = (%fc2_bias, %tanh, %t_1), kwargs = {})
	//     %tanh_1 : [num_users=1] = call_function[target=torch.ops.aten.tanh.default](args = (%addmm_1,), kwargs = {})
	//     %fc3_weight : [num_users=1] = get_attr[target=fc3.weight]
	//     %t_2 : [num_users=1] = call_function[target=torch.ops.aten.t.default](args = (%fc3_weight,), kwargs = {})
	//     %fc3_bias : [num_users=1] = get_attr[target=fc3.bias]
	//     %addmm_2 : [num_users=1] = call_function[target=torch.ops.aten.addmm.default](args = (%fc3_bias, %tanh_1, %t_2), kwargs = {})
	//     %log_softmax : [num_users=1] = call_function[target=torch.ops.aten.log_softmax.int](args = (%addmm_2, 1), kwargs = {})
	//     return log_softmax
}

// A residual network of gotorch becomes a program of PyTorch: for any batch, with
// its batch norms folded.
func ExampleTraceBy() {
	net := models.Resnet18()
	net.Train(false)
	gm, err := gotorch.TraceBy(tracer.Recording{
		Names:   []string{"image"},
		Dynamic: []tracer.Dim{{Symbol: "batch"}},
	}, net, torch.Randn(2, 3, 64, 64))
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := passes.FoldBatchNorm(context.Background(), gm)
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "gotorch")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "resnet18.pt2")
	if err := torchfx.Save(path, gm); err != nil {
		fmt.Println(err)
		return
	}
	p, err := torchfx.Load(path) // or torch.export.load, in Python
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	out, err := p.Run(context.Background(), torch.Randn(5, 3, 64, 64))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(report.Folds), "batch norms folded;", out.(*torch.Tensor).Shape())
	// Output:
	// 20 batch norms folded; [5 1000]
}

// A tensor has one memory and two owners.
func ExampleFromGotorch() {
	theirs := gt.Full([]int64{2, 2}, 1, false)
	ours, err := gotorch.FromGotorch(theirs)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ours.Close()
	if _, err := torch.Call("aten::fill_.Scalar", ours, 3); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(gt.Equal(theirs, gt.Full([]int64{2, 2}, 3, false)))
	// Output:
	// true
}

func ExampleToGotorch() {
	ours, err := torch.From([]float32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ours.Close()
	theirs, err := gotorch.ToGotorch(ours)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(theirs.Shape(), theirs.Index(1, 0).Item())
	// Output:
	// [2 2] 3
}

// An error of gotorch is an error, not the end of the program.
func ExampleDo() {
	err := gotorch.Do(func() {
		gt.MM(gt.Full([]int64{2, 3}, 1, false), gt.Full([]int64{2, 3}, 1, false))
	})
	fmt.Println(err)
	// Output:
	// gotorch: mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)
}

// One layer of each package, on the same weights.
func ExampleLoadStateDict() {
	ours, theirs := nn.NewLinear(3, 2), gnn.Linear(3, 2, true)
	if err := gotorch.LoadStateDict(theirs, nn.StateDict(ours)); err != nil {
		fmt.Println(err)
		return
	}
	state, err := gotorch.StateDict(theirs)
	if err != nil {
		fmt.Println(err)
		return
	}
	for path, t := range nn.StateDict(ours) {
		equal, err := torch.Equal(t, state[path])
		fmt.Println(path, equal, err)
	}
	_, err = nn.LoadStateDict(ours, maps.All(state)) // and back
	fmt.Println(err)
	// Output:
	// weight true <nil>
	// bias true <nil>
	// <nil>
}
