package torchfx

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
)

// redirect makes every device that a module's graphs name d, and returns a line
// for each node that was changed. Programs carry the device that they were
// exported on in their creation operators, copies and assertions.
func redirect(module *ir.GraphModule, d ir.Device) (notes []string) {
	for n := range module.Graph().Nodes() {
		if n.Op() != ir.CallFunction {
			continue
		}
		changed := map[ir.Device]bool{}
		move := func(a ir.Arg) ir.Arg {
			old, ok := a.(ir.Device)
			if !ok || old == d {
				return a
			}
			changed[old] = true
			return d
		}
		args := make([]ir.Arg, len(n.Args()))
		for i, a := range n.Args() {
			args[i] = ir.MapArg(a, move)
		}
		kwargs := make([]ir.Keyword, len(n.Kwargs()))
		for i, k := range n.Kwargs() {
			kwargs[i] = ir.Kw(k.Name, ir.MapArg(k.Value, move))
		}
		if len(changed) == 0 {
			continue
		}
		n.SetOperands(args, kwargs)
		for old := range changed {
			notes = append(notes, fmt.Sprintf("node %s (%s): device %s became %s", n.Name(), n.Target(), old, d))
		}
	}
	for _, v := range module.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok {
			notes = append(notes, redirect(sub, d)...)
		}
	}
	return notes
}
