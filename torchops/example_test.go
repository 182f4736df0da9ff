package torchops_test

import (
	"errors"
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func ExampleFrom() {
	x, err := torch.From([]float32{1, 2.5, -3, 4}, 2, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer x.Close()
	fmt.Println(x)
	fmt.Println(x.Shape(), x.DType(), x.Device())
	// Output:
	// tensor([[ 1.0000,  2.5000],
	//         [-3.0000,  4.0000]])
	// [2 2] torch.float32 cpu
}

func ExampleCall() {
	x, _ := torch.From([]int64{3, 1, 2})
	defer x.Close()
	sorted, err := torch.Call("aten::sort.stable", x, torch.Kw("stable", true), torch.Kw("descending", true))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sorted.(ir.PyTuple)[0])

	_, err = torch.Call("aten::sort", x, 3)
	fmt.Println(err)
	fmt.Println(errors.Is(err, ir.ErrIndex))
	// Output:
	// tensor([3, 2, 1])
	// aten::sort: Dimension out of range (expected to be in range of [-1, 0], but got 3) (self: i64[3] cpu, dim: 3)
	// true
}

func ExampleTry() {
	model := func(x, w *torch.Tensor) *torch.Tensor {
		return torch.Softmax(torch.Relu(x.Mul(w)), -1)
	}
	x, w := torch.Ones(1, 2), torch.Zeros(1, 3)
	_, err := torch.Try(func() *torch.Tensor { return model(x, w) })
	fmt.Println(err)
	// Output:
	// aten::mul.Tensor: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1 (self: f32[1, 2] cpu, other: f32[1, 3] cpu)
}

func ExampleScope() {
	s := torch.NewScope()
	x := torch.Arange(0, 6, 1, torch.In(s)).Reshape(2, 3)
	y := s.Keep(x.Mul(x).Sum(1)) // what leads to y goes with the scope
	defer y.Close()
	fmt.Println(s.Len(), "tensors in the scope")
	s.Close()
	fmt.Println(y)
	// Output:
	// 3 tensors in the scope
	// tensor([ 5, 50])
}

func ExampleInvoke() {
	quotient, _ := torch.Invoke(nil, ir.FuncOf("operator.floordiv"), []any{-7, 2}, nil)
	fmt.Println(quotient)
	x := torch.Zeros(4, 5)
	defer x.Close()
	size, _ := torch.Invoke(nil, ir.FuncOf("torch.ops.aten.sym_size.int"), []any{x, -1}, nil)
	fmt.Println(size)
	// Output:
	// -4
	// 5
}

func ExampleTensor_Index() {
	x := torch.Arange(0, 12, 1).Reshape(3, 4)
	fmt.Println(x.Index(torch.Slice(1, nil, nil), -1))
	fmt.Println(x.Index(torch.Ellipsis, []int{0, 2}))
	// Output:
	// tensor([ 7, 11])
	// tensor([[ 0,  2],
	//         [ 4,  6],
	//         [ 8, 10]])
}

// A page of ordinary code.
func Example() {
	x := torch.Arange(12, torch.Kw("dtype", torch.Float32)).Reshape(3, 4)
	x.SetIndex(-1, 0, torch.Slice(2, nil)) // x[0, 2:] = -1
	y := x.MatMul(torch.Ones(4, 2)).Add(torch.Eye(3, torch.Kw("m", 2))).Div(2)
	fmt.Println(y.Shape(), y.DType())
	fmt.Println(x.Index(torch.Ellipsis, -1), x.Index(torch.None, 0).Shape(), x.Index(x.Gt(8)))
	fmt.Println(x.Sum(0), x.Mean(-1, torch.Kw("keepdim", true)).Shape())
	values, indices := x.MaxDim(1)
	fmt.Println(values, indices)
	fmt.Println(torch.Where(x.Lt(0), 0.0, x).Pow(2).Index(0))
	total, _ := x.Sum().Item()
	row, _ := torch.Data[float32](x.Index(1))
	fmt.Println(total, row)
	// Output:
	// [3 2] torch.float32
	// tensor([-1.,  7., 11.]) [1 4] tensor([ 9., 10., 11.])
	// tensor([12., 15., 15., 17.]) [3 1]
	// tensor([ 1.,  7., 11.]) tensor([1, 3, 3])
	// tensor([0., 1., 0., 0.])
	// 59 [4 5 6 7]
}
