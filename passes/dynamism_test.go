package passes_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
)

func TestVarying(t *testing.T) {
	testenv.Libtorch(t)
	x := func(sizes ...int) any { return tensorOf(t, false, sizes...) }
	// upstream: test_dynamism.TestDynamism.test_dynamic_tracking
	t.Run("sizes and ints", func(t *testing.T) {
		got := passes.Varying(
			map[string]any{"x": 1, "y": x(1, 1, 1, 1), "z": []any{x(3, 3, 3, 3), x(4, 4, 4, 4)}},
			map[string]any{"x": 2, "y": x(2, 1, 1, 1), "z": []any{x(3, 3, 3, 3), x(4, 4, 4, 6)}})
		require.Equal(t, map[string][]bool{"L['x']": {true}, "L['y']": {true, false, false, false},
			"L['z'][0]": {false, false, false, false}, "L['z'][1]": {false, false, false, true}}, got)
	})
	// upstream: test_dynamism.TestDynamism.test_module_tracking
	// upstream: test_dynamism.TestDynamism.test_dynamic_across_modules
	t.Run("modules", func(t *testing.T) {
		pair := func(out int) any {
			return map[string]any{"self": nn.NewSequential(nn.NewLinear(3, out), nn.NewReLU())}
		}
		require.Equal(t, map[string][]bool{"L['self']['0.weight']": {true, false}, "L['self']['0.bias']": {true}}, passes.Varying(pair(2), pair(5)))
		require.Equal(t, map[string][]bool{"L['self']['0.weight']": {false, false}, "L['self']['0.bias']": {false}}, passes.Varying(pair(2), pair(2)))
	})
	// upstream: test_dynamism.TestDynamism.test_float_dynamism
	t.Run("floats", func(t *testing.T) {
		require.Equal(t, map[string][]bool{"L['x']": {true}, "L['k']['a']": {false}},
			passes.Varying(ir.NewPyDict([]any{"x", "k"}, []any{1.0, map[string]any{"a": 2.0}}), ir.NewPyDict([]any{"x", "k"}, []any{2.0, map[string]any{"a": 2.0}})))
	})
}

func ExampleVarying() {
	got := passes.Varying(map[string]any{"n": 1, "pair": []any{3, 4}}, map[string]any{"n": 2, "pair": []any{3, 5}})
	fmt.Println(got["L['n']"], got["L['pair'][0]"], got["L['pair'][1]"])
	// Output: [true] [false] [true]
}
