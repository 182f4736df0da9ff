package interpreter_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

// The first run of a shape class, which allocates its values itself, leaves no memory
// behind; the runs after it have the block, all of them the same.
func TestFirstRunsLeaveNoMemory(t *testing.T) {
	needLibtorch(t)
	const side = 256
	operators := []string{"aten::relu", "aten::flip", "aten::neg", "aten::softmax.int", "aten::logcumsumexp"}
	gm := chainOf(t, 20, func(g *ir.Graph, v *ir.Node, i int) *ir.Node {
		switch name := operators[i%len(operators)]; name {
		case "aten::flip":
			return g.CallFunction(ir.OverloadOf(name), []ir.Arg{v, ir.IntList(0)})
		case "aten::softmax.int", "aten::logcumsumexp":
			return g.CallFunction(ir.OverloadOf(name), []ir.Arg{v, ir.Int(1)})
		default:
			return g.CallFunction(ir.OverloadOf(name), []ir.Arg{v})
		}
	})
	p, err := interpreter.Compile(gm, interpreter.PlanFusion(false))
	require.NoError(t, err)
	settledTensors()
	before := pagedMemory(t)
	run := func(rows int) int64 {
		x := made("aten::ones", []int64{int64(rows), side})
		defer x.Close()
		out, err := p.Run(t.Context(), x)
		require.NoError(t, err)
		closeResult(out)
		return pagedMemory(t) - before
	}
	const bytes = side * side * 4
	assert.Zero(t, run(side), "the first run")
	block := run(side)
	assert.GreaterOrEqual(t, block, int64(2*bytes), "the block")
	assert.LessOrEqual(t, block, int64(4*bytes), "the block: one value and its successor, and scratch")
	assert.Equal(t, block, run(side), "a further run")
	assert.Equal(t, block, run(side/2), "the first run of a smaller class")
	assert.Equal(t, block, run(side/2), "a run of it, in the block that is there")
	require.NoError(t, p.Close())
	settledTensors()
	assert.Equal(t, before, pagedMemory(t), "the plan closed")
}

// pagedMemory is the bytes of the bridge's pages that are taken: those of its space of
// addresses, a terabyte, that may be read and written.
func pagedMemory(t *testing.T) (bytes int64) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("the system does not tell what is mapped")
	}
	var end, space, taken int64 // of mappings without a file, one behind the other
	for line := range strings.Lines(string(maps) + "0-0 - 0 0 0\n") {
		f := strings.Fields(line)
		first, last, _ := strings.Cut(f[0], "-")
		from, _ := strconv.ParseInt(first, 16, 64)
		to, _ := strconv.ParseInt(last, 16, 64)
		if from != end || len(f) > 5 {
			if space >= 1<<40 {
				bytes += taken
			}
			space, taken = 0, 0
		}
		if end = to; len(f) == 5 {
			space += to - from
			if f[1] == "rw-p" {
				taken += to - from
			}
		}
	}
	return bytes
}
