package torchops_test

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// What is typed by hand, as a program that uses it.

func ExampleArange() {
	fmt.Println(torch.Arange(4))
	fmt.Println(torch.Arange(1, 2, 0.25))
	fmt.Println(torch.Arange(3, torch.Kw("dtype", torch.Float32)))
	// Output:
	// tensor([0, 1, 2, 3])
	// tensor([1.0000, 1.2500, 1.5000, 1.7500])
	// tensor([0., 1., 2.])
}

func ExampleTensorOf() {
	fmt.Println(torch.TensorOf([][]int{{1, 2}, {3, 4}}))
	fmt.Println(torch.TensorOf(2.5), torch.TensorOf([]bool{true, false}))
	// Output:
	// tensor([[1, 2],
	//         [3, 4]])
	// tensor(2.5000) tensor([ True, False])
}

func ExampleFull() {
	fmt.Println(torch.Full([]int{2, 2}, 7))
	fmt.Println(torch.Zeros(2).DType(), torch.Ones(1, 3).Shape(), torch.Eye(2))
	// Output:
	// tensor([[7, 7],
	//         [7, 7]])
	// torch.float32 [1 3] tensor([[1., 0.],
	//         [0., 1.]])
}

func ExampleAdd() {
	x, y := torch.TensorOf([]float64{1, 2}), torch.TensorOf([]float64{10, 20})
	fmt.Println(torch.Add(x, y), torch.Add(x, y, torch.Kw("alpha", 2)))
	fmt.Println(torch.Sub(x, 1), torch.Mul(x, y), torch.Div(y, 4), torch.Neg(x))
	// Output:
	// tensor([11., 22.]) tensor([21., 42.])
	// tensor([0., 1.]) tensor([10., 40.]) tensor([2.5000, 5.0000]) tensor([-1., -2.])
}

func ExampleCat() {
	x := torch.TensorOf([][]int{{1, 2}})
	fmt.Println(torch.Cat(torch.List{x, x}))
	fmt.Println(torch.Cat(torch.List{x, x}, 1), torch.Stack(torch.List{x, x}).Shape())
	// Output:
	// tensor([[1, 2],
	//         [1, 2]])
	// tensor([[1, 2, 1, 2]]) [2 1 2]
}

func ExampleWhere() {
	x := torch.TensorOf([]float64{-1, 2, -3})
	fmt.Println(torch.Where(torch.Gt(x, 0), x, 0))
	// Output: tensor([0., 2., 0.])
}

func ExampleSum() {
	x := torch.TensorOf([][]float64{{1, 2}, {3, 4}})
	fmt.Println(torch.Sum(x), torch.Sum(x, 0), torch.Mean(x, 1, torch.Kw("keepdim", true)).Shape())
	// Output: tensor(10.) tensor([4., 6.]) [2 1]
}

func ExampleSlice() {
	x := torch.Arange(6).Reshape([]int{2, 3})
	fmt.Println(x.Index(torch.Slice(nil, nil), torch.Slice(1, nil))) // x[:, 1:]
	fmt.Println(x.Index(torch.Ellipsis, torch.Slice(nil, nil, 2)))   // x[..., ::2]
	x.SetIndex(-1, 0, torch.Slice(nil, 2))                           // x[0, :2] = -1
	fmt.Println(x)
	// Output:
	// tensor([[1, 2],
	//         [4, 5]])
	// tensor([[0, 2],
	//         [3, 5]])
	// tensor([[-1, -1,  2],
	//         [ 3,  4,  5]])
}

func ExampleData() {
	x := torch.TensorOf([][]float64{{1, 2}, {3, 4}}).T()
	values, err := torch.Data[float32](x) // in the order of indices, whatever the strides
	fmt.Println(values, err)
	total, err := x.Sum().Item()
	fmt.Println(total, err)
	// Output:
	// [1 3 2 4] <nil>
	// 10 <nil>
}

func ExampleMatMul() {
	x := torch.Arange(4).Reshape([]int{2, 2})
	fmt.Println(torch.MatMul(x, x), torch.Flatten(x), torch.Unsqueeze(x, 0).Shape())
	// Output:
	// tensor([[ 2,  3],
	//         [ 6, 11]]) tensor([0, 1, 2, 3]) [1 2 2]
}

func ExampleCheck() {
	fmt.Println(torch.Check(ir.FuncOf("torch.nn.functional.relu")))
	fmt.Println(torch.Check(ir.FuncOf("torch.nn.functional.reul")))
	fmt.Println(torch.Nearest("torch.Tensor.veiw"))
	// Output:
	// <nil>
	// function torch.nn.functional.reul: expected one that is implemented here; the nearest is torch.nn.functional.relu
	// torch.Tensor.view
}

func ExampleInvokeMethod() {
	x := torch.TensorOf([]float64{3, 1, 2})
	v, err := torch.InvokeMethod(nil, "max", []any{x}, nil)
	fmt.Println(v, err)
	v, err = torch.InvokeMethod(nil, "count", []any{[]int{1, 2, 1}, 1}, nil) // lists have methods as well
	fmt.Println(v, err)
	// Output:
	// tensor(3.) <nil>
	// 2 <nil>
}

func ExampleManualSeed() {
	if err := torch.ManualSeed(7); err != nil {
		fmt.Println(err)
		return
	}
	x := torch.Rand(2)
	_ = torch.ManualSeed(7)
	same, err := torch.Equal(x, torch.Rand(2))
	fmt.Println(same, err)
	close, err := torch.AllClose(x, torch.Mul(x, 1.000001), 1e-5, 1e-8)
	fmt.Println(close, err)
	// Output:
	// true <nil>
	// true <nil>
}
