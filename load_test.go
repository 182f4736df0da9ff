package torchfx_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestSignatureOnly(t *testing.T) {
	p := load(t, "dynamic_batch", torchfx.SignatureOnly())
	assert.Nil(t, p.Module())
	assert.NotEmpty(t, p.Exported().Signature.Inputs)
	assert.NotEmpty(t, p.Exported().OutputValues())
	_, err := p.Run(t.Context())
	require.ErrorIs(t, err, ir.ErrUnsupported)
	assert.ErrorContains(t, err, "expected a program with its weights, got one that was opened to be looked at")
	require.NoError(t, p.Reset())
	assert.ErrorIs(t, p.Save(filepath.Join(t.TempDir(), "no.pt2")), ir.ErrUnsupported)
}

func TestGraphOnly(t *testing.T) {
	p := load(t, "linear_relu", torchfx.GraphOnly())
	assert.Len(t, p.Module().Graph().Find(ir.CallFunction, ir.OverloadOf("aten::relu")), 1)
	_, err := p.Run(t.Context(), ones(t, 2, 4))
	require.ErrorIs(t, err, ir.ErrUnsupported)
	err = p.Save(filepath.Join(t.TempDir(), "no.pt2"))
	assert.ErrorContains(t, err, "state 0.weight: expected its elements, got none")
}

// TestWeightsFromAnotherFile runs a program with the weights of a safetensors file,
// and saves both as one.
func TestWeightsFromAnotherFile(t *testing.T) {
	original := load(t, "linear_relu")
	tensors := map[string]*export.Tensor{}
	for name, x := range original.Exported().State() {
		data, err := x.Bytes()
		require.NoError(t, err)
		tensors[name] = &export.Tensor{Storage: export.NewStorage(make([]byte, len(data))), DType: x.DType, Sizes: x.Sizes, Strides: x.Strides}
	}
	weights := filepath.Join(t.TempDir(), "zeros.safetensors")
	f, err := os.Create(weights)
	require.NoError(t, err)
	require.NoError(t, errors.Join(export.WriteSafetensors(f, tensors, nil), f.Close()))

	p := load(t, "linear_relu", torchfx.WeightsFrom(weights))
	path := filepath.Join(t.TempDir(), "both.pt2")
	require.NoError(t, p.Save(path))
	again, err := torchfx.Load(path)
	require.NoError(t, err)
	defer again.Close()
	for _, q := range []*torchfx.Program{p, again} {
		out, err := q.Run(t.Context(), ones(t, 2, 4))
		require.NoError(t, err)
		y := out.(*torch.Tensor)
		defer y.Close()
		data, err := torch.Data[float32](y)
		require.NoError(t, err)
		assert.Equal(t, make([]float32, 6), data)
	}
}

func TestModels(t *testing.T) {
	names, err := torchfx.Models(fixture(t, "two_models"))
	require.NoError(t, err)
	require.Len(t, names, 2)
	for _, name := range names {
		p := load(t, "two_models", torchfx.Model(name))
		assert.Equal(t, name, p.Exported().Name)
	}
}
