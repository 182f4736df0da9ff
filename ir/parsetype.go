package ir

import (
	"strconv"
	"strings"
	"sync"
)

// annotation reads what follows the colon of a local or parameter: a type, or a
// quoted text in which verbose code tells what is known of the value.
func (p *parser) annotation() (typ string, value any, err error) {
	if p.tok.kind == tokenString {
		text := uncolored(p.tok.value)
		p.next()
		return "", valueOf(text), nil
	}
	typ, err = p.typeText()
	return typ, nil, err
}

// typeText reads a type and returns its repr, which is how nodes hold types.
func (p *parser) typeText() (string, error) {
	if err := p.enter(); err != nil {
		return "", err
	}
	defer p.leave()
	if p.isSymbol("(") {
		p.next()
		return "()", p.expect(")")
	}
	if p.tok.kind != tokenName {
		return "", p.fail("a type")
	}
	name := p.tok.text
	p.next()
	q := path{pieces: []string{name}}
	if err := p.pieces(&q); err != nil {
		return "", err
	}
	if len(q.pieces) > 1 {
		name = q.String()
	} else {
		name = p.typeName(name)
	}
	if !p.isSymbol("[") {
		if short, ok := strings.CutPrefix(name, "typing."); ok && keepsTypingName[short] {
			return name + "[()]", nil // without arguments it would be list, tuple, ...
		}
		return name, nil
	}
	p.next()
	var args []string
	for {
		a, err := p.typeText()
		if err != nil {
			return "", err
		}
		args = append(args, a)
		if err := p.separator("]"); err != nil {
			return "", err
		}
		if p.isSymbol("]") {
			break
		}
	}
	p.next()
	if name == "torch.fx.tensor_type.TensorType" {
		return tensorType(args), nil
	}
	return name + "[" + strings.Join(args, ", ") + "]", nil
}

// typeName returns the type behind a single name.
func (p *parser) typeName(name string) string {
	g, known := p.cfg.globals[name]
	switch {
	case known && g.IsText:
		return Repr(Str(g.Object))
	case known && (g.Object == "Ellipsis" || strings.HasSuffix(g.Object, ".Ellipsis")), !known && name == "_":
		return "..."
	case known:
		return g.Object
	case name[0] == '_' && strings.Trim(name[1:], "0123456789") == "" && len(name) > 1:
		return name[1:] // a number
	}
	return p.functionName(name)
}

func tensorType(dims []string) string {
	for i, d := range dims {
		if d == "torch.fx.tensor_type._DynType" {
			dims[i] = "Dyn"
		}
	}
	text := strings.Join(dims, ", ")
	if len(dims) == 1 {
		text += ","
	}
	return "TensorType[(" + text + ")]"
}

// shortDTypes maps "f32" to its dtype.
var shortDTypes = sync.OnceValue(func() map[string]DType {
	short := map[string]DType{}
	for _, d := range DTypes() {
		short[d.Short()] = d
	}
	return short
})

// valueOf reads "f32[2, s0][3, 1]cpu" and "Sym(s0)"; nil for other texts.
func valueOf(text string) any {
	if s, ok := strings.CutPrefix(text, "Sym("); ok && strings.HasSuffix(s, ")") {
		return symScalarOf(s[:len(s)-1])
	}
	name, rest, ok := strings.Cut(text, "[")
	d := shortDTypes()[name]
	if !ok || !d.Valid() {
		return nil
	}
	m := TensorMeta{DType: d}
	sizes, rest, ok := strings.Cut(rest, "]")
	if !ok {
		return nil
	}
	if m.Sizes, ok = sizesOf(sizes); !ok {
		return nil
	}
	if s, found := strings.CutPrefix(rest, "["); found {
		strides, after, closed := strings.Cut(s, "]")
		if m.Strides, ok = sizesOf(strides); !ok || !closed {
			return nil
		}
		rest = after
	}
	if rest != "" {
		var err error
		if m.Device, err = ParseDevice(rest); err != nil {
			return nil
		}
	}
	return m
}

func symScalarOf(text string) any {
	switch text {
	case "True", "False":
		return SymScalar{Kind: TypeSymBool, Hint: Bool(text == "True")}
	}
	e, err := ParseExpr(text)
	if err != nil {
		return nil
	}
	return SymScalar{Kind: TypeSymInt, Expr: e}
}

// sizesOf reads "2, s0 + 1".
func sizesOf(text string) ([]Size, bool) {
	var sizes []Size
	if text == "" {
		return nil, true
	}
	for _, s := range splitTop(text, ',') {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			sizes = append(sizes, SizeOf(n))
			continue
		}
		e, err := ParseExpr(s)
		if err != nil {
			return nil, false
		}
		sizes = append(sizes, SymbolicSize(e, 0))
	}
	return sizes, true
}
