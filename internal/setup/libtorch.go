package setup

import (
	"encoding/binary"
	"fmt"
	"math"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// theBridge is the bridge of this module.
var theBridge = &bridge{
	name:    libtorch.BridgeName(),
	abi:     libtorch.ABI,
	sources: libtorch.Sources(),
	steps:   libtorch.CompileSteps,
	try: func(file, libDir string) (*Facts, error) {
		if err := libtorch.OpenBridge(file, libDir); err != nil {
			return nil, err
		}
		info, err := libtorch.GetInfo()
		if err != nil {
			return nil, err
		}
		if err := runOperator(); err != nil {
			return nil, err
		}
		return &Facts{
			Torch: info.TorchVersion, Bridge: info.BridgeVersion, CPU: info.CPUCapability, BLAS: info.BLAS,
			OneDNN: info.OneDNN, Threads: info.Threads, CUDA: info.CUDADevices, CUDAWhy: info.CUDAWhy,
		}, nil
	},
}

// runOperator multiplies two small matrices and compares the product with what it
// must be: the dispatcher, a kernel and the way of values in and out all work.
func runOperator() error {
	floats := func(v ...float32) []byte {
		var b []byte
		for _, x := range v {
			b = binary.NativeEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	a, err := libtorch.NewTensor(ir.Float32, []int64{2, 3}, floats(1, 2, 3, 4, 5, 6))
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := libtorch.NewTensor(ir.Float32, []int64{3, 1}, floats(1, 10, 100))
	if err != nil {
		return err
	}
	defer b.Close()
	mm, err := libtorch.Find("aten::mm")
	if err != nil {
		return err
	}
	out, err := mm.Call(nil, []any{a, b})
	if err != nil {
		return err
	}
	product, ok := out[0].(*libtorch.Tensor)
	if !ok {
		return ir.Errorf(ir.ErrRuntime, "aten::mm: expected a tensor, got %T", out[0])
	}
	defer product.Close()
	got := make([]byte, 8)
	if _, err := product.CopyBytes(got); err != nil {
		return err
	}
	if want := floats(321, 654); string(got) != string(want) {
		return ir.Errorf(ir.ErrRuntime, "aten::mm: expected 321 and 654, got %s", fmtFloats(got))
	}
	return nil
}

func fmtFloats(b []byte) string {
	var v []float32
	for ; len(b) >= 4; b = b[4:] {
		v = append(v, math.Float32frombits(binary.NativeEndian.Uint32(b)))
	}
	return fmt.Sprint(v)
}
