package tracer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/tracer"
)

// What is no key of a dict in Go is an error, not a panic; a tuple is one.
func TestRetracingADictWithOddKeys(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	dict := ir.DictOf(ir.Pair{Key: ir.TupleOf(ir.Int(1), ir.Str("a")), Value: x})
	g.Output(dict)
	gm, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	gm, err = tracer.SymbolicTrace(gm)
	require.NoError(t, err)
	require.NoError(t, ir.Equal(g, gm.Graph()))

	g = ir.NewGraph()
	x = g.Placeholder("x")
	dict = ir.DictOf(ir.Pair{Key: ir.TupleOf(ir.Int(1), ir.ListOf()), Value: x})
	g.Output(g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{dict}))
	gm, err = ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	_, err = tracer.SymbolicTrace(gm)
	require.ErrorIs(t, err, ir.ErrNotImplemented)
	assert.ErrorContains(t, err, "(1, [])")
}
