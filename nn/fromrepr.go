package nn

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// FromRepr makes a module of torch.nn from its class, "Linear" or
// "torch.nn.modules.linear.Linear", and Python's repr of it, as a saved folder
// has it. Its tensors are new: load a state dict into them.
//
// What a repr leaves out takes the constructor's default, or comes as an option:
// the repr of a MultiheadAttention does not tell num_heads, for instance, and
// the repr of a loss tells nothing. Containers are made with what is in them.
func FromRepr(class, repr string, options ...Option) (Module, error) {
	name := class[strings.LastIndexByte(class, '.')+1:]
	left := reprAllowance
	if name == "ParameterList" || name == "ParameterDict" {
		return heldFromRepr(name, repr, &left)
	}
	r, err := parseRepr(repr)
	if err != nil {
		return nil, err
	}
	if r.class != name {
		return nil, ir.Errorf(ir.ErrValue, "repr of %s: expected %s(…), got %s(…)", class, name, r.class)
	}
	return r.module(class, options, &left)
}

var reprAllowance = allowance{modules: 100_000, elements: 1 << 32}

// An allowance bounds what a repr may ask for, as a short one may ask for much.
type allowance struct{ modules, elements int }

// take counts a module of a class, which is made without memory first.
func (a *allowance) take(class string, args []any, kw []Option) error {
	if a.modules--; a.modules < 0 {
		return ir.Errorf(ir.ErrValue, "repr: expected at most 100000 modules")
	}
	empty, err := New(class, args, append(without(append([]Option(nil), kw...), "device"), WithDevice(ir.NewDevice(ir.DeviceMeta, -1)))...)
	if err != nil {
		return err
	}
	given := map[*torch.Tensor]bool{} // what stays the caller's
	for _, o := range kw {
		switch v := o.Value.(type) {
		case *torch.Tensor:
			given[v] = true
		case Module:
			for _, t := range StateDict(v) {
				given[t] = true
			}
		}
	}
	for _, t := range StateDict(empty) {
		if given[t] {
			continue
		}
		if n := t.Numel(); n > a.elements {
			return ir.Errorf(ir.ErrValue, "repr of %s: expected at most 2^32 parameters in all", class)
		} else {
			a.elements -= n
		}
		_ = t.Close()
	}
	return nil
}

// reprTensor is a line of the repr of a ParameterList or ParameterDict.
var reprTensor = regexp.MustCompile(`\(([^()\n]+)\): (?:Parameter|Tensor) containing: \[torch\.(?:cuda\.)?(\w+) of size ([0-9x]*)`)

// heldFromRepr makes the parameters that a repr tells of, all zeros.
func heldFromRepr(class, repr string, left *allowance) (Module, error) {
	found := reprTensor.FindAllStringSubmatch(repr, -1)
	if !strings.HasPrefix(repr, class+"(") || len(found) != strings.Count(repr, " containing: ") {
		return nil, ir.Errorf(ir.ErrSyntax, "repr %q: expected a %s of tensors", shorten(repr), class)
	}
	var tensors held
	for _, m := range found {
		dt, err := ir.ParseDType(m[2])
		for candidate, name := range storageNames {
			if name+"Tensor" == m[2] {
				dt, err = candidate, nil
			}
		}
		if err != nil {
			return nil, err
		}
		shape, elements := []int{}, 1
		for text := range strings.SplitSeq(m[3], "x") {
			if text == "" {
				continue
			}
			n, err := strconv.Atoi(text)
			if err != nil || n > 0 && elements > left.elements/n {
				return nil, ir.Errorf(ir.ErrValue, "repr of %s: expected at most 2^32 parameters in all", class)
			}
			elements *= max(n, 1)
			shape = append(shape, n)
		}
		left.elements -= elements
		zeros, err := torch.Call("aten::zeros", shape, torch.Kw("dtype", dt))
		if err != nil {
			return nil, err
		}
		t, err := NewParameter(zeros.(*torch.Tensor))
		if err != nil {
			return nil, err
		}
		tensors = append(tensors, named{m[1], t})
	}
	if class == "ParameterList" {
		return &ParameterList{tensors: tensors}, nil
	}
	return &ParameterDict{tensors: tensors}, nil
}

// A reprNode is a repr, read: class, arguments and children.
type reprNode struct {
	class    string
	args     []any
	kw       []Option
	children []reprChild
}

type reprChild struct {
	name string
	node *reprNode
}

func (r *reprNode) module(class string, options []Option, left *allowance) (Module, error) {
	switch r.class {
	case "Sequential", "ModuleList", "ModuleDict":
		if left.modules--; left.modules < 0 {
			return nil, ir.Errorf(ir.ErrValue, "repr: expected at most 100000 modules")
		}
		list := make([]Child, len(r.children))
		for i, c := range r.children {
			m, err := c.node.module(c.node.class, nil, left)
			if err != nil {
				return nil, ir.Errorf(ir.ErrUnsupported, "%s: %w", c.name, err)
			}
			if _, ok := m.(Layer); r.class == "Sequential" && !ok {
				return nil, ir.Errorf(ir.ErrType, "%s: expected a module of one tensor and one result in a Sequential, got %T", c.name, m)
			}
			list[i] = Child{c.name, m}
		}
		switch r.class {
		case "Sequential":
			return NewSequentialOf(list...), nil
		case "ModuleDict":
			return NewModuleDict(list...), nil
		}
		return &ModuleList{children: children{list}}, nil
	}
	if classes()[r.class] == nil {
		return nil, ir.Errorf(ir.ErrUnsupported, "no layer of class %s", class)
	}
	kw := append([]Option(nil), r.kw...)
	for _, fixed := range classes()[r.class].Set { // printed, but no argument
		kw = without(kw, fixed.Name)
	}
	if r.class == "MultiheadAttention" { // its own arguments are in no repr, those of its child are
		for _, c := range r.children {
			for _, k := range c.node.kw {
				switch k.Name {
				case "out_features":
					kw = append(kw, Option{Name: "embed_dim", Value: k.Value})
				case "bias":
					kw = append(kw, k)
				}
			}
		}
	}
	for _, o := range options {
		kw = without(kw, o.Name)
		kw = append(kw, o)
	}
	if err := left.take(class, r.args, kw); err != nil {
		return nil, err
	}
	return New(class, r.args, kw...)
}

func without(kw []Option, name string) []Option {
	out := kw[:0]
	for _, k := range kw {
		if k.Name != name {
			out = append(out, k)
		}
	}
	return out
}

// maxReprDepth bounds how deep modules and tuples may stand in each other.
const maxReprDepth = 100

// A reprParser reads the text of a repr.
type reprParser struct {
	text  string
	at    int
	depth int
}

func parseRepr(text string) (*reprNode, error) {
	if len(text) > 1<<20 {
		return nil, ir.Errorf(ir.ErrSyntax, "repr: expected at most 1 MiB, got %d bytes", len(text))
	}
	p := &reprParser{text: text}
	p.space()
	r, err := p.node()
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at != len(text) {
		return nil, p.fail("the end")
	}
	return r, nil
}

func (p *reprParser) fail(want string) error {
	return ir.Errorf(ir.ErrSyntax, "repr %q: at %d: expected %s", shorten(p.text), p.at, want)
}

func shorten(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

func (p *reprParser) space() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\n') {
		p.at++
	}
}

func (p *reprParser) take(s string) bool {
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

// word takes letters, digits, underscores and dots.
func (p *reprParser) word() string {
	start := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c != '_' && c != '.' && c != '+' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			break
		}
		p.at++
	}
	return p.text[start:p.at]
}

func (p *reprParser) node() (*reprNode, error) {
	if p.depth++; p.depth > maxReprDepth {
		return nil, p.fail("modules less than 100 deep in each other")
	}
	defer func() { p.depth-- }()
	r := &reprNode{class: p.word()}
	if r.class == "" || !p.take("(") {
		return nil, p.fail("Class(")
	}
	for {
		p.space()
		p.take(",")
		p.space()
		switch {
		case p.take(")"):
			return r, nil
		case p.at >= len(p.text):
			return nil, p.fail("a closing bracket")
		}
		if more, err := p.child(r); err != nil {
			return nil, err
		} else if more {
			continue
		}
		start := p.at
		if name := p.word(); name != "" && p.take("=") {
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			r.kw = append(r.kw, Option{Name: name, Value: v})
			continue
		}
		p.at = start
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		r.args = append(r.args, v)
	}
}

// child takes "(name): repr" or, in a ModuleList, "(0-3): 4 x repr".
func (p *reprParser) child(r *reprNode) (bool, error) {
	rest := p.text[p.at:]
	end := strings.Index(rest, "): ")
	if rest[0] != '(' || end < 0 || strings.ContainsAny(rest[1:end], "(,\n ") {
		return false, nil
	}
	name := rest[1:end]
	p.at += end + len("): ")
	first, last, many := strings.Cut(name, "-")
	count := 1
	low, errLow := strconv.Atoi(first)
	if high, errHigh := strconv.Atoi(last); many && errLow == nil && errHigh == nil {
		if count = high - low + 1; count < 1 || count > 10000 || !p.take(strconv.Itoa(count)+" x ") {
			return false, p.fail("as many modules as the range has")
		}
	}
	node, err := p.node()
	if err != nil {
		return false, err
	}
	for i := range count {
		if count > 1 {
			name = strconv.Itoa(low + i)
		}
		r.children = append(r.children, reprChild{name, node})
	}
	return true, nil
}

// value takes a literal: a number, True, False, None, a string with or without
// quotes, a tuple or a list.
func (p *reprParser) value() (any, error) {
	if p.depth++; p.depth > maxReprDepth {
		return nil, p.fail("tuples less than 100 deep in each other")
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("("):
		return p.items(")")
	case p.take("["):
		return p.items("]")
	case p.take("'"):
		end := strings.IndexByte(p.text[p.at:], '\'')
		if end < 0 {
			return nil, p.fail("a closing quote")
		}
		s := p.text[p.at : p.at+end]
		p.at += end + 1
		return s, nil
	}
	switch w := p.word(); w {
	case "":
		return nil, p.fail("a value")
	case "None":
		return nil, nil
	case "True", "False":
		return w == "True", nil
	default:
		if n, err := strconv.ParseInt(w, 10, 64); err == nil {
			return n, nil
		}
		if x, err := strconv.ParseFloat(w, 64); err == nil {
			return x, nil
		}
		return w, nil // extra_repr writes some strings bare
	}
}

func (p *reprParser) items(end string) (any, error) {
	items := []any{}
	for {
		p.space()
		p.take(",")
		p.space()
		if p.take(end) {
			return items, nil
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
}
