package nn

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A Param is one parameter of a forward method, in Python's terms.
type Param struct {
	Name    string // may start with * or **
	Default ir.Arg // nil where there is none
}

// String returns the parameter as Python writes it.
func (p Param) String() string {
	if p.Default == nil {
		return p.Name
	}
	return p.Name + "=" + ir.Repr(p.Default)
}

// Parameters returns the parameter list of m's Forward: of a layer Python's, as
// far as Forward has it, otherwise what the forward tag of its Base says, nil
// where there is no tag.
func Parameters(m Module) ([]Param, error) {
	if c := classOf(m); c != nil {
		forward, _ := reflect.TypeOf(m).MethodByName("Forward")
		params := make([]Param, 0, len(c.Forward))
		for _, p := range c.Forward[:min(len(c.Forward), forward.Type.NumIn()-1)] {
			params = append(params, Param{p.Name, p.Default})
		}
		return params, nil
	}
	f, ok := reflect.TypeOf(m).Elem().FieldByName("Base")
	if !ok {
		return nil, nil
	}
	tag, ok := f.Tag.Lookup("forward")
	if !ok {
		return nil, nil
	}
	return ParseParameters(tag)
}

// ParseParameters reads a parameter list in Python's notation, "x, h=None". The
// defaults are None, True, False, numbers and strings.
func ParseParameters(list string) ([]Param, error) {
	if strings.TrimSpace(list) == "" {
		return []Param{}, nil
	}
	var params []Param
	for _, item := range splitParams(list) {
		name, text, hasDefault := strings.Cut(item, "=")
		p := Param{Name: strings.TrimSpace(name)}
		if !isParamName(p.Name) {
			return nil, ir.Errorf(ir.ErrSyntax, "parameters %q: expected a Python name, got %q", list, p.Name)
		}
		if hasDefault {
			v, err := parseLiteral(strings.TrimSpace(text))
			if err != nil {
				return nil, ir.Errorf(ir.ErrSyntax, "parameters %q: default of %s: %w", list, p.Name, err)
			}
			p.Default = v
		}
		params = append(params, p)
	}
	return params, nil
}

// splitParams cuts at the commas outside of strings.
func splitParams(list string) []string {
	var items []string
	start, quote := 0, byte(0)
	for i := range len(list) {
		switch c := list[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ',':
			items = append(items, list[start:i])
			start = i + 1
		}
	}
	return append(items, list[start:])
}

func isParamName(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "*"), "*")
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func parseLiteral(s string) (ir.Arg, error) {
	switch s {
	case "None":
		return ir.None{}, nil
	case "True":
		return ir.Bool(true), nil
	case "False":
		return ir.Bool(false), nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ir.Int(n), nil
	}
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return ir.Float(x), nil
	}
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] && !strings.ContainsAny(s[1:len(s)-1], `'"\`) {
		return ir.Str(s[1 : len(s)-1]), nil
	}
	return nil, ir.Errorf(ir.ErrSyntax, "expected None, True, False, a number or a string, got %q", s)
}
