package passes

import (
	"cmp"
	"maps"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// A partitionSearch joins nodes to partitions, from the end of a graph to its
// start.
type partitionSearch struct {
	graph *ir.Graph
	at    map[*ir.Node]int // positions in graph
	of    map[*ir.Node]*joined
	all   map[*joined]bool
	made  int   // partitions so far
	seen  []int // by position: the walk that saw the node last
	walks int
}

// A joined is a partition in the making.
type joined struct {
	id    int // number of the partition that it grew from
	order int // smallest number of those that went into it
	nodes []*ir.Node
	users map[*ir.Node]bool // outside of it
	leads map[*joined]bool  // the partitions that paths from here lead to
}

func newPartitionSearch(g *ir.Graph) *partitionSearch {
	return &partitionSearch{graph: g, at: positions(g), of: map[*ir.Node]*joined{}, all: map[*joined]bool{}, seen: make([]int, g.Len())}
}

// start makes a partition of one node.
func (s *partitionSearch) start(n *ir.Node) *joined {
	j := &joined{id: s.made, order: s.made, nodes: []*ir.Node{n}, users: map[*ir.Node]bool{}, leads: map[*joined]bool{}}
	s.made++
	s.of[n], s.all[j] = j, true
	for u := range n.Users() {
		j.users[u] = true
	}
	s.follow(j)
	return j
}

// inOrder lists the partitions, oldest first.
func (s *partitionSearch) inOrder() []*joined {
	return slices.SortedFunc(maps.Keys(s.all), func(a, b *joined) int { return cmp.Compare(a.order, b.order) })
}

// byID lists the partitions by the numbers of those that they grew from.
func (s *partitionSearch) byID() []*joined {
	return slices.SortedFunc(maps.Keys(s.all), func(a, b *joined) int { return cmp.Compare(a.id, b.id) })
}

// walk visits all nodes that paths from these lead to, these included, until
// visit says stop.
func (s *partitionSearch) walk(from map[*ir.Node]bool, visit func(*ir.Node) (stop bool)) {
	s.walks++
	var stack []*ir.Node
	for n := range from {
		stack = append(stack, n)
	}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.seen[s.at[n]] == s.walks {
			continue
		}
		s.seen[s.at[n]] = s.walks
		if visit(n) {
			return
		}
		stack = slices.AppendSeq(stack, n.Users())
	}
}

// follow notes the partitions that paths from j lead to. A partition counts as
// one step, so that nothing inside it is walked.
func (s *partitionSearch) follow(j *joined) {
	s.walks++
	stack := slices.Collect(maps.Keys(j.users))
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.seen[s.at[n]] == s.walks {
			continue
		}
		s.seen[s.at[n]] = s.walks
		to := s.of[n]
		switch {
		case to == nil:
			stack = slices.AppendSeq(stack, n.Users())
		case to != j && !j.leads[to]:
			j.leads[to] = true
			maps.Copy(j.leads, to.leads)
			stack = slices.AppendSeq(stack, maps.Keys(to.users))
		}
	}
	delete(j.leads, j)
}

// join makes one partition of two and returns it, or the first one, with nothing
// done, where a path leads out of the union and back into it.
func (s *partitionSearch) join(a, b *joined) *joined {
	users := maps.Clone(a.users)
	maps.Copy(users, b.users)
	maps.DeleteFunc(users, func(n *ir.Node, _ bool) bool { return s.of[n] == a || s.of[n] == b })
	back := false
	s.walk(users, func(n *ir.Node) bool {
		p := s.of[n]
		back = p != nil && (p == a || p == b || p.leads[a] || p.leads[b])
		return back
	})
	if back {
		return a
	}
	into, gone := a, b
	if len(a.nodes) < len(b.nodes) {
		into, gone = b, a
	}
	for _, n := range gone.nodes {
		s.of[n] = into
	}
	into.nodes = append(into.nodes, gone.nodes...)
	into.order = min(into.order, gone.order)
	into.users = users
	maps.Copy(into.leads, gone.leads)
	delete(s.all, gone)
	s.follow(into)
	// torch.fx goes on looking for the partition that is gone, and so can miss
	// that a path leads back
	for p := range s.all {
		if p.leads[gone] {
			delete(p.leads, gone)
			p.leads[into] = true
		}
	}
	delete(into.leads, into)
	delete(into.leads, gone)
	return into
}

// followProducers puts the nodes of each partition in graph order and moves the
// getitems of a node that is read by getitems alone to the node, again and again
// for results inside results.
func (s *partitionSearch) followProducers() {
	for j := range s.all {
		slices.SortFunc(j.nodes, func(a, b *ir.Node) int { return cmp.Compare(s.at[a], s.at[b]) })
	}
	for moved := true; moved; {
		moved = false
		type move struct {
			n  *ir.Node
			to *joined
		}
		var moves []move
		for n := range s.graph.Nodes() {
			users := slices.Collect(n.Users())
			if slices.ContainsFunc(users, func(u *ir.Node) bool { return u.Func() != getitem }) {
				continue
			}
			for _, u := range users {
				if s.of[u] != s.of[n] {
					moves = append(moves, move{u, s.of[n]})
				}
			}
		}
		for _, m := range moves {
			moved = true
			if from := s.of[m.n]; from != nil {
				from.nodes = slices.DeleteFunc(from.nodes, func(n *ir.Node) bool { return n == m.n })
			}
			delete(s.of, m.n)
			if m.to != nil {
				s.of[m.n] = m.to
				m.to.nodes = append(m.to.nodes, m.n)
			}
		}
	}
}
