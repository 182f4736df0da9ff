package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/examples/vision"
	"github.com/torchfx-go/torchfx/internal/testenv"
)

func TestRun(t *testing.T) {
	testenv.Libtorch(t)
	model, err := vision.New("mobilenet_v2")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "weights.safetensors")
	require.NoError(t, torchfx.SaveState(file, model))
	var first, second strings.Builder
	require.NoError(t, run(&first, []string{"-model", "mobilenet_v2", "-weights", file}))
	require.NoError(t, run(&second, []string{"-model", "mobilenet_v2", "-weights", file}))
	assert.Equal(t, first.String(), second.String())
	assert.True(t, strings.HasPrefix(first.String(), "def forward(self, x : torch.Tensor) -> torch.Tensor:"))
	assert.Contains(t, first.String(), "MobileNetV2 on noise:\n  class ")
	var train strings.Builder
	require.NoError(t, run(&train, []string{"-model", "googlenet", "-train"}))
	assert.Contains(t, train.String(), "torchvision_models_googlenet_GoogLeNetOutputs(fc, aux2_fc2, aux1_fc2)")
	require.ErrorContains(t, run(&train, []string{"-model", "vgg"}), "expected one of")
	require.ErrorContains(t, run(&train, []string{"-weights", "none.pt"}), "no such file")
}
