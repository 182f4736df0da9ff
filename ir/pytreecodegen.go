package ir

import (
	"maps"
	"slices"
	"strings"
)

// A PyTreeCodeGen makes code that takes the original arguments, containers and
// all, and flattens them by a spec to the graph's placeholders; what the graph
// returns it builds up again by another. The code reads both specs from the
// module, as self._in_spec and self._out_spec.
type PyTreeCodeGen struct {
	Args []string  // names of the original arguments, with self where it is one
	In   *TreeSpec // of the arguments; of (args, kwargs) where keyword arguments have names in it
	Out  *TreeSpec // of the result, nil where it is returned as it is
}

// FuncDef returns the def statement with the original arguments, and the line
// that flattens them. A default that belongs to an argument which is a leaf
// stands in the signature.
func (c PyTreeCodeGen) FuncDef(params []CodeParam, returns string, expanded bool) string {
	defaults := map[string]string{}
	for _, p := range params {
		defaults[p.Name] = p.Default
	}
	signature := make([]CodeParam, len(c.Args))
	for i, name := range c.Args {
		signature[i] = CodeParam{Name: name, Default: defaults[name]}
	}
	if len(c.Args) > 0 && c.Args[0] == "self" {
		params = append([]CodeParam{{Name: "self"}}, params...)
	}
	def := PlainCodeGen{}.FuncDef(signature, returns, expanded)
	if len(params) == 0 {
		return def
	}
	var b strings.Builder
	b.WriteString(def)
	var annotated []string
	for _, p := range params {
		if p.Annotation != "" {
			line := p.Name + p.Annotation
			if expanded && p.Desc != "" {
				line += "  # " + p.Desc
			}
			annotated = append(annotated, line)
		}
	}
	// Python allows no annotation in an assignment to several names
	if annotated != nil && expanded {
		b.WriteString("\n    " + strings.Join(annotated, "\n    "))
	} else if annotated != nil {
		b.WriteString("\n    " + strings.Join(annotated, "; ") + ";\n")
	}
	b.WriteString("\n    ")
	for i, p := range params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name)
		switch {
		case strings.HasPrefix(p.Annotation, " "):
			b.WriteString(" ") // torch.fx cuts the text at the colon
		case p.Annotation == "" && expanded && p.Desc != "":
			b.WriteString("  ")
		}
	}
	b.WriteString(", = fx_pytree.tree_flatten_spec(" + c.flattened() + ", self._in_spec)")
	return b.String()
}

// check refuses names that would be more than names in the code.
func (c PyTreeCodeGen) check() error {
	names := c.Args
	if c.isCall() {
		for _, key := range c.In.Children[1].Keys {
			name, _ := key.(string)
			names = append(slices.Clip(names), name)
		}
	}
	for _, name := range names {
		if !isIdentifier(name) {
			return Errorf(ErrValue, "python code: argument %q: expected an identifier", name)
		}
	}
	return nil
}

func (c PyTreeCodeGen) isCall() bool { return c.In != nil && c.In.isCall() }

// flattened is the expression of the arguments that the spec describes.
func (c PyTreeCodeGen) flattened() string {
	if !c.isCall() {
		return "[" + strings.Join(c.Args, ", ") + "]"
	}
	positional := min(len(c.In.Children[0].Children), len(c.Args))
	var b strings.Builder
	b.WriteString("([" + strings.Join(c.Args[:positional], ", ") + "], {")
	for i, name := range c.Args[positional:] {
		if i >= len(c.In.Children[1].Keys) {
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		key, _ := c.In.Children[1].Keys[i].(string) // keywords are strings
		b.WriteString("'" + key + "':" + name)
	}
	b.WriteString("})")
	return b.String()
}

// Return returns the return statement, which builds the result by the spec.
func (c PyTreeCodeGen) Return(value Arg, descs []string, repr func(Arg) string) string {
	if c.Out == nil {
		return PlainCodeGen{}.Return(value, descs, repr)
	}
	text, ok := describedItems(value, descs, repr)
	if !ok {
		text = repr(value)
	}
	return "return pytree.tree_unflatten(" + text + ", self._out_spec)"
}

// ProcessInputs flattens the arguments by the spec. A spec of (args, kwargs)
// takes them as [TreeSpec.FlattenCall] does; otherwise a keyword argument stands
// for the original argument of that name.
func (c PyTreeCodeGen) ProcessInputs(args []any, kwargs map[string]any) ([]any, error) {
	switch {
	case c.In == nil:
		return PlainCodeGen{}.ProcessInputs(args, kwargs)
	case c.isCall():
		return c.In.FlattenCall(args, kwargs, c.Args)
	}
	names := c.Args
	self := len(names) > 0 && names[0] == "self"
	if self {
		names = names[1:]
	}
	values, err := bindArguments(names, args, kwargs)
	if err != nil {
		return nil, err
	}
	if !self || len(c.In.Children) <= len(names) {
		return c.In.Flatten(PyTuple(values))
	}
	// the spec counts the module, which is no placeholder
	leaves, err := c.In.Flatten(append(PyTuple{nil}, values...))
	if err != nil {
		return nil, err
	}
	return leaves[1:], nil
}

// bindArguments puts keyword arguments into the places that names give them.
//
// Trailing places that nobody filled are cut off; others hold [Absent].
func bindArguments(names []string, args []any, kwargs map[string]any) ([]any, error) {
	if len(args) > len(names) {
		return nil, Errorf(ErrInput, "arguments: expected at most %d (%s), got %d", len(names), strings.Join(names, ", "), len(args))
	}
	values := append([]any(nil), args...)
	for _, k := range slices.Sorted(maps.Keys(kwargs)) {
		if !slices.Contains(names, k) {
			return nil, Errorf(ErrInput, "keyword argument %s: expected one of %s", k, strings.Join(names, ", "))
		}
	}
	for i, name := range names {
		v, given := kwargs[name]
		switch {
		case given && i < len(args):
			return nil, Errorf(ErrInput, "argument %s: expected one value, got two, by position and by keyword", name)
		case given:
			values = append(values, v)
		case i >= len(args):
			values = append(values, Absent{})
		}
	}
	for len(values) > len(args) && values[len(values)-1] == any(Absent{}) {
		values = values[:len(values)-1]
	}
	return values, nil
}

// ProcessOutputs builds the result by the spec; a single value counts as a list
// of one.
func (c PyTreeCodeGen) ProcessOutputs(out any) (any, error) {
	if c.Out == nil {
		return out, nil
	}
	switch out := out.(type) {
	case []any:
		return c.Out.Unflatten(out)
	case PyTuple:
		return c.Out.Unflatten(out)
	}
	return c.Out.Unflatten([]any{out})
}
