package ir

import (
	"regexp"
	"strings"
)

// boxedName is how generated code calls the local of a boxed argument.
var boxedName = regexp.MustCompile(`_boxed_arg_\d+(_\d+)?$`)

func isBoxedName(local string) bool {
	return strings.Contains(local, "_boxed_arg_") && boxedName.MatchString(local)
}

// prologue reads the lines that bind the parameters in the boxed and in the
// pytree form.
func (p *parser) prologue() error {
	if len(p.fn.params) == 1 && p.fn.params[0].name == "args_list" && p.isName("args_iter") {
		return p.unbox()
	}
	// flattened values are annotated on lines that look like the start of an
	// assignment, so go back where they turn out to be one
	start := p.lexer
	annotated := map[string]*param{}
	for p.tok.kind == tokenName && p.peek().text == ":" {
		a := &param{}
		annotated[p.tok.text] = a
		p.next()
		p.next()
		var err error
		if a.typ, a.value, err = p.annotation(); err != nil || p.isSymbol("=") {
			p.lexer = start
			return nil // if it is wrong, it is found wrong as an assignment
		}
		for p.isSymbol(";") || p.tok.kind == tokenNewline {
			p.next()
			if desc, ok := strings.CutPrefix(p.comment, " "); ok && a.desc == "" {
				a.desc = desc
			}
		}
	}
	if p.tok.kind != tokenName || p.peek().text != "," {
		p.lexer = start
		return nil
	}
	return p.flatten(annotated)
}

// unbox reads the lines that take the arguments out of a list.
func (p *parser) unbox() error {
	if err := p.words("args_iter", "=", "iter", "(", "args_list", ")", "\n"); err != nil {
		return err
	}
	var params []*param
	for !p.isName("args_list") {
		a, err := p.paramName()
		if err != nil {
			return err
		}
		if err := p.words("=", "next", "(", "args_iter", ")", "\n"); err != nil {
			return err
		}
		params = append(params, a)
	}
	p.fn.graph.SetCodeGen(BoxedCodeGen{PlainCodeGen{p.fn.name}})
	if err := p.setParams(params); err != nil {
		return err
	}
	return p.words("args_list", ".", "clear", "(", ")")
}

// flatten reads "a_1, a_2, = fx_pytree.tree_flatten_spec([a], self._in_spec)",
// which makes the values on the left the parameters.
func (p *parser) flatten(annotated map[string]*param) error {
	var flat []*param
	for !p.isSymbol("=") {
		a, err := p.paramName()
		if err != nil {
			return err
		}
		if err := p.expect(","); err != nil {
			return err
		}
		if ann := annotated[a.name]; ann != nil {
			a.typ, a.value, a.desc = ann.typ, ann.value, ann.desc
		}
		if s := p.fn.byName[a.name]; s != nil {
			a.def = s.def
		}
		flat = append(flat, a)
	}
	if err := p.words("=", "fx_pytree", ".", "tree_flatten_spec", "("); err != nil {
		return err
	}
	keywords, err := p.flattened()
	if err != nil {
		return err
	}
	if err := p.words(",", "self", ".", "_in_spec", ")"); err != nil {
		return err
	}
	if p.takesSelf() && flat[0].name == "self" {
		flat = flat[1:]
	}
	p.fn.graph.SetCodeGen(PyTreeCodeGen{Args: p.fn.args, In: p.inSpec(keywords, len(flat))})
	return p.setParams(flat)
}

func (p *parser) takesSelf() bool { return len(p.fn.args) > 0 && p.fn.args[0] == "self" }

// flattened reads the arguments as the spec has them, "[x, y]" or
// "([x], {'k':k})", and returns the keywords, nil where there are none.
func (p *parser) flattened() (keywords []string, err error) {
	p.fn.args = []string{}
	if !p.isSymbol("(") {
		return nil, p.argumentNames("[", "]", false, nil)
	}
	p.next()
	keywords = []string{}
	if err := p.argumentNames("[", "]", false, nil); err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	if err := p.argumentNames("{", "}", true, &keywords); err != nil {
		return nil, err
	}
	return keywords, p.expect(")")
}

func (p *parser) argumentNames(open, end string, keyed bool, keys *[]string) error {
	if err := p.expect(open); err != nil {
		return err
	}
	for !p.isSymbol(end) {
		if keyed {
			if p.tok.kind != tokenString || !isIdentifier(p.tok.value) {
				return p.fail("the name of a keyword argument in quotes")
			}
			*keys = append(*keys, p.tok.value)
			p.next()
			if err := p.expect(":"); err != nil {
				return err
			}
		}
		name, err := p.name("an argument or " + quoted(end))
		if err != nil {
			return err
		}
		p.fn.args = append(p.fn.args, name)
		if !p.isSymbol(end) {
			if err := p.expect(","); err != nil {
				return err
			}
		}
	}
	p.next()
	return nil
}

// unknownSpec stands for a structure that the code does not tell. It refuses
// values.
func unknownSpec() *TreeSpec {
	return &TreeSpec{Type: "a structure that is not in the code", Fields: []string{}}
}

// inSpec is the structure of the arguments, as far as known: they are leaves
// where there are as many values as arguments.
func (p *parser) inSpec(keywords []string, values int) *TreeSpec {
	if p.cfg.in != nil {
		return p.cfg.in
	}
	specs := make([]*TreeSpec, len(p.fn.args))
	if p.takesSelf() {
		specs = specs[1:]
	}
	flat := len(specs) == values
	for i := range specs {
		if specs[i] = Leaf(); !flat {
			specs[i] = unknownSpec()
		}
	}
	if keywords == nil {
		return TupleSpec(specs...)
	}
	n := max(len(specs)-len(keywords), 0)
	return TupleSpec(TupleSpec(specs[:n]...), DictSpec(keywords, specs[n:]...))
}

// outSpec is the structure of the result.
func (p *parser) outSpec() *TreeSpec {
	if p.cfg.out != nil {
		return p.cfg.out
	}
	return unknownSpec()
}
