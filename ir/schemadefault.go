package ir

import (
	"strconv"
	"strings"
)

func (p *schemaParser) defaultValue(t Type) Arg {
	start := p.pos
	elem := t
	if list := t.Required(); list.Kind == TypeList {
		elem = *list.Elem
		if p.accept("[") {
			items := []Arg{}
			for p.err == nil && !p.accept("]") {
				if len(items) > 0 {
					p.expect(",")
				}
				items = append(items, p.constant(elem))
			}
			return ListOf(items...)
		}
	}
	c := p.constant(elem)
	if p.err != nil || c == (None{}) || t.Required().Kind != TypeList {
		return c
	}
	n := t.Required().Len
	if n == 0 {
		p.pos = start
		p.fail("a list or None")
		return nil
	}
	items := make([]Arg, n)
	for i := range items {
		items[i] = c
	}
	return ListOf(items...)
}

// constant reads one literal and gives it the kind that t asks for.
func (p *schemaParser) constant(t Type) Arg {
	c := p.peek()
	start := p.pos
	var a Arg
	switch {
	case c == '"' || c == '\'':
		a = p.quoted()
	case c == '-' || c == '.' || c >= '0' && c <= '9':
		a = p.number(t.Kind)
	default:
		a = p.word(p.ident("a default value"), t)
	}
	if p.err != nil {
		return nil
	}
	typed, err := asType(a, t.Required())
	if err != nil {
		p.pos = start
		p.err = Errorf(ErrSyntax, "schema: column %d: %w", start+1, err)
	}
	return typed
}

// word reads the names that PyTorch takes as defaults.
func (p *schemaParser) word(name string, t Type) Arg {
	switch name {
	case "None":
		return None{}
	case "True", "False":
		return Bool(name == "True")
	case "strided", "contiguous_format":
		return Int(0)
	case "Mean":
		return Int(1) // at::Reduction::Mean
	case "float", "complex", "long":
		name = map[string]string{"float": "float32", "complex": "complex64", "long": "int64"}[name]
		if d, err := ParseDType(name); err == nil {
			return Int(d.C10())
		}
	}
	if d, err := ParseDType(name); err == nil && t.Required().Kind == TypeDType {
		return d
	}
	p.pos -= len(name)
	p.fail("a default value")
	return nil
}

func (p *schemaParser) number(kind TypeKind) Arg {
	start := p.pos
	p.accept("-")
	p.space()
	digits := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		sign := (c == '+' || c == '-') && p.pos > digits && (p.text[p.pos-1] == 'e' || p.text[p.pos-1] == 'E')
		if !sign && c != '.' && c != 'e' && c != 'E' && c != 'j' && (c < '0' || c > '9') {
			break
		}
		p.pos++
	}
	text := strings.ReplaceAll(p.text[start:p.pos], " ", "")
	if im, ok := strings.CutSuffix(text, "j"); ok {
		if f, err := strconv.ParseFloat(im, 64); err == nil {
			return Complex(complex(0, f))
		}
	} else if kind == TypeFloat || strings.ContainsAny(text, ".eE") {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return Float(f)
		}
	} else if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Int(n)
	}
	p.pos = start
	p.fail("a number")
	return nil
}

// asType makes the number or string a of the type's own kind.
func asType(a Arg, t Type) (Arg, error) {
	switch v := a.(type) {
	case Int:
		switch t.Kind {
		case TypeDType:
			return DTypeFromC10(int(v))
		case TypeLayout:
			return LayoutFromC10(int(v))
		case TypeMemoryFormat:
			return MemoryFormatFromC10(int(v))
		}
	case Str:
		if t.Kind == TypeDevice {
			return ParseDevice(string(v))
		}
	}
	return a, nil
}

// quoted reads a string with C's escapes.
func (p *schemaParser) quoted() Arg {
	start := p.pos
	quote := p.text[p.pos]
	var b strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		c := p.text[p.pos]
		if c == quote {
			p.pos++
			return Str(b.String())
		}
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		if p.pos++; p.pos == len(p.text) {
			break
		}
		c = p.text[p.pos]
		if k := strings.IndexByte(cEscapes, c); k >= 0 {
			b.WriteByte(cEscaped[k])
			continue
		}
		octal := 0
		for octal < 3 && p.pos+octal < len(p.text) && p.text[p.pos+octal] >= '0' && p.text[p.pos+octal] <= '7' {
			octal++
		}
		n, err := strconv.ParseUint(p.text[p.pos:p.pos+octal], 8, 8)
		if err != nil {
			p.fail("an escape sequence")
			return nil
		}
		b.WriteByte(byte(n))
		p.pos += octal - 1
	}
	p.pos = start
	p.fail("a closed string")
	return nil
}
