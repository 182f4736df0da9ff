package rewriter

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

var (
	add  = ir.FuncOf("torch.add")
	mul  = ir.FuncOf("torch.mul")
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

func TestOverloadsAreCompletedFromTheSchema(t *testing.T) {
	op := ir.OverloadOf("aten::add.Tensor")
	p := build(2, func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, op, in[0], in[1]) })
	g := build(2, func(g *ir.Graph, in []*ir.Node) ir.Arg {
		return g.CallFunction(op, []ir.Arg{in[0], in[1]}, ir.Kwargs(ir.Kw("alpha", ir.Int(1))))
	})
	m, err := NewMatcher(p)
	require.NoError(t, err)
	got, err := m.Match(g)
	require.NoError(t, err)
	assert.Len(t, got, 1)
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

func TestReplaceConsecutiveMatches(t *testing.T) {
	g := build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg {
		return call(g, neg, call(g, neg, call(g, neg, call(g, neg, in[0]))))
	})
	m := module(t, g)
	p := build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, neg, call(g, neg, in[0])) })
	r := build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, relu, in[0]) })
	done, err := Replace(m, p, With(r))
	require.NoError(t, err)
	require.NoError(t, m.Graph().Lint())
	assert.Equal(t, `graph():
    %x : [num_users=1] = placeholder[target=x]
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    %relu_1 : [num_users=1] = call_function[target=torch.relu](args = (%relu,), kwargs = {})
    return relu_1`, m.Graph().String())
	require.Len(t, done, 2)
	assert.Equal(t, []string{"neg_1", "neg"}, names(done[0].Removed))
}

func TestReplaceByTheInputItself(t *testing.T) {
	g := build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, relu, call(g, add, in[0], ir.Int(0))) })
	m := module(t, g)
	p := build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, add, in[0], ir.Int(0)) })
	identity := build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg { return in[0] })
	matches, err := ReplacePattern(m, p, identity)
	require.NoError(t, err)
	require.Len(t, matches, 1)
	require.NoError(t, m.Graph().Lint())
	assert.Equal(t, 3, m.Graph().Len())
}

func TestReplaceRefusesMismatches(t *testing.T) {
	two := build(2, func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, add, in[0], in[1]) })
	one := build(1, func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, relu, in[0]) })
	_, err := ReplacePattern(module(t, build(2, func(g *ir.Graph, in []*ir.Node) ir.Arg { return call(g, add, in[0], in[1]) })), two, one)
	require.ErrorIs(t, err, ir.ErrAssertion)
	assert.Contains(t, err.Error(), "Placeholder count mismatch")

	_, err = Replace(module(t, one), one)
	require.ErrorIs(t, err, ir.ErrAssertion)

	_, err = ReplacePattern(module(t, one), 1, one)
	require.ErrorIs(t, err, ir.ErrType)
}

func ExampleReplacePattern() {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	sum := g.CallFunction(add, []ir.Arg{x, ir.Int(0)})
	g.Output(g.CallFunction(mul, []ir.Arg{sum, x}))
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		fmt.Println(err)
		return
	}

	pattern := ir.NewGraph()
	p := pattern.Placeholder("x")
	pattern.Output(pattern.CallFunction(add, []ir.Arg{p, ir.Int(0)}))
	identity := ir.NewGraph()
	identity.Output(identity.Placeholder("x"))

	matches, err := ReplacePattern(m, pattern, identity)
	fmt.Println(len(matches), "match,", err)
	fmt.Println(m.Graph())
	// Output:
	// 1 match, <nil>
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %mul : [num_users=1] = call_function[target=torch.mul](args = (%x, %x), kwargs = {})
	//     return mul
}
