package ir

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// infixForms are the functions of Python's operator module that generated code
// writes as operators, and inplaceForms those that it writes as statements.
// Source: magic_methods and inplace_methods in torch/fx/graph.py; div is what
// Python 2 had.
var infixForms = map[string]string{
	"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}", "div": "{} / {}",
	"mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}",
	"xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}",
	"eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
	"pos": "+{}", "neg": "-{}", "invert": "~{}",
}

var inplaceForms = map[string]string{
	"iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
	"imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
	"isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}

// node writes n without the end of its line and returns those of dead that
// are still to be released after it.
func (e *emitter) node(n *Node, dead []*Node) []*Node {
	e.at = n
	ann := ""
	if n.typ != "" {
		ann = " : " + annotation(n.typ, e.typeGlobal)
	}
	if e.cfg.verbose {
		if v, ok := e.valueAnnotation(n); ok {
			ann = v
		}
	}
	switch n.op {
	case Placeholder:
		e.placeholder(n, ann)
	case CallFunction:
		return e.callFunction(n, ann, dead)
	case CallMethod:
		if len(n.args) == 0 {
			e.fail(n, "expected a receiver as first argument, got none")
			return dead
		}
		name := e.local(n)
		e.line = append(append(e.line[:0], e.path(e.literal(n.args[0]), n.target.String())...), '(')
		e.line = append(e.arguments(e.line, n.args[1:], n.kwargs), ')')
		e.assign(name, ann, e.line)
	case CallModule:
		name := e.local(n)
		e.line = append(append(e.line[:0], e.path(e.root, n.target.String())...), '(')
		e.line = append(e.arguments(e.line, n.args, n.kwargs), ')')
		e.assign(name, ann, e.line)
	case GetAttr:
		e.add(e.local(n), ann, " = ", e.path(e.root, n.target.String()))
	case Output:
		if n.typ != "" {
			e.returns = " -> " + annotation(n.typ, e.typeGlobal)
		}
		var descs []string
		if e.cfg.expanded {
			descs, _ = n.meta.Get(MetaDesc).([]string)
		}
		e.add(e.graph.CodeGen().Return(n.Arg(0), descs, e.literal))
	}
	return dead
}

func (e *emitter) placeholder(n *Node, ann string) {
	p := CodeParam{Name: n.target.String(), Annotation: ann}
	if len(n.args) > 0 {
		p.Default = e.literal(n.args[0])
	}
	if e.cfg.expanded {
		if desc, ok := n.meta.Get(MetaDesc).(string); ok {
			p.Desc = desc
		}
	}
	e.params = append(e.params, p)
	bare := strings.ReplaceAll(p.Name, "*", "")
	if !isIdentifier(bare) {
		e.fail(n, fmt.Sprintf("parameter %q: expected an identifier", bare))
	}
	if bare != e.local(n) {
		e.add(e.local(n) + " = " + bare + "\n")
	}
}

func (e *emitter) callFunction(n *Node, ann string, dead []*Node) []*Node {
	f := n.Func()
	if f.kind == Operator {
		if form, ok := infixForms[f.Base()]; ok {
			name := e.local(n)
			e.line = e.fill(e.line[:0], n, form)
			e.assign(name, ann, e.line)
			return dead
		}
		if form, ok := inplaceForms[f.Base()]; ok {
			statement := string(e.fill(nil, n, form))
			name := e.local(n)
			e.add(statement + ";  " + name + ann + " = " + e.literal(n.Arg(0)))
			return dead
		}
	}
	global := e.global(f.pythonName())
	if attr, ok := n.Arg(1).(Str); ok && global == "getattr" && len(n.args) == 2 && isIdentifier(string(attr)) {
		name := e.local(n)
		e.add(name + ann + " = " + e.path(e.literal(n.args[0]), string(attr)))
		return dead
	}
	boxes, dead := e.boxedArguments(n, dead)
	e.line = append(append(e.line[:0], global...), '(')
	if boxes != nil {
		e.line = append(e.line, e.boxedCall(n, boxes)...)
	} else {
		e.line = e.arguments(e.line, n.args, n.kwargs)
	}
	e.line = append(e.line, ')')
	e.assign(e.local(n), ann, e.line)
	if boxes != nil {
		names := make([]string, len(boxes))
		for i, box := range boxes {
			names[i] = box.name
		}
		e.add(";  " + e.dim(strings.Join(names, " = ")+" = None"))
	}
	if wrapped, _ := n.meta.Get(MetaIsWrapped).(bool); wrapped && !slices.Contains(e.wrapped, global) {
		e.wrapped = append(e.wrapped, global)
	}
	return dead
}

// A box is an argument that gets a local of its own, so that the values in it
// can be dropped before the call.
type box struct {
	arg  int
	name string
}

// boxedArguments writes the locals of the arguments that meta asks to box.
func (e *emitter) boxedArguments(n *Node, dead []*Node) (boxes []box, left []*Node) {
	indices, _ := n.meta.Get(MetaBoxedArgs).([]int)
	for _, i := range indices {
		if i < 0 || i >= len(n.args) {
			e.fail(n, fmt.Sprintf("boxed argument %d: expected an index below %d", i, len(n.args)))
			return nil, dead
		}
		boxes = append(boxes, box{i, e.names.create(fmt.Sprintf("%s_boxed_arg_%d", n.name, i))})
	}
	if boxes == nil {
		return nil, dead
	}
	lines := make([]string, len(boxes))
	for i, box := range boxes {
		lines[i] = box.name + " = " + e.literal(n.args[box.arg])
	}
	e.add(strings.Join(lines, "\n"))
	inside, outside := map[Arg]bool{}, map[Arg]bool{}
	for i, a := range n.args {
		set := outside
		if slices.Contains(indices, i) {
			set = inside
		}
		Walk(a, func(leaf Arg) {
			if m, ok := leaf.(*Node); ok {
				set[m] = true
			}
		})
	}
	for _, k := range n.kwargs {
		Walk(k.Value, func(leaf Arg) {
			if m, ok := leaf.(*Node); ok {
				outside[m] = true
			}
		})
	}
	var now []*Node
	for _, m := range dead {
		if inside[m] && !outside[m] {
			now = append(now, m)
		} else {
			left = append(left, m)
		}
	}
	if now != nil {
		e.add(";  " + e.dim(e.releaseText(now)))
	}
	e.add("\n")
	return boxes, left
}

func (e *emitter) boxedCall(n *Node, boxes []box) string {
	texts := make([]string, 0, len(n.args)+len(n.kwargs))
	for _, a := range n.args {
		texts = append(texts, e.literal(a))
	}
	for _, box := range boxes {
		texts[box.arg] = box.name
	}
	for _, k := range n.kwargs {
		texts = append(texts, string(e.keyword(nil, k)))
	}
	return strings.Join(texts, ", ")
}

// fill appends form with the arguments of n in its places; more than it has
// places for are dropped, as Python's format does, but asked for their names.
func (e *emitter) fill(dst []byte, n *Node, form string) []byte {
	for i := 0; ; i++ {
		before, after, more := strings.Cut(form, "{}")
		dst = append(dst, before...)
		if !more {
			for _, a := range n.args[min(i, len(n.args)):] {
				e.literal(a)
			}
			return dst
		}
		if i >= len(n.args) {
			e.fail(n, fmt.Sprintf("expected more than %d arguments for an operator", len(n.args)))
			return dst
		}
		dst = e.value(dst, n.args[i])
		form = after
	}
}

func (e *emitter) arguments(dst []byte, args []Arg, kwargs []Keyword) []byte {
	for i, a := range args {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = e.value(dst, a)
	}
	for i, k := range kwargs {
		if i > 0 || len(args) > 0 {
			dst = append(dst, ", "...)
		}
		dst = e.keyword(dst, k)
	}
	return dst
}

func (e *emitter) keyword(dst []byte, k Keyword) []byte {
	if !isIdentifier(k.Name) {
		e.fail(e.at, fmt.Sprintf("keyword %q: expected an identifier", k.Name))
	}
	return e.value(append(append(dst, k.Name...), " = "...), k.Value)
}

// value appends a value as source.
func (e *emitter) value(dst []byte, a Arg) []byte {
	switch a := a.(type) {
	case *Node:
		return append(dst, e.local(a)...)
	case Int:
		if !e.cfg.colored {
			return strconv.AppendInt(dst, int64(a), 10)
		}
	case Tuple:
		if len(a.items) == 1 {
			return append(e.value(append(dst, '('), a.items[0]), ",)"...)
		}
		return append(e.arguments(append(dst, '('), a.items, nil), ')')
	case List:
		return append(e.arguments(append(dst, '['), a.items, nil), ']')
	case Slice:
		return append(e.arguments(append(dst, "slice("...), []Arg{a.Start, a.Stop, a.Step}, nil), ')')
	}
	return append(dst, e.literal(a)...)
}

// literal is value as a string. Dicts are written by repr with all that is in
// them, and so is the inside of a namedtuple, as torch.fx does; only where repr
// would give no Python (<Color.RED: 1>) they are walked like lists.
func (e *emitter) literal(a Arg) string {
	switch a := a.(type) {
	case *Node:
		return e.local(a)
	case Tuple, List, Slice:
		return string(e.value(nil, a))
	case NamedTuple:
		class := e.global(a.Type.pythonName())
		if noPython(a) {
			return class + e.literal(Tuple{a.seq})
		}
		return class + reprWith(Tuple{a.seq}, e.name)
	case Dict:
		if noPython(a) {
			return e.dict(a)
		}
	case *Func:
		return e.global(a.pythonName())
	case Enum:
		return e.globalAs(a.Class.Base(), Global{Object: a.Class.pythonName()}) + "." + a.Member
	case Complex:
		if re, im := real(a), imag(a); re == 0 || im == 0 || !finite(re) || !finite(im) {
			return "complex(" + e.literal(Float(re)) + ", " + e.literal(Float(im)) + ")"
		}
	case Opaque:
		if t, ok := a.Value.(TensorLike); ok {
			return tensorText(t)
		}
	}
	return e.blue(reprWith(a, e.name))
}

// noPython reports whether a container holds a value whose repr is no Python.
func noPython(a Arg) bool {
	found := false
	Walk(a, func(leaf Arg) {
		switch leaf.(type) {
		case Enum, *Func:
			found = true
		}
	})
	return found
}

func (e *emitter) dict(d Dict) string {
	texts := make([]string, len(d.pairs))
	for i, p := range d.pairs {
		texts[i] = e.literal(p.Key) + ": " + e.literal(p.Value)
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// path writes the attribute at a dotted path below base.
func (e *emitter) path(base, target string) string {
	for piece := range strings.SplitSeq(target, ".") {
		if !isIdentifier(piece) || pythonKeywords[piece] {
			base = "getattr(" + base + `, "` + pathText(piece) + `")`
		} else {
			base += "." + piece
		}
	}
	return base
}

// pathText escapes what would end or break the double-quoted text of a path.
func pathText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s)
}

// isIdentifier is Python's str.isidentifier.
func isIdentifier(s string) bool {
	for i, r := range s {
		if r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) {
			continue
		}
		if i > 0 && (unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r) || unicode.Is(unicode.Pc, r)) {
			continue
		}
		return false
	}
	return s != ""
}
