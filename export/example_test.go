package export_test

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
)

var linear = filepath.Join("testdata", "programs", "linear.pt2")

func ExampleOpen() {
	p, err := export.Open(linear)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	fmt.Print(p.Graph, "\n\n")
	for name, t := range p.State() {
		fmt.Println(name, t.DType, t.Sizes)
	}
	for _, r := range p.Ranges {
		fmt.Println(r)
	}
	// Output:
	// graph():
	//     %p_l_weight : [num_users=1] = placeholder[target=p_l_weight]
	//     %p_l_bias : [num_users=1] = placeholder[target=p_l_bias]
	//     %x : [num_users=1] = placeholder[target=x]
	//     %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_l_weight, %p_l_bias), kwargs = {})
	//     return (linear,)
	//
	// l.weight torch.float32 [2 3]
	// l.bias torch.float32 [2]
	// 2 <= s77 <= 64
}

func ExampleProgram_Module() {
	p, err := export.Open(linear)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	m, err := p.Module()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Graph())
	weight, _ := m.Attr("l.weight")
	fmt.Println(weight.(*export.Tensor).Sizes)
	// Output:
	// graph():
	//     %l_weight : [num_users=1] = get_attr[target=l.weight]
	//     %l_bias : [num_users=1] = get_attr[target=l.bias]
	//     %x : [num_users=2] = placeholder[target=x]
	//     %_guards_fn : [num_users=0] = call_module[target=_guards_fn](args = (%x,), kwargs = {})
	//     %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %l_weight, %l_bias), kwargs = {})
	//     return (linear,)
	// [2 3]
}

// batch is whatever knows its shape and dtype.
type batch struct{ shape []int }

func (b batch) Shape() []int    { return b.shape }
func (b batch) DType() ir.DType { return ir.Float32 }

func ExampleGuards_Check() {
	p, err := export.Open(linear)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	fmt.Println(p.Guards.Check([]any{batch{[]int{64, 3}}}))
	fmt.Println(p.Guards.Check([]any{batch{[]int{65, 4}}}))
	// Output:
	// <nil>
	// x: dimension 0 is 65, expected at most 64
	// x: dimension 1 is 4, expected 3
}

func ExampleWriteSafetensors() {
	x := &export.Tensor{DType: ir.UInt8, Sizes: []int64{2, 2}, Strides: []int64{1, 2}, Storage: export.NewStorage([]byte{1, 2, 3, 4})}
	var file bytes.Buffer
	if err := export.WriteSafetensors(&file, map[string]*export.Tensor{"x": x}, nil); err != nil {
		fmt.Println(err)
		return
	}
	f, err := export.ReadSafetensors(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	y, err := f.Tensor("x")
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := y.Bytes()
	fmt.Println(f.Names(), y.Sizes, data, err)
	// Output: [x] [2 2] [1 3 2 4] <nil>
}
