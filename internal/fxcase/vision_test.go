package fxcase_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/examples/vision"
	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The networks of torchvision.

func network(t *testing.T, name string, train bool) {
	t.Helper()
	c := fxcase.Open(t, "vision_"+name)
	testenv.Libtorch(t)
	m, err := vision.New(name)
	require.NoError(t, err)
	nn.Train(m, train)
	c.Same(tracer.SymbolicTrace(m))
}

func TestTrace_vision_resnet18(t *testing.T)     { network(t, "resnet18", true) }
func TestTrace_vision_mobilenet_v2(t *testing.T) { network(t, "mobilenet_v2", true) }
func TestTrace_vision_googlenet(t *testing.T)    { network(t, "googlenet", false) }
func TestTrace_vision_densenet121(t *testing.T)  { network(t, "densenet121", true) }

func layers(ls ...nn.Layer) *nn.Sequential { return nn.NewSequential(ls...) }

func relu() *nn.ReLU { return nn.NewReLU(nn.WithInplace(true)) }

type fire struct {
	nn.Base             `forward:"x: torch.Tensor -> torch.Tensor"`
	Squeeze             *nn.Conv2d
	SqueezeActivation   *nn.ReLU
	Expand1x1           *nn.Conv2d `nn:"expand1x1"`
	Expand1x1Activation *nn.ReLU   `nn:"expand1x1_activation"`
	Expand3x3           *nn.Conv2d `nn:"expand3x3"`
	Expand3x3Activation *nn.ReLU   `nn:"expand3x3_activation"`
}

func newFire(in, squeeze, one, three int) *fire {
	return &fire{
		Squeeze: nn.NewConv2d(in, squeeze, 1), SqueezeActivation: relu(),
		Expand1x1: nn.NewConv2d(squeeze, one, 1), Expand1x1Activation: relu(),
		Expand3x3: nn.NewConv2d(squeeze, three, 3, nn.WithPadding(1)), Expand3x3Activation: relu(),
	}
}

func (f *fire) Forward(x *torch.Tensor) *torch.Tensor {
	x = f.SqueezeActivation.Forward(f.Squeeze.Forward(x))
	return torch.Cat(torch.List{f.Expand1x1Activation.Forward(f.Expand1x1.Forward(x)), f.Expand3x3Activation.Forward(f.Expand3x3.Forward(x))}, 1)
}

type squeezeNet struct {
	nn.Base    `forward:"x: torch.Tensor -> torch.Tensor"`
	Features   *nn.Sequential
	Classifier *nn.Sequential
}

func (m *squeezeNet) Forward(x *torch.Tensor) *torch.Tensor {
	return torch.Flatten(m.Classifier.Forward(m.Features.Forward(x)), 1)
}

func TestTrace_vision_squeezenet(t *testing.T) {
	c := fxcase.Open(t, "vision_squeezenet")
	testenv.Libtorch(t)
	pool := func() nn.Layer { return nn.NewMaxPool2d(3, nn.WithStride(2), nn.WithCeilMode(true)) }
	c.Same(tracer.SymbolicTrace(&squeezeNet{
		Features: layers(nn.NewConv2d(3, 64, 3, nn.WithStride(2)), relu(), pool(), newFire(64, 16, 64, 64), newFire(128, 16, 64, 64), pool(),
			newFire(128, 32, 128, 128), newFire(256, 32, 128, 128), pool(), newFire(256, 48, 192, 192), newFire(384, 48, 192, 192),
			newFire(384, 64, 256, 256), newFire(512, 64, 256, 256)),
		Classifier: layers(nn.NewDropout(), nn.NewConv2d(512, 1000, 1), relu(), nn.NewAdaptiveAvgPool2d(ir.PyTuple{1, 1})),
	}))
}

type shuffleUnit struct {
	nn.Base `forward:"x: torch.Tensor -> torch.Tensor"`
	Branch1 *nn.Sequential `nn:"branch1"`
	Branch2 *nn.Sequential `nn:"branch2"`
	stride  int
}

func pointwise(in, out int) *nn.Conv2d { return nn.NewConv2d(in, out, 1, nn.WithBias(false)) }

func depthwise(n, stride int) *nn.Conv2d {
	return nn.NewConv2d(n, n, 3, nn.WithStride(stride), nn.WithPadding(1), nn.WithGroups(n), nn.WithBias(false))
}

func newShuffleUnit(in, out, stride int) *shuffleUnit {
	half := out / 2
	u := &shuffleUnit{Branch1: layers(), stride: stride}
	if stride > 1 {
		u.Branch1 = layers(depthwise(in, stride), nn.NewBatchNorm2d(in), pointwise(in, half), nn.NewBatchNorm2d(half), relu())
	} else {
		in = half
	}
	u.Branch2 = layers(pointwise(in, half), nn.NewBatchNorm2d(half), relu(), depthwise(half, stride), nn.NewBatchNorm2d(half),
		pointwise(half, half), nn.NewBatchNorm2d(half), relu())
	return u
}

func (u *shuffleUnit) Forward(x *torch.Tensor) *torch.Tensor {
	if u.stride > 1 {
		return shuffle(torch.Cat(torch.Tuple{u.Branch1.Forward(x), u.Branch2.Forward(x)}, torch.Kw("dim", 1)))
	}
	v, _ := torch.ValueOf(x)
	half := v.Method("chunk", []any{2}, torch.Kw("dim", 1)).Unpack(2)
	return shuffle(torch.Cat(torch.Tuple{half[0].Tensor(), u.Branch2.Forward(half[1].Tensor())}, torch.Kw("dim", 1)))
}

// shuffle mixes the channels of two groups.
func shuffle(x *torch.Tensor) *torch.Tensor {
	v, _ := torch.ValueOf(x)
	size := v.Method("size", nil).Unpack(4)
	n, channels, h, w := size[0], size[1], size[2], size[3]
	each := channels.Op("floordiv", 2)
	y := v.Method("view", []any{n, 2, each, h, w}).Tensor()
	swapped := torch.Dispatch(ir.CallFunction, fn("torch.transpose"), []any{y, 1, 2}, nil)
	y = method(swapped, "contiguous")
	return method(y, "view", n, channels, h, w)
}

type shuffleNet struct {
	nn.Base `forward:"x: torch.Tensor -> torch.Tensor"`
	Conv1   *nn.Sequential `nn:"conv1"`
	MaxPool *nn.MaxPool2d  `nn:"maxpool"`
	Stage2  *nn.Sequential `nn:"stage2"`
	Stage3  *nn.Sequential `nn:"stage3"`
	Stage4  *nn.Sequential `nn:"stage4"`
	Conv5   *nn.Sequential `nn:"conv5"`
	FC      *nn.Linear     `nn:"fc"`
}

func (m *shuffleNet) Forward(x *torch.Tensor) *torch.Tensor {
	for _, l := range []nn.Layer{m.Conv1, m.MaxPool, m.Stage2, m.Stage3, m.Stage4, m.Conv5} {
		x = nn.Call(l, x)
	}
	return m.FC.Forward(method(x, "mean", []any{2, 3}))
}

func TestTrace_vision_shufflenet(t *testing.T) {
	c := fxcase.Open(t, "vision_shufflenet")
	testenv.Libtorch(t)
	stage := func(in, out, repeats int) *nn.Sequential {
		s := layers(newShuffleUnit(in, out, 2))
		for range repeats - 1 {
			s.Append(newShuffleUnit(out, out, 1))
		}
		return s
	}
	c.Same(tracer.SymbolicTrace(&shuffleNet{
		Conv1:   layers(nn.NewConv2d(3, 24, 3, nn.WithStride(2), nn.WithPadding(1), nn.WithBias(false)), nn.NewBatchNorm2d(24), relu()),
		MaxPool: nn.NewMaxPool2d(3, nn.WithStride(2), nn.WithPadding(1)),
		Stage2:  stage(24, 48, 4), Stage3: stage(48, 96, 8), Stage4: stage(96, 192, 4),
		Conv5: layers(pointwise(192, 1024), nn.NewBatchNorm2d(1024), relu()),
		FC:    nn.NewLinear(1024, 1000),
	}))
}

type encoderBlock struct {
	nn.Base       `forward:"input: torch.Tensor"`
	LN1           *nn.LayerNorm `nn:"ln_1"`
	SelfAttention *nn.MultiheadAttention
	Dropout       *nn.Dropout
	LN2           *nn.LayerNorm `nn:"ln_2"`
	MLP           *nn.Sequential
}

// assertRank is torch._assert with a text about the shape of x.
func assertRank(x *torch.Tensor) {
	v, _ := torch.ValueOf(x)
	rank := v.Method("dim", nil).Op("eq", 3)
	torch.Dispatch(ir.CallFunction, fn("torch._assert"),
		[]any{rank, fmt.Sprintf("Expected (batch_size, seq_length, hidden_dim) got %v", shapeOf(v))}, nil)
}

// shapeOf reads x.shape at once, as Python does where it prints it.
func shapeOf(x value) value {
	return torch.Dispatch(ir.CallFunction, fn("builtins.getattr"), []any{x, "shape"}, nil).(value)
}

func (b *encoderBlock) Forward(input *torch.Tensor) *torch.Tensor {
	assertRank(input)
	x := b.LN1.Forward(input)
	x, _ = b.SelfAttention.Forward(x, x, x, nn.WithNeedWeights(false))
	x = operator.Add(b.Dropout.Forward(x), input)
	return operator.Add(x, b.MLP.Forward(b.LN2.Forward(x)))
}

type encoder struct {
	nn.Base      `forward:"input: torch.Tensor"`
	PosEmbedding *torch.Tensor
	Dropout      *nn.Dropout
	Layers       *nn.Sequential
	LN           *nn.LayerNorm `nn:"ln"`
}

func (e *encoder) Forward(input *torch.Tensor) *torch.Tensor {
	assertRank(input)
	return e.LN.Forward(e.Layers.Forward(e.Dropout.Forward(operator.Add(input, e.PosEmbedding))))
}

type visionTransformer struct {
	nn.Base    `forward:"x: torch.Tensor"`
	ClassToken *torch.Tensor
	ConvProj   *nn.Conv2d
	Encoder    *encoder
	Heads      *nn.Sequential
}

func (m *visionTransformer) Forward(x *torch.Tensor) *torch.Tensor {
	v, _ := torch.ValueOf(x)
	shape := shapeOf(v).Unpack(4)
	for i, what := range []string{"height", "width"} {
		side := shape[2+i]
		torch.Dispatch(ir.CallFunction, fn("torch._assert"),
			[]any{side.Op("eq", 32), fmt.Sprintf("Wrong image %s! Expected 32 but got %v!", what, side)}, nil)
	}
	rows, columns := shape[2].Op("floordiv", 8), shape[3].Op("floordiv", 8)
	x = m.ConvProj.Forward(x)
	x = method(method(x, "reshape", shape[0], 16, rows.Op("mul", columns)), "permute", 0, 2, 1)
	v, _ = torch.ValueOf(x)
	n := v.Attr("shape").Index(0)
	x = torch.Cat(torch.List{method(m.ClassToken, "expand", n, -1, -1), x}, torch.Kw("dim", 1))
	x = nn.Call(m.Encoder, x)
	return m.Heads.Forward(operator.GetItem(x, ir.PyTuple{ir.Slice{Start: ir.None{}, Stop: ir.None{}, Step: ir.None{}}, 0}))
}

func TestTrace_vision_vit(t *testing.T) {
	c := fxcase.Open(t, "vision_vit")
	testenv.Libtorch(t)
	const hidden = 16
	norm := func() *nn.LayerNorm { return nn.NewLayerNorm(hidden, nn.WithEps(1e-6)) }
	var blocks []nn.Child
	for i := range 2 {
		blocks = append(blocks, nn.Child{Name: fmt.Sprintf("encoder_layer_%d", i), Module: &encoderBlock{
			LN1: norm(), SelfAttention: nn.NewMultiheadAttention(hidden, 2, nn.WithBatchFirst(true)), Dropout: nn.NewDropout(nn.WithP(0.0)), LN2: norm(),
			MLP: layers(nn.NewLinear(hidden, 32), nn.NewGELU(), nn.NewDropout(nn.WithP(0.0)), nn.NewLinear(32, hidden), nn.NewDropout(nn.WithP(0.0))),
		}})
	}
	c.Same(tracer.SymbolicTrace(&visionTransformer{
		ClassToken: torch.Zeros(1, 1, hidden), ConvProj: nn.NewConv2d(3, hidden, 8, nn.WithStride(8)),
		Encoder: &encoder{PosEmbedding: torch.Zeros(1, 17, hidden), Dropout: nn.NewDropout(nn.WithP(0.0)), Layers: nn.NewSequentialOf(blocks...), LN: norm()},
		Heads:   nn.NewSequentialOf(nn.Child{Name: "head", Module: nn.NewLinear(hidden, 1000)}),
	}))
}
