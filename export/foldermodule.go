package export

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/torchfx-go/torchfx/ir"
)

// A FolderModule is a module that a saved folder can hold: a layer of torch.nn
// or a container of such.
type FolderModule interface {
	// Repr returns Python's repr of the module with all below it.
	Repr() string
	// State yields the module's tensors under their names below it, in the order
	// of Python's state_dict: parameters, buffers, then those of the children.
	State() iter.Seq2[string, *Tensor]
}

// A SavedModule is a submodule that a saved folder declares: its class and its
// arguments, its children and tensors. Package nn makes layers of it.
type SavedModule struct {
	Class    string          // without its module: "Linear"
	Args     []SavedArg      // what is known of the constructor's arguments
	Whole    bool            // Args are all that the constructor needs; a repr does not tell all
	Names    []string        // of the children, in order
	Children []*SavedModule  // one a name
	Eval     bool            // not in training mode, as far as is known
	Pickled  bool            // the folder has it as a pickle
	Graph    *ir.GraphModule // of a child that is a graph module, nil for all others
	graph    *ir.Graph       // of what is, or becomes, a graph module
	params   []namedTensor
	buffers  []namedTensor
	line     string // the repr where it could not be taken apart
}

// NewSavedModule describes a module by its class in torch.nn and all arguments
// that its constructor needs. It is for [ToFolder].
func NewSavedModule(class string, args ...SavedArg) *SavedModule {
	return &SavedModule{Class: class, Args: args, Whole: true}
}

// A SavedArg is an argument of a constructor.
type SavedArg struct {
	Name   string       // "" for a positional one
	Text   string       // as written
	Value  ir.Arg       // nil where it is no literal
	Module *SavedModule // the argument where it is a module
	Tensor *Tensor      // the argument where it is a tensor, of which a folder keeps dtype and sizes
}

type namedTensor struct {
	name   string
	tensor *Tensor
}

// Child returns the child called name, nil where there is none.
func (m *SavedModule) Child(name string) *SavedModule {
	if i := slices.Index(m.Names, name); i >= 0 {
		return m.Children[i]
	}
	return nil
}

// child returns the child called name, a new container where there is none.
func (m *SavedModule) child(name string) *SavedModule {
	if c := m.Child(name); c != nil {
		return c
	}
	c := &SavedModule{Class: "Module"}
	m.add(name, c)
	return c
}

func (m *SavedModule) add(name string, c *SavedModule) {
	m.Names, m.Children = append(m.Names, name), append(m.Children, c)
}

// Add gives the module a child.
func (m *SavedModule) Add(name string, child *SavedModule) { m.add(name, child) }

// SetTensor gives the module a parameter or a buffer, as t says, or another one
// under the name of one that it has.
func (m *SavedModule) SetTensor(name string, t *Tensor) { m.setTensor(name, t) }

// Attr returns the module or tensor at a dotted path.
func (m *SavedModule) Attr(path string) (any, bool) {
	name, below, deeper := strings.Cut(path, ".")
	if c := m.Child(name); c != nil {
		switch {
		case deeper:
			return c.Attr(below)
		case c.Graph != nil:
			return c.Graph, true
		}
		return c, true
	}
	if t := m.tensor(path); t != nil {
		return t, true
	}
	return nil, false
}

// tensor returns a tensor of the module's own, nil where there is none.
func (m *SavedModule) tensor(name string) *Tensor {
	for _, list := range [][]namedTensor{m.params, m.buffers} {
		for _, t := range list {
			if t.name == name {
				return t.tensor
			}
		}
	}
	return nil
}

// State yields the tensors as [FolderModule] says.
func (m *SavedModule) State() iter.Seq2[string, *Tensor] {
	return func(yield func(string, *Tensor) bool) { m.walk("", yield) }
}

func (m *SavedModule) walk(prefix string, yield func(string, *Tensor) bool) bool {
	for _, t := range slices.Concat(m.params, m.buffers) {
		if !yield(prefix+t.name, t.tensor) {
			return false
		}
	}
	for i, c := range m.Children {
		if !c.walk(prefix+m.Names[i]+".", yield) {
			return false
		}
	}
	return true
}

// setTensor gives the module a tensor of its own.
func (m *SavedModule) setTensor(name string, t *Tensor) {
	for _, list := range [][]namedTensor{m.params, m.buffers} {
		for i := range list {
			if list[i].name == name {
				list[i].tensor = t
				return
			}
		}
	}
	list := &m.buffers
	if t.Parameter {
		list = &m.params
	}
	*list = append(*list, namedTensor{name, t})
}

// args returns the arguments as the repr writes them.
func (m *SavedModule) args() string {
	texts := make([]string, len(m.Args))
	for i, a := range m.Args {
		texts[i] = a.Text
		if a.Name != "" {
			texts[i] = a.Name + "=" + a.Text
		}
	}
	return strings.Join(texts, ", ")
}

// Repr returns Python's repr of the module, a child a line.
func (m *SavedModule) Repr() string {
	if m.line != "" {
		return m.line
	}
	if len(m.Children) == 0 {
		return m.Class + "(" + m.args() + ")"
	}
	var b strings.Builder
	b.WriteString(m.Class + "(")
	if len(m.Args) > 0 {
		b.WriteString("\n  " + m.args())
	}
	for i, c := range m.Children {
		b.WriteString("\n  (" + m.Names[i] + "): " + strings.ReplaceAll(c.Repr(), "\n", "\n  "))
	}
	return b.String() + "\n)"
}

// maxReprDepth bounds the nesting of modules.
const maxReprDepth = 100

// ParseRepr describes a module by Python's repr of it, in one line or several. A
// repr does not tell all arguments of every class, and no tensors.
func ParseRepr(repr string) *SavedModule { return parseRepr(repr) }

// parseRepr takes a module's repr apart, in one line or several. What it does not
// understand it keeps whole.
func parseRepr(text string) *SavedModule {
	p := &reprReader{text: text}
	m, ok := p.module(0)
	if p.space(); !ok || p.pos != len(text) {
		class, _, _ := strings.Cut(text, "(")
		return &SavedModule{Class: strings.TrimSpace(class), line: text}
	}
	return m
}

// reprSpace is what stands between the parts of a repr; any other space is part of
// an argument.
const reprSpace = " \n"

type reprReader struct {
	text string
	pos  int
}

func (p *reprReader) space() {
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\n') {
		p.pos++
	}
}

func (p *reprReader) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// module reads "Class(args (name): Class(...) ...)".
func (p *reprReader) module(depth int) (*SavedModule, bool) {
	start := p.pos
	for c := p.peek(); c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf; c = p.peek() {
		p.pos++
	}
	m := &SavedModule{Class: p.text[start:p.pos]}
	if m.Class == "" || p.peek() != '(' || depth > maxReprDepth {
		return nil, false
	}
	p.pos++
	for {
		p.space()
		if p.peek() == ')' {
			p.pos++
			return m, true
		}
		if names, ok := p.childNames(); ok {
			c, ok := p.module(depth + 1)
			if !ok {
				return nil, false
			}
			for _, name := range names {
				m.add(name, c)
			}
			continue
		}
		arg, ok := p.arg()
		if !ok || len(m.Names) > 0 {
			return nil, false
		}
		m.Args = append(m.Args, arg)
	}
}

// childNames reads "(name): ", or "(0-2): 3 x ", which stands for three alike.
func (p *reprReader) childNames() ([]string, bool) {
	rest := p.text[p.pos:]
	end := strings.Index(rest, "): ")
	if !strings.HasPrefix(rest, "(") || end < 2 || strings.ContainsAny(rest[1:end], "()=,\n") {
		return nil, false
	}
	name := rest[1:end]
	p.pos += end + len("): ")
	first, last, isRange := strings.Cut(name, "-")
	count, _, repeated := strings.Cut(p.text[p.pos:], " x ")
	from, err1 := parseDigits(first)
	to, err2 := parseDigits(last)
	n, err3 := parseDigits(count)
	if isRange && repeated && err1 && err2 && err3 && to-from+1 == n && n > 0 && n < 1000 {
		p.pos += len(count) + len(" x ")
		var names []string
		for i := from; i <= to; i++ {
			names = append(names, strconv.Itoa(i))
		}
		return names, true
	}
	return []string{name}, true
}

func parseDigits(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || i > 8 {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, s != ""
}

// arg reads an argument up to the comma or bracket behind it.
func (p *reprReader) arg() (SavedArg, bool) {
	start, brackets, quote := p.pos, 0, byte(0)
	name := ""
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '\n' && (quote != 0 || brackets > 0):
			return SavedArg{}, false // what stands behind it may be indentation, or part of it
		case quote != 0:
			switch c {
			case '\\':
				p.pos++
			case quote:
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[' || c == '{':
			brackets++
		case brackets == 0 && c == '=' && name == "":
			if name = strings.Trim(p.text[start:p.pos], reprSpace); name == "" {
				return SavedArg{}, false
			}
			start = p.pos + 1
		case brackets == 0 && (c == ',' || c == ')' || c == '\n' || c == ' ' && strings.HasPrefix(p.text[p.pos:], "  ")):
			a := SavedArg{Name: name, Text: strings.Trim(p.text[start:p.pos], reprSpace)}
			if c == ',' {
				p.pos++
			}
			if a.Text == "" {
				return a, false
			}
			a.Value = literalOf(a.Text)
			return a, true
		case c == ')' || c == ']' || c == '}':
			brackets--
		}
	}
	return SavedArg{}, false
}

// literalOf reads a literal of plain data, nil where the text is none.
func literalOf(text string) ir.Arg {
	if strings.ContainsAny(text, "\n#") {
		return nil
	}
	g, err := ir.ParseCode("def f(self):\n    return " + text)
	if err != nil || g.Len() != 1 {
		return nil
	}
	if a := g.Last().Arg(0); isData(a) {
		return a
	}
	return nil
}

// isData reports whether a literal is data alone: in Python, what looks like a
// namedtuple or a function would be called.
func isData(a ir.Arg) bool {
	switch a := a.(type) {
	case ir.None, ir.Bool, ir.Int, ir.BigInt, ir.Float, ir.Complex, ir.Str, ir.DType, ir.Device:
		return true
	case ir.Tuple:
		return allData(a.All())
	case ir.List:
		return allData(a.All())
	case ir.Dict:
		for k, v := range a.All() {
			if !isData(k) || !isData(v) {
				return false
			}
		}
		return true
	}
	return false
}

func allData(items iter.Seq2[int, ir.Arg]) bool {
	for _, item := range items {
		if !isData(item) {
			return false
		}
	}
	return true
}
