package tracer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/tracer"
)

func TestPathOf(t *testing.T) {
	testenv.Libtorch(t)
	model := &leafAndTraced{Linear: nn.NewLinear(3, 4), Submod: &specialSubmodule{}}
	var tr *tracer.Tracer
	var asked []string
	tr = tracer.New(tracer.OnCallModule(func(m nn.Module, path string, _ []any, call func() any) any {
		got, err := tr.PathOf(m)
		require.NoError(t, err)
		assert.Equal(t, path, got)
		asked = append(asked, got)
		return call()
	}))
	_, err := tr.Trace(model)
	require.NoError(t, err)
	assert.Equal(t, []string{"linear", "submod"}, asked)
	for want, m := range map[string]nn.Module{"": model, "linear": model.Linear, "submod": model.Submod} {
		got, err := tr.PathOf(m)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, m := range []nn.Module{nn.NewLinear(1, 1), nil} {
		_, err := tr.PathOf(m)
		require.ErrorIs(t, err, ir.ErrKey)
		assert.EqualError(t, err, "module is not installed as a submodule")
	}
}

func TestFreshName(t *testing.T) {
	tr := tracer.New()
	_, err := tr.Trace(&deadCode{Attr1: tensor(t, []float32{1}, 1)})
	require.NoError(t, err)
	assert.Equal(t, "attr_0", tr.FreshName("attr_"))
	assert.Equal(t, "attr_2", tr.FreshName("attr_"), "the root has attr_1")
	assert.Equal(t, "w0", tr.FreshName("w"))
}
