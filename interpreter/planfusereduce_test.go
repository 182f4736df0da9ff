package interpreter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

// A reduction over the last dimensions is the end of a group.
func TestFusedReductionsGiveTheSameBits(t *testing.T) {
	needLibtorch(t)
	call := func(g *ir.Graph, name string, args ...ir.Arg) *ir.Node {
		return g.CallFunction(ir.OverloadOf("aten::"+name), args)
	}
	for _, tc := range []struct {
		sizes []int
		dims  []ir.Arg
		fused bool
	}{
		{[]int{64, 768}, []ir.Arg{ir.Int(-1)}, true},
		{[]int{131, 3, 67}, []ir.Arg{ir.Int(2)}, true},
		{[]int{131, 3, 67}, []ir.Arg{ir.Int(1), ir.Int(2)}, true},
		{[]int{5, 1000}, []ir.Arg{ir.Int(1)}, true},
		{[]int{2000, 17}, []ir.Arg{ir.Int(1)}, true},
		{[]int{1, 4096}, []ir.Arg{ir.Int(1)}, false},  // one row
		{[]int{3, 70000}, []ir.Arg{ir.Int(1)}, false}, // a row is more than a block
		{[]int{40, 30, 20}, []ir.Arg{ir.Int(1)}, false},
		{[]int{40, 30, 20}, []ir.Arg{ir.Int(0), ir.Int(2)}, false},
	} {
		for _, op := range []string{"sum.dim_IntList", "mean.dim", "amax", "amin"} {
			for _, keep := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %v %v %v", op, tc.sizes, tc.dims, keep), func(t *testing.T) {
					g := ir.NewGraph()
					x, y := g.Placeholder("x"), g.Placeholder("y")
					product := call(g, "mul.Tensor", call(g, "add.Tensor", x, y), x)
					reduced := call(g, op, product, ir.ListOf(tc.dims...), ir.Bool(keep))
					results := []ir.Arg{call(g, "mul.Tensor", reduced, ir.Float(2)), reduced}
					if keep {
						results = append(results, call(g, "neg", call(g, "sub.Tensor", product, reduced)))
					}
					g.Output(ir.TupleOf(results...))
					gm, err := ir.NewGraphModule(nil, g)
					require.NoError(t, err)
					for _, threads := range []int{1, 2, 3} {
						p := compile(t, gm, interpreter.PlanFuseAll(), interpreter.WithThreads(threads))
						agreeThreads(t, gm, p, threads, uniform(t, tc.sizes...), uniform(t, tc.sizes[len(tc.sizes)-1]))
						text, err := p.Dump()
						require.NoError(t, err)
						_, groups, found := strings.Cut(text, "fused at")
						require.True(t, found)
						first, _, _ := strings.Cut(groups, "\n")
						assert.Equal(t, tc.fused, strings.Contains(first, ":"+reduced.Name()), first)
					}
				})
			}
		}
	}
}

// A reduction that does not fit a group, since its rows are too long for a block or
// nobody reads it, finds what it reads made by then, also where what follows it reads the
// same.
func TestReductionsOutsideOfGroups(t *testing.T) {
	needLibtorch(t)
	call := func(g *ir.Graph, name string, args ...ir.Arg) *ir.Node {
		return g.CallFunction(ir.OverloadOf("aten::"+name), args)
	}
	for _, tc := range []struct {
		name  string
		sizes []int
		read  bool
		fused []string
	}{
		{"long rows", []int{3, 70000}, true, []string{"0:add_tensor 1:relu_default", "3:neg_default 4:mul_tensor", "6:abs_default 7:sub_tensor"}},
		{"rows that nobody reads", []int{64, 768}, false, []string{"0:add_tensor 1:relu_default", "3:neg_default 4:mul_tensor", "6:abs_default 7:sub_tensor"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := ir.NewGraph()
			x, y := g.Placeholder("x"), g.Placeholder("y")
			relu := call(g, "relu", call(g, "add.Tensor", x, y))
			sum := call(g, "sum.dim_IntList", relu, ir.IntList(-1))
			product := call(g, "mul.Tensor", call(g, "neg", relu), y)
			most := call(g, "amax", product, ir.IntList(-1))
			results := []ir.Arg{call(g, "sub.Tensor", call(g, "abs", product), relu)}
			if tc.read {
				results = append(results, sum, most)
			}
			g.Output(ir.TupleOf(results...))
			gm := module(t, g, nil)
			p := compile(t, gm, interpreter.PlanFuseAll())
			agreePlan(t, gm, p, uniform(t, tc.sizes...), uniform(t, tc.sizes[1]))
			text, err := p.Dump()
			require.NoError(t, err)
			for _, want := range tc.fused {
				assert.Contains(t, text, ": "+want+"; gives")
			}
		})
	}
}
