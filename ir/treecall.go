package ir

import "strconv"

// isCall reports whether t is what torch.export calls an in_spec: the
// structure of (args, kwargs).
func (t *TreeSpec) isCall() bool {
	return t.Type == treeTuple && len(t.Children) == 2 && t.Children[0].Type == treeTuple && t.Children[1].Type == treeDict
}

// FlattenCall takes the arguments of a call apart by an in_spec, the structure
// of (args, kwargs), and returns the leaves in the order of the program's
// inputs. Keywords may come in any order, and every one of the export call must
// be there, as torch.export demands. names are forward's argument names, nil
// where unknown; with them an error of class [ErrInput] says "x['a'][0]" and not
// "args[0]['a'][0]". The rules for values are those of [TreeSpec.Flatten].
func (t *TreeSpec) FlattenCall(args []any, kwargs map[string]any, names []string) ([]any, error) {
	if !t.isCall() {
		return nil, Errorf(ErrFormat, "call: expected the structure of a tuple of arguments and a dict of keywords, got %s", t)
	}
	positional, keywords := t.Children[0], t.Children[1]
	if len(args) != len(positional.Children) {
		return nil, Errorf(ErrInput, "call: expected %s, got %d%s",
			positional.arguments(names), len(args), keywordHint(positional, kwargs, names))
	}
	given, _ := PyDictOf(kwargs)
	values, err := keywords.pick(given, keywords.Keys, "keyword arguments", "keyword")
	if err != nil {
		return nil, err
	}
	leaves := make([]any, 0, t.NumLeaves())
	for i, c := range positional.Children {
		if leaves, err = c.flatten(leaves, args[i], argName(names, i)); err != nil {
			return nil, err
		}
	}
	for i, c := range keywords.Children {
		if leaves, err = c.flatten(leaves, values[i], keywordName(keywords.Keys[i])); err != nil {
			return nil, err
		}
	}
	return leaves, nil
}

// CallNames returns the place of each leaf of an in_spec in a call, by forward's
// argument names: "x", "xs[1]", "d['key']", "point.left".
func (t *TreeSpec) CallNames(names []string) []string {
	if !t.isCall() {
		return t.leafNames(nil, "value")
	}
	var leaves []string
	for i, c := range t.Children[0].Children {
		leaves = c.leafNames(leaves, argName(names, i))
	}
	for i, c := range t.Children[1].Children {
		leaves = c.leafNames(leaves, keywordName(t.Children[1].Keys[i]))
	}
	return leaves
}

func (t *TreeSpec) leafNames(names []string, path string) []string {
	if t.IsLeaf() {
		return append(names, path)
	}
	for i, c := range t.Children {
		names = c.leafNames(names, path+t.step(i))
	}
	return names
}

func argName(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "args[" + strconv.Itoa(i) + "]"
}

func keywordName(key any) string {
	if s, ok := key.(string); ok {
		return s
	}
	return "kwargs[" + keyText(key) + "]"
}

// arguments says how many positional arguments there are, and which.
func (t *TreeSpec) arguments(names []string) string {
	n := len(t.Children)
	text := strconv.Itoa(n) + " positional arguments"
	if n == 1 {
		text = "1 positional argument"
	}
	if n > 0 && n <= len(names) {
		text += " ("
		for i := range n {
			if i > 0 {
				text += ", "
			}
			text += names[i]
		}
		text += ")"
	}
	return text
}

// keywordHint says when positional arguments were given by keyword.
func keywordHint(positional *TreeSpec, kwargs map[string]any, names []string) string {
	for _, name := range names[:min(len(names), len(positional.Children))] {
		if _, given := kwargs[name]; given {
			return "; " + name + " is positional in the exported call"
		}
	}
	return ""
}
