package ir

import "slices"

// hooks are what a module's owner wants to be told about its graph.
type hooks struct {
	create, erase []*func(*Node)
	replace       []*func(old *Node, name string, user *Node)
}

func (h hooks) clone() hooks {
	return hooks{slices.Clone(h.create), slices.Clone(h.erase), slices.Clone(h.replace)}
}

// OnCreate has f called with each new node of the graph, before the node takes
// its place in the list. remove ends that.
func (m *GraphModule) OnCreate(f func(n *Node)) (remove func()) {
	return register(&m.hooks.create, f)
}

// OnErase has f called with each node that is about to be erased; its operands
// are still there. remove ends that.
func (m *GraphModule) OnErase(f func(n *Node)) (remove func()) {
	return register(&m.hooks.erase, f)
}

// OnReplace has f called for each user of old that is about to read another
// node instead, whose name is given, and for each user of a node that is about
// to be renamed. remove ends that.
func (m *GraphModule) OnReplace(f func(old *Node, name string, user *Node)) (remove func()) {
	return register(&m.hooks.replace, f)
}

func register[F any](list *[]*F, f F) (remove func()) {
	p := &f
	*list = append(*list, p)
	return func() {
		*list = slices.DeleteFunc(slices.Clone(*list), func(q *F) bool { return q == p })
	}
}

func (m *GraphModule) created(n *Node) {
	for _, f := range m.hooks.create {
		(*f)(n)
	}
}

func (m *GraphModule) erased(n *Node) {
	for _, f := range m.hooks.erase {
		(*f)(n)
	}
}

func (m *GraphModule) replaced(old *Node, name string, user *Node) {
	for _, f := range m.hooks.replace {
		(*f)(old, name, user)
	}
}
