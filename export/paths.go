package export

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// maxPathSteps bounds the steps of all paths together; inputs beyond go by the
// names that the signature gives them.
const maxPathSteps = 1 << 20

// leafPaths returns where each flat input stands in the arguments of a call:
// the argument's name, then keys, positions and fields. in is the tree of
// (args, kwargs). Same paths as torch.utils._pytree.tree_leaves_with_path over
// the bound arguments of `.module()`.
func leafPaths(in *ir.TreeSpec, argNames []string) [][]ir.Arg {
	if in == nil || len(in.Children) != 2 {
		return nil
	}
	args, kwargs := in.Children[0], in.Children[1]
	p := paths{left: maxPathSteps}
	for i, child := range args.Children {
		name := fmt.Sprintf("arg_%d", i)
		if i < len(argNames) {
			name = argNames[i]
		}
		p.add([]ir.Arg{ir.Str(name)}, child)
	}
	for i, child := range kwargs.Children {
		name := fmt.Sprintf("kwarg_%d", i)
		if i < len(kwargs.Keys) {
			name = fmt.Sprint(kwargs.Keys[i])
		}
		p.add([]ir.Arg{ir.Str(name)}, child)
	}
	return p.found
}

type paths struct {
	found [][]ir.Arg
	left  int // steps that may still be stored
}

// add appends the paths of the leaves below t, which is at a path.
func (p *paths) add(at []ir.Arg, t *ir.TreeSpec) {
	if t.IsLeaf() {
		if p.left -= len(at); p.left >= 0 {
			p.found = append(p.found, append([]ir.Arg(nil), at...))
		}
		return
	}
	for i, child := range t.Children {
		var step ir.Arg = ir.Int(i)
		if i < len(t.Keys) {
			step = keyArg(t.Keys[i])
		} else if i < len(t.Fields) {
			step = ir.Str(t.Fields[i])
		}
		p.add(append(at[:len(at):len(at)], step), child)
	}
}

func keyArg(key any) ir.Arg {
	switch k := key.(type) {
	case string:
		return ir.Str(k)
	case int64:
		return ir.Int(k)
	case int:
		return ir.Int(k)
	case float64:
		return ir.Float(k)
	case bool:
		return ir.Bool(k)
	case ir.Arg:
		return k
	}
	return ir.Str(fmt.Sprint(key))
}

// pathText writes a path as messages name it: "x", "d['p'][0]".
func pathText(path []ir.Arg) string {
	var b strings.Builder
	for i, step := range path {
		if name, ok := step.(ir.Str); ok && i == 0 {
			b.WriteString(string(name))
			continue
		}
		b.WriteString("[" + ir.Repr(step) + "]")
	}
	return b.String()
}
