package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// A group is the overloads of a function that return the same: one Go function.
type group struct {
	form
	signatures []signature
}

// groups orders the forms of a function; the first has its bare name.
func (f *function) groups() (list []group) {
	if f.forms != nil {
		for _, form := range f.forms {
			list = append(list, group{form, f.signatures})
		}
		return list
	}
	for _, s := range f.signatures {
		at := slices.IndexFunc(list, func(g group) bool { return slices.Equal(g.results, s.results.results) })
		if at < 0 {
			at = len(list)
			list = append(list, group{form: s.results})
		}
		list[at].signatures = append(list[at].signatures, s)
	}
	for i := range list[1:] {
		_, overload, _ := strings.Cut(list[i+1].signatures[0].op, ".")
		list[i+1].suffix = upper(strings.ToLower(overload))
	}
	return list
}

// params are those that all overloads have in their places, and whether there are
// more.
func (g *group) params(method bool) (list []param, more bool) {
	first := g.signatures[0].params
	for i := range first {
		p := first[i]
		for _, s := range g.signatures {
			if i >= len(s.params) || !s.params[i].required || s.params[i].keyword {
				return list, true
			}
			if s.params[i].typ != p.typ {
				p.typ = "any"
			}
		}
		if p.rest {
			p.typ = "..." + p.typ
		}
		list = append(list, p)
	}
	for _, s := range g.signatures {
		more = more || len(s.params) > len(list)
	}
	return list, more
}

// spread reports whether a list of sizes is all that is given by position.
func (g *group) spread() bool {
	for _, s := range g.signatures {
		if s.op == "" || len(s.params) == 0 || s.params[0].typ != "Ints" || !s.params[0].required || len(s.params) > 1 && !s.params[1].keyword {
			return false
		}
	}
	return true
}

// write writes the Go function.
func (g *group) write(b io.Writer, f *function, t *tables) {
	name := strings.TrimPrefix(f.goName(g.suffix), "Tensor.")
	fmt.Fprintln(b)
	paragraphs := []string{g.doc(f, name, t.docs)}
	if text := f.sentence(t.rulings[f.python]); text != "" {
		paragraphs = append(paragraphs, text)
	}
	for _, text := range paragraphs {
		for _, line := range wrap(text) {
			fmt.Fprintln(b, strings.TrimRight("// "+line, " "))
		}
		fmt.Fprintln(b, "//")
	}
	for _, s := range g.signatures {
		python := f.python
		if f.method {
			python = "x." + f.base
		}
		fmt.Fprintf(b, "//\t%s(%s)\n", python, s.text)
	}
	params, more := g.params(f.method)
	var in, args []string
	if f.method {
		args = append(args, "x")
	}
	options := "nil"
	if g.spread() {
		in, options = []string{lower(params[0].name) + " ...Int"}, lower(params[0].name)
		params, more = nil, false
	}
	for _, p := range params {
		name := lower(p.name)
		in = append(in, name+" "+p.typ)
		switch p.typ {
		case "...any":
			options = name
		case "...*Tensor":
			options = "anys(" + name + ")"
		default:
			args = append(args, name)
		}
	}
	if more {
		in, options = append(in, "options ...any"), "options"
	}
	if len(g.fixed) > 0 { // behind the options, which may be given by position
		var fixed []string
		for _, f := range g.fixed {
			key, value, _ := strings.Cut(f, "=")
			fixed = append(fixed, fmt.Sprintf("Kw(%q, %s)", key, value))
		}
		if !more {
			args = append(args, fixed...)
		} else {
			options = fmt.Sprintf("append(options[:len(options):len(options)]%s)", comma(fixed))
		}
	}
	target, receiver := f.target, ""
	if f.method {
		target, receiver = f.python, "(x *Tensor) "
	}
	call := fmt.Sprintf("(%q, %s%s)", target, options, comma(args))
	text := fmt.Sprintf("func %s%s(%s) %s", receiver, name, merged(in), g.body(call))
	if f.home.pkg != "" {
		text = qualified(text)
	}
	fmt.Fprintln(b, text)
}

func comma(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return ", " + strings.Join(args, ", ")
}

// merged joins parameters of one type: "x, y *Tensor".
func merged(in []string) string {
	for i := 0; i+1 < len(in); i++ {
		name, typ, _ := strings.Cut(in[i], " ")
		if _, next, _ := strings.Cut(in[i+1], " "); next == typ {
			in[i] = name
		}
	}
	return strings.Join(in, ", ")
}

// body returns the results and the body of a call of the name and the arguments.
func (g *group) body(call string) string {
	switch len(g.results) {
	case 0:
		return fmt.Sprintf("{ CallAny%s }", call)
	case 1:
		switch typ := g.results[0]; typ {
		case "any":
			return fmt.Sprintf("any { return CallAny%s }", call)
		case "Tensor":
			return fmt.Sprintf("*Tensor {\nreturn CallTensor%s\n}", call)
		case "Tensors":
			return fmt.Sprintf("Tensors {\nreturn CallTensors%s\n}", call)
		default:
			return fmt.Sprintf("%s {\nreturn As[%s](CallAny%s)\n}", typ, typ, call)
		}
	}
	var results, parts []string
	for i, name := range g.names {
		if name == "" {
			name = "_"
		} else {
			name = lower(name)
		}
		results = append(results, name+" *Tensor")
		parts = append(parts, fmt.Sprintf("list.At(%d)", i))
	}
	if n := len(results); n <= 4 {
		return fmt.Sprintf("(%s) {\nreturn CallTensors%d%s\n}", merged(results), n, call)
	}
	return fmt.Sprintf("(%s) {\nlist := CallTensors%s\nreturn %s\n}", merged(results), call, strings.Join(parts, ", "))
}

var ofTorch = regexp.MustCompile(`\b(Tensors|Tensor|SymInt|SymBool|Seq|DType|Device|Layout|MemoryFormat|Generator|Ints|Int|As|Kw|CallAny|CallTensor|CallTensors[234]?)\b`)

// qualified names what is in torchops from another package.
func qualified(text string) string { return ofTorch.ReplaceAllString(text, "torch.$1") }

var (
	word = regexp.MustCompile(`\b(self|input)\b`)
)

// doc says what the function does, in words of PyTorch's documentation where it
// has some, and how the form is chosen.
func (g *group) doc(f *function, name string, docs map[string]string) string {
	text := docs[f.python]
	if f.method {
		if text == "" {
			text = docs["torch."+f.base]
		}
		text = word.ReplaceAllString(text, "x")
	}
	target := f.python
	if f.method {
		target = "the method " + f.base
	}
	if len(g.fixed) > 0 {
		target += " with " + strings.Join(g.fixed, " and ")
	} else if g.suffix != "" {
		// what the documentation says first is of the other form
		if names := strings.Join(g.names, " and "); strings.Trim(names, "and ") != "" {
			return name + " is " + target + " in the form that returns " + names + "."
		}
		return name + " is " + target + " in the form that returns " + strings.Join(g.results, " and ") + "."
	}
	if text == "" {
		return name + " is " + target + "."
	}
	if len(text) > 1 && text[1] >= 'a' && text[1] <= 'z' || strings.HasPrefix(text, "A ") {
		text = strings.ToLower(text[:1]) + text[1:]
	}
	return name + " is " + target + ": " + text
}

// wrap breaks text into lines of a comment.
func wrap(text string) (lines []string) {
	line := ""
	for w := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(w)) > 77 {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}
