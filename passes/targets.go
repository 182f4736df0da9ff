package passes

import "github.com/torchfx-go/torchfx/ir"

// ReplaceTargets makes every node with one opcode and target have another and
// returns the nodes it changed. Names, operands, types and meta stay. It fails, and
// changes nothing, when the new target does not fit the new opcode. Follows
// torch.fx.passes.graph_manipulation.replace_target_nodes_with, which drops types
// and meta.
func ReplaceTargets(g *ir.Graph, op ir.Op, target ir.Target, newOp ir.Op, newTarget ir.Target) ([]*ir.Node, error) {
	nodes := g.Find(op, target)
	for _, n := range nodes {
		if err := n.SetOp(newOp, newTarget); err != nil {
			return nil, err // of the first: all are alike
		}
	}
	return nodes, nil
}

// ExtractSubgraph makes a module that computes nodes of m, which are in order,
// from the values of inputs and returns the list of outputs. It shares the
// attributes of m. It fails with class ir.ErrKey when a node reads something that
// is neither among inputs nor before it among nodes. Same as
// torch.fx.experimental.optimization.extract_subgraph.
func ExtractSubgraph(m *ir.GraphModule, nodes, inputs, outputs []*ir.Node) (*ir.GraphModule, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "extract: expected a graph module, got nil")
	}
	g := ir.NewGraph()
	env := map[*ir.Node]*ir.Node{}
	for _, n := range inputs {
		env[n] = g.Placeholder(n.Name())
	}
	for _, n := range nodes {
		c, err := g.CopyNode(n, lookup(env))
		if err != nil {
			return nil, err
		}
		env[n] = c
	}
	results := make([]ir.Arg, len(outputs))
	for i, n := range outputs {
		c := env[n]
		if c == nil {
			return nil, ir.Errorf(ir.ErrKey, "extract subgraph: expected the output %s among the nodes or inputs, got none", n)
		}
		results[i] = c
	}
	g.Output(ir.ListOf(results...))
	if err := g.Lint(); err != nil {
		return nil, err
	}
	a := attributes{module: m}
	return a.carry(g, "GraphModule")
}
