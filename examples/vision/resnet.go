package vision

import (
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/nn/initialize"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// ResNet is torchvision.models.ResNet with basic blocks.
type ResNet struct {
	nn.Base                        `forward:"x: torch.Tensor -> torch.Tensor"`
	Conv1                          *nn.Conv2d
	Bn1                            *nn.BatchNorm2d
	Relu                           *nn.ReLU
	Maxpool                        *nn.MaxPool2d
	Layer1, Layer2, Layer3, Layer4 *nn.Sequential
	Avgpool                        *nn.AdaptiveAvgPool2d
	Fc                             *nn.Linear
}

// NewResNet18 makes the network of 18 layers.
func NewResNet18(classes int) *ResNet {
	r := &ResNet{
		Conv1:   nn.NewConv2d(3, 64, 7, nn.WithStride(2), nn.WithPadding(3), nn.WithBias(false)),
		Bn1:     nn.NewBatchNorm2d(64),
		Relu:    nn.NewReLU(nn.WithInplace(true)),
		Maxpool: nn.NewMaxPool2d(3, nn.WithStride(2), nn.WithPadding(1)),
		Layer1:  stage(64, 64, 1),
		Layer2:  stage(64, 128, 2),
		Layer3:  stage(128, 256, 2),
		Layer4:  stage(256, 512, 2),
		Avgpool: nn.NewAdaptiveAvgPool2d([]int{1, 1}),
		Fc:      nn.NewLinear(512, classes),
	}
	for _, m := range nn.Modules(r) {
		if conv, ok := m.(*nn.Conv2d); ok {
			initialize.KaimingNormal(conv.Weight, 0, initialize.FanOut, "relu")
		}
	}
	return r
}

// stage is two blocks, the first of which changes the sizes.
func stage(in, out, stride int) *nn.Sequential {
	return nn.NewSequential(newBasicBlock(in, out, stride), newBasicBlock(out, out, 1))
}

// Forward returns the scores [N, classes] of pictures [N, 3, H, W].
func (r *ResNet) Forward(x *torch.Tensor) *torch.Tensor {
	x = r.Relu.Forward(r.Bn1.Forward(r.Conv1.Forward(x)))
	x = r.Maxpool.Forward(x)
	for _, layer := range []*nn.Sequential{r.Layer1, r.Layer2, r.Layer3, r.Layer4} {
		x = layer.Forward(x)
	}
	x = torch.Flatten(r.Avgpool.Forward(x), 1)
	return r.Fc.Forward(x)
}

// BasicBlock adds to its input what two convolutions make of it.
type BasicBlock struct {
	nn.Base    `forward:"x: torch.Tensor -> torch.Tensor"`
	Conv1      *nn.Conv2d
	Bn1        *nn.BatchNorm2d
	Relu       *nn.ReLU
	Conv2      *nn.Conv2d
	Bn2        *nn.BatchNorm2d
	Downsample *nn.Sequential // nil where the sizes stay
}

func newBasicBlock(in, out, stride int) *BasicBlock {
	b := &BasicBlock{}
	if stride != 1 || in != out {
		b.Downsample = nn.NewSequential(nn.NewConv2d(in, out, 1, nn.WithStride(stride), nn.WithBias(false)), nn.NewBatchNorm2d(out))
	}
	b.Conv1 = nn.NewConv2d(in, out, 3, nn.WithStride(stride), nn.WithPadding(1), nn.WithBias(false))
	b.Bn1 = nn.NewBatchNorm2d(out)
	b.Relu = nn.NewReLU(nn.WithInplace(true))
	b.Conv2 = nn.NewConv2d(out, out, 3, nn.WithPadding(1), nn.WithBias(false))
	b.Bn2 = nn.NewBatchNorm2d(out)
	return b
}

// Forward maps [N, in, H, W] to [N, out, H / stride, W / stride].
func (b *BasicBlock) Forward(x *torch.Tensor) *torch.Tensor {
	identity := x
	out := b.Relu.Forward(b.Bn1.Forward(b.Conv1.Forward(x)))
	out = b.Bn2.Forward(b.Conv2.Forward(out))
	if b.Downsample != nil {
		identity = b.Downsample.Forward(x)
	}
	return b.Relu.Forward(operator.Add(out, identity))
}
