package parity

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// maxSpecDepth bounds the nesting of a structure.
const maxSpecDepth = 64

// parseSpec reads what Python's str of a TreeSpec is, "TreeSpec(tuple, None,
// [*, *])"; nil for None.
func parseSpec(text string) (*ir.TreeSpec, error) {
	if text == "" || text == "None" {
		return nil, nil
	}
	p := &specReader{text: text}
	s, err := p.spec(0)
	if p.skip(); err == nil && p.pos != len(p.text) {
		err = p.fail("the end")
	}
	return s, err
}

type specReader struct {
	text string
	pos  int
}

func (p *specReader) fail(want string) error {
	return ir.Errorf(ir.ErrFormat, "structure %q: expected %s at byte %d", p.text, want, p.pos)
}

func (p *specReader) skip() {
	for p.pos < len(p.text) && strings.IndexByte(" \n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// take reads s if it is next.
func (p *specReader) take(s string) bool {
	if p.skip(); strings.HasPrefix(p.text[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *specReader) spec(depth int) (*ir.TreeSpec, error) {
	switch {
	case depth > maxSpecDepth:
		return nil, p.fail("fewer levels")
	case p.take("*"):
		return ir.Leaf(), nil
	case !p.take("TreeSpec("):
		return nil, p.fail("TreeSpec( or *")
	}
	kind := p.word()
	if !p.take(",") {
		return nil, p.fail("a comma")
	}
	s := &ir.TreeSpec{Type: "builtins." + kind}
	switch kind {
	case "tuple", "list":
		if !p.take("None") {
			return nil, p.fail("None")
		}
	case "immutable_list", "immutable_dict":
		s.Type = "torch.fx.immutable_collections." + kind
		if !p.take("None") && !p.keys(s) {
			return nil, p.fail("None or keys")
		}
	case "dict", "OrderedDict":
		if kind == "OrderedDict" {
			s.Type = "collections.OrderedDict"
		}
		if !p.keys(s) {
			return nil, p.fail("keys")
		}
	case "namedtuple":
		if !p.take("<class '") {
			return nil, p.fail("a class")
		}
		s.Type = "collections.namedtuple"
		s.Class = p.until("'>")
	default:
		return nil, p.fail("the structure of a tuple, list, dict or namedtuple")
	}
	if !p.take(",") || !p.take("[") {
		return nil, p.fail("the structures inside")
	}
	for !p.take("]") {
		c, err := p.spec(depth + 1)
		if err != nil {
			return nil, err
		}
		s.Children = append(s.Children, c)
		p.take(",")
	}
	if !p.take(")") {
		return nil, p.fail("a closing bracket")
	}
	return s, nil
}

func (p *specReader) word() string {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] != ',' {
		p.pos++
	}
	return p.text[start:p.pos]
}

func (p *specReader) until(end string) string {
	i := strings.Index(p.text[p.pos:], end)
	if i < 0 {
		return ""
	}
	s := p.text[p.pos : p.pos+i]
	p.pos += i + len(end)
	return s
}

// keys reads "['a', 'b']".
func (p *specReader) keys(s *ir.TreeSpec) bool {
	if !p.take("[") {
		return false
	}
	s.Keys = []any{}
	for !p.take("]") {
		if !p.take("'") || !strings.Contains(p.text[p.pos:], "'") {
			return false
		}
		s.Keys = append(s.Keys, p.until("'"))
		p.take(",")
	}
	return true
}
