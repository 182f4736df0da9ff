package passes

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// An AcceleratorOption changes how an [AcceleratorSplitter] cuts.
type AcceleratorOption func(*AcceleratorSplitter)

// MinAcceleratorSize leaves parts of fewer calls than n to the host. Default: 1.
func MinAcceleratorSize(n int) AcceleratorOption {
	return func(s *AcceleratorSplitter) { s.minSize = n }
}

// MaxAcceleratorParts makes it an error of class ir.ErrValue to come to more than n
// parts in all. Default: any number.
func MaxAcceleratorParts(n int) AcceleratorOption {
	return func(s *AcceleratorSplitter) { s.maxParts = n }
}

// SkipFusion lets values other than tensors go between the parts of the accelerator.
// Default: calls that pass such values stay in one part.
func SkipFusion() AcceleratorOption { return func(s *AcceleratorSplitter) { s.skipFusion = true } }

// AllowNonTensor lets values other than tensors go between the accelerator and the
// host. Default: see [AcceleratorNodes].
func AllowNonTensor() AcceleratorOption { return func(s *AcceleratorSplitter) { s.nonTensor = true } }

// MoveNonTensors moves calls that yield something else than tensors from the end of a
// part of the accelerator into the part that reads it, where only that one does.
// Default: they stay.
func MoveNonTensors() AcceleratorOption { return func(s *AcceleratorSplitter) { s.move = true } }

// HostPrefix sets what the names of parts of the host begin with. Default:
// "_run_on_cpu_".
func HostPrefix(prefix string) AcceleratorOption {
	return func(s *AcceleratorSplitter) { s.prefix = prefix }
}

// AcceleratorTuples makes parts with one result return a tuple, too. Default: the
// bare value.
func AcceleratorTuples() AcceleratorOption { return func(s *AcceleratorSplitter) { s.tuple = true } }

// An AcceleratorSplitter cuts a graph into as few parts as possible that run by
// turns on an accelerator and on the host: _run_on_acc_0, _run_on_cpu_1, and so on.
// Use [NewAcceleratorSplitter]. Follows
// torch.fx.passes.splitter_base._SplitterBase.
type AcceleratorSplitter struct {
	module                      *ir.GraphModule
	sample                      []any
	support                     OperatorSupport
	minSize, maxParts           int
	skipFusion, nonTensor, move bool
	tuple                       bool
	prefix                      string

	taken  nodeMarks
	events *NodeEvents
	groups map[*ir.Node]*fusionGroup
	deps   map[*ir.Node]nodeMarks // calls that must come first
	tags   []string
	tag    map[*ir.Node]string
}

// A SubgraphPart is one turn of the accelerator or the host.
type SubgraphPart struct {
	Accelerator bool
	Nodes       []*ir.Node
}

// NewAcceleratorSplitter runs m on sample, to learn what its nodes yield, and finds
// the nodes that the accelerator takes. The graph must not be changed until it has
// been split. sample is needed until then, and stays the caller's.
func NewAcceleratorSplitter(ctx context.Context, m *ir.GraphModule, sample []any, support OperatorSupport, opts ...AcceleratorOption) (*AcceleratorSplitter, error) {
	if err := given("accelerator splitter", m, opts); err != nil {
		return nil, err
	}
	s := &AcceleratorSplitter{module: m, sample: sample, support: support, minSize: 1, maxParts: -1, prefix: "_run_on_cpu_", taken: nodeMarks{}}
	for _, o := range opts {
		o(s)
	}
	out, err := ShapeProp(ctx, m, sample)
	if err != nil {
		return nil, err
	}
	discard(out, sample)
	nodes, events := AcceleratorNodes(m, support, s.nonTensor)
	for _, n := range nodes {
		s.taken[n] = true
	}
	s.events = events
	s.findGroups()
	s.findDeps()
	return s, nil
}

// discard closes the tensors of a result that are none of the arguments.
func discard(out any, args []any) {
	given := map[*torch.Tensor]bool{}
	_, _ = mapTensors(args, func(t *torch.Tensor) (*torch.Tensor, error) { given[t] = true; return t, nil })
	_, _ = mapTensors(out, func(t *torch.Tensor) (*torch.Tensor, error) {
		if !given[t] {
			t.Close()
		}
		return t, nil
	})
}

func (s *AcceleratorSplitter) findGroups() {
	rest := false
	for n := range s.module.Graph().Nodes() {
		rest = rest || isCall(n) && !s.taken[n]
	}
	if !s.skipFusion && rest {
		s.groups = fusionGroups(s.module, s.taken)
	}
}

// findDeps notes what each call waits for: its operands, for the calls of a group
// those of all of them, and for what reads one of a group the whole group.
func (s *AcceleratorSplitter) findDeps() {
	s.deps = map[*ir.Node]nodeMarks{}
	for n := range s.module.Graph().Nodes() {
		if isCall(n) {
			s.deps[n] = nodeMarks{}
			for _, in := range n.Inputs() {
				if isCall(in) {
					s.deps[n][in] = true
				}
			}
		}
	}
	done := map[*fusionGroup]bool{}
	for n := range s.module.Graph().Nodes() {
		g := s.groups[n]
		if g == nil || done[g] {
			continue
		}
		done[g] = true
		outer, users := nodeMarks{}, nodeMarks{}
		for _, n := range g.nodes.nodes {
			for in := range s.deps[n] {
				if !g.nodes.has(in) {
					outer[in] = true
				}
			}
			for u := range n.Users() {
				if !g.nodes.has(u) {
					users[u] = true // the output, too
				}
			}
		}
		for _, n := range g.nodes.nodes {
			for in := range outer {
				s.deps[n][in] = true
			}
			for u := range users {
				if s.deps[u] == nil {
					s.deps[u] = nodeMarks{}
				}
				s.deps[u][n] = true
			}
		}
	}
}

// Events tell why each node went where it did.
func (s *AcceleratorSplitter) Events() *NodeEvents { return s.events }

// Nodes are the calls that the accelerator takes, in graph order.
func (s *AcceleratorSplitter) Nodes() []*ir.Node {
	var nodes []*ir.Node
	for n := range s.module.Graph().Nodes() {
		if s.taken[n] {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Submodules maps the name of each node to the part that it went into.
func (s *AcceleratorSplitter) Submodules() map[string]string {
	out := map[string]string{}
	for n, tag := range s.tag {
		out[n.Name()] = tag
	}
	return out
}

// Parts returns the turns in order, before small ones are joined. As in torch.fx, an
// output that reads an argument or an attribute counts as a node of the host, which then
// begins, if need be with a part that computes nothing. It fails with
// class ir.ErrRuntime when calls wait for each other in a circle, or there are
// none.
func (s *AcceleratorSplitter) Parts() ([]SubgraphPart, error) {
	var queues [2]nodeSet // of the host, of the accelerator; nodes whose turn may come
	at := func(n *ir.Node) int {
		if s.taken[n] {
			return 1
		}
		return 0
	}
	for n := range s.module.Graph().Nodes() {
		switch {
		case n.Op() == ir.CallFunction && len(n.Inputs()) == 0:
			queues[at(n)].add(n)
		case n.Op() == ir.Placeholder || n.Op() == ir.GetAttr:
			for u := range n.Users() {
				queues[at(u)].add(u) // the output, too: torch.fx gives it to the host, whose part may then be empty
			}
		}
	}
	turn := 1
	if slices.ContainsFunc(queues[0].nodes, func(n *ir.Node) bool { return len(s.deps[n]) == 0 }) {
		turn = 0
	}
	var parts []SubgraphPart
	var current []*ir.Node
	visited := nodeMarks{}
	pending := [2][]*ir.Node{queues[0].nodes, queues[1].nodes}
	for len(pending[0])+len(pending[1]) > 0 {
		i := slices.IndexFunc(pending[turn], func(n *ir.Node) bool { return s.deps[n].within(visited) })
		if i < 0 {
			if len(current) == 0 {
				return nil, ir.Errorf(ir.ErrRuntime, "accelerator split: Subgraph can't be empty")
			}
			parts = append(parts, SubgraphPart{turn == 1, current})
			turn, current = 1-turn, nil
			continue
		}
		n := pending[turn][i]
		pending[turn] = slices.Delete(pending[turn], i, i+1)
		visited[n] = true
		current = append(current, n)
		var next []*ir.Node
		if g := s.groups[n]; g != nil {
			next = append(next, g.nodes.nodes...)
		}
		for u := range n.Users() {
			if isCall(u) {
				next = append(next, u)
			}
		}
		for _, u := range next {
			if !visited[u] && !queues[at(u)].has(u) {
				queues[at(u)].add(u)
				pending[at(u)] = append(pending[at(u)], u)
			}
		}
	}
	if len(current) > 0 {
		parts = append(parts, SubgraphPart{turn == 1, current})
	}
	if len(parts) == 0 {
		return nil, ir.Errorf(ir.ErrRuntime, "accelerator split: Couldn't create subgraphs")
	}
	return parts, nil
}

// joinSmall gives parts of the accelerator that are too small to the host.
func (s *AcceleratorSplitter) joinSmall(parts []SubgraphPart) []SubgraphPart {
	var out []SubgraphPart
	for _, p := range parts {
		last := len(out) - 1
		switch {
		case p.Accelerator && len(p.Nodes) >= s.minSize:
			out = append(out, p)
		case last >= 0 && (p.Accelerator || !out[last].Accelerator):
			out[last].Nodes = append(out[last].Nodes, p.Nodes...)
		default:
			p.Accelerator = false
			out = append(out, p)
		}
	}
	return out
}

// Split cuts the graph and returns the module that calls the parts; the graph itself
// stays as it is.
func (s *AcceleratorSplitter) Split() (*Splitting, error) {
	parts, err := s.Parts()
	if err != nil {
		return nil, err
	}
	if s.move {
		MoveNonTensorNodes(parts)
	}
	return s.split(s.joinSmall(parts))
}

func (s *AcceleratorSplitter) split(parts []SubgraphPart) (*Splitting, error) {
	s.tags, s.tag = nil, map[*ir.Node]string{}
	for i, p := range parts {
		tag := s.prefix + strconv.Itoa(i)
		if p.Accelerator {
			tag = "_run_on_acc_" + strconv.Itoa(i)
		}
		s.tags = append(s.tags, tag)
		for _, n := range p.Nodes {
			s.tag[n] = tag
		}
	}
	if s.maxParts > 0 && len(parts) > s.maxParts {
		return nil, ir.Errorf(ir.ErrValue, "accelerator split: Cannot fulfill max_acc_splits limit. "+
			"This may cause split fragmentation and result in performance issues.")
	}
	var opts []TagOption
	if s.tuple {
		opts = append(opts, TupleParts())
	}
	return SplitByTags(s.module, s.tags, func(n *ir.Node) string { return s.tag[n] }, opts...)
}

// Extend moves calls that the accelerator takes from the parts before the one called
// tag into it, as far as nothing else before that part waits for them, and splits
// anew.
func (s *AcceleratorSplitter) Extend(tag string) (*Splitting, error) {
	number := func(tag string) int { n, _ := strconv.Atoi(tag[strings.LastIndexByte(tag, '_')+1:]); return n }
	if !slices.Contains(s.tags, tag) {
		return nil, ir.Errorf(ir.ErrValue, "accelerator split: expected the name of a part, got %q", tag)
	}
	// who reads a node, but for the parts behind
	readers := map[*ir.Node]nodeMarks{}
	for n := range s.module.Graph().Nodes() {
		if isCall(n) {
			readers[n] = nodeMarks{}
			for u := range n.Users() {
				if isCall(u) && number(s.tag[u]) < number(tag) {
					readers[n][u] = true
				}
			}
		}
	}
	done := map[*fusionGroup]bool{}
	for n := range s.module.Graph().Nodes() {
		g := s.groups[n]
		if g == nil || done[g] {
			continue
		}
		done[g] = true
		all := nodeMarks{}
		for _, n := range g.nodes.nodes {
			for u := range readers[n] {
				if !g.nodes.has(u) {
					all[u] = true
				}
			}
		}
		for _, n := range g.nodes.nodes {
			readers[n] = all
			for _, in := range n.Inputs() {
				if isCall(in) && !g.nodes.has(in) {
					for _, n := range g.nodes.nodes {
						readers[in][n] = true
					}
				}
			}
		}
	}
	var parents nodeSet
	for n := range s.module.Graph().Nodes() {
		if isCall(n) && s.tag[n] == tag {
			for _, in := range n.Inputs() {
				if isCall(in) && s.tag[in] != tag {
					parents.add(in)
				}
			}
		}
	}
	pending, visited := parents.nodes, nodeMarks{}
	for len(pending) > 0 {
		i := slices.IndexFunc(pending, func(n *ir.Node) bool { return s.taken[n] && readers[n].within(visited) })
		if i < 0 {
			break
		}
		n := pending[i]
		pending = slices.Delete(pending, i, i+1)
		s.tag[n], visited[n] = tag, true
		next := n.Inputs()
		if g := s.groups[n]; g != nil {
			next = append(slices.Clone(g.nodes.nodes), next...)
		}
		for _, in := range next {
			if isCall(in) && !visited[in] && !slices.Contains(pending, in) {
				pending = append(pending, in)
			}
		}
	}
	var opts []TagOption
	if s.tuple {
		opts = append(opts, TupleParts())
	}
	return SplitByTags(s.module, s.tags, func(n *ir.Node) string { return s.tag[n] }, opts...)
}

// SubmoduleInputs runs m on args and returns what each of the submodules at these
// paths was called with, the last time where it was called more than once. The
// tensors are the caller's to close. Follows
// torch.fx.passes.splitter_base.generate_inputs_for_submodules.
func SubmoduleInputs(ctx context.Context, m *ir.GraphModule, args []any, paths ...string) (map[string][]any, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "submodule inputs: expected a graph module, got nil")
	}
	inputs := map[string][]any{}
	ref := func(t *torch.Tensor) (*torch.Tensor, error) { return t.Ref() }
	note := func(r *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
		path := n.Target().String()
		if n.Op() != ir.CallModule || n.Graph() != m.Graph() || !slices.Contains(paths, path) {
			return run()
		}
		given, _, err := r.Args(n)
		if err != nil {
			return nil, err
		}
		kept, err := mapTensors(given, ref)
		if err != nil {
			return nil, err
		}
		discard(inputs[path], nil)
		inputs[path] = kept.([]any)
		return run()
	}
	out, err := interpreter.New(m, interpreter.WithHandler(interpreter.Around(interpreter.Default{}, note))).Run(ctx, args...)
	if err != nil {
		for _, in := range inputs {
			discard(in, nil)
		}
		return nil, err
	}
	discard(out, args)
	return inputs, nil
}
