package nn_test

import (
	"testing"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func with(l nn.Layer, x *torch.Tensor) func() *torch.Tensor {
	return func() *torch.Tensor { return l.Forward(x) }
}

// What a layer costs beside its operator, on four elements.
//
//	go test ./nn -run XXX -bench Call -count 10
func BenchmarkCall(b *testing.B) {
	testenv.Libtorch(b)
	x := torch.Ones(2, 2)
	layers := []struct {
		name string
		call func() *torch.Tensor
	}{
		{"operator", func() *torch.Tensor { return torch.Relu(x) }},
		{"ReLU", with(nn.NewReLU(), x)},
		{"Linear", with(nn.NewLinear(2, 2), x)},
		{"LayerNorm", with(nn.NewLayerNorm(2), x)},
	}
	for _, l := range layers {
		b.Run(l.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = l.call().Close()
			}
		})
	}
}
