package libtorch_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/install"
	"github.com/torchfx-go/torchfx/ir"
)

// missing reports whether an example cannot run here, and prints what it would
// have, since an example cannot be skipped.
func missing(output string) bool {
	if os.Getenv("TORCHFX_HOME") == "" {
		os.Setenv("TORCHFX_HOME", filepath.Join("..", "third_party"))
	}
	_, err := install.Read(install.Home())
	if err != nil && os.Getenv("TORCHFX_REQUIRE_LIBTORCH") != "1" {
		fmt.Println(output)
		return true
	}
	return false
}

// pack returns the bytes of float32 values.
func pack(v ...float32) []byte {
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.NativeEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

// An operator is found by its name and called with one value for each argument.
func ExampleOperator_Call() {
	if missing("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n[11 22]") {
		return
	}
	x, err := libtorch.NewTensor(ir.Float32, []int64{2}, pack(1, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer x.Close()
	add, err := libtorch.Find("aten::add.Tensor")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(add.Schema())
	results, err := add.Call(nil, []any{x, x, int64(10)}) // self + 10 * other
	if err != nil {
		fmt.Println(err)
		return
	}
	y := results[0].(*libtorch.Tensor)
	defer y.Close()
	data := make([]byte, 8)
	if _, err := y.CopyBytes(data); err != nil {
		fmt.Println(err)
		return
	}
	var out [2]float32
	for i := range out {
		out[i] = math.Float32frombits(binary.NativeEndian.Uint32(data[4*i:]))
	}
	fmt.Println(out)
	// Output:
	// aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
	// [11 22]
}

// Errors have the class of Python's exception and libtorch's message.
func ExampleError() {
	if missing("argument other: expected Tensor, got string\nThe size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1\ntrue") {
		return
	}
	a, _ := libtorch.NewTensor(ir.Float32, []int64{1, 2}, pack(1, 2))
	b, _ := libtorch.NewTensor(ir.Float32, []int64{1, 3}, pack(1, 2, 3))
	defer a.Close()
	defer b.Close()
	mul, err := libtorch.Find("aten::mul.Tensor")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = mul.Call(nil, []any{a, "b"}) // refused before libtorch sees it
	fmt.Println(err)
	_, err = mul.Call(nil, []any{a, b})
	fmt.Println(err)
	fmt.Println(errors.Is(err, ir.ErrRuntime))
	// Output:
	// argument other: expected Tensor, got string
	// The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1
	// true
}

// Memory is used where it lies, and given back when libtorch is done with it.
func ExampleFromMemory() {
	if missing("[3 2] [2 1]\nreleased") {
		return
	}
	weights := pack(1, 2, 3, 4, 5, 6)
	base, err := libtorch.FromMemory(weights, ir.Float32, []int64{6}, []int64{1}, 0, func() { fmt.Println("released") })
	if err != nil {
		fmt.Println(err)
		return
	}
	// A second tensor over the same storage.
	w, err := libtorch.View(base, ir.Float32, []int64{3, 2}, []int64{2, 1}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	info, _ := w.Info()
	fmt.Println(info.Sizes, info.Strides)
	base.Close()
	w.Close()
	// Output:
	// [3 2] [2 1]
	// released
}

// A call carries the state that it needs; nothing of it stays behind.
func ExampleMode() {
	if missing("torch.bfloat16\ntorch.float32") {
		return
	}
	x, _ := libtorch.NewTensor(ir.Float32, []int64{1, 2}, pack(1, 2))
	defer x.Close()
	linear, err := libtorch.Find("aten::linear")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, mode := range []*libtorch.Mode{{Autocast: &libtorch.Autocast{Device: ir.DeviceCPU}}, nil} {
		results, err := linear.Call(mode, []any{x, x, nil})
		if err != nil {
			fmt.Println(err)
			return
		}
		y := results[0].(*libtorch.Tensor)
		info, _ := y.Info()
		fmt.Println(info.DType)
		y.Close()
	}
	// Output:
	// torch.bfloat16
	// torch.float32
}

// TestReleaseMayCall lets a release function call an operator: it runs outside the
// slots that bound calls.
func TestReleaseMayCall(t *testing.T) {
	if missing("") {
		t.Skip("SKIPPED, needs libtorch")
	}
	neg, err := libtorch.Find("aten::neg")
	if err != nil {
		t.Fatal(err)
	}
	x, err := libtorch.NewTensor(ir.Float32, []int64{1}, pack(1))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	called := false
	y, err := libtorch.FromMemory(make([]byte, 4), ir.Float32, []int64{1}, []int64{1}, 0, func() {
		res, err := neg.Call(nil, []any{x})
		if err != nil {
			t.Error(err)
			return
		}
		called = true
		res[0].(*libtorch.Tensor).Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	y.Close()
	if !called {
		t.Error("release did not run")
	}
}
