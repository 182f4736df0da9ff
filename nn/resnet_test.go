package nn_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

type basicBlock struct {
	nn.Base    `forward:"x"`
	Conv1      *nn.Conv2d
	Bn1        *nn.BatchNorm2d
	Relu       *nn.ReLU
	Conv2      *nn.Conv2d
	Bn2        *nn.BatchNorm2d
	Downsample *nn.Sequential
}

func newBasicBlock(in, out, stride int) *basicBlock {
	conv := func(in, out, kernel, stride, padding int) *nn.Conv2d {
		return nn.NewConv2d(in, out, kernel, nn.WithStride(stride), nn.WithPadding(padding), nn.WithBias(false))
	}
	b := &basicBlock{
		Conv1: conv(in, out, 3, stride, 1), Bn1: nn.NewBatchNorm2d(out), Relu: nn.NewReLU(nn.WithInplace(true)),
		Conv2: conv(out, out, 3, 1, 1), Bn2: nn.NewBatchNorm2d(out),
	}
	if stride != 1 || in != out {
		b.Downsample = nn.NewSequential(conv(in, out, 1, stride, 0), nn.NewBatchNorm2d(out))
	}
	return b
}

func (b *basicBlock) Forward(x *torch.Tensor) *torch.Tensor {
	identity := x
	out := b.Relu.Forward(b.Bn1.Forward(b.Conv1.Forward(x)))
	out = b.Bn2.Forward(b.Conv2.Forward(out))
	if b.Downsample != nil {
		identity = b.Downsample.Forward(x)
	}
	return b.Relu.Forward(operator.Add(out, identity))
}

type resnet struct {
	nn.Base                        `forward:"x"`
	Conv1                          *nn.Conv2d
	Bn1                            *nn.BatchNorm2d
	Relu                           *nn.ReLU
	Maxpool                        *nn.MaxPool2d
	Layer1, Layer2, Layer3, Layer4 *nn.Sequential
	Avgpool                        *nn.AdaptiveAvgPool2d
	Fc                             *nn.Linear
}

// newResnet makes a resnet of basic blocks; width 64 is resnet18.
func newResnet(width int) *resnet {
	stage := func(in, out, stride int) *nn.Sequential {
		return nn.NewSequential(newBasicBlock(in, out, stride), newBasicBlock(out, out, 1))
	}
	return &resnet{
		Conv1: nn.NewConv2d(3, width, 7, nn.WithStride(2), nn.WithPadding(3), nn.WithBias(false)),
		Bn1:   nn.NewBatchNorm2d(width), Relu: nn.NewReLU(nn.WithInplace(true)),
		Maxpool: nn.NewMaxPool2d(3, nn.WithStride(2), nn.WithPadding(1)),
		Layer1:  stage(width, width, 1), Layer2: stage(width, 2*width, 2), Layer3: stage(2*width, 4*width, 2), Layer4: stage(4*width, 8*width, 2),
		Avgpool: nn.NewAdaptiveAvgPool2d([]int{1, 1}), Fc: nn.NewLinear(8*width, 1000),
	}
}

func (r *resnet) Forward(x *torch.Tensor) *torch.Tensor {
	x = r.Maxpool.Forward(r.Relu.Forward(r.Bn1.Forward(r.Conv1.Forward(x))))
	x = r.Layer4.Forward(r.Layer3.Forward(r.Layer2.Forward(r.Layer1.Forward(x))))
	flat := torch.Dispatch(ir.CallFunction, torch.FnFlatten, []any{r.Avgpool.Forward(x), 1}, nil)
	return r.Fc.Forward(torch.As[*torch.Tensor](flat))
}

// torchvision's resnet18, written in Go, is traced to the code that Python gives
// it, but for the annotations of the Python signature.
func TestResnet18IsTracedToPythonsCode(t *testing.T) {
	testenv.Libtorch(t)
	want, err := os.ReadFile(filepath.Join(testenv.Fixtures(t, "fx"), "vision_resnet18", "code.py"))
	require.NoError(t, err)
	gm, err := tracer.SymbolicTrace(newResnet(2))
	require.NoError(t, err)
	code, err := gm.Code()
	require.NoError(t, err)
	annotation := regexp.MustCompile(` : torch\.Tensor| -> torch\.Tensor`)
	assert.Equal(t, annotation.ReplaceAllString(string(want), ""), code)
}
