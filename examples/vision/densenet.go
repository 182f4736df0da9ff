package vision

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/nn/initialize"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// DenseNet is torchvision.models.DenseNet without dropout.
type DenseNet struct {
	nn.Base    `forward:"x: torch.Tensor -> torch.Tensor"`
	Features   *nn.Sequential
	Classifier *nn.Linear
}

// NewDenseNet121 makes the network of 121 layers.
func NewDenseNet121(classes int) *DenseNet {
	const growth = 32 // channels that each layer adds
	channels := 64
	features := []nn.Child{
		{Name: "conv0", Module: nn.NewConv2d(3, channels, 7, nn.WithStride(2), nn.WithPadding(3), nn.WithBias(false))},
		{Name: "norm0", Module: nn.NewBatchNorm2d(channels)},
		{Name: "relu0", Module: nn.NewReLU(nn.WithInplace(true))},
		{Name: "pool0", Module: nn.NewMaxPool2d(3, nn.WithStride(2), nn.WithPadding(1))},
	}
	blocks := []int{6, 12, 24, 16} // layers of each
	for i, layers := range blocks {
		features = append(features, nn.Child{Name: fmt.Sprintf("denseblock%d", i+1), Module: newDenseBlock(layers, channels, growth)})
		channels += layers * growth
		if i < len(blocks)-1 {
			features = append(features, nn.Child{Name: fmt.Sprintf("transition%d", i+1), Module: transition(channels, channels/2)})
			channels /= 2
		}
	}
	features = append(features, nn.Child{Name: "norm5", Module: nn.NewBatchNorm2d(channels)})
	d := &DenseNet{Features: nn.NewSequentialOf(features...), Classifier: nn.NewLinear(channels, classes)}
	for _, m := range nn.Modules(d) {
		switch m := m.(type) {
		case *nn.Conv2d:
			initialize.KaimingNormal(m.Weight, 0, initialize.FanIn, "leaky_relu")
		case *nn.Linear:
			initialize.Constant(m.Bias, 0)
		}
	}
	return d
}

// Forward returns the scores [N, classes] of pictures [N, 3, H, W].
func (d *DenseNet) Forward(x *torch.Tensor) *torch.Tensor {
	x = functional.Relu(d.Features.Forward(x), torch.Kw("inplace", true))
	x = functional.AdaptiveAvgPool2d(x, ir.PyTuple{1, 1})
	return d.Classifier.Forward(torch.Flatten(x, 1))
}

// transition halves the sides of pictures.
func transition(in, out int) *nn.Sequential {
	return nn.NewSequentialOf(
		nn.Child{Name: "norm", Module: nn.NewBatchNorm2d(in)},
		nn.Child{Name: "relu", Module: nn.NewReLU(nn.WithInplace(true))},
		nn.Child{Name: "conv", Module: nn.NewConv2d(in, out, 1, nn.WithBias(false))},
		nn.Child{Name: "pool", Module: nn.NewAvgPool2d(2, nn.WithStride(2))},
	)
}

// DenseBlock gives each of its layers what all layers before made. Its children
// stand in the struct that it embeds, so that they are named denselayer1 and so on
// directly below it.
type DenseBlock struct{ nn.ModuleDict }

func newDenseBlock(layers, in, growth int) *DenseBlock {
	b := &DenseBlock{}
	for i := range layers {
		b.Set(fmt.Sprintf("denselayer%d", i+1), newDenseLayer(in+i*growth, growth))
	}
	return b
}

// Forward maps [N, in, H, W] to [N, in + layers * growth, H, W].
func (b *DenseBlock) Forward(x *torch.Tensor) *torch.Tensor {
	features := torch.List{x}
	for _, m := range b.Children() {
		layer := m.(*DenseLayer)
		features = append(features, nn.Call(layer, features))
	}
	return torch.Cat(features, 1)
}

// DenseLayer makes some channels more of all that there are.
type DenseLayer struct {
	nn.Base `forward:"input"`
	Norm1   *nn.BatchNorm2d
	Relu1   *nn.ReLU
	Conv1   *nn.Conv2d
	Norm2   *nn.BatchNorm2d
	Relu2   *nn.ReLU
	Conv2   *nn.Conv2d
}

func newDenseLayer(in, growth int) *DenseLayer {
	bottleneck := 4 * growth
	return &DenseLayer{
		Norm1: nn.NewBatchNorm2d(in), Relu1: nn.NewReLU(nn.WithInplace(true)),
		Conv1: nn.NewConv2d(in, bottleneck, 1, nn.WithBias(false)),
		Norm2: nn.NewBatchNorm2d(bottleneck), Relu2: nn.NewReLU(nn.WithInplace(true)),
		Conv2: nn.NewConv2d(bottleneck, growth, 3, nn.WithPadding(1), nn.WithBias(false)),
	}
}

// Forward returns [N, growth, H, W] of tensors whose channels are in all [in].
func (l *DenseLayer) Forward(features torch.List) *torch.Tensor {
	x := torch.Cat(features, 1)
	x = l.Conv1.Forward(l.Relu1.Forward(l.Norm1.Forward(x)))
	return l.Conv2.Forward(l.Relu2.Forward(l.Norm2.Forward(x)))
}
