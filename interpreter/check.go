package interpreter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Check reports all in a module that an [Interpreter] cannot run with the
// libtorch that is there: operators, functions, methods and higher-order
// operators unknown, attributes missing. Graphs that are attributes are looked
// at, too. Each cause is named once, with the nodes that need it. nil is no
// promise that a run succeeds: shapes and values are seen then.
func Check(module *ir.GraphModule) error {
	if module == nil {
		return ir.Errorf(ir.ErrInput, "check: expected a graph module, got nil")
	}
	c := checking{seen: map[*ir.GraphModule]bool{}, byWhat: map[string]*fault{}}
	c.module("", module)
	var faults []error
	for _, f := range c.faults {
		faults = append(faults, fmt.Errorf("%s: %w", nodesText(f.nodes), f.err))
	}
	return errors.Join(faults...)
}

type checking struct {
	seen   map[*ir.GraphModule]bool
	faults []*fault
	byWhat map[string]*fault
}

// A fault is what is missing and the nodes that need it.
type fault struct {
	nodes []string
	err   error
}

func nodesText(nodes []string) string {
	const most = 4
	if len(nodes) == 1 {
		return "node " + nodes[0]
	}
	if n := len(nodes) - most; n > 0 {
		return fmt.Sprintf("nodes %s and %d more", strings.Join(nodes[:most], ", "), n)
	}
	return "nodes " + strings.Join(nodes, ", ")
}

func (c *checking) module(path string, m *ir.GraphModule) {
	if c.seen[m] {
		return
	}
	c.seen[m] = true
	for n := range m.Graph().Nodes() {
		c.node(path, m, n)
	}
	for name, v := range m.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok {
			c.module(path+name+".", sub)
		}
	}
}

func (c *checking) node(path string, m *ir.GraphModule, n *ir.Node) {
	report := func(what string, err error) {
		name := path + n.Name()
		if f := c.byWhat[what]; f != nil {
			f.nodes = append(f.nodes, name)
			return
		}
		f := &fault{[]string{name}, err}
		c.byWhat[what] = f
		c.faults = append(c.faults, f)
	}
	target := n.Target().String()
	switch n.Op() {
	case ir.GetAttr, ir.CallModule:
		v, ok := m.Attr(target)
		if !ok {
			report(path+target, noAttribute(m, target))
		} else if n.Op() == ir.CallModule && !callable(v) {
			report(path+target, notCallable(target, v))
		}
	case ir.CallMethod:
		c.called(method(target), report)
	case ir.CallFunction:
		c.function(n.Func(), report)
		for _, a := range n.Args() { // operators that a higher-order one calls
			if f, ok := a.(*ir.Func); ok {
				c.function(f, report)
			}
		}
	}
}

func (c *checking) function(f *ir.Func, report func(string, error)) {
	if f.Kind() != ir.HigherOrder {
		c.called(f, report)
	} else if hops[f] == nil {
		report(f.Name(), unsupportedHigherOrder(f))
	}
}

// explained is how many unknown names are compared with all known ones, which a
// file could have a hundred thousand of.
const explained = 64

func (c *checking) called(f *ir.Func, report func(string, error)) {
	if torch.Implemented(f) {
		if err := torch.Check(f); err != nil { // no device here has a kernel
			report(f.Name(), err)
		}
		return
	}
	if len(c.faults) >= explained || c.byWhat[f.Name()] != nil {
		report(f.Name(), ir.Errorf(ir.ErrUnsupported, "%s: expected a function that is known here", f.Name()))
		return
	}
	switch err := torch.Check(f); {
	case errors.Is(err, ir.ErrMissing):
		report("libtorch", err) // once, not for each operator
	case err != nil:
		report(f.Name(), err)
	}
}

func callable(v any) bool {
	switch v.(type) {
	case *ir.GraphModule, *Delegated, nn.Module, checker:
		return true
	}
	return false
}
