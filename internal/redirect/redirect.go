// Package redirect changes the devices that programs carry.
package redirect

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// autocast names the kind of device that it is about by a string.
var autocast = ir.FuncOf("torch.ops.higher_order.wrap_with_autocast")

// Module makes every device that a module's graphs name d, and returns a line
// for each node that was changed. Programs carry the device that they were
// exported on in their creation operators, copies and assertions.
func Module(module *ir.GraphModule, d ir.Device) (notes []string) {
	for n := range module.Graph().Nodes() {
		if n.Op() != ir.CallFunction {
			continue
		}
		var old []string
		move := func(a ir.Arg) ir.Arg {
			from, ok := a.(ir.Device)
			if !ok || from == d {
				return a
			}
			old = append(old, from.String())
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
		if kind := ir.Str(d.Kind().String()); n.Func() == autocast && len(args) > 0 {
			if from, ok := args[0].(ir.Str); ok && from != kind {
				old = append(old, string(from))
				args[0] = kind
			}
		}
		if len(old) > 0 {
			n.SetOperands(args, kwargs)
			notes = append(notes, fmt.Sprintf("node %s (%s): device %s became %s", n.Name(), n.Target(), strings.Join(old, ", "), d))
		}
	}
	for _, v := range module.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok {
			notes = append(notes, Module(sub, d)...)
		}
	}
	return notes
}
