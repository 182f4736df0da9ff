package ir

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds on code that is read.
const (
	maxCode      = 64 << 20 // bytes
	maxCodeDepth = 200      // of brackets, of getattr around a path, of classes
)

// ParseCode reads Python code as torch.fx emits it, and gives the graph that it
// was made from: ParseCode of [GraphModule.Code] is [Equal] to the module's graph.
// Nothing is executed and nothing looked up. It is a reader of emitted code, one
// operation a line, and no Python interpreter.
//
// src is a function as [Graph.PythonCode] writes it, plain, expanded, boxed, with
// a pytree signature, with profiler calls or verbose, in colours or without. In
// front of it may stand wrap lines, the statements of [PythonCode.Imports], and
// the class line of [GraphModule.Readable]; see [ParseClass] for the classes
// below it.
//
// Names of nodes are the locals of the code, so a node that generated code had to
// rename keeps the new name. What the code does not say is not in the graph:
//   - the place of placeholders among the other nodes: they come first, except one
//     that the code renames after other lines; and a placeholder called self of
//     which nothing is read;
//   - the object behind a global, unless import statements or [WithGlobals] tell.
//     Otherwise it is taken from the name: math_sqrt is math.sqrt, program_f is
//     program.f;
//   - the structures of a pytree signature, see [WithSpecs]; the names of a
//     namedtuple's fields, see [WithFields]; the value of an enum's member;
//   - the contents of a tensor, which is read as an [Opaque] [*CodeTensor];
//   - meta data, except that verbose code gives [MetaVal], the last frame of
//     [MetaStackTrace] and [MetaDesc], and that wrap lines and boxed arguments give
//     [MetaIsWrapped] and [MetaBoxedArgs].
//
// An error is a [*CodeError] of class [ErrSyntax]. Code of more than 64 MiB or
// nested deeper than 200 is refused; the time is linear in the length.
func ParseCode(src string, opts ...ParseOption) (*Graph, error) {
	c, err := ParseClass(src, opts...)
	if err != nil {
		return nil, err
	}
	return c.Graph, nil
}

// A CodeClass is a module as [GraphModule.Readable] prints it.
type CodeClass struct {
	Name     string // of the class or the attribute; "" for a function without a class
	Graph    *Graph
	Children []*CodeClass // of the attributes that are graph modules
}

// ParseClass reads what [ParseCode] reads, with the name of the class and the
// classes below it.
func ParseClass(src string, opts ...ParseOption) (*CodeClass, error) {
	if err := CheckOptions("parse", opts); err != nil {
		return nil, err
	}
	c := parseConfig{globals: map[string]Global{}, fields: map[string][]string{}, classes: map[string]string{}}
	for _, o := range opts {
		o(&c)
	}
	p := &parser{lexer: lexer{src: src}, cfg: c, wrapped: map[string]int{}}
	if len(src) > maxCode {
		return nil, p.failAt(0, fmt.Sprintf("at most %d bytes", maxCode), fmt.Sprint(len(src)))
	}
	if !utf8.ValidString(src) {
		i := 0
		for i < len(src) {
			r, n := utf8.DecodeRuneInString(src[i:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			i += n
		}
		return nil, p.failAt(i, "UTF-8 text", fmt.Sprintf("byte 0x%02x", src[i]))
	}
	return p.file()
}

// A ParseOption tells [ParseCode] what the code does not say.
type ParseOption func(*parseConfig)

type parseConfig struct {
	root    string
	globals map[string]Global
	fields  map[string][]string
	classes map[string]string // name without module of a global -> its object, for what repr names so
	in, out *TreeSpec
}

// WithRoot names the module that attribute paths start from. Default: the first
// parameter, "self" as a rule.
func WithRoot(name string) ParseOption { return func(c *parseConfig) { c.root = name } }

// WithGlobals says what global names stand for, as [PythonCode.Globals] lists
// them.
func WithGlobals(globals ...Global) ParseOption {
	return func(c *parseConfig) {
		for _, g := range globals {
			c.global(g)
		}
	}
}

func (c *parseConfig) global(g Global) {
	c.globals[g.Name] = g
	c.classes[g.Object[strings.LastIndexByte(g.Object, '.')+1:]] = g.Object
}

// WithFields names the fields of a namedtuple class, given by its qualified
// name.
func WithFields(class string, fields ...string) ParseOption {
	return func(c *parseConfig) {
		f := FuncOf(class)
		c.fields[f.Name()], c.classes[f.Base()] = fields, class
	}
}

// WithSpecs gives the structures that code with a pytree signature reads from its
// module. Without them the graph prints the same code, but arguments and results
// are known only where each argument is one value.
func WithSpecs(in, out *TreeSpec) ParseOption {
	return func(c *parseConfig) { c.in, c.out = in, out }
}

// A CodeError tells where code is not what torch.fx emits.
type CodeError struct {
	Line     int    // from 1
	Column   int    // in characters, from 1
	Expected string // what could stand there
	Got      string // what does
}

// Error returns "code, line 3, column 8: expected a name, got 1".
func (e *CodeError) Error() string {
	return fmt.Sprintf("code, line %d, column %d: expected %s, got %s", e.Line, e.Column, e.Expected, e.Got)
}

// Unwrap returns [ErrSyntax].
func (e *CodeError) Unwrap() error { return ErrSyntax }

// A CodeTensor is a tensor argument that was read from code: its dtype and sizes
// without its elements.
type CodeTensor struct{ meta TensorMeta }

// TensorMeta returns the dtype and the sizes.
func (t *CodeTensor) TensorMeta() TensorMeta { return t.meta }

// A parser reads one text.
type parser struct {
	lexer
	cfg     parseConfig
	wrapped map[string]int // globals with a wrap line, by their places among those
	depth   int
	fn      *function
	descs   *[]string // where the comments of the next container's items go
}

// failAt makes the error for a place in the text.
func (p *parser) failAt(pos int, expected, got string) error {
	before := p.src[:pos]
	start := strings.LastIndexByte(before, '\n') + 1
	return &CodeError{
		Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[start:]) + 1,
		Expected: expected, Got: got,
	}
}

// fail makes the error for the token at hand.
func (p *parser) fail(expected string) error {
	if p.tok.bad != "" {
		return p.failAt(p.tok.pos, p.tok.bad, p.tok.describe())
	}
	return p.failAt(p.tok.pos, expected, p.tok.describe())
}

// enter counts a level of nesting; leave must follow.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxCodeDepth {
		return p.failAt(p.tok.pos, fmt.Sprintf("at most %d levels of nesting", maxCodeDepth), "more")
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// file reads everything.
func (p *parser) file() (*CodeClass, error) {
	p.next()
	for {
		switch {
		case p.tok.kind == tokenNewline:
			p.next()
		case p.isName("class"):
			c, err := p.class()
			if err != nil {
				return nil, err
			}
			return c, p.end()
		case p.isName("def"):
			g, err := p.function()
			if err != nil {
				return nil, err
			}
			return &CodeClass{Graph: g}, p.end()
		default:
			if err := p.preamble(); err != nil {
				return nil, err
			}
		}
	}
}

// end checks that nothing follows.
func (p *parser) end() error {
	for p.tok.kind == tokenNewline {
		p.next()
	}
	if p.tok.kind != tokenEnd {
		return p.fail("the end of the code")
	}
	return nil
}

// class reads a class with its function and the classes below it.
func (p *parser) class() (*CodeClass, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	indent := p.indent()
	// a class may have any name, "<lambda>"
	rest := p.src[p.pos:]
	name, ok := strings.CutSuffix(strings.TrimRight(rest[:lineLength(rest)], " \r"), "(torch.nn.Module):")
	if !ok {
		p.next()
		return nil, p.fail("a name and (torch.nn.Module): after class")
	}
	c := &CodeClass{Name: strings.TrimPrefix(name, " ")}
	p.pos += lineLength(rest)
	p.next()
	p.newlines()
	inside := p.indent()
	for p.tok.kind == tokenName && !p.isName("def") && inside > indent {
		if err := p.preamble(); err != nil {
			return nil, err
		}
		p.newlines()
	}
	if !p.isName("def") || inside <= indent {
		return nil, p.fail("a def inside the class")
	}
	var err error
	if c.Graph, err = p.function(); err != nil {
		return nil, err
	}
	for p.newlines(); p.isName("class") && p.indent() == inside; p.newlines() {
		child, err := p.class()
		if err != nil {
			return nil, err
		}
		c.Children = append(c.Children, child)
	}
	return c, nil
}

func (p *parser) newlines() {
	for p.tok.kind == tokenNewline {
		p.next()
	}
}
