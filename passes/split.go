package passes

import (
	"strconv"

	"github.com/torchfx-go/torchfx/ir"
)

// A Splitting is what [Split] or [SplitByTags] made of a module, which is left
// as it was.
type Splitting struct {
	// Module calls the parts, which are its submodules, and does nothing else.
	Module *ir.GraphModule
	// Parts are in the order in which Module calls them.
	Parts []Part
	// Qualnames maps the path of each attribute inside a part, counted from
	// Module, to its path in the module that was split.
	Qualnames map[string]string
}

// A Part is one submodule of a [Splitting]. The nodes are those of the module
// that was split.
type Part struct {
	Name    string          // path of the submodule
	Module  *ir.GraphModule // what Module calls
	Nodes   []*ir.Node      // what the part computes
	Inputs  []*ir.Node      // what its arguments stand for
	Outputs []*ir.Node      // what it returns: one bare, several or none as a tuple
}

// A SplitOption changes what [Split] makes.
type SplitOption func(*splitConfig)

type splitConfig struct {
	order, nodeNames, numbered, tuple bool
	affix                             string
}

// KeepOrder calls the parts in the order in which their first nodes stand in the
// graph, except that what a part needs is called before it, and reads each
// attribute right before the part that needs it. Default: parts are called as soon
// as nothing is missing, the one seen last first.
func KeepOrder() SplitOption { return func(c *splitConfig) { c.order = true } }

// KeepNodeNames gives the nodes of the parts the names that they had; the
// arguments of the module are then called by the names of their nodes. Default:
// names are made anew from the targets.
func KeepNodeNames() SplitOption { return func(c *splitConfig) { c.nodeNames = true } }

// NumberInputs calls the arguments of the parts arg_0, arg_1, and so on. Default:
// after the nodes that yield them.
func NumberInputs() SplitOption { return func(c *splitConfig) { c.numbered = true } }

// PartAffix calls the parts submod_<affix>_<number>. Default: submod_<number>.
func PartAffix(affix string) SplitOption { return func(c *splitConfig) { c.affix = affix } }

// ReturnTuples makes a part with one result return a tuple, too. Default: the
// bare value.
func ReturnTuples() SplitOption { return func(c *splitConfig) { c.tuple = true } }

// Split cuts the graph of m into submodules: the calls for which partition
// returns the same number make up one part, submod_<number>. It is asked once
// for every call, in graph order. Placeholders, reads of attributes and the
// output stay in the main graph; a read tensor is an argument of the parts that
// use it, while the read of a module moves into them.
//
// Submodules that a part calls get a flat path, a.b becomes a_b, with a number
// behind it where that path is taken; [Splitting].Qualnames has them. Types, meta
// and defaults of arguments are kept. Where the symbols of an example value are
// computed by other nodes, those become arguments, too.
//
// Regions of autocast and of disabled gradients are opened and closed anew in
// each part that they reach into; the numbers must then not decrease along the
// graph.
//
// Errors: class ir.ErrRuntime when parts depend on each other in a circle,
// ir.ErrAssertion for regions that never end or numbers that decrease,
// ir.ErrAttribute for a target that m has no attribute for. Follows
// torch.fx.passes.split_module, except that it never makes one path of a.b and
// a_b, and that affixes and regions go together, and KeepOrder with attributes
// that are returned and parts that need later ones.
func Split(m *ir.GraphModule, partition func(*ir.Node) int, opts ...SplitOption) (*Splitting, error) {
	if err := given("split", m, opts); err != nil {
		return nil, err
	}
	s := &splitter{attributes: attributes{module: m}, parts: map[int]*splitPart{}, of: map[*ir.Node]*splitPart{}}
	for _, o := range opts {
		o(&s.splitConfig)
	}
	if err := s.assign(partition); err != nil {
		return nil, err
	}
	if err := s.findRegions(); err != nil {
		return nil, err
	}
	s.connect()
	sorted, err := s.sort()
	if err != nil {
		return nil, err
	}
	s.enterRegions()
	for _, p := range sorted {
		if err := s.addInputs(p); err != nil {
			return nil, err
		}
	}
	if err := s.copyNodes(); err != nil {
		return nil, err
	}
	s.leaveRegions()
	if s.order {
		sorted = s.inOrder()
	}
	return s.assemble(sorted)
}

// A splitter is one call of Split.
type splitter struct {
	splitConfig
	attributes
	parts   map[int]*splitPart
	seen    []*splitPart            // in order of their first nodes
	of      map[*ir.Node]*splitPart // the part of each call
	regions []*region               // those of autocast, then those of gradients
	symbols map[string]*ir.Node     // who computes a symbol of an example value
	result  Splitting
}

// A splitPart is a part in the making.
type splitPart struct {
	number  int
	name    string
	nodes   []*ir.Node // of the module that is split
	inputs  nodeSet    // of the module that is split
	outputs nodeSet
	waits   []*splitPart        // for these to be called, in order of first use
	needs   map[*splitPart]bool // the same
	next    []*splitPart        // who waits for this one
	graph   *ir.Graph
	env     map[*ir.Node]*ir.Node // node of the module that is split -> node of graph
	attrs   map[string]any
	flat    map[string]string // path in the module that is split -> path in this one
}

// assign asks for the part of every call.
func (s *splitter) assign(partition func(*ir.Node) int) error {
	for n := range s.module.Graph().Nodes() {
		if !isCall(n) {
			continue
		}
		number := partition(n)
		p := s.parts[number]
		if p == nil {
			name := "submod_" + strconv.Itoa(number)
			if s.affix != "" {
				name = "submod_" + s.affix + "_" + strconv.Itoa(number)
			}
			p = &splitPart{number: number, name: name, needs: map[*splitPart]bool{}, graph: ir.NewGraph(),
				env: map[*ir.Node]*ir.Node{}, attrs: map[string]any{}, flat: map[string]string{}}
			s.parts[number] = p
			s.seen = append(s.seen, p)
		}
		p.nodes = append(p.nodes, n)
		s.of[n] = p
	}
	return nil
}
