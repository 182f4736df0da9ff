package passes

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A FuseOption changes what [FusePartitions] makes.
type FuseOption func(*fuser)

// FusePrefix sets what the names of the new submodules begin with; a number
// follows. Default: "fused_".
func FusePrefix(prefix string) FuseOption { return func(f *fuser) { f.prefix = prefix } }

// FuseToTuples makes a submodule with one result return a tuple, too. Default:
// the bare value.
func FuseToTuples() FuseOption { return func(f *fuser) { f.tuple = true } }

// A Fused tells what became of one partition, by names of nodes that were in the
// graph before.
type Fused struct {
	Name    string          // path of the submodule
	Module  *ir.GraphModule // what is called instead of the nodes
	Nodes   []string        // what it computes
	Inputs  []string        // what its arguments stand for
	Outputs []string        // what it returns: one bare, several or none as a tuple
}

// FusePartitions replaces the nodes of each partition by the call of a new
// submodule, which takes the values that the nodes read from outside and returns
// those that are read outside. The arguments are in order of first use, but in
// graph order where all of them are arguments of m. The submodules read
// attributes of m under their own paths and share them. At the end the graph is
// in order, see [Sort], which replaces it by a copy.
//
// It fails with class ir.ErrAssertion when a partition is empty, has nodes of
// another graph, or when a path leads out of it and back; the partitions before
// it are then fused. Follows torch.fx.passes.utils.fuser_utils.fuse_by_partitions,
// except that a submodule which is there already keeps its name.
func FusePartitions(m *ir.GraphModule, parts []*Partition, opts ...FuseOption) ([]Fused, error) {
	if err := given("fuse", m, opts); err != nil {
		return nil, err
	}
	f := &fuser{attributes: attributes{module: m}, prefix: "fused_"}
	for _, o := range opts {
		o(f)
	}
	var report []Fused
	var failed error
	for _, p := range parts {
		done, err := f.fuse(p.Nodes)
		if err != nil {
			failed = err
			break
		}
		report = append(report, *done)
	}
	// the call of a submodule stands where its last node was, which can be behind
	// a user of its first
	if err := errors.Join(failed, Sort(m)); err != nil {
		return report, err
	}
	return report, m.Graph().Lint()
}

// PartitionAndFuse fuses what [Partitioner.Propose] proposes.
func (p *Partitioner) PartitionAndFuse(opts ...FuseOption) ([]Fused, error) {
	return FusePartitions(p.module, p.Propose(), opts...)
}

// ValidPartition reports whether nodes of one graph can become one call: no path
// leads out of them and back.
func ValidPartition(nodes []*ir.Node) bool {
	inside := map[*ir.Node]bool{}
	for _, n := range nodes {
		inside[n] = true
	}
	seen := map[*ir.Node]bool{}
	var stack []*ir.Node
	for _, n := range nodes {
		for u := range n.Users() {
			if !inside[u] {
				stack = append(stack, u)
			}
		}
	}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if inside[n] {
			return false
		}
		if !seen[n] {
			seen[n] = true
			stack = slices.AppendSeq(stack, n.Users())
		}
	}
	return true
}

type fuser struct {
	attributes
	prefix string
	tuple  bool
	next   int
}

// fuse replaces nodes by a call.
func (f *fuser) fuse(nodes []*ir.Node) (*Fused, error) {
	g := f.module.Graph()
	if len(nodes) == 0 {
		return nil, ir.Errorf(ir.ErrAssertion, "fuse: expected nodes in the partition, got none")
	}
	for _, n := range nodes {
		if n.Graph() != g {
			return nil, ir.Errorf(ir.ErrAssertion, "fuse: %s doesn't belong to passed in graph module, or has been removed from it", n)
		}
	}
	nodes, err := SortNodes(nodes)
	if err != nil {
		return nil, err
	}
	if !ValidPartition(nodes) {
		return nil, ir.Errorf(ir.ErrAssertion, "fuse [%s]: Invalid partition, found dependency cycles", strings.Join(nodeNames(nodes), ", "))
	}
	inputs, outputs := border(nodes)
	done := &Fused{Name: f.free(), Nodes: nodeNames(nodes), Inputs: nodeNames(inputs), Outputs: nodeNames(outputs)}
	if done.Module, err = f.lift(nodes, inputs, outputs, done.Name); err != nil {
		return nil, err
	}
	if !f.module.AddSubmodule(done.Name, done.Module) {
		return nil, ir.Errorf(ir.ErrValue, "fuse: expected a path where a submodule can be, got %s", done.Name)
	}
	f.replace(done.Name, nodes, inputs, outputs)
	for _, n := range slices.Backward(nodes) {
		if err := g.Erase(n); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// free returns a path that no submodule has.
func (f *fuser) free() string {
	for {
		name := f.prefix + strconv.Itoa(f.next)
		f.next++
		if _, taken := f.module.Attr(name); !taken {
			return name
		}
	}
}

// border finds what nodes read from outside, and which of them are read outside.
func border(nodes []*ir.Node) (inputs, outputs []*ir.Node) {
	inside := map[*ir.Node]bool{}
	for _, n := range nodes {
		inside[n] = true
	}
	var in, out nodeSet
	arguments := true
	for _, n := range nodes {
		for _, m := range n.Inputs() {
			if !inside[m] {
				in.add(m)
				arguments = arguments && m.Op() == ir.Placeholder
			}
		}
		for u := range n.Users() {
			if !inside[u] {
				out.add(n)
			}
		}
	}
	if arguments {
		slices.SortFunc(in.nodes, func(a, b *ir.Node) int {
			if a.Before(b) {
				return -1
			}
			return 1 // no node is there twice
		})
	}
	return in.nodes, out.nodes
}

// lift makes a module that computes nodes.
func (f *fuser) lift(nodes, inputs, outputs []*ir.Node, class string) (*ir.GraphModule, error) {
	sub := ir.NewGraph()
	env := map[*ir.Node]*ir.Node{}
	for _, n := range inputs {
		env[n] = copyMeta(sub.Placeholder(n.Name(), ir.WithType(n.Type())), n)
	}
	for _, n := range nodes {
		c, err := sub.CopyNode(n, lookup(env))
		if err != nil {
			return nil, err
		}
		env[n] = c
	}
	results := make([]ir.Arg, len(outputs))
	for i, n := range outputs {
		results[i] = env[n]
	}
	if len(results) == 1 && !f.tuple {
		sub.Output(results[0])
	} else {
		sub.Output(ir.TupleOf(results...))
	}
	module, err := f.carry(sub, class)
	if err != nil {
		return nil, err
	}
	return module, sub.Lint()
}

// replace puts the call of a submodule behind the last of nodes and makes it
// stand for outputs. The getitems, or the call itself, get their meta.
func (f *fuser) replace(name string, nodes, inputs, outputs []*ir.Node) {
	g := f.module.Graph()
	after := func(n *ir.Node, make func() *ir.Node) *ir.Node {
		restore, err := g.InsertAfter(n)
		if err != nil {
			return nil // n is in g: fuse has looked
		}
		defer restore()
		return make()
	}
	call := after(nodes[len(nodes)-1], func() *ir.Node { return g.CallModule(name, arguments(inputs)) })
	if len(outputs) == 1 && !f.tuple {
		outputs[0].ReplaceAllUsesWith(call, ir.PropagateMeta())
		return
	}
	last, known := call, false
	values := make([]any, len(outputs))
	for i, n := range outputs {
		last = after(last, func() *ir.Node { return g.CallFunction(getitem, []ir.Arg{call, ir.Int(i)}) })
		n.ReplaceAllUsesWith(last, ir.PropagateMeta())
		values[i] = n.Meta().Get(ir.MetaVal)
		known = known || values[i] != nil
	}
	if known {
		call.Meta().Set(ir.MetaVal, values)
	}
}
