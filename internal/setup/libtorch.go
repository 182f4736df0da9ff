package setup

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/ir"
)

// theBridge is the bridge of this module.
var theBridge = &bridge{
	library: library{"the bridge", libtorch.BridgeName(), libtorch.Sources(), libtorch.CompileSteps},
	graphs:  &library{"the library for CUDA graphs", libtorch.GraphsName, libtorch.Sources(), libtorch.GraphsSteps},
	abi:     libtorch.ABI,
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
			OneDNN: info.OneDNN, Threads: info.Threads, CUDA: info.CUDADevices, CUDAWhy: info.CUDAWhy, GraphsWhy: info.GraphsWhy,
		}, nil
	},
}

// runOperator multiplies two small matrices and compares the product with what it
// must be: the dispatcher, a kernel and the way of values in and out all work.
func runOperator() error {
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

// tryRegion opens a delegate, runs a region of a convolution and an activation on small numbers,
// compares the result with what it must be, and returns name and version.
func tryRegion(file string) (string, error) {
	d, err := libtorch.OpenDelegateFile(file)
	if err != nil {
		return "", err
	}
	var p delegate.Program
	x, weight := p.Input(), p.Constant()
	y := p.Convolution(x, weight, delegate.None, delegate.Convolution{Padding: []int64{0, 0}})
	p.Output(p.Activation(y, delegate.ReLU), delegate.Contiguous)
	w, err := libtorch.NewTensor(ir.Float32, []int64{2, 3, 1, 1}, floats(1, 10, 100, -1, -1, -1))
	if err != nil {
		return "", err
	}
	defer w.Close()
	region, err := d.Compile(&p, []*libtorch.Tensor{w})
	if err != nil {
		return "", err
	}
	defer region.Close()
	in, err := libtorch.NewTensor(ir.Float32, []int64{1, 3, 1, 2}, floats(1, 2, 3, 4, 5, 6))
	if err != nil {
		return "", err
	}
	defer in.Close()
	class, err := region.Prepare([]*libtorch.Tensor{in}, 1)
	if err != nil {
		return "", err
	}
	defer class.Close()
	out, err := class.Run(context.Background(), []*libtorch.Tensor{in})
	if err != nil {
		return "", err
	}
	defer out[0].Close()
	got := make([]byte, 16)
	if _, err := out[0].CopyBytes(got); err != nil {
		return "", err
	}
	if want := floats(531, 642, 0, 0); string(got) != string(want) {
		return "", ir.Errorf(ir.ErrRuntime, "delegate: expected 531, 642, 0, 0, got %s", fmtFloats(got))
	}
	return d.Name + " " + d.Version, nil
}

func floats(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.NativeEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func fmtFloats(b []byte) string {
	var v []float32
	for ; len(b) >= 4; b = b[4:] {
		v = append(v, math.Float32frombits(binary.NativeEndian.Uint32(b)))
	}
	return fmt.Sprint(v)
}
