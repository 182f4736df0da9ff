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

// SignatureOf returns the signature of m's forward: of a layer all that Python's
// has, otherwise what the forward tag of its Base says. Params is nil where there
// is no tag. See [ForwardOf] for a function that takes them.
func SignatureOf(m Module) (Signature, error) {
	if c := classOf(m); c != nil {
		s := Signature{Params: make([]Param, len(c.Forward)), Returns: c.Returns}
		for i, p := range c.Forward {
			s.Params[i] = Param{Name: p.Name, Default: p.Default, Type: p.Type}
		}
		return s, nil
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

// ParseSignature reads a parameter list in Python's notation and, after an
// arrow, what is returned:
//
//	x: torch.Tensor, h=None, *rest, k=1 -> torch.Tensor
//
// The annotations are what Python's repr says of the types, so that a string
// stands in quotes; None is none, as in torch.fx. The defaults are any literals
// that generated code can have.
func ParseSignature(text string) (Signature, error) {
	s := Signature{Params: []Param{}}
	fail := func(format string, args ...any) (Signature, error) {
		return Signature{}, ir.Errorf(ir.ErrSyntax, "signature %q: "+format, append([]any{text}, args...)...)
	}
	list, returns, arrow := cutTop(text, "->")
	if arrow {
		var err error
		if s.Returns, err = annotation(returns); err != nil {
			return fail("what is returned: %w", err)
		}
	}
	star, seen := false, map[string]bool{}
	for more := strings.TrimSpace(list) != ""; more; {
		var item string
		item, list, more = cutTop(list, ",")
		if item = strings.TrimSpace(item); item == "*" && !star {
			star = true // Python's mark before keyword-only parameters
			continue
		}
		p, err := parseParam(item)
		if err != nil {
			return fail("%w", err)
		}
		bare := strings.TrimLeft(p.Name, "*")
		if seen[bare] {
			return fail("expected a name of its own for each parameter, got %s twice", bare)
		}
		seen[bare] = true
		starred := bare != p.Name
		p.KeywordOnly = star && !starred
		star = star || starred
		s.Params = append(s.Params, p)
	}
	return s, nil
}

var paramName = regexp.MustCompile(`^\*{0,2}[A-Za-z_]\w*$`)

// parseParam reads "name: type = default".
func parseParam(text string) (p Param, err error) {
	rest, literal, hasDefault := cutTop(text, "=")
	name, typ, hasType := cutTop(rest, ":")
	p.Name = strings.TrimSpace(name)
	if !paramName.MatchString(p.Name) || ir.IsKeyword(strings.TrimLeft(p.Name, "*")) {
		return p, ir.Errorf(ir.ErrSyntax, "expected a Python name, got %q", name)
	}
	if hasType {
		if p.Type, err = annotation(typ); err != nil {
			return p, ir.Errorf(ir.ErrSyntax, "type of %s: %w", p.Name, err)
		}
	}
	if !hasDefault {
		return p, nil
	}
	g, err := ir.ParseCode("def forward(self, x=" + strings.TrimSpace(literal) + "):\n    pass\n")
	if err != nil || strings.Contains(literal, "\n") || g.Len() != 1 || len(g.First().Args()) != 1 {
		return p, ir.Errorf(ir.ErrSyntax, "default of %s: expected a literal, got %q", p.Name, literal)
	}
	p.Default = g.First().Arg(0)
	return p, nil
}

// annotation reads a type: names, brackets and quoted texts.
func annotation(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "None" {
		return "", nil
	}
	rest, _, cut := cutTop(text, "\n")
	if text == "" || cut || rest != text || depthOf(text) != 0 {
		return "", ir.Errorf(ir.ErrSyntax, "expected a type, got %q", text)
	}
	return text, nil
}

// cutTop cuts text at the first sep that is in no bracket and no quotes.
func cutTop(text, sep string) (before, after string, found bool) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			switch c {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], sep):
			return text[:i], text[i+len(sep):], true
		}
	}
	return text, "", false
}

// depthOf counts the brackets that text opens and does not close; -1 where it
// closes one that is not open.
func depthOf(text string) int {
	depth := 0
	for _, c := range text {
		switch {
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			if depth--; depth < 0 {
				return -1
			}
		}
	}
	return depth
}
