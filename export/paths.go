package export

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// leafPaths returns where each flat input stands in the arguments of a call:
// the argument's name, then keys, positions and fields. in is the tree of
// (args, kwargs). Same paths as torch.utils._pytree.tree_leaves_with_path over
// the bound arguments of `.module()`.
func leafPaths(in *ir.TreeSpec, argNames []string) [][]ir.Arg {
	if in == nil || len(in.Children) != 2 {
		return nil
	}
	args, kwargs := in.Children[0], in.Children[1]
	var paths [][]ir.Arg
	for i, child := range args.Children {
		name := fmt.Sprintf("arg_%d", i)
		if i < len(argNames) {
			name = argNames[i]
		}
		paths = appendPaths(paths, []ir.Arg{ir.Str(name)}, child)
	}
	for i, child := range kwargs.Children {
		name := fmt.Sprintf("kwarg_%d", i)
		if i < len(kwargs.Keys) {
			name = fmt.Sprint(kwargs.Keys[i])
		}
		paths = appendPaths(paths, []ir.Arg{ir.Str(name)}, child)
	}
	return paths
}

func appendPaths(paths [][]ir.Arg, at []ir.Arg, t *ir.TreeSpec) [][]ir.Arg {
	if t.Type == "" {
		return append(paths, append([]ir.Arg(nil), at...))
	}
	for i, child := range t.Children {
		var step ir.Arg = ir.Int(i)
		if i < len(t.Keys) {
			step = keyArg(t.Keys[i])
		} else if i < len(t.Fields) {
			step = ir.Str(t.Fields[i])
		}
		paths = appendPaths(paths, append(at[:len(at):len(at)], step), child)
	}
	return paths
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
