package tracer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/tracer"
)

// Go has no value for a dict whose keys are tuples: an error, not a panic.
func TestRetracingADictWithTupleKeys(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	dict := ir.DictOf(ir.Pair{Key: ir.TupleOf(ir.Int(1), ir.Int(2)), Value: x})
	g.Output(g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{dict}))
	gm, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	_, err = tracer.SymbolicTrace(gm)
	require.ErrorIs(t, err, ir.ErrNotImplemented)
	assert.ErrorContains(t, err, "(1, 2)")
}
