package torchops

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// Every function of the table has a body, but for those listed with the reason,
// and every body a place in the table.
func TestComposedFunctionsHaveBodies(t *testing.T) {
	absent := map[string]string{
		"torch.Tensor.index": "indexes by the named dimensions of functorch, which are Python objects",
	}
	listed := map[string]bool{}
	for line := range strings.Lines(composedText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name := strings.Fields(line)[0]
		listed[name] = true
		_, isAbsent := absent[name]
		assert.Equal(t, !isAbsent, composedFunctions[ir.FuncOf(name)] != nil, name)
	}
	for module, of := range bodies {
		for name := range of() {
			assert.True(t, listed[module+name], module+name)
		}
	}
}

// Arguments are bound, and refused, as Python does it.
func TestComposedBind(t *testing.T) {
	c := func(signature string) *composed { return &composed{name: "f", params: parseSignature(signature)} }
	tests := []struct {
		name, signature string
		args            []any
		kw              []Kwarg
		want            []any
		err             string
	}{
		{"defaults", "a, b: int = 3, c: str = 'x', d = None", []any{int64(1)}, nil, []any{int64(1), int64(3), "x", nil}, ""},
		{"keywords", "a, b = 3", nil, []Kwarg{{"b", 2.0}, {"a", true}}, []any{true, 2.0}, ""},
		{"brackets in annotations", "a: dict[str, int] = None, b: Union['Tensor', int] = 1e-05", nil, nil, []any{nil, 1e-05}, ""},
		{"rest", "*args, out = None", []any{int64(1), int64(2)}, nil, []any{[]any{int64(1), int64(2)}, nil}, ""},
		{"rest after one", "self, *sizes", []any{"x", int64(2)}, nil, []any{"x", []any{int64(2)}}, ""},
		{"nothing for rest", "self, *sizes", []any{"x"}, nil, []any{"x", []any{}}, ""},
		{"keyword only", "a, *, b = 3", []any{int64(1)}, []Kwarg{{"b", int64(4)}}, []any{int64(1), int64(4)}, ""},
		{"layout", "a: torch.layout = torch.strided", nil, nil, []any{ir.Strided}, ""},
		{"one too many", "a", []any{1, 2}, nil, nil, "f() takes 1 positional argument but 2 were given"},
		{"too many of two", "a, b", []any{1, 2, 3}, nil, nil, "f() takes 2 positional arguments but 3 were given"},
		{"too many with defaults", "a, b = 1", []any{1, 2, 3}, nil, nil, "f() takes from 1 to 2 positional arguments but 3 were given"},
		{"none allowed", "*, a = 1", []any{1}, nil, nil, "f() takes 0 positional arguments but 1 was given"},
		{"unknown keyword", "a = 1", nil, []Kwarg{{"b", 1}}, nil, "f() got an unexpected keyword argument 'b'"},
		{"twice", "a", []any{1}, []Kwarg{{"a", 1}}, nil, "f() got multiple values for argument 'a'"},
		{"positional only", "self, a, /", []any{1}, []Kwarg{{"a", 1}}, nil, "f() got an unexpected keyword argument 'a'"},
		{"one missing", "a, b = 1", nil, nil, nil, "f() missing 1 required positional argument: 'a'"},
		{"two missing", "a, b", nil, nil, nil, "f() missing 2 required positional arguments: 'a' and 'b'"},
		{"three missing", "a, b, c", nil, nil, nil, "f() missing 3 required positional arguments: 'a', 'b', and 'c'"},
		{"keyword missing", "*, a", nil, nil, nil, "f() missing 1 required keyword-only argument: 'a'"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			values, err := c(tc.signature).bind(tc.args, tc.kw)
			if tc.err != "" {
				require.ErrorIs(t, err, ir.ErrType)
				require.EqualError(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, values)
		})
	}
}
