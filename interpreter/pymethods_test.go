package interpreter_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

// call_method calls a method of whatever its first argument is, as torch.fx's does.
func TestCallMethodOfPythonsValues(t *testing.T) {
	needLibtorch(t)
	dict := &ir.PyDict{}
	dict.Set("a", int64(1))
	dict.Set("b", "text")
	list := []any{int64(4), int64(5), int64(4)}
	tests := []struct {
		name, method string
		receiver     any
		more         []ir.Arg
		want         any
		err          string
	}{
		{"keys", "keys", dict, nil, []any{"a", "b"}, ""},
		{"values", "values", dict, nil, []any{int64(1), "text"}, ""},
		{"items", "items", dict, nil, []any{ir.PyTuple{"a", int64(1)}, ir.PyTuple{"b", "text"}}, ""},
		{"get", "get", dict, []ir.Arg{ir.Str("a")}, int64(1), ""},
		{"get of nothing", "get", dict, []ir.Arg{ir.Str("c")}, nil, ""},
		{"get of a default", "get", dict, []ir.Arg{ir.Str("c"), ir.Int(7)}, int64(7), ""},
		{"count", "count", list, []ir.Arg{ir.Int(4)}, int64(2), ""},
		{"index", "index", ir.PyTuple(list), []ir.Arg{ir.Int(5)}, int64(1), ""},
		{"numel of a size", "numel", ir.PyTuple{int64(2), int64(3)}, nil, int64(6), ""},
		{"startswith", "startswith", "torch", []ir.Arg{ir.Str("to")}, true, ""},
		{"an operator", "__getitem__", list, []ir.Arg{ir.Int(1)}, int64(5), ""},
		{"a sum of lists", "__add__", []any{int64(1)}, []ir.Arg{ir.ListOf(ir.Int(2))}, []any{int64(1), int64(2)}, ""},
		{"unknown", "nope", dict, nil, nil, "'dict' object has no attribute 'nope'"},
		{"of tensors only", "relu", list, nil, nil, "'list' object has no attribute 'relu'"},
		{"one that changes", "append", list, []ir.Arg{ir.Int(1)}, nil, "expected one that leaves its list as it is"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := ir.NewGraph()
			x := g.Placeholder("x")
			g.Output(g.CallMethod(tc.method, append([]ir.Arg{x}, tc.more...)))
			gm := module(t, g, nil)
			got, err := interpreter.New(gm).Run(t.Context(), tc.receiver)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
			if !strings.HasPrefix(tc.method, "_") {
				require.NoError(t, interpreter.Check(gm))
			}
		})
	}
}

// A size is a value of Python; a plan computes with it or says what it does not know.
func TestSizesHaveMethods(t *testing.T) {
	needLibtorch(t)
	x := tensor(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2)
	for _, tc := range []struct {
		method string
		more   []ir.Arg
		want   any
	}{{"numel", nil, int64(8)}, {"count", []ir.Arg{ir.Int(2)}, int64(3)}, {"index", []ir.Arg{ir.Int(2)}, int64(0)}} {
		g := ir.NewGraph()
		size := g.CallMethod("size", []ir.Arg{g.Placeholder("x")})
		g.Output(g.CallMethod(tc.method, append([]ir.Arg{size}, tc.more...)))
		gm := module(t, g, nil)
		out, err := interpreter.New(gm).Run(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, tc.want, out)
		plan, err := interpreter.Compile(gm)
		if err != nil {
			require.ErrorIs(t, err, ir.ErrUnsupported)
			require.ErrorContains(t, err, "method "+tc.method)
			continue
		}
		out, err = plan.Run(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, tc.want, out)
		require.NoError(t, plan.Close())
	}
}
