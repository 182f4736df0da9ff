package rewriter

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A report keeps, for one candidate, the reason of the attempt that got farthest.
type report struct {
	best  Reason
	depth int
}

func (r *report) start() { *r = report{depth: -1} }

// fail notes a reason where one is asked for. It returns false.
func (s *search) fail(at pair, why func() string) bool {
	if s.explain != nil && len(s.trail) > s.report.depth {
		s.report.depth = len(s.trail)
		s.report.best = Reason{At: at.n, Want: at.p, Why: why()}
	}
	return false
}

// tell hands a reason to the caller.
func (s *search) tell(r Reason) {
	if s.explain != nil && s.err == nil {
		s.explain(r)
	}
}

// tellNone explains that no node of the graph could be p, with the nearest thing
// that is there: a call of the same name in another spelling.
func (s *search) tellNone(g *ir.Graph, p *ir.Node) {
	if s.explain == nil {
		return
	}
	r := Reason{Want: p, Why: "expected " + kind(p) + ", got none in the graph"}
	for n := range g.Nodes() {
		if n.Op() >= ir.CallFunction && n.Op() != ir.Output && computes(n) && spelling(n) == spelling(p) {
			r = Reason{At: n, Want: p, Why: "expected " + kind(p) + ", got " + kind(n)}
			break
		}
	}
	s.tell(r)
}

// spelling is the name of what a node calls, however it calls it: "add" for
// torch.add, operator.add, x.add and aten.add.Tensor.
func spelling(n *ir.Node) string {
	f := n.Func()
	if f == nil {
		t := n.Target().String()
		return t[strings.LastIndexByte(t, '.')+1:]
	}
	name := f.Base()
	if f.Kind() == ir.Overload {
		name, _, _ = strings.Cut(name, ".")
	}
	return name
}

// kind says what a node is: "call_function torch.add".
func kind(n *ir.Node) string {
	switch n.Op() {
	case ir.Placeholder, ir.Output:
		return "a node that is " + n.Op().String()
	case ir.GetAttr:
		return "get_attr of a value of the type of " + n.Target().String()
	}
	return n.Op().String() + " " + n.Target().String()
}

// expected says "kwarg dim: expected 1, got -1".
func (g *goal) expected(want string, got ir.Arg) string {
	text := "expected " + want + ", got " + ir.Repr(got)
	if g.label != "" {
		text = g.label + ": " + text
	}
	return text
}
