package vision_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/examples/vision"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// Networks of layers, traced and frozen, compute the same within the tolerance that
// the report states, at the sizes that they were frozen for and at others; all their
// convolutions are packed.
func TestFrozenNetworks(t *testing.T) {
	testenv.Libtorch(t)
	frozenNetworks(t, passes.FreezeDelegate(nil))
}

// The same with regions that oneDNN computes, at other batches too.
func TestDelegatedNetworks(t *testing.T) {
	testenv.Delegate(t)
	frozenNetworks(t)
}

func frozenNetworks(t *testing.T, opts ...passes.FreezeOption) {
	for _, name := range vision.Names {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, libtorch.ManualSeed(1))
			m, err := vision.New(name)
			require.NoError(t, err)
			nn.Train(m, false)
			for s := range nn.Tensors(m) { // a fresh batch norm is the identity
				if s.Tensor != nil && strings.HasSuffix(s.Name, "running_var") {
					_, err := torch.Call("aten::uniform_", s.Tensor, 0.5, 1.5)
					require.NoError(t, err)
				}
			}
			gm, err := tracer.SymbolicTrace(m)
			require.NoError(t, err)
			x := torch.Rand([]int{2, 3, 64, 64})
			frozen, err := passes.Freeze(t.Context(), gm, append(opts, passes.FreezeArgs(x), passes.WithChoices(passes.Unmeasured()))...)
			require.NoError(t, err)
			defer frozen.Close()
			plan, err := interpreter.Compile(frozen.Module)
			require.NoError(t, err)
			defer plan.Close()
			for _, input := range []*torch.Tensor{x, torch.Rand([]int{2, 3, 64, 64}), torch.Rand([]int{1, 3, 64, 64}), torch.Rand([]int{5, 3, 64, 64}), x} {
				want, err := interpreter.New(gm).RunFlat(t.Context(), []any{input})
				require.NoError(t, err)
				got, err := plan.RunFlat(t.Context(), []any{input})
				require.NoError(t, err)
				for i := range want {
					a, b := want[i].(*torch.Tensor), got[i].(*torch.Tensor)
					require.Equal(t, torch.Describe(a), torch.Describe(b))
					require.Equal(t, a.Strides(), b.Strides())
					largest, err := torch.Max(torch.Abs(a)).Item()
					require.NoError(t, err)
					difference, err := torch.Max(torch.Abs(torch.Sub(a, b))).Item()
					require.NoError(t, err)
					assert.LessOrEqual(t, difference.(float64), frozen.Report.Tolerance()*largest.(float64))
				}
			}
			for n := range frozen.Module.Graph().Nodes() {
				if n.Op() == ir.CallFunction {
					assert.NotContains(t, []string{"torch.ops.aten.conv2d.default", "torch.ops.aten.relu_.default", "torch.ops.aten.dropout.default"}, n.Target().String(), n.Name())
				}
			}
		})
	}
}
