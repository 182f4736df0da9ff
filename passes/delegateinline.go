package passes

import (
	"fmt"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

// InlineRegions puts the twins of regions in their places, so that m computes by
// libtorch's operators alone, and returns how many there were. What a twin reads
// becomes an attribute of m under its own path, or a free one.
func InlineRegions(m *ir.GraphModule) (int, error) {
	if m == nil {
		return 0, ir.Errorf(ir.ErrInput, "inline regions: expected a graph module, got nil")
	}
	count := 0
	for _, n := range m.Graph().Find(ir.CallModule, nil) {
		path := n.Target().String()
		v, _ := m.Attr(path)
		d, ok := v.(*interpreter.Delegated)
		if !ok {
			continue
		}
		twin := d.Twin().Clone()
		for _, read := range twin.Graph().Find(ir.GetAttr, nil) {
			from := read.Target().String()
			v, _ := twin.Attr(from)
			to := from
			for i := 1; ; i++ {
				if there, taken := m.Attr(to); !taken || sameAttr(there, v) {
					break
				}
				to = fmt.Sprintf("%s_%d", from, i)
			}
			m.SetAttr(to, v)
			if err := read.SetTarget(ir.Path(to)); err != nil {
				return count, err
			}
		}
		if err := inline(m.Graph(), n, twin.Graph()); err != nil {
			return count, err
		}
		if len(m.Graph().Find(ir.CallModule, ir.Path(path))) == 0 {
			m.DeleteAttr(path)
		}
		count++
	}
	return count, nil
}
