package ir

import "strings"

// A node's type annotation is the text that Python's repr gives for the type
// object, as format_node prints it. Generated code prints another form, in
// which modules become globals; the functions here derive it. Follows type_repr
// in torch/fx/graph.py.

// typingOrigins are the names in Python's typing module whose __origin__ is a
// class elsewhere; generated code names that class. list, dict, set, frozenset
// and tuple are written with their typing name when they have arguments.
var typingOrigins = map[string]string{
	"List": "list", "Dict": "dict", "Set": "set", "FrozenSet": "frozenset", "Tuple": "tuple", "Type": "type",
	"Deque": "collections.deque", "DefaultDict": "collections.defaultdict", "OrderedDict": "collections.OrderedDict",
	"Counter": "collections.Counter", "ChainMap": "collections.ChainMap", "Sequence": "collections.abc.Sequence",
	"MutableSequence": "collections.abc.MutableSequence", "Mapping": "collections.abc.Mapping",
	"MutableMapping": "collections.abc.MutableMapping", "Iterable": "collections.abc.Iterable",
	"Iterator": "collections.abc.Iterator", "Collection": "collections.abc.Collection",
	"Container": "collections.abc.Container", "Generator": "collections.abc.Generator",
	"AbstractSet": "collections.abc.Set", "MutableSet": "collections.abc.MutableSet",
}

// keepsTypingName are the origins of which generated code writes the typing name.
var keepsTypingName = map[string]bool{"List": true, "Dict": true, "Set": true, "FrozenSet": true, "Tuple": true}

// annotation returns the text of a type in generated code; global names an
// object by its qualified name. depth bounds the nesting.
func annotation(t string, global func(qualified string) string) string {
	t = strings.TrimSpace(t)
	if t == "()" {
		return "()"
	}
	if dims, ok := strings.CutPrefix(t, "TensorType[("); ok && strings.HasSuffix(dims, ")]") {
		return tensorTypeAnnotation(dims[:len(dims)-2], global)
	}
	if parts := splitTop(t, '|'); len(parts) > 1 {
		return joinAnnotations(global("typing.Union"), parts, global)
	}
	name, inside, generic := strings.Cut(t, "[")
	if generic && strings.HasSuffix(inside, "]") && !strings.ContainsAny(name, "'\"(") {
		inside = inside[:len(inside)-1]
	} else if generic {
		return global(t) // no type of the typing module: taken as one name
	}
	short, typing := strings.CutPrefix(name, "typing.")
	origin, hasOrigin := typingOrigins[short]
	switch {
	case typing && short == "Callable":
		// torch.fx fails to build such a module; the whole text becomes one name
		return global(t)
	case !generic && typing && hasOrigin:
		return global(origin)
	case !generic:
		return global(t)
	case typing && short == "Optional":
		return joinAnnotations(global("typing.Union"), []string{inside, "NoneType"}, global)
	case typing && hasOrigin && !keepsTypingName[short]:
		name = origin
	}
	if inside == "()" {
		return global(name)
	}
	return joinAnnotations(global(name), splitTop(inside, ','), global)
}

func joinAnnotations(origin string, args []string, global func(string) string) string {
	texts := make([]string, len(args))
	for i, a := range args {
		if a = strings.TrimSpace(a); a == "None" {
			a = "NoneType"
		}
		texts[i] = annotation(a, global)
	}
	return origin + "[" + strings.Join(texts, ",") + "]"
}

// tensorTypeAnnotation is the text of torch.fx's TensorType((1, 2, Dyn)), whose
// dimensions become globals like types.
func tensorTypeAnnotation(dims string, global func(string) string) string {
	origin := global("torch.fx.tensor_type.TensorType")
	var texts []string
	for _, d := range strings.Split(strings.TrimSuffix(dims, ","), ",") {
		if d = strings.TrimSpace(d); d == "Dyn" {
			d = "torch.fx.tensor_type._DynType"
		}
		texts = append(texts, global(d))
	}
	return origin + "[" + strings.Join(texts, ",") + "]"
}

// splitTop cuts s at each sep that is in no bracket and no string, and trims
// the parts.
func splitTop(s string, sep byte) []string {
	var parts []string
	depth, start, quote := 0, 0, byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		case c == sep && depth == 0:
			parts = append(parts, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	return append(parts, strings.TrimSpace(s[start:]))
}
