package ir

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Bounds on a tree's text.
const (
	maxTreeText  = 1 << 21
	maxTreeDepth = 200
)

// The types of nodes that Python knows without registration.
const (
	treeTuple         = "builtins.tuple"
	treeList          = "builtins.list"
	treeDict          = "builtins.dict"
	treeNamedTuple    = "collections.namedtuple"
	treeOrderedDict   = "collections.OrderedDict"
	treeDefaultDict   = "collections.defaultdict"
	treeDeque         = "collections.deque"
	treeImmutableList = "torch.fx.immutable_collections.immutable_list"
	treeImmutableDict = "torch.fx.immutable_collections.immutable_dict"
	treeSize          = "torch.Size"
	treeReturnTypes   = "torch.return_types." // and the name of a function
)

// A TreeSpec is the structure of nested Python containers: where the leaves of
// a program's inputs and outputs belong. Same as torch.utils._pytree.TreeSpec.
// It is not changed once made, and safe for concurrent use then.
type TreeSpec struct {
	Type     string      // "" for a leaf, else the registered name: "builtins.tuple"
	Class    string      // of a namedtuple: the registered name of its class
	Keys     []any       // of a dict: one a child, a string, int64, float64, bool, nil or PyEnum
	Fields   []string    // of a namedtuple or dataclass: one a child; nil where the file does not tell
	Absent   []string    // of a dataclass: the fields that are None and have no child
	Context  string      // JSON text of the context as the file has it; "" has it made of the above
	Children []*TreeSpec // one a value
}

// Leaf returns the structure of a single value.
func Leaf() *TreeSpec { return &TreeSpec{} }

// TupleSpec returns the structure of a tuple.
func TupleSpec(items ...*TreeSpec) *TreeSpec { return &TreeSpec{Type: treeTuple, Children: items} }

// ListSpec returns the structure of a list.
func ListSpec(items ...*TreeSpec) *TreeSpec { return &TreeSpec{Type: treeList, Children: items} }

// DictSpec returns the structure of a dict with string keys.
func DictSpec(keys []string, values ...*TreeSpec) *TreeSpec {
	t := &TreeSpec{Type: treeDict, Keys: []any{}, Children: values}
	for _, k := range keys {
		t.Keys = append(t.Keys, k)
	}
	return t
}

// IsLeaf reports whether t stands for one value.
func (t *TreeSpec) IsLeaf() bool { return t.Type == "" }

// isSequence, isDict and isObject tell how values of the node look in Go.
func (t *TreeSpec) isSequence() bool {
	switch t.Type {
	case treeTuple, treeList, treeDeque, treeImmutableList, treeSize:
		return true
	}
	return strings.HasPrefix(t.Type, treeReturnTypes)
}

func (t *TreeSpec) isDict() bool {
	return t.Type == treeDict || t.Type == treeOrderedDict || t.Type == treeDefaultDict || t.Type == treeImmutableDict
}

// className returns the registered name of the class whose instances a node
// stands for.
func (t *TreeSpec) className() string {
	if t.Type == treeNamedTuple {
		return t.Class
	}
	return t.Type
}

// NumLeaves returns the number of leaves below t, 1 for a leaf.
func (t *TreeSpec) NumLeaves() int {
	if t.IsLeaf() {
		return 1
	}
	n := 0
	for _, c := range t.Children {
		n += c.NumLeaves()
	}
	return n
}

// treeJSON is a node in the text.
type treeJSON struct {
	Type     *string         `json:"type"`
	Context  json.RawMessage `json:"context"`
	Children []treeJSON      `json:"children_spec"`
}

// ParseTreeSpec reads the text that torch.utils._pytree.treespec_dumps writes,
// protocol 1, as .pt2 files hold it. namedtupleFields gives the names of the
// fields by class (treespec_namedtuple_fields of the file), which the text
// lacks.
//
// A class that is not one of Python's or PyTorch's containers is taken for a
// dataclass where its context lists fields; otherwise its values have an order
// and no names. Errors have class [ErrFormat].
func ParseTreeSpec(text string, namedtupleFields map[string][]string) (*TreeSpec, error) {
	if len(text) > maxTreeText {
		return nil, Errorf(ErrFormat, "tree spec: expected at most %d bytes, got %d", maxTreeText, len(text))
	}
	if depth := jsonDepth(text); depth > 2*maxTreeDepth {
		return nil, Errorf(ErrFormat, "tree spec: expected at most %d levels, got more", maxTreeDepth)
	}
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		return nil, Errorf(ErrFormat, "tree spec: expected [protocol, tree]: %w", err)
	}
	if len(parts) != 2 || string(parts[0]) != "1" {
		return nil, Errorf(ErrFormat, "tree spec: expected [1, tree], got %d values and protocol %.20s", len(parts), firstOf(parts))
	}
	var root treeJSON
	if err := json.Unmarshal(parts[1], &root); err != nil {
		return nil, Errorf(ErrFormat, "tree spec: %w", err)
	}
	return root.spec(namedtupleFields)
}

func firstOf(parts []json.RawMessage) string {
	if len(parts) == 0 {
		return "none"
	}
	return string(parts[0])
}

// jsonDepth returns how deep a JSON text nests, without reading it otherwise.
func jsonDepth(text string) (deepest int) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}

func (j *treeJSON) spec(namedtupleFields map[string][]string) (*TreeSpec, error) {
	context := string(j.Context)
	if j.Type == nil {
		if len(j.Children) > 0 || context != "null" && context != "" {
			return nil, Errorf(ErrFormat, "tree spec: expected a leaf without context and children, got %d children and context %.40s", len(j.Children), context)
		}
		return Leaf(), nil
	}
	t := &TreeSpec{Type: *j.Type, Context: context, Children: make([]*TreeSpec, len(j.Children))}
	if t.Type == "" {
		return nil, Errorf(ErrFormat, "tree spec: expected the name of a type, got an empty one")
	}
	if err := t.readContext(namedtupleFields); err != nil {
		return nil, err
	}
	for i := range j.Children {
		child, err := j.Children[i].spec(namedtupleFields)
		if err != nil {
			return nil, err
		}
		t.Children[i] = child
	}
	return t, nil
}

// readContext takes names and keys from the context's text. Most contexts are
// JSON inside a JSON string; a defaultdict's is an object, a namedtuple's the
// name of its class.
func (t *TreeSpec) readContext(namedtupleFields map[string][]string) error {
	n := len(t.Children)
	var inner string
	isString := json.Unmarshal([]byte(t.Context), &inner) == nil && strings.HasPrefix(t.Context, `"`)
	switch {
	case t.Type == treeNamedTuple:
		if !isString {
			return Errorf(ErrFormat, "tree spec: namedtuple: expected the name of its class, got %.40s", t.Context)
		}
		t.Class = inner
		fields, known := namedtupleFields[inner]
		if known && len(fields) != n {
			return Errorf(ErrFormat, "tree spec: namedtuple %s: expected a value for each of its %d fields, got %d", inner, len(fields), n)
		}
		t.Fields = slices.Clone(fields)
	case t.Type == treeDefaultDict:
		var c struct {
			Keys []json.RawMessage `json:"dict_context"`
		}
		if err := json.Unmarshal([]byte(t.Context), &c); err != nil {
			return Errorf(ErrFormat, "tree spec: defaultdict: expected an object with dict_context: %w", err)
		}
		return t.readKeys(c.Keys)
	case t.isDict():
		var keys []json.RawMessage
		if err := json.Unmarshal([]byte(inner), &keys); err != nil {
			return Errorf(ErrFormat, "tree spec: %s: expected a list of keys, got %.40s", t.Type, t.Context)
		}
		return t.readKeys(keys)
	case t.isSequence():
	default:
		var pair [2][]string
		var names []string
		if json.Unmarshal([]byte(inner), &pair) == nil && len(pair[0]) == n {
			t.Fields, t.Absent = pair[0], pair[1]
		} else if json.Unmarshal([]byte(inner), &names) == nil && len(names) == n {
			t.Fields = names
		}
	}
	return nil
}

func (t *TreeSpec) readKeys(keys []json.RawMessage) error {
	if len(keys) != len(t.Children) {
		return Errorf(ErrFormat, "tree spec: %s: expected %d keys for as many values, got %d", t.Type, len(t.Children), len(keys))
	}
	t.Keys = make([]any, len(keys))
	seen := make(map[any]struct{}, len(keys))
	for i, raw := range keys {
		key, err := treeKey(raw)
		if err != nil {
			return err
		}
		if _, twice := seen[key]; twice {
			return Errorf(ErrFormat, "tree spec: %s: expected different keys, got %v twice", t.Type, key)
		}
		seen[key] = struct{}{}
		t.Keys[i] = key
	}
	return nil
}

func treeKey(raw json.RawMessage) (any, error) {
	text := string(raw)
	var key any
	if err := json.Unmarshal(raw, &key); err != nil {
		return nil, Errorf(ErrFormat, "tree spec: key %.40s: %w", text, err)
	}
	switch k := key.(type) {
	case string, bool, nil:
		return key, nil
	case float64:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		if strings.ContainsAny(text, ".eE") {
			return k, nil
		}
	case map[string]any:
		class, _ := k["fqn"].(string)
		name, _ := k["name"].(string)
		if _, enum := k["__enum__"]; enum && class != "" && name != "" {
			return PyEnum{class, name}, nil
		}
	}
	return nil, Errorf(ErrFormat, "tree spec: expected a string, number, truth value, None or enum as key, got %.40s", text)
}
