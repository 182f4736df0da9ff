package nn

import (
	"reflect"
	"regexp"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A Signature is what a forward method takes and returns, in Python's terms.
type Signature struct {
	Params  []Param
	Returns string // annotation of the result, "" for none
}

// A Param is one parameter of a forward method, in Python's terms.
type Param struct {
	Name        string // may start with * or **
	Default     ir.Arg // nil where there is none
	Type        string // annotation, "" for none
	KeywordOnly bool   // stands behind a star
}

// String returns the parameter as Python writes it.
func (p Param) String() string {
	switch {
	case p.Type == "" && p.Default == nil:
		return p.Name
	case p.Type == "":
		return p.Name + "=" + ir.Repr(p.Default)
	case p.Default == nil:
		return p.Name + ": " + p.Type
	}
	return p.Name + ": " + p.Type + " = " + ir.Repr(p.Default)
}

// SignatureOf returns the signature of m's Forward: of a layer Python's, as far
// as Forward has it, otherwise what the forward tag of its Base says. Params is
// nil where there is no tag.
func SignatureOf(m Module) (Signature, error) {
	if c := classOf(m); c != nil {
		forward, _ := reflect.TypeOf(m).MethodByName("Forward")
		params := make([]Param, 0, len(c.Forward))
		for _, p := range c.Forward[:min(len(c.Forward), forward.Type.NumIn()-1)] {
			params = append(params, Param{Name: p.Name, Default: p.Default})
		}
		return Signature{Params: params}, nil
	}
	if _, ok := m.(*Sequential); ok {
		return Signature{Params: []Param{{Name: "input"}}}, nil
	}
	f, ok := reflect.TypeOf(m).Elem().FieldByName("Base")
	if !ok {
		return Signature{}, nil
	}
	tag, ok := f.Tag.Lookup("forward")
	if !ok {
		return Signature{}, nil
	}
	return ParseSignature(tag)
}

// bareStar is Python's mark before keyword-only parameters, which the parser of
// generated code does not know; markedStar is what it gets instead.
var bareStar = regexp.MustCompile(`(^|,)\s*\*\s*,`)

const markedStar = "*__bare__"

// ParseSignature reads a parameter list in Python's notation and, after an
// arrow, what is returned:
//
//	x: torch.Tensor, h=None, *rest, k=1 -> torch.Tensor
//
// The annotations are what Python's repr says of the types, the defaults any
// literals that generated code can have.
func ParseSignature(text string) (Signature, error) {
	s := Signature{Params: []Param{}}
	params, returns := text, ""
	if at := strings.LastIndex(text, "->"); at >= 0 && !strings.ContainsAny(text[at:], `'"`) {
		params, returns = text[:at], text[at:]
	}
	params = bareStar.ReplaceAllString(params, "$1 "+markedStar+",")
	if strings.Contains(text, "\n") {
		return s, ir.Errorf(ir.ErrSyntax, "signature %q: expected one line", text)
	}
	g, err := ir.ParseCode("def forward(self, " + params + ")" + returns + ":\n    return None\n")
	if err != nil {
		return s, ir.Errorf(ir.ErrSyntax, "signature %q: %w", text, err)
	}
	star := false
	for n := range g.Nodes() {
		switch n.Op() {
		case ir.Placeholder:
			p := Param{Name: n.Target().String(), Type: n.Type()}
			if len(n.Args()) > 0 {
				p.Default = n.Arg(0)
			}
			starred := strings.HasPrefix(p.Name, "*")
			p.KeywordOnly = star && !starred
			star = star || starred
			if p.Name != markedStar {
				s.Params = append(s.Params, p)
			}
		case ir.Output:
			s.Returns = n.Type()
		}
	}
	return s, nil
}
