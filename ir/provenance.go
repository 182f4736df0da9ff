package ir

import (
	"fmt"
	"strings"
)

// A SourceAction is what a pass did to a node.
type SourceAction string

// The actions.
const (
	SourceCreate  SourceAction = "create"
	SourceReplace SourceAction = "replace"
)

// A NodeSource says where a node came from: the node that a pass made it of, and
// where that came from in turn. Follows torch.fx.traceback.NodeSource.
type NodeSource struct {
	Name    string         // of the node it was made of
	Target  string         // of that node, in Python's text
	Graph   string         // which graph that was, as the maker identifies it
	Pass    string         // that made it
	Actions []SourceAction // that the pass took
	From    []NodeSource   // where that node came from
}

// NewNodeSource describes a node that a pass makes something of. Its own sources
// are those under [MetaFromNode], a []NodeSource.
func NewNodeSource(n *Node, graph, pass string, actions ...SourceAction) NodeSource {
	from, _ := n.Meta().Get(MetaFromNode).([]NodeSource)
	return NodeSource{n.Name(), n.Target().String(), graph, pass, actions, from}
}

// Action returns the actions as torch.fx writes them, "replace+create".
func (s NodeSource) Action() string {
	parts := make([]string, len(s.Actions))
	for i, a := range s.Actions {
		parts[i] = string(a)
	}
	return strings.Join(parts, "+")
}

// Readable returns the chain of sources, a line each, the older ones indented.
func (s NodeSource) Readable() string {
	var b strings.Builder
	s.write(&b, 0)
	return b.String()
}

func (s NodeSource) write(b *strings.Builder, depth int) {
	if depth > maxSources {
		return
	}
	fmt.Fprintf(b, "%s(name=%s, pass_name=%s, action=%s, graph_id=%s)\n", strings.Repeat(" ", 4*depth), s.Name, s.Pass, s.Action(), s.Graph)
	for _, f := range s.From {
		f.write(b, depth+1)
	}
}

// maxSources bounds the depth of what is written of a chain: a file may bring any.
const maxSources = 1000
