package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// An argument that holds itself is refused before anything walks it.
func TestArgumentsThatHoldThemselves(t *testing.T) {
	testenv.Libtorch(t)
	g, err := ir.ParseCode("def forward(self, x):\n    add = torch.add(x, x)\n    return add")
	require.NoError(t, err)
	m, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	plan, err := interpreter.Compile(m)
	require.NoError(t, err)
	defer plan.Close()
	list, dict, named := []any{nil}, &ir.PyDict{}, map[string]any{}
	list[0], named["a"] = list, named
	dict.Set("a", dict)
	for name, v := range map[string]any{"list": list, "dict": dict, "map": named, "tuple": ir.PyTuple{list}} {
		t.Run(name, func(t *testing.T) {
			in := interpreter.New(m)
			_, err := in.Run(t.Context(), v)
			require.ErrorIs(t, err, torch.ErrNesting)
			_, err = in.RunFlat(t.Context(), []any{v})
			require.ErrorIs(t, err, torch.ErrNesting)
			_, err = in.RunBoxed(t.Context(), &[]any{v})
			require.ErrorIs(t, err, torch.ErrNesting)
			_, err = plan.Run(t.Context(), v)
			require.ErrorIs(t, err, torch.ErrNesting)
			_, err = plan.RunFlat(t.Context(), []any{v})
			require.ErrorIs(t, err, torch.ErrNesting)
		})
	}
}
