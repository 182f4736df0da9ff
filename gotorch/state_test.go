//go:build gotorch

package gotorch_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	gt "github.com/wangkuiyi/gotorch"
	gnn "github.com/wangkuiyi/gotorch/nn"
	"github.com/wangkuiyi/gotorch/vision/models"

	"github.com/torchfx-go/torchfx/gotorch"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestNamesOfTheState(t *testing.T) {
	state, err := gotorch.StateDict(models.Resnet18())
	require.NoError(t, err)
	assert.Len(t, state, 102)
	for _, path := range []string{"c1.weight", "bn1.running_mean", "l1.0.c1.weight", "l2.0.downsample.0.weight", "l2.0.downsample.1.running_var", "fc.bias"} {
		assert.Contains(t, state, path)
	}
}

type list struct {
	gnn.Module
	RunningTotals []gt.Tensor
	Blocks        [2]*gnn.LinearModule
	Missing       *gnn.LinearModule
	Unset         gt.Tensor
}

func TestNamesOfLists(t *testing.T) {
	m := &list{RunningTotals: []gt.Tensor{gt.Full([]int64{1}, 1, false)}, Blocks: [2]*gnn.LinearModule{gnn.Linear(1, 1, false), gnn.Linear(1, 1, true)}}
	m.Init(m)
	state, err := gotorch.StateDict(m)
	require.NoError(t, err)
	assert.Equal(t, []string{"blocks.0.weight", "blocks.1.bias", "blocks.1.weight", "running_totals.0"}, slices.Sorted(maps.Keys(state)))
}

type clash struct {
	gnn.Module
	FC, Fc gt.Tensor
}

func TestNamesThatDifferByCase(t *testing.T) {
	m := &clash{FC: gt.Full([]int64{1}, 1, false), Fc: gt.Full([]int64{1}, 1, false)}
	m.Init(m)
	_, err := gotorch.StateDict(m)
	require.ErrorIs(t, err, ir.ErrValue)
	require.ErrorContains(t, err, "clash.FC and clash.Fc")
}

func TestLoadStateDict(t *testing.T) {
	ours := nn.NewSequential(nn.NewConv2d(3, 4, 3), nn.NewBatchNorm2d(4))
	theirs := single{gnn.Sequential(gnn.Conv2d(3, 4, 3, 1, 0, 1, 1, true, "zeros"), gnn.BatchNorm2d(4, 1e-5, 0.1, true, true))}
	require.NoError(t, gotorch.LoadStateDict(theirs, nn.StateDict(ours)))
	state, err := gotorch.StateDict(theirs)
	require.NoError(t, err)
	for path, want := range nn.StateDict(ours) {
		if path == "1.num_batches_tracked" {
			continue
		}
		same(t, want, state[path])
		assert.NotEqual(t, id(t, want), id(t, state[path]), "copied")
	}
}

// What does not fit is told at once, and nothing is changed.
func TestLoadStateDictFails(t *testing.T) {
	m := gnn.Linear(2, 2, true)
	before, err := gotorch.StateDict(m)
	require.NoError(t, err)
	weight := data(t, before["weight"])
	err = gotorch.LoadStateDict(m, maps.All(map[string]*torch.Tensor{"weight": torch.Zeros(2, 2), "scale": torch.Zeros(1)}))
	require.ErrorIs(t, err, ir.ErrRuntime)
	require.ErrorContains(t, err, "bias: expected a tensor, got none")
	require.ErrorContains(t, err, "scale: expected none, got a tensor")
	err = gotorch.LoadStateDict(m, maps.All(map[string]*torch.Tensor{"weight": torch.Zeros(2, 2), "bias": torch.Zeros(3)}))
	require.ErrorContains(t, err, "bias: expected shape [2], got [3]")
	assert.Equal(t, weight, data(t, before["weight"]))
}

// gotorch is one more oracle of the layers: on the same weights and inputs both
// give the same bits, since both are libtorch's kernels.
func TestLayersAgree(t *testing.T) {
	tests := []struct {
		name   string
		ours   nn.Module
		theirs interface {
			gnn.IModule
			Forward(gt.Tensor) gt.Tensor
		}
		shape []int
	}{
		{"linear", nn.NewLinear(5, 3), gnn.Linear(5, 3, true), []int{4, 5}},
		{"linear without bias", nn.NewLinear(5, 3, nn.WithBias(false)), gnn.Linear(5, 3, false), []int{4, 5}},
		{"convolution", nn.NewConv2d(4, 6, 3, nn.WithStride(2), nn.WithPadding(1), nn.WithGroups(2)), gnn.Conv2d(4, 6, 3, 2, 1, 1, 2, true, "zeros"), []int{2, 4, 9, 9}},
		{"dilated convolution", nn.NewConv2d(3, 2, 3, nn.WithDilation(2), nn.WithBias(false)), gnn.Conv2d(3, 2, 3, 1, 0, 2, 1, false, "zeros"), []int{1, 3, 8, 8}},
		{"transposed convolution", nn.NewConvTranspose2d(3, 4, 3, nn.WithStride(2), nn.WithPadding(1), nn.WithOutputPadding(1)), gnn.ConvTranspose2d(3, 4, 3, 2, 1, 1, 1, true, 1, "zeros"), []int{2, 3, 5, 5}},
		{"batch norm", nn.NewBatchNorm2d(3), gnn.BatchNorm2d(3, 1e-5, 0.1, true, true), []int{2, 3, 4, 4}},
		{"batch norm without parameters", nn.NewBatchNorm2d(3, nn.WithAffine(false)), gnn.BatchNorm2d(3, 1e-5, 0.1, false, true), []int{2, 3, 4, 4}},
	}
	for _, tc := range tests {
		for _, training := range []bool{true, false} {
			t.Run(tc.name+map[bool]string{true: " in training"}[training], func(t *testing.T) {
				nn.Train(tc.ours, training)
				tc.theirs.Train(training)
				require.NoError(t, gotorch.LoadStateDict(tc.theirs, nn.StateDict(tc.ours)))
				x := torch.Randn(sizes(tc.shape...)...)
				got, err := nn.Invoke(tc.ours, []any{x}, nil)
				require.NoError(t, err)
				same(t, forward(t, tc.theirs, x), got.(*torch.Tensor))

				state, err := gotorch.StateDict(tc.theirs) // also what training has written
				require.NoError(t, err)
				for path, want := range nn.StateDict(tc.ours) {
					if path != "num_batches_tracked" {
						same(t, want, state[path])
					}
				}
			})
		}
	}
}
