package vision

import (
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/nn/initialize"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// MobileNetV2 is torchvision.models.MobileNetV2.
type MobileNetV2 struct {
	nn.Base    `forward:"x: torch.Tensor -> torch.Tensor"`
	Features   *nn.Sequential
	Classifier *nn.Sequential
}

// NewMobileNetV2 makes the network of width 1.
func NewMobileNetV2(classes int) *MobileNetV2 {
	const last = 1280
	in := 32
	features := nn.NewSequential(convNormReLU6(3, in, 3, 2, 1))
	for _, stage := range []struct{ expand, out, blocks, stride int }{
		{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
	} {
		for i := range stage.blocks {
			stride := 1
			if i == 0 {
				stride = stage.stride
			}
			features.Append(newInvertedResidual(in, stage.out, stride, stage.expand))
			in = stage.out
		}
	}
	features.Append(convNormReLU6(in, last, 1, 1, 1))
	m := &MobileNetV2{
		Features:   features,
		Classifier: nn.NewSequential(nn.NewDropout(nn.WithP(0.2)), nn.NewLinear(last, classes)),
	}
	for _, layer := range nn.Modules(m) {
		switch layer := layer.(type) {
		case *nn.Conv2d:
			initialize.KaimingNormal(layer.Weight, 0, initialize.FanOut, "leaky_relu")
		case *nn.Linear:
			initialize.Normal(layer.Weight, 0, 0.01)
			initialize.Constant(layer.Bias, 0)
		}
	}
	return m
}

// Forward returns the scores [N, classes] of pictures [N, 3, H, W].
func (m *MobileNetV2) Forward(x *torch.Tensor) *torch.Tensor {
	x = m.Features.Forward(x)
	x = functional.AdaptiveAvgPool2d(x, ir.PyTuple{1, 1})
	x = torch.Flatten(x, 1)
	return m.Classifier.Forward(x)
}

// convNormReLU6 keeps the size of pictures but for the stride.
func convNormReLU6(in, out, kernel, stride, groups int) *nn.Sequential {
	return nn.NewSequential(
		nn.NewConv2d(in, out, kernel, nn.WithStride(stride), nn.WithPadding((kernel-1)/2), nn.WithGroups(groups), nn.WithBias(false)),
		nn.NewBatchNorm2d(out),
		nn.NewReLU6(nn.WithInplace(true)),
	)
}

// InvertedResidual widens its input, filters each channel and narrows it again.
type InvertedResidual struct {
	nn.Base `forward:"x: torch.Tensor -> torch.Tensor"`
	Conv    *nn.Sequential
	residue bool // the result is added to the input
}

func newInvertedResidual(in, out, stride, expand int) *InvertedResidual {
	hidden := in * expand
	conv := nn.NewSequential()
	if expand != 1 {
		conv.Append(convNormReLU6(in, hidden, 1, 1, 1))
	}
	conv.Append(convNormReLU6(hidden, hidden, 3, stride, hidden))
	conv.Append(nn.NewConv2d(hidden, out, 1, nn.WithBias(false)))
	conv.Append(nn.NewBatchNorm2d(out))
	return &InvertedResidual{Conv: conv, residue: stride == 1 && in == out}
}

// Forward maps [N, in, H, W] to [N, out, H / stride, W / stride].
func (b *InvertedResidual) Forward(x *torch.Tensor) *torch.Tensor {
	if b.residue {
		return operator.Add(x, b.Conv.Forward(x))
	}
	return b.Conv.Forward(x)
}
