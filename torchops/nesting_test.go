package torchops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// holdingThemselves are containers that hold themselves.
func holdingThemselves() map[string]any {
	list, tuple, dict, object := []any{1, nil}, ir.PyTuple{nil}, &ir.PyDict{}, &ir.PyObject{Type: "a.B", Fields: []string{"x"}, Values: []any{nil}}
	list[1], tuple[0], object.Values[0] = list, tuple, object
	dict.Set("a", dict)
	text, number := map[string]any{}, map[int]any{}
	text["a"], number[1] = []any{text}, number
	return map[string]any{"list": list, "tuple": tuple, "dict": dict, "object": object, "map": text, "map of numbers": number, "inside": []any{ir.PyTuple{dict}}}
}

func TestWhatHoldsItself(t *testing.T) {
	testenv.Libtorch(t)
	for name, v := range holdingThemselves() {
		t.Run(name, func(t *testing.T) {
			_, err := torch.Call("aten::cat", v)
			require.ErrorIs(t, err, torch.ErrNesting)
			_, err = torch.Call("aten::cat", []any{}, torch.Kw("dim", v))
			require.ErrorIs(t, err, torch.ErrNesting)
			for _, f := range []string{"torch.cat", "operator.eq", "torch.ops.aten.cat.default", "builtins.len"} {
				_, err = torch.Invoke(nil, ir.FuncOf(f), []any{v, v}, nil)
				require.ErrorIs(t, err, torch.ErrNesting, f)
			}
			_, err = torch.InvokeMethod(nil, "keys", []any{v}, nil)
			require.ErrorIs(t, err, torch.ErrNesting)
		})
	}
	deep := []any{}
	for range torch.MaxNesting - 10 {
		deep = []any{deep}
	}
	assert.NoError(t, torch.CheckNesting(deep))
}

// A graph makes no container that holds itself.
func TestNothingIsPutIntoItself(t *testing.T) {
	dict, list := &ir.PyDict{}, []any{int64(1), int64(2)}
	for _, v := range []any{dict, list} {
		for _, value := range []any{v, []any{v}, ir.PyTuple{int64(1), []any{v}}} {
			_, err := torch.Invoke(nil, ir.FuncOf("operator.setitem"), []any{v, int64(0), value}, nil)
			assert.ErrorContains(t, err, "expected a value without the")
		}
		_, err := torch.Invoke(nil, ir.FuncOf("operator.setitem"), []any{v, int64(0), []any{int64(3)}}, nil)
		assert.NoError(t, err)
	}
	assert.Equal(t, []any{[]any{int64(3)}, int64(2)}, list)
}
