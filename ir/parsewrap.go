package ir

import (
	"maps"
	"slices"
)

// A wrappedCall is a call of a global that has a wrap line.
type wrappedCall struct {
	node *Node
	line int // of that line, among those
}

// markWrapped marks calls of wrapped functions. Code does not say which of the calls of
// one are marked, but its wrap lines stand in the order of the first marked calls: a
// call that stands too early for its line was not marked.
func (p *parser) markWrapped() {
	lines := map[int]bool{}
	for _, c := range p.fn.wraps {
		lines[c.line] = true
	}
	left := slices.Sorted(maps.Keys(lines)) // those without a marked call so far
	var early []*Node
	for _, c := range p.fn.wraps {
		if len(left) > 0 && c.line > left[0] {
			early = append(early, c.node)
			continue
		}
		if len(left) > 0 && c.line == left[0] {
			left = left[1:]
		}
		c.node.meta.Set(MetaIsWrapped, true)
	}
	if len(left) > 0 { // an order of lines that no marks give
		for _, n := range early {
			n.meta.Set(MetaIsWrapped, true)
		}
	}
}
