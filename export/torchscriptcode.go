package export

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A scriptType is what the source of a class says of it.
type scriptType struct {
	module              bool
	parameters, buffers map[string]bool
	tellsBuffers        bool // since torch 1.5; before, every other tensor was one
	methods             []ScriptMethod
}

// scriptClasses are the classes of a file by their qualified names.
type scriptClasses map[string]scriptType

// readCode reads the sources: code/__torch__/a/b.py has the classes __torch__.a.b.*.
// The text is what TorchScript's printer writes, torch/csrc/jit/serialization/python_print.cpp:
// a class at the beginning of a line, its fields and methods indented by two spaces.
func (r *scriptReader) readCode(a *archive) error {
	r.classes, r.Calls, r.Sources = scriptClasses{}, map[string]int{}, map[string]string{}
	left := int64(maxScriptCode)
	for _, name := range a.below("code/") {
		module, ok := strings.CutSuffix(strings.TrimPrefix(name, "code/"), ".py")
		if !ok {
			continue // where lines of the source came from
		}
		text, err := a.text(name, left)
		if err != nil {
			return err
		}
		left -= int64(len(text))
		if !utf8.Valid(text) {
			r.Warnings = append(r.Warnings, "record "+name+": expected source in UTF-8, got other bytes")
			continue
		}
		source := string(text)
		r.Sources[module+".py"] = source
		r.classes.read(strings.ReplaceAll(module, "/", "."), source)
		countScriptCalls(source, r.Calls)
		for _, m := range scriptAssign.FindAllStringSubmatch(source, -1) {
			r.assigned[m[1]] = true
		}
	}
	return nil
}

// scriptAssign is a line that sets an attribute: self.count = torch.add_(count, 1).
var scriptAssign = regexp.MustCompile(`(?m)^ +[A-Za-z_][\w.]*\.(\w+) = `)

// read notes the classes in a source.
func (c scriptClasses) read(module, source string) {
	var name string
	var class scriptType
	note := func() {
		if name != "" {
			c[module+"."+name] = class
		}
	}
	at := 0
	for line := range strings.Lines(source) {
		rest := source[at:]
		at += len(line)
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "class "):
			note()
			var base string
			name, base, _ = strings.Cut(strings.TrimSuffix(strings.TrimPrefix(line, "class "), ":"), "(")
			class = scriptType{module: base == "Module)"}
		case line != "" && line[0] != ' ':
			note()
			name = ""
		case strings.HasPrefix(line, "  __parameters__ = "):
			class.parameters = scriptNames(line)
		case strings.HasPrefix(line, "  __buffers__ = "):
			class.buffers, class.tellsBuffers = scriptNames(line), true
		case strings.HasPrefix(line, "  def "):
			if m, ok := scriptMethod(strings.TrimPrefix(rest, "  def ")); ok {
				class.methods = append(class.methods, m)
			}
		}
	}
	note()
}

// scriptNames are the strings in a list: ["weight", "bias", ].
func scriptNames(line string) map[string]bool {
	names := map[string]bool{}
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			names[part] = true
		}
	}
	return names
}

// scriptMethod reads "forward(self: T,\n    x: Tensor) -> Tensor:" at the start of text.
func scriptMethod(text string) (m ScriptMethod, ok bool) {
	open := strings.IndexByte(text, '(')
	if open < 0 || !isIdentifier(text[:open]) {
		return m, false
	}
	m.Name = text[:open]
	parts, n := scriptParts(text[open+1:])
	rest, ok := strings.CutPrefix(text[min(open+1+n, len(text)):], ") -> ")
	if !ok {
		return m, false
	}
	line, _, _ := strings.Cut(rest, "\n")
	if m.Return, ok = strings.CutSuffix(line, ":"); !ok {
		return m, false
	}
	for i, part := range parts {
		name, kind, _ := strings.Cut(part, ":")
		if name = strings.TrimSpace(name); i == 0 || name == "" {
			continue // self, or the comma at the end
		}
		a := ScriptArg{Name: name, Type: strings.TrimSpace(kind)}
		if t, value, ok := strings.Cut(a.Type, "="); ok {
			a.Type, a.Default = t, value
		}
		m.Args = append(m.Args, a)
	}
	return m, true
}

// scriptParts splits text at the commas outside brackets and strings, up to the bracket
// that closes, which n is the place of.
func scriptParts(text string) (parts []string, n int) {
	begin, depth := 0, 0
	for n < len(text) {
		switch text[n] {
		case '"', '\'':
			n += scriptString(text[n:])
			continue
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				return append(parts, text[begin:n]), n
			}
			depth--
		case ',':
			if depth == 0 {
				parts, begin = append(parts, text[begin:n]), n+1
			}
		}
		n++
	}
	return append(parts, text[begin:]), n
}

// scriptString is how long the string is that text begins with.
func scriptString(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}

// countScriptCalls counts the calls of operators: torch.relu(…) is aten::relu,
// ops.quantized.linear(…) is quantized::linear. Source shows neither overloads nor how
// often a line runs.
func countScriptCalls(source string, calls map[string]int) {
	for i := 0; i < len(source); {
		switch c := source[i]; {
		case c == '"' || c == '\'':
			i += scriptString(source[i:])
		case isWordByte(c):
			end := i
			for end < len(source) && (isWordByte(source[end]) || source[end] == '.') {
				end++
			}
			member := i > 0 && source[i-1] == '.'
			if name, ok := scriptOperator(source[i:end]); ok && !member && end < len(source) && source[end] == '(' {
				calls[name]++
			}
			i = end
		default:
			i++
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// scriptOperator is the operator that a dotted name in source stands for.
func scriptOperator(name string) (string, bool) {
	parts := strings.Split(name, ".")
	switch {
	case len(parts) == 2 && parts[0] == "torch" && parts[1] != "device":
		return "aten::" + parts[1], true
	case len(parts) == 3 && parts[0] == "ops":
		return parts[1] + "::" + parts[2], true
	}
	return "", false
}

// constantName is how code names a constant.
func constantName(i int) string { return fmt.Sprintf("CONSTANTS.c%d", i) }
