package ir

import (
	"slices"
	"strings"
)

// userSet is an ordered set of nodes: registration order, no repeats, removal
// in constant time however many there are.
type userSet struct {
	order []*Node       // nil where one was removed
	at    map[*Node]int // made once the set is large enough to need it
	live  int
	one   [1]*Node // where the first of most sets is
}

// linearUsers is the size up to which searching the slice beats a map.
const linearUsers = 12

func (s *userSet) find(n *Node) int {
	if s.at != nil {
		if i, ok := s.at[n]; ok {
			return i
		}
		return -1
	}
	return slices.Index(s.order, n)
}

func (s *userSet) has(n *Node) bool { return s.find(n) >= 0 }

func (s *userSet) add(n *Node) {
	if s.find(n) >= 0 {
		return
	}
	if s.order == nil {
		s.order = s.one[:0]
	}
	s.order = append(s.order, n)
	s.live++
	if s.at != nil {
		s.at[n] = len(s.order) - 1
	} else if len(s.order) > linearUsers {
		s.index()
	}
}

func (s *userSet) remove(n *Node) {
	i := s.find(n)
	if i < 0 {
		return
	}
	s.live--
	if s.at == nil {
		s.order = slices.Delete(s.order, i, i+1)
		return
	}
	s.order[i] = nil
	delete(s.at, n)
	if s.live < len(s.order)/2 {
		s.order = slices.DeleteFunc(s.order, func(n *Node) bool { return n == nil })
		s.index()
	}
}

func (s *userSet) index() {
	s.at = make(map[*Node]int, len(s.order))
	for i, n := range s.order {
		if n != nil {
			s.at[n] = i
		}
	}
}

// snapshot returns the members in order.
func (s *userSet) snapshot() []*Node {
	out := make([]*Node, 0, s.live)
	for _, n := range s.order {
		if n != nil {
			out = append(out, n)
		}
	}
	return out
}

func nodeNames(ns []*Node) string {
	names := make([]string, len(ns))
	for i, n := range ns {
		names[i] = n.name
	}
	return strings.Join(names, ", ")
}
