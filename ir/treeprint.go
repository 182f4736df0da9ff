package ir

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
)

// JSON returns the text that PyTorch writes for t, byte for byte where t was
// read from such a text. It is an error if a key has no JSON form.
func (t *TreeSpec) JSON() (string, error) {
	b, err := t.appendJSON([]byte("[1, "))
	return string(append(b, ']')), err
}

func (t *TreeSpec) appendJSON(b []byte) ([]byte, error) {
	if t.IsLeaf() {
		return append(b, `{"type": null, "context": null, "children_spec": []}`...), nil
	}
	context, err := t.contextJSON()
	if err != nil {
		return b, err
	}
	b = append(append(b, `{"type": `...), jsonQuote(t.Type)...)
	b = append(append(b, `, "context": `...), context...)
	b = append(b, `, "children_spec": [`...)
	for i, c := range t.Children {
		if i > 0 {
			b = append(b, ", "...)
		}
		if b, err = c.appendJSON(b); err != nil {
			return b, err
		}
	}
	return append(b, "]}"...), nil
}

func (t *TreeSpec) contextJSON() (string, error) {
	switch {
	case t.Context != "":
		return t.Context, nil
	case t.Type == treeNamedTuple:
		return jsonQuote(t.Class), nil
	case t.isDict():
		keys, err := jsonKeys(t.Keys)
		if t.Type == treeDefaultDict {
			return `{"default_factory_module": "builtins", "default_factory_name": "list", "dict_context": ` + keys + "}", err
		}
		return jsonQuote(keys), err
	case t.isSequence() || t.Fields == nil:
		return `"null"`, nil
	}
	return jsonQuote("[" + jsonStrings(t.Fields) + ", " + jsonStrings(t.Absent) + "]"), nil
}

func jsonStrings(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = jsonQuote(n)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func jsonKeys(keys []any) (string, error) {
	parts := make([]string, len(keys))
	for i, key := range keys {
		switch k := key.(type) {
		case nil:
			parts[i] = "null"
		case string:
			parts[i] = jsonQuote(k)
		case bool:
			parts[i] = strconv.FormatBool(k)
		case int:
			parts[i] = strconv.Itoa(k)
		case int64:
			parts[i] = strconv.FormatInt(k, 10)
		case float64:
			if math.IsNaN(k) || math.IsInf(k, 0) {
				return "", Errorf(ErrUnsupported, "tree spec: key %v has no JSON form", k)
			}
			parts[i] = floatRepr(k, true)
		case PyEnum:
			parts[i] = `{"__enum__": true, "fqn": ` + jsonQuote(k.Class) + `, "name": ` + jsonQuote(k.Name) + "}"
		default:
			return "", Errorf(ErrUnsupported, "tree spec: a key of type %T has no JSON form", key)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]", nil
}

// jsonQuote quotes as Python's json.dumps does: ASCII only.
func jsonQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case strings.ContainsRune("\n\r\t\b\f", r):
			b.WriteByte('\\')
			b.WriteByte("nrtbf"[strings.IndexRune("\n\r\t\b\f", r)])
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			b.WriteString(jsonEscape(hi) + jsonEscape(lo))
		default:
			b.WriteString(jsonEscape(r))
		}
	}
	b.WriteByte('"')
	return b.String()
}

func jsonEscape(r rune) string {
	hex := strconv.FormatInt(int64(r), 16)
	return `\u` + strings.Repeat("0", 4-len(hex)) + hex
}

// String returns Python's repr of the tree, with the registered names of
// classes: "TreeSpec(tuple, None, [*,\n  *])".
func (t *TreeSpec) String() string {
	var b strings.Builder
	t.print(&b, 0)
	return b.String()
}

func (t *TreeSpec) print(b *strings.Builder, indent int) {
	if t.IsLeaf() {
		b.WriteByte('*')
		return
	}
	name := t.Type[strings.LastIndexByte(t.Type, '.')+1:]
	b.WriteString("TreeSpec(" + name + ", " + t.contextText() + ", [")
	for i, c := range t.Children {
		if i > 0 {
			b.WriteString(",\n" + strings.Repeat(" ", indent+2))
		}
		c.print(b, indent+2)
	}
	b.WriteString("])")
}

func (t *TreeSpec) contextText() string {
	switch {
	case t.Type == treeNamedTuple:
		return "<class '" + t.Class + "'>"
	case t.Type == treeDefaultDict:
		return "[<class 'list'>, " + keysText(t.Keys) + "]"
	case t.isDict():
		return keysText(t.Keys)
	case t.Type == treeDeque && t.Context != "":
		return strings.ReplaceAll(strings.Trim(t.Context, `"`), "null", "None")
	case !t.isSequence() && t.Fields != nil:
		return "[" + Repr(strList(t.Fields)) + ", " + Repr(strList(t.Absent)) + "]"
	}
	return "None"
}

func strList(names []string) List {
	items := make([]Arg, len(names))
	for i, n := range names {
		items[i] = Str(n)
	}
	return ListOf(items...)
}

func keysText(keys []any) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = keyText(k)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// keyText is Python's repr of a key.
func keyText(key any) string {
	switch k := key.(type) {
	case nil:
		return "None"
	case string:
		return Repr(Str(k))
	case int:
		return strconv.Itoa(k)
	case int64:
		return strconv.FormatInt(k, 10)
	case float64:
		return Repr(Float(k))
	case bool:
		return boolText(k)
	case PyEnum:
		return "<" + k.Class[strings.LastIndexByte(k.Class, ':')+1:] + "." + k.Name + ">"
	}
	return "?"
}
