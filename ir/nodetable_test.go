package ir

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A graph that loses as many nodes as it gets keeps its tables small.
func TestNumbersAreDealtOutAnew(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x")
	relu := FuncOf("torch.relu")
	var last *Node
	for range 10_000 {
		if last != nil {
			require.NoError(t, g.Erase(last))
		}
		last = g.CallFunction(relu, []Arg{x})
	}
	g.Output(last)
	assert.Less(t, g.numbers, 2000)
	table, seen := newNodeTable[int](g), 0
	for n := range g.Nodes() {
		seen++
		assert.Zero(t, table.get(n))
		table.set(n, seen)
	}
	seen = 0
	for n := range g.Nodes() {
		seen++
		assert.Equal(t, seen, table.get(n), n.Name())
	}
	other := NewGraph().Placeholder("x")
	assert.Zero(t, table.get(other))
	table.set(other, 7)
	assert.Equal(t, 7, table.get(other))
	assert.Equal(t, 1, table.get(x))
}

// A name that two nodes have, which only a mistake in this package can make.
func TestLintFindsRepeatedNames(t *testing.T) {
	g := NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	z := g.Placeholder("z")
	g.Output(TupleOf(x, y, z))
	require.NoError(t, g.Lint(Strict()))
	y.name, z.name = "x", "x"
	err := g.Lint()
	require.EqualError(t, err, "Node redefined name x!\nNode redefined name x!")
}
