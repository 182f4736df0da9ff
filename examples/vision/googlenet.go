package vision

import (
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/nn/initialize"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// GoogLeNetOutputs is what a [GoogLeNet] with auxiliary classifiers returns in
// training mode: scores [N, classes] each.
type GoogLeNetOutputs struct{ Logits, AuxLogits2, AuxLogits1 *torch.Tensor }

// Python's class, a namedtuple.
const outputsClass = "torchvision.models.googlenet.GoogLeNetOutputs"

func init() { torch.DefineClass(outputsClass, "logits", "aux_logits2", "aux_logits1") }

// CreateArg records the call that makes Python's namedtuple.
func (o GoogLeNetOutputs) CreateArg(t *tracer.Tracer) ir.Arg {
	return t.CreateNode(tracer.NodeSpec{
		Op: ir.CallFunction, Target: ir.FuncOf(outputsClass),
		Args: []ir.Arg{t.CreateArg(o.Logits), t.CreateArg(o.AuxLogits2), t.CreateArg(o.AuxLogits1)},
	})
}

// GoogLeNetConfig says what [NewGoogLeNet] makes.
type GoogLeNetConfig struct {
	Classes        int
	AuxLogits      bool // two more classifiers on the way, for training
	TransformInput bool // pictures are scaled as for ImageNet, not to [-1, 1]
}

// GoogLeNet is torchvision.models.GoogLeNet.
type GoogLeNet struct {
	nn.Base                  `forward:"x: torch.Tensor -> torchvision.models.googlenet.GoogLeNetOutputs"`
	Conv1                    *BasicConv2d
	Maxpool1                 *nn.MaxPool2d
	Conv2, Conv3             *BasicConv2d
	Maxpool2                 *nn.MaxPool2d
	Inception3a, Inception3b *Inception
	Maxpool3                 *nn.MaxPool2d
	Inception4a, Inception4b *Inception
	Inception4c, Inception4d *Inception
	Inception4e              *Inception
	Maxpool4                 *nn.MaxPool2d
	Inception5a, Inception5b *Inception
	Aux1, Aux2               *InceptionAux // nil without AuxLogits
	Avgpool                  *nn.AdaptiveAvgPool2d
	Dropout                  *nn.Dropout
	Fc                       *nn.Linear
	transform                bool
}

// NewGoogLeNet makes the network.
func NewGoogLeNet(c GoogLeNetConfig) *GoogLeNet {
	pool := func(kernel int) *nn.MaxPool2d {
		return nn.NewMaxPool2d(kernel, nn.WithStride(2), nn.WithCeilMode(true))
	}
	g := &GoogLeNet{
		Conv1:       newBasicConv2d(3, 64, 7, nn.WithStride(2), nn.WithPadding(3)),
		Maxpool1:    pool(3),
		Conv2:       newBasicConv2d(64, 64, 1),
		Conv3:       newBasicConv2d(64, 192, 3, nn.WithPadding(1)),
		Maxpool2:    pool(3),
		Inception3a: newInception(192, 64, 96, 128, 16, 32, 32),
		Inception3b: newInception(256, 128, 128, 192, 32, 96, 64),
		Maxpool3:    pool(3),
		Inception4a: newInception(480, 192, 96, 208, 16, 48, 64),
		Inception4b: newInception(512, 160, 112, 224, 24, 64, 64),
		Inception4c: newInception(512, 128, 128, 256, 24, 64, 64),
		Inception4d: newInception(512, 112, 144, 288, 32, 64, 64),
		Inception4e: newInception(528, 256, 160, 320, 32, 128, 128),
		Maxpool4:    pool(2),
		Inception5a: newInception(832, 256, 160, 320, 32, 128, 128),
		Inception5b: newInception(832, 384, 192, 384, 48, 128, 128),
		transform:   c.TransformInput,
	}
	if c.AuxLogits {
		g.Aux1 = newInceptionAux(512, c.Classes)
		g.Aux2 = newInceptionAux(528, c.Classes)
	}
	g.Avgpool = nn.NewAdaptiveAvgPool2d([]int{1, 1})
	g.Dropout = nn.NewDropout(nn.WithP(0.2))
	g.Fc = nn.NewLinear(1024, c.Classes)
	for _, m := range nn.Modules(g) {
		switch m := m.(type) {
		case *nn.Conv2d:
			initialize.TruncNormal(m.Weight, 0, 0.01, -2, 2)
		case *nn.Linear:
			initialize.TruncNormal(m.Weight, 0, 0.01, -2, 2)
		}
	}
	return g
}

// Forward returns the scores [N, classes] of pictures [N, 3, H, W], or
// [GoogLeNetOutputs] in training mode with auxiliary classifiers.
func (g *GoogLeNet) Forward(x *torch.Tensor) any {
	if g.transform {
		x = transformInput(x)
	}
	auxiliary := g.Training() && g.Aux1 != nil
	var aux1, aux2 *torch.Tensor
	x = g.Maxpool1.Forward(nn.Call(g.Conv1, x))
	x = g.Maxpool2.Forward(nn.Call(g.Conv3, nn.Call(g.Conv2, x)))
	x = nn.Call(g.Inception3b, nn.Call(g.Inception3a, x))
	x = nn.Call(g.Inception4a, g.Maxpool3.Forward(x))
	if auxiliary {
		aux1 = nn.Call(g.Aux1, x)
	}
	for _, block := range []*Inception{g.Inception4b, g.Inception4c, g.Inception4d} {
		x = nn.Call(block, x)
	}
	if auxiliary {
		aux2 = nn.Call(g.Aux2, x)
	}
	x = g.Maxpool4.Forward(nn.Call(g.Inception4e, x))
	x = nn.Call(g.Inception5b, nn.Call(g.Inception5a, x))
	x = torch.Flatten(g.Avgpool.Forward(x), 1)
	x = g.Fc.Forward(g.Dropout.Forward(x))
	if auxiliary {
		return GoogLeNetOutputs{x, aux2, aux1}
	}
	return x
}

// transformInput turns the scale of ImageNet's pictures into that of [-1, 1].
func transformInput(x *torch.Tensor) *torch.Tensor {
	var channels torch.List
	for i, c := range []struct{ mean, std float64 }{{0.485, 0.229}, {0.456, 0.224}, {0.406, 0.225}} {
		channel := torch.Unsqueeze(x.Index(torch.Slice(nil, nil, nil), i), 1)
		channels = append(channels, operator.Add(operator.Mul(channel, c.std/0.5), (c.mean-0.5)/0.5))
	}
	return torch.Cat(channels, 1)
}

// Inception joins the channels of four branches.
type Inception struct {
	nn.Base                   `forward:"x: torch.Tensor -> torch.Tensor"`
	Branch1                   *BasicConv2d
	Branch2, Branch3, Branch4 *nn.Sequential
}

// newInception makes a block of branches with 1x1, 3x3 and again 3x3 filters, and
// a pool; reduce is how many channels a branch goes on with first.
func newInception(in, ch1, reduce3, ch3, reduce5, ch5, pool int) *Inception {
	return &Inception{
		Branch1: newBasicConv2d(in, ch1, 1),
		Branch2: nn.NewSequential(newBasicConv2d(in, reduce3, 1), newBasicConv2d(reduce3, ch3, 3, nn.WithPadding(1))),
		Branch3: nn.NewSequential(newBasicConv2d(in, reduce5, 1), newBasicConv2d(reduce5, ch5, 3, nn.WithPadding(1))),
		Branch4: nn.NewSequential(
			nn.NewMaxPool2d(3, nn.WithStride(1), nn.WithPadding(1), nn.WithCeilMode(true)),
			newBasicConv2d(in, pool, 1),
		),
	}
}

// Forward maps [N, in, H, W] to [N, sum of the branches, H, W].
func (b *Inception) Forward(x *torch.Tensor) *torch.Tensor {
	branches := torch.List{nn.Call(b.Branch1, x)}
	for _, branch := range []*nn.Sequential{b.Branch2, b.Branch3, b.Branch4} {
		branches = append(branches, branch.Forward(x))
	}
	return torch.Cat(branches, 1)
}

// InceptionAux is a classifier on the way.
type InceptionAux struct {
	nn.Base  `forward:"x: torch.Tensor -> torch.Tensor"`
	Conv     *BasicConv2d
	Fc1, Fc2 *nn.Linear
	Dropout  *nn.Dropout
}

func newInceptionAux(in, classes int) *InceptionAux {
	return &InceptionAux{
		Conv: newBasicConv2d(in, 128, 1),
		Fc1:  nn.NewLinear(2048, 1024), Fc2: nn.NewLinear(1024, classes),
		Dropout: nn.NewDropout(nn.WithP(0.7)),
	}
}

// Forward returns scores [N, classes].
func (a *InceptionAux) Forward(x *torch.Tensor) *torch.Tensor {
	x = nn.Call(a.Conv, functional.AdaptiveAvgPool2d(x, ir.PyTuple{4, 4}))
	x = torch.Flatten(x, 1)
	x = functional.Relu(a.Fc1.Forward(x), torch.Kw("inplace", true))
	return a.Fc2.Forward(a.Dropout.Forward(x))
}

// BasicConv2d is a convolution without bias, a batch norm and a relu.
type BasicConv2d struct {
	nn.Base `forward:"x: torch.Tensor -> torch.Tensor"`
	Conv    *nn.Conv2d
	Bn      *nn.BatchNorm2d
}

func newBasicConv2d(in, out, kernel int, options ...nn.Option) *BasicConv2d {
	return &BasicConv2d{
		Conv: nn.NewConv2d(in, out, kernel, append(options, nn.WithBias(false))...),
		Bn:   nn.NewBatchNorm2d(out, nn.WithEps(0.001)),
	}
}

// Forward maps [N, in, H, W] to [N, out, …].
func (b *BasicConv2d) Forward(x *torch.Tensor) *torch.Tensor {
	x = b.Bn.Forward(b.Conv.Forward(x))
	return functional.Relu(x, torch.Kw("inplace", true))
}
