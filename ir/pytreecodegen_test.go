package ir

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A spec that was made with the module among the arguments has a leaf for it,
// which a caller does not give.
func TestPyTreeWithModule(t *testing.T) {
	c := PyTreeCodeGen{Args: []string{"self", "xs", "y"}, In: TupleSpec(Leaf(), ListSpec(Leaf(), Leaf()), Leaf())}
	for _, call := range []struct {
		args   []any
		kwargs map[string]any
	}{{[]any{[]any{1, 2}, 3}, nil}, {[]any{[]any{1, 2}}, map[string]any{"y": 3}}} {
		leaves, err := c.ProcessInputs(call.args, call.kwargs)
		require.NoError(t, err)
		assert.Equal(t, []any{1, 2, 3}, leaves)
	}
	_, err := c.ProcessInputs([]any{1, 2}, nil)
	require.ErrorContains(t, err, "expected")
	c.In = TupleSpec(ListSpec(Leaf(), Leaf()), Leaf())
	leaves, err := c.ProcessInputs([]any{[]any{1, 2}, 3}, nil)
	require.NoError(t, err)
	assert.Equal(t, []any{1, 2, 3}, leaves)
}
