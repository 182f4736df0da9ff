package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

// Arguments are bound, and results built, as the code generator says.
//
// upstream: test_fx.TestFX.test_interpreter_with_codegen
func TestUpstreamInterpreterWithCodeGen(t *testing.T) {
	gm := polynomial(t)
	pair := ir.ListSpec(ir.Leaf(), ir.Leaf())
	gm.Graph().SetCodeGen(ir.PyTreeCodeGen{Args: []string{"xs"}, In: ir.TupleSpec(pair), Out: ir.DictSpec([]string{"y"}, ir.Leaf())})
	out, err := interpreter.New(gm).Run(t.Context(), []any{int64(3), int64(4)})
	require.NoError(t, err)
	y, ok := out.(*ir.PyDict).Get("y")
	require.True(t, ok)
	require.Equal(t, int64(22), y)
	_, err = interpreter.New(gm).Run(t.Context(), []any{int64(3)})
	require.ErrorIs(t, err, ir.ErrInput)
}
