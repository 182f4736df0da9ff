package passes

import (
	"fmt"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// An Observer notes what a pass does to the graph of a module. Use [Observe].
type Observer struct {
	module  *ir.GraphModule
	pass    string
	remove  []func()
	created map[string]bool
	erased  map[string]bool
	nodes   map[string]*ir.Node // that are there, by name
	input   string              // drawing of the graph as it was
	graph   string              // what identifies it
}

// Observe notes from now on which nodes are made and which are erased, and notes on
// nodes where they came from: a node that others are replaced by has these among the
// sources under ir.MetaFromNode, a []ir.NodeSource. [Observer.Stop] ends it. Passes that
// put another graph in the place of the old one are not followed through it. Follows
// torch.fx.passes.graph_transform_observer.GraphTransformObserver.
func Observe(m *ir.GraphModule, pass string) *Observer {
	o := &Observer{module: m, pass: pass, created: map[string]bool{}, erased: map[string]bool{}, nodes: map[string]*ir.Node{},
		graph: fmt.Sprintf("%p", m.Graph())}
	for n := range m.Graph().Nodes() {
		o.nodes[n.Name()] = n
	}
	o.input = Dot(m, pass, WithoutGetAttr(), WithoutParameters())
	o.remove = []func(){m.OnCreate(o.onCreate), m.OnErase(o.onErase), m.OnReplace(o.onReplace)}
	return o
}

// Apply observes a pass while it runs, and returns what it made.
func Apply(m *ir.GraphModule, pass string, run func(*ir.GraphModule) error) (*Observer, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "%s: expected a graph module, got nil", pass)
	}
	o := Observe(m, pass)
	defer o.Stop()
	return o, run(m)
}

// Stop ends the observation; more than once does nothing.
func (o *Observer) Stop() {
	for _, remove := range o.remove {
		remove()
	}
	o.remove = nil
}

// Created are the names of the nodes that were made, sorted.
func (o *Observer) Created() []string { return sortedKeys(o.created) }

// Erased are the names of the nodes that were erased, sorted.
func (o *Observer) Erased() []string { return sortedKeys(o.erased) }

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Drawings are the graph before and after in the language of Graphviz, see [Dot],
// with what is gone and what is new in yellow and the rest in grey; "" where nothing
// was made or erased.
func (o *Observer) Drawings() (before, after string) {
	if len(o.created)+len(o.erased) == 0 {
		return "", ""
	}
	return highlight(o.input, o.erased), highlight(Dot(o.module, o.pass, WithoutGetAttr(), WithoutParameters()), o.created)
}

func (o *Observer) onCreate(n *ir.Node) {
	o.created[n.Name()] = true
	o.nodes[n.Name()] = n
	from, _ := n.Meta().Get(ir.MetaFromNode).([]ir.NodeSource)
	n.Meta().Set(ir.MetaFromNode, append(slices.Clone(from), ir.NodeSource{Pass: o.pass, Actions: []ir.SourceAction{ir.SourceCreate}}))
}

func (o *Observer) onErase(n *ir.Node) {
	o.erased[n.Name()] = true
	delete(o.nodes, n.Name())
}

// onReplace is called once for each user; the source is noted once.
func (o *Observer) onReplace(old *ir.Node, name string, _ *ir.Node) {
	n := o.nodes[name]
	if n == nil {
		return
	}
	from, _ := n.Meta().Get(ir.MetaFromNode).([]ir.NodeSource)
	if slices.ContainsFunc(from, func(s ir.NodeSource) bool { return s.Name == old.Name() }) {
		return
	}
	actions := []ir.SourceAction{ir.SourceReplace}
	if o.created[name] {
		actions = append(actions, ir.SourceCreate)
	}
	// the source noted at creation says no more than this one
	from = slices.DeleteFunc(slices.Clone(from), func(s ir.NodeSource) bool {
		return s.Name == "" && s.Pass == o.pass && slices.Equal(s.Actions, []ir.SourceAction{ir.SourceCreate})
	})
	n.Meta().Set(ir.MetaFromNode, append(from, ir.NewNodeSource(old, o.graph, o.pass, actions...)))
}
