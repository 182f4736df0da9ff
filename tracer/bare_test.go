package tracer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// Without elements code sees the device that they would be on, and libtorch chooses as
// it would there: the operators are those of a recording that computes.
func TestRecordOnMetaAsOnCPU(t *testing.T) {
	bare(t, 1)
	embed := torch.Randn(4, 8)
	for _, c := range []struct {
		name string
		root any
		size []int
	}{
		{"lstm", nn.NewLSTM(8, 6, nn.WithNumLayers(2), nn.WithBidirectional(true)), []int{5, 2, 8}},
		{"gru", nn.NewGRU(8, 6), []int{5, 2, 8}},
		{"attention", nn.NewTransformerEncoderLayer(8, 2, nn.WithDimFeedforward(16)), []int{5, 2, 8}},
		{"factories", func(x *torch.Tensor) *torch.Tensor {
			y := torch.Mul(torch.Add(x, torch.Ones(4, 8)), torch.Arange(8))
			return torch.Where(torch.Gt(y, 0), y, torch.Zeros(8))
		}, []int{4, 8}},
		{"constants", func(x *torch.Tensor) *torch.Tensor { return torch.Add(torch.MatMul(x, embed), torch.Add(embed, 1)) }, []int{4, 4}},
		{"the device of an input", func(x *torch.Tensor) *torch.Tensor { return x.Add(torch.Ones(8, torch.Kw("device", x.Device()))) }, []int{4, 8}},
		{"views that are written", func(x *torch.Tensor) *torch.Tensor {
			y := torch.Neg(x)
			aten("mul_.Tensor", aten("select.int", y, 0, 1), aten("select.int", y, 0, 0))
			return y
		}, []int{4, 8}},
		{"a number", func(x *torch.Tensor) *torch.Tensor { return torch.Mul(x, torch.Full([]int{}, 2.5)).Add(3) }, []int{4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if m, ok := c.root.(nn.Module); ok {
				nn.Train(m, false)
			}
			x := aten("randn", c.size)
			for _, r := range []tracer.Recording{{}, {Leaf: true}, {Leaf: true, Functional: true}} {
				want, err := r.Record(c.root, x)
				require.NoError(t, err)
				in := bare(t, c.size...)
				got, err := r.Record(c.root, in)
				require.NoError(t, err)
				assert.Equal(t, codeOf(t, want), codeOf(t, got))
				for a := range want.Graph().Nodes() {
					if before, of := a.Meta().Get(ir.MetaVal).(ir.TensorMeta); of {
						after := got.Graph().Lookup(a.Name()).Meta().Get(ir.MetaVal)
						before.RequiresGrad = after.(ir.TensorMeta).RequiresGrad
						assert.Equal(t, before, after, a.Name())
					}
				}
				assert.Equal(t, ir.DeviceMeta, in.Device().Kind(), "it is on the device meta again")
			}
		})
	}
}

// Elements that are not there are not read, whoever reads them.
func TestRecordOnMetaHasNoElements(t *testing.T) {
	m := nn.NewLinear(4, 4)
	for name, f := range map[string]func(x *torch.Tensor) error{
		"an input":   func(x *torch.Tensor) error { _, err := x.Bytes(); return err },
		"a factory":  func(*torch.Tensor) error { _, err := torch.Ones(3).Bytes(); return err },
		"a size":     func(x *torch.Tensor) error { _, err := torch.Call("aten::nonzero", x); return err },
		"an element": func(x *torch.Tensor) error { _, err := torch.Call("aten::item", aten("sum", x)); return err },
		"positions": func(x *torch.Tensor) error {
			_, err := torch.Call("aten::tensor_split.tensor_indices_or_sections", x, aten("arange", 2))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []tracer.Recording{{}, {Leaf: true}} {
				var failed error
				_, err := r.Record(func(x *torch.Tensor) (*torch.Tensor, error) {
					failed = f(x)
					return m.Forward(x), nil
				}, bare(t, 2, 4))
				require.NoError(t, err)
				require.Error(t, failed)
			}
		})
	}
}
