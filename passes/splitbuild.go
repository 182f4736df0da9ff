package passes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// addInputs makes the arguments of a part, and behind them the reads of modules
// that move into it.
func (s *splitter) addInputs(p *splitPart) error {
	var arguments, modules []*ir.Node
	for _, n := range p.inputs.nodes {
		if n.Op() == ir.GetAttr && s.isModuleAt(n.Target().String()) {
			modules = append(modules, n)
		} else {
			arguments = append(arguments, n)
		}
	}
	for i, n := range arguments {
		name := n.Name()
		if s.numbered {
			name = "arg_" + strconv.Itoa(i)
		}
		p.env[n] = copyMeta(p.graph.Placeholder(name, ir.WithType(n.Type())), n)
	}
	for _, n := range modules {
		path := n.Target().String()
		if err := s.take(p.attrs, path, path); err != nil {
			return err
		}
		p.env[n] = copyMeta(p.graph.GetAttr(path), n)
	}
	p.inputs = nodeSet{}
	for _, n := range arguments {
		p.inputs.add(n)
	}
	return nil
}

// copyNodes copies every call into its part.
func (s *splitter) copyNodes() error {
	s.result.Qualnames = map[string]string{}
	for n := range s.module.Graph().Nodes() {
		p := s.of[n]
		if p == nil {
			continue
		}
		args, kwargs, err := mapOperands(n, p.env)
		if err != nil {
			return err
		}
		target := n.Target()
		if n.Op() == ir.CallModule {
			path, err := s.flatten(p, target.String())
			if err != nil {
				return err
			}
			target = ir.Path(path)
		}
		opts := []ir.NodeOption{ir.Kwargs(kwargs...), ir.WithType(n.Type())}
		if s.nodeNames {
			opts = append(opts, ir.Name(n.Name()))
		}
		c, err := p.graph.CreateNode(n.Op(), target, args, opts...)
		if err != nil {
			return err
		}
		p.env[n] = copyMeta(c, n)
	}
	return nil
}

// flatten moves a submodule into a part and returns its path there.
func (s *splitter) flatten(p *splitPart, path string) (string, error) {
	if flat, ok := p.flat[path]; ok {
		return flat, nil
	}
	base := strings.ReplaceAll(path, ".", "_")
	flat := base
	for i := 1; ; i++ {
		if _, taken := p.attrs[flat]; !taken {
			break
		}
		flat = base + "_" + strconv.Itoa(i)
	}
	p.flat[path] = flat
	s.result.Qualnames[p.name+"."+flat] = path
	return flat, s.take(p.attrs, path, flat)
}

// mapOperands returns the operands of n with the nodes in them replaced by those
// of env. It fails with class ir.ErrKey where env has none.
func mapOperands(n *ir.Node, env map[*ir.Node]*ir.Node) ([]ir.Arg, []ir.Keyword, error) {
	var missing *ir.Node
	find := func(m *ir.Node) ir.Arg {
		if c := env[m]; c != nil {
			return c
		}
		missing = m
		return m
	}
	args, kwargs := make([]ir.Arg, len(n.Args())), make([]ir.Keyword, len(n.Kwargs()))
	for i, a := range n.Args() {
		args[i] = ir.MapNodes(a, find)
	}
	for i, k := range n.Kwargs() {
		kwargs[i] = ir.Kw(k.Name, ir.MapNodes(k.Value, find))
	}
	if missing != nil {
		return nil, nil, ir.Errorf(ir.ErrKey, "copy %s: expected a value for its operand %s, got none", n, missing)
	}
	return args, kwargs, nil
}

// assemble makes the main graph, which calls the parts in the order given.
func (s *splitter) assemble(order []*splitPart) (*Splitting, error) {
	main := &splitMain{splitter: s, graph: ir.NewGraph(), env: map[*ir.Node]*ir.Node{}, attrs: map[string]any{}}
	for n := range s.module.Graph().Nodes() {
		// reads come just in time under KeepOrder, except where nothing is called
		if n.Op() == ir.Placeholder || n.Op() == ir.GetAttr && (!s.order || len(order) == 0) {
			if err := main.fetch(n); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range order {
		if err := main.call(p); err != nil {
			return nil, err
		}
	}
	for _, n := range s.module.Graph().Find(ir.Output, nil) {
		for _, m := range n.Inputs() {
			if err := main.fetch(m); err != nil {
				return nil, err
			}
		}
		args, _, err := mapOperands(n, main.env)
		if err != nil {
			return nil, err
		}
		main.graph.Output(args[0])
	}
	var err error
	if s.result.Module, err = ir.NewGraphModule(main.attrs, main.graph); err != nil {
		return nil, err
	}
	parts := make([]string, len(s.seen))
	for i, p := range s.seen {
		parts[i] = p.name
	}
	slices.Sort(parts)
	s.result.Module.Meta().Set(MetaPartitionNames, parts)
	return &s.result, nil
}

// MetaPartitionNames is the key of a module's meta under which [Split] notes the
// names of the parts, a sorted []string.
const MetaPartitionNames = "partition_names"

// A splitMain is the main graph in the making.
type splitMain struct {
	*splitter
	graph *ir.Graph
	env   map[*ir.Node]*ir.Node // node of the module that is split -> node of graph
	attrs map[string]any
}

// fetch makes an argument or the read of an attribute, once.
func (s *splitMain) fetch(n *ir.Node) error {
	if s.env[n] != nil {
		return nil
	}
	switch n.Op() {
	case ir.Placeholder:
		opts := []ir.NodeOption{ir.WithType(n.Type())}
		if len(n.Args()) > 0 {
			opts = append(opts, ir.Default(n.Arg(0)))
		}
		name := n.Target().String()
		if s.nodeNames {
			name = n.Name()
		}
		s.env[n] = copyMeta(s.graph.Placeholder(name, opts...), n)
	case ir.GetAttr:
		path := n.Target().String()
		if err := s.take(s.attrs, path, path); err != nil {
			return err
		}
		s.env[n] = copyMeta(s.graph.GetAttr(path), n)
	}
	return nil
}

// call finishes a part and calls it.
func (s *splitMain) call(p *splitPart) error {
	results := make([]ir.Arg, len(p.outputs.nodes))
	for i, n := range p.outputs.nodes {
		results[i] = p.env[n]
	}
	bare := len(results) == 1 && !s.tuple
	if bare {
		p.graph.Output(results[0])
	} else {
		p.graph.Output(ir.TupleOf(results...))
	}
	module, err := ir.NewGraphModule(p.attrs, p.graph)
	if err != nil {
		return err
	}
	if _, taken := s.module.Attr(p.name); taken && s.attrs[p.name] != nil {
		return ir.Errorf(ir.ErrValue, "split: expected %s to be free for a part, got an attribute that the graph reads", p.name)
	}
	s.attrs[p.name] = module
	s.result.Parts = append(s.result.Parts, Part{p.name, module, p.nodes, p.inputs.nodes, p.outputs.nodes})

	args := make([]ir.Arg, len(p.inputs.nodes))
	for i, n := range p.inputs.nodes {
		if err := s.fetch(n); err != nil {
			return err
		}
		args[i] = s.env[n]
	}
	c := s.graph.CallModule(p.name, args)
	unpack(s.graph, c, p.outputs.nodes, bare, s.env)
	return nil
}

// unpack notes which nodes stand for the results of a call: itself for a bare
// one, items of it otherwise.
func unpack(g *ir.Graph, call *ir.Node, results []*ir.Node, bare bool, env map[*ir.Node]*ir.Node) {
	for i, n := range results {
		if bare {
			env[n] = call
		} else {
			env[n] = g.CallFunction(getitem, []ir.Arg{call, ir.Int(i)})
		}
	}
}
