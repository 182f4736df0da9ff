package passes

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// AnnotateGetItem gives each operator.getitem of a graph the type of the item,
// where the sequence has a type that tells: List[T] and list[T], Tuple[T, ...],
// Tuple[A, B] and their lower-case forms, and the namedtuples in fields, which
// has the types of their fields in order under the qualified name of the class.
// Anything else is left alone. It fails with class ir.ErrAssertion at an index
// beyond the tuple. Follows torch.fx.passes.annotate_getitem_nodes, which does not
// take negative indices.
func AnnotateGetItem(g *ir.Graph, fields map[string][]string) error {
	for _, n := range g.Find(ir.CallFunction, getitem) {
		sequence, ok := n.Arg(0).(*ir.Node)
		index, isInt := n.Arg(1).(ir.Int)
		if !ok || !isInt || sequence.Type() == "" {
			continue
		}
		t, err := itemType(sequence.Type(), int(index), fields)
		if err != nil {
			return ir.Errorf(ir.ErrAssertion, "annotate %s: %w", n, err)
		}
		if t != "" {
			n.SetType(t)
		}
	}
	return nil
}

// itemType returns the type of item i of a sequence, "" where that is not known.
func itemType(t string, i int, fields map[string][]string) (string, error) {
	items, ok := fields[t]
	if !ok {
		name, inside, generic := strings.Cut(t, "[")
		if !generic || !strings.HasSuffix(inside, "]") {
			return "", nil
		}
		items = splitTypes(strings.TrimSuffix(inside, "]"))
		switch strings.TrimPrefix(name, "typing.") {
		case "List", "list":
			if len(items) != 1 {
				return "", ir.Errorf(ir.ErrAssertion, "Expected 1 parameterized type, got %d", len(items))
			}
			return items[0], nil
		case "Tuple", "tuple":
			if len(items) == 2 && items[1] == "..." {
				return items[0], nil
			}
		default:
			return "", nil
		}
	}
	at := i
	if at < 0 {
		at += len(items)
	}
	if at < 0 || at >= len(items) {
		return "", ir.Errorf(ir.ErrAssertion, "Index %d out of range for parameterized_types (len=%d)", i, len(items))
	}
	return items[at], nil
}

// splitTypes cuts a list of types at the commas outside of brackets.
func splitTypes(s string) []string {
	var items []string
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[', '(':
			depth++
		case ']', ')':
			depth--
		case ',':
			if depth == 0 {
				items = append(items, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	return append(items, strings.TrimSpace(s[start:]))
}
