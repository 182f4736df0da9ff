package passes

import "github.com/torchfx-go/torchfx/ir"

// A TagOption changes what [SplitByTags] makes.
type TagOption func(*tagSplitter)

// TupleParts makes a part with one result return a tuple, too. Default: the bare
// value.
func TupleParts() TagOption { return func(s *tagSplitter) { s.tuple = true } }

// SplitByTags cuts the graph of m into one submodule for each tag, called in the
// order of tags. tag gives the tag of every call; it is not asked for
// placeholders, reads of attributes and the output. The submodules read
// attributes themselves, under the paths that these have in m, and share them
// with it. An attribute that m returns is read under the node's name. The code
// generator is kept.
//
// Errors, all of class ir.ErrAssertion except for the last: a call without a tag
// (""), or with one that is not among tags; a call that reads a result of a later
// tag; a graph without an output, or with two, class ir.ErrRuntime. Follows
// torch.fx.passes.split_utils.split_by_tags, except that arguments keep their
// defaults.
func SplitByTags(m *ir.GraphModule, tags []string, tag func(*ir.Node) string, opts ...TagOption) (*Splitting, error) {
	if err := given("split by tags", m, opts); err != nil {
		return nil, err
	}
	s := &tagSplitter{attributes: attributes{module: m}, parts: map[string]*tagPart{}, of: map[*ir.Node]*tagPart{},
		main: ir.NewGraph(), env: map[*ir.Node]*ir.Node{}, attrs: map[string]any{}}
	for _, o := range opts {
		o(s)
	}
	for i, t := range tags {
		if s.parts[t] != nil {
			return nil, ir.Errorf(ir.ErrValue, "split by tags: expected each tag once, got %q twice", t)
		}
		p := &tagPart{order: i, name: t, graph: ir.NewGraph(), env: map[*ir.Node]*ir.Node{}}
		s.parts[t] = p
		s.list = append(s.list, p)
	}
	output, err := s.distribute(tag)
	if err != nil {
		return nil, err
	}
	return s.assemble(output)
}

type tagSplitter struct {
	attributes
	tuple  bool
	parts  map[string]*tagPart
	list   []*tagPart // in order of the tags
	of     map[*ir.Node]*tagPart
	main   *ir.Graph
	env    map[*ir.Node]*ir.Node // node of the module that is split -> node of main
	attrs  map[string]any
	used   nodeSet // by other parts or the output
	result Splitting
}

// A tagPart is a part in the making.
type tagPart struct {
	order   int
	name    string
	graph   *ir.Graph
	nodes   []*ir.Node
	inputs  nodeSet
	outputs []*ir.Node
	env     map[*ir.Node]*ir.Node // node of the module that is split -> node of graph
}

// distribute copies every call into its part and returns the output.
func (s *tagSplitter) distribute(tag func(*ir.Node) string) (output *ir.Node, err error) {
	for n := range s.module.Graph().Nodes() {
		switch n.Op() {
		case ir.Output:
			if output != nil {
				return nil, ir.Errorf(ir.ErrRuntime, "split by tags: Multiple output nodes in graph!")
			}
			output = n
			continue
		case ir.Placeholder:
			opts := []ir.NodeOption{ir.WithType(n.Type())}
			if len(n.Args()) > 0 {
				opts = append(opts, ir.Default(n.Arg(0)))
			}
			s.env[n] = copyMeta(s.main.Placeholder(n.Name(), opts...), n)
			continue
		case ir.GetAttr:
			continue // copied to where it is used
		}
		name := tag(n)
		p := s.parts[name]
		if name == "" {
			return nil, ir.Errorf(ir.ErrAssertion, "split by tags: Node does not have tag: %s", n.Format())
		} else if p == nil {
			return nil, ir.Errorf(ir.ErrAssertion, "split by tags: expected one of the tags for %s, got %q", n, name)
		}
		latest := 0
		for _, m := range n.Inputs() {
			if from := s.of[m]; from != nil {
				latest = max(latest, from.order)
			}
		}
		if p.order < latest {
			return nil, ir.Errorf(ir.ErrAssertion, "split by tags at %s: Component %s order must be >= max of its upstream components, order=%d and max=%d",
				n, p.name, p.order, latest)
		}
		s.of[n] = p
		p.nodes = append(p.nodes, n)
		n.Operands(func(m *ir.Node) { s.reach(p, m) })
		if p.env[n], err = p.graph.CopyNode(n, lookup(p.env)); err != nil {
			return nil, err
		}
	}
	if output == nil {
		return nil, ir.Errorf(ir.ErrRuntime, "split by tags: Graph had no output node!")
	}
	return output, nil
}

// reach makes a node of the module readable in a part.
func (s *tagSplitter) reach(p *tagPart, n *ir.Node) {
	if p.env[n] != nil {
		return
	}
	if n.Op() == ir.GetAttr {
		p.env[n] = copyMeta(p.graph.GetAttr(n.Target().String(), ir.WithType(n.Type())), n)
		return
	}
	p.inputs.add(n)
	s.used.add(n)
	p.env[n] = copyMeta(p.graph.Placeholder(n.Name(), ir.WithType(n.Type())), n)
}

// assemble finishes the parts and makes the main graph that calls them.
func (s *tagSplitter) assemble(output *ir.Node) (*Splitting, error) {
	for _, n := range output.Inputs() {
		if n.Op() != ir.GetAttr {
			s.used.add(n)
			continue
		}
		c := s.main.GetAttr(n.Name(), ir.WithType(n.Type()))
		s.env[n] = c
		if err := s.take(s.attrs, n.Target().String(), n.Name()); err != nil {
			return nil, err
		}
	}
	for _, n := range s.used.nodes {
		if p := s.of[n]; p != nil {
			p.outputs = append(p.outputs, n)
		}
	}
	s.result.Qualnames = map[string]string{}
	for _, p := range s.list {
		if err := s.call(p); err != nil {
			return nil, err
		}
	}
	args, _, err := mapOperands(output, s.env)
	if err != nil {
		return nil, err
	}
	s.main.Output(args[0])
	s.main.TakeCodeGen(s.module.Graph())
	s.result.Module, err = ir.NewGraphModule(s.attrs, s.main)
	return &s.result, err
}

// call finishes a part and calls it.
func (s *tagSplitter) call(p *tagPart) error {
	results := make([]ir.Arg, len(p.outputs))
	for i, n := range p.outputs {
		results[i] = p.env[n]
	}
	bare := len(results) == 1 && !s.tuple
	if bare {
		p.graph.Output(results[0])
	} else {
		p.graph.Output(ir.TupleOf(results...))
	}
	module, err := s.carry(p.graph, "GraphModule")
	if err != nil {
		return err
	}
	for n := range p.graph.Nodes() {
		if n.Op() == ir.CallModule || n.Op() == ir.GetAttr {
			path := n.Target().String()
			s.result.Qualnames[p.name+"."+path] = path
		}
	}
	if _, taken := s.attrs[p.name]; taken {
		return ir.Errorf(ir.ErrValue, "split by tags: expected %s to be free for a part, got an attribute that the graph returns", p.name)
	}
	s.attrs[p.name] = module
	s.result.Parts = append(s.result.Parts, Part{p.name, module, p.nodes, p.inputs.nodes, p.outputs})
	args := make([]ir.Arg, len(p.inputs.nodes))
	for i, n := range p.inputs.nodes {
		args[i] = s.env[n]
	}
	c := s.main.CallModule(p.name, args)
	unpack(s.main, c, p.outputs, bare, s.env)
	return nil
}
