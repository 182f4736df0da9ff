package passes

import "github.com/torchfx-go/torchfx/ir"

// SplitSimple cuts a graph without reads of attributes as [Split] does, in one walk:
// the parts are called in the order of their first calls, and nothing is asked about
// regions. numbers has the part of each call. Of the options PartAffix counts.
//
// It fails with class ir.ErrKey for a call without a number, a read of an attribute
// among them, and where a part needs what a later one computes. Same as
// torch.fx.passes.split_module.split_module_simple.
func SplitSimple(m *ir.GraphModule, numbers map[*ir.Node]int, opts ...SplitOption) (*Splitting, error) {
	if err := given("split", m, opts); err != nil {
		return nil, err
	}
	s := &splitter{attributes: attributes{module: m}, parts: map[int]*splitPart{}, of: map[*ir.Node]*splitPart{}, symbols: map[string]*ir.Node{}}
	for _, o := range opts {
		o(&s.splitConfig)
	}
	s.splitConfig = splitConfig{affix: s.affix}
	for n := range m.Graph().Nodes() {
		if n.Op() == ir.Placeholder || n.Op() == ir.Output {
			continue
		}
		if _, ok := numbers[n]; !ok || n.Op() == ir.GetAttr {
			return nil, ir.Errorf(ir.ErrKey, "split: expected a part for %s, got none", n.Format())
		}
	}
	if err := s.assign(func(n *ir.Node) int { return numbers[n] }); err != nil {
		return nil, err
	}
	s.connect()
	called := map[*splitPart]bool{}
	for _, p := range s.seen {
		for _, w := range p.waits {
			if !called[w] {
				return nil, ir.Errorf(ir.ErrKey, "split: expected part %d before %s, got it later; Split sorts parts", w.number, p.name)
			}
		}
		called[p] = true
		if err := s.addInputs(p); err != nil {
			return nil, err
		}
	}
	if err := s.copyNodes(); err != nil {
		return nil, err
	}
	return s.assemble(s.seen)
}
