package ir

import (
	"strings"
	"unicode"
)

// preamble reads a line in front of the function: an import, a global's value,
// or the wrapping of a function.
func (p *parser) preamble() error {
	switch {
	case p.isName("import"):
		return p.importModule()
	case p.isName("from"):
		return p.importName()
	case p.tok.kind != tokenName:
		return p.fail("an import, a wrapped function, a class or a def")
	}
	pos := p.tok.pos
	name, err := p.dotted()
	if err != nil {
		return err
	}
	if p.isSymbol("(") {
		if !strings.HasSuffix(name, "wrap") {
			return p.failAt(pos, "an import, a wrapped function, a class or a def", quoted(name))
		}
		p.next()
		if p.tok.kind != tokenString {
			return p.fail("the name of a wrapped function in quotes")
		}
		if _, before := p.wrapped[p.tok.value]; !before {
			p.wrapped[p.tok.value] = len(p.wrapped)
		}
		p.next()
		return p.words(")", "\n")
	}
	if !p.isSymbol("=") || strings.Contains(name, ".") {
		return p.failAt(pos, "an import, a wrapped function, a class or a def", quoted(name))
	}
	p.next()
	if p.tok.kind == tokenString {
		p.cfg.global(Global{Name: name, Object: p.tok.value, IsText: true})
		p.next()
		return p.words("\n")
	}
	if p.tok.kind == tokenInt {
		p.cfg.global(Global{Name: name, Object: p.tok.text})
		p.next()
		return p.words("\n")
	}
	object, err := p.dotted()
	if err != nil {
		return err
	}
	if name == "NoneType" && object == "type" {
		return p.words("(", "None", ")", "\n")
	}
	p.cfg.global(Global{Name: name, Object: object})
	return p.words("\n")
}

func (p *parser) dotted() (string, error) {
	name, err := p.name("a name")
	for err == nil && p.isSymbol(".") {
		p.next()
		var piece string
		piece, err = p.name("a name after a dot")
		name += "." + piece
	}
	return name, err
}

// importModule reads "import a.b as c".
func (p *parser) importModule() error {
	p.next()
	object, err := p.dotted()
	if err != nil {
		return err
	}
	if p.isName("as") {
		p.next()
		name, err := p.name("a name")
		if err != nil {
			return err
		}
		p.cfg.global(Global{Name: name, Object: object})
	}
	return p.words("\n")
}

// importName reads "from a.b import c as d".
func (p *parser) importName() error {
	p.next()
	module, err := p.dotted()
	if err != nil {
		return err
	}
	if err := p.expect("import"); err != nil {
		return err
	}
	if p.isSymbol("*") {
		p.next()
		return p.words("\n")
	}
	object, err := p.dotted()
	if err != nil {
		return err
	}
	name := object
	if p.isName("as") {
		p.next()
		if name, err = p.name("a name"); err != nil {
			return err
		}
	}
	if module != "builtins" {
		object = module + "." + object
	}
	p.cfg.global(Global{Name: name, Object: object})
	return p.words("\n")
}

// manglings are the modules whose objects are known by the names that they get
// as globals. No name in them ends in an underscore and a number, so such an end
// was added to tell a global from another name.
var manglings = []struct{ prefix, module string }{
	{"_operator_", "_operator."}, {"math_", "math."}, {"typing_", "typing."},
	{"collections_abc_", "collections.abc."}, {"collections_", "collections."}, {"torch_Tensor_", "torch.Tensor."},
}

// object returns what a global name stands for, as far as that is certain.
func (p *parser) object(name string) (string, bool) {
	if g, ok := p.cfg.globals[name]; ok && !g.IsText {
		return g.Object, true
	}
	for _, s := range standardGlobals {
		if s.name == name {
			return s.object, true
		}
	}
	if illegalName(name) {
		return name, true // one of Python's builtins
	}
	for _, m := range manglings {
		if rest, ok := strings.CutPrefix(name, m.prefix); ok && rest != "" {
			if base, _, numbered := splitNumber(rest); numbered {
				rest = base
			}
			return m.module + rest, true
		}
	}
	return name, false
}

// functionName returns what a name stands for that is called. Of a name that
// nothing explains it takes the part before the first underscore for the module,
// if generated code would write that the same way.
func (p *parser) functionName(name string) string {
	first, _, dotted := strings.Cut(name, ".")
	if first == "torch" && dotted {
		return name
	}
	if object, ok := p.object(name); ok || dotted {
		return object
	}
	if i := strings.IndexByte(name[1:], '_') + 1; i > 0 {
		module, base := name[:i], name[i+1:]
		guess := module + "." + base
		if isIdentifier(base) && !fromTorch(guess) && identifier(guess) == name {
			return guess
		}
	}
	return name
}

// className returns the class that repr writes without its module.
func (p *parser) className(name string) string {
	if object, ok := p.object(name); ok {
		return object
	}
	if object, ok := p.cfg.classes[name]; ok {
		return object
	}
	return name
}

func splitLast(name string) (before, last string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], name[i+1:]
}

// enumClass guesses from the spelling whether a name in torch is a class, so
// that its attribute is a member.
func enumClass(name string) bool {
	_, base := splitLast(name)
	base = strings.TrimLeft(base, "_")
	return base != "" && unicode.IsUpper(rune(base[0])) && base != "Tensor"
}
