package tracer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// globalsOf tells the parser what names stand for, as files do.
func globalsOf(t *testing.T, gm *ir.GraphModule) []ir.Global {
	t.Helper()
	code, err := gm.Graph().PythonCode("self")
	require.NoError(t, err)
	return code.Globals
}

type pairOf[T any] struct{ A, B T }

// Model code that a trace cannot take ends in an error, not in a panic or in a
// graph that means something else.
func TestHostileModelCode(t *testing.T) {
	testenv.Libtorch(t)
	type tensor = *torch.Tensor
	cyclic := func(x tensor) []any {
		list := []any{x, nil}
		list[1] = list
		return list
	}
	ph := tracer.Concrete(map[string]any{"x": []any{tracer.PH}})
	tests := []struct {
		name  string
		root  any
		opts  []tracer.Option
		class *ir.Class
		want  string
	}{
		{"nil module", (*twoLayers)(nil), nil, ir.ErrAssertion, "expected an nn.Module, got a nil *tracer_test.twoLayers"},
		{"nil function", (func(tensor) tensor)(nil), nil, ir.ErrAssertion, "expected an nn.Module, an *ir.GraphModule or a function"},
		{"method of nil", func(x tensor) any { return tensor(nil).Add(x) }, nil, ir.ErrAttribute, "'NoneType' object has no attribute 'add'"},
		{"channel", func(tensor) any { return make(chan int) }, nil, ir.ErrNotImplemented, "argument of type: chan int"},
		{"function", func(tensor) any { return func() {} }, nil, ir.ErrNotImplemented, "argument of type: func()"},
		{"result that holds itself", func(x tensor) any { return cyclic(x) }, nil, ir.ErrValue, "nested at most 1000 deep"},
		{"argument that holds itself", func(x tensor) any {
			return torch.Dispatch(ir.CallFunction, ir.FuncOf("torch.cat"), cyclic(x), nil)
		}, nil, ir.ErrValue, "nested at most 1000 deep"},
		{"leaves of what holds itself", func(x any) any { return cyclic(x.([]any)[0].(torch.Value).Tensor()) }, []tracer.Option{ph}, ir.ErrValue, "nested at most 1000 deep"},
		{"keyword as a name", func(x tensor) any { return x }, []tracer.Option{tracer.Signature("class")}, ir.ErrSyntax, `expected a Python name, got "class"`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tracer.SymbolicTrace(tc.root, tc.opts...)
			require.ErrorIs(t, err, tc.class)
			assert.ErrorContains(t, err, tc.want)
		})
	}
	gm, err := tracer.SymbolicTrace(func(x tensor) any { return []any{pairOf[tensor]{x, x.Neg()}, (*pairOf[int])(nil), struct{ C int }{3}} })
	require.NoError(t, err)
	code, err := gm.Code()
	require.NoError(t, err)
	assert.Contains(t, code, " = tracer_pairOf_github_com_torchfx_go_torchfx_torchops_Tensor(a = x, b = neg);")
	assert.Contains(t, code, " = go_struct(c = 3)\n")
	assert.Contains(t, code, ", None, struct]")
	parsed, err := ir.ParseCode(code, ir.WithGlobals(globalsOf(t, gm)...))
	require.NoError(t, err)
	assert.NoError(t, ir.Equal(gm.Graph(), parsed))
}
