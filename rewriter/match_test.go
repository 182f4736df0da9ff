package rewriter

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

var (
	add  = ir.FuncOf("torch.add")
	relu = ir.FuncOf("torch.relu")
	neg  = ir.FuncOf("torch.neg")
)

// build makes a graph of a function over its placeholders.
func build(inputs int, f func(g *ir.Graph, in []*ir.Node) ir.Arg) *ir.Graph {
	g := ir.NewGraph()
	in := make([]*ir.Node, inputs)
	for i := range in {
		in[i] = g.Placeholder(string(rune('x' + i)))
	}
	g.Output(f(g, in))
	return g
}

func call(g *ir.Graph, f *ir.Func, args ...ir.Arg) *ir.Node { return g.CallFunction(f, args) }

func module(t *testing.T, g *ir.Graph) *ir.GraphModule {
	t.Helper()
	m, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	return m
}

// The cases are torch.fx's rules of matching, one each.
func TestMatches(t *testing.T) {
	addXX := func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, add, in[0], in[0]) }
	addXY := func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, add, in[0], in[1]) }
	literal := func(v ir.Arg) func(*ir.Graph, []*ir.Node) ir.Arg {
		return func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, add, in[0], v) }
	}
	tests := []struct {
		name           string
		graph, pattern *ir.Graph
		options        []Option
		want           int
	}{
		{"two wildcards never match one node", build(1, addXX), build(2, addXY), nil, 0},
		{"a wildcard used twice wants one node", build(2, addXY), build(1, addXX), nil, 0},
		{"a wildcard used twice", build(1, addXX), build(1, addXX), nil, 1},
		{"equal literals", build(1, literal(ir.Int(1))), build(1, literal(ir.Int(1))), nil, 1},
		{"literals of other types differ", build(1, literal(ir.Float(1))), build(1, literal(ir.Int(1))), nil, 0},
		{"literals ignored", build(1, literal(ir.Float(2))), build(1, literal(ir.Int(1))), []Option{IgnoreLiterals()}, 1},
		{"a wildcard takes a literal", build(1, literal(ir.Int(7))), build(2, addXY), nil, 1},
		{"lists and tuples are interchangeable",
			build(1, literal(ir.TupleOf(ir.Int(1), ir.Int(2)))), build(1, literal(ir.ListOf(ir.Int(1), ir.Int(2)))), nil, 1},
		{"an inner node with other users",
			build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg {
				n := call(g, neg, in[0])
				return ir.TupleOf(call(g, relu, n), n)
			}),
			build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, relu, call(g, neg, in[0])) }), nil, 0},
		{"the first of overlapping matches",
			build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg {
				return call(g, relu, call(g, relu, call(g, relu, in[0])))
			}),
			build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, relu, call(g, relu, in[0])) }), nil, 1},
		{"a way out of the match and back in",
			build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg {
				a := call(g, neg, in[0])
				return ir.TupleOf(a, call(g, add, a, call(g, relu, a)))
			}),
			build(2, func(g *ir.Graph, in []*ir.Node) ir.Arg {
				a := call(g, neg, in[0])
				return ir.TupleOf(a, call(g, add, a, in[1]))
			}), nil, 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m, err := NewMatcher(tc.pattern, tc.options...)
			require.NoError(t, err)
			got, err := m.Match(tc.graph)
			require.NoError(t, err)
			assert.Len(t, got, tc.want)
		})
	}
}

func TestPatternsThatAreRefused(t *testing.T) {
	dead := ir.NewGraph()
	x := dead.Placeholder("x")
	call(dead, neg, x)
	dead.Output(call(dead, relu, x))
	_, err := NewMatcher(dead)
	require.ErrorIs(t, err, ir.ErrAssertion)
	assert.Contains(t, err.Error(), "dead code")

	_, err = NewMatcher(ir.NewGraph())
	require.ErrorIs(t, err, ir.ErrValue)
}
