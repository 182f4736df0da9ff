// Package layers is the table of torch.nn's classes that package nn is made of:
// its Go types are generated from it, and it is what they compute by.
package layers

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

//go:embed layers.txt
var text string

// forwards is what PyTorch's forward methods say of their types, written by
// scripts/record_forwards.py.
//
//go:embed forwards.txt
var forwards string

// A Class is what the table says of one class.
type Class struct {
	Name    string // "Conv2d"
	Module  string // "torch.nn.modules.conv"
	Params  []Param
	State   []string // parameters
	Buffers []string
	Set     []Attr   // attributes that no argument gives
	Dims    int      // how many numbers the arguments of Tuples are
	Tuples  []string // arguments that are made tuples
	Default [][2]string
	Init    []string // the name of the initialiser and its arguments
	Repr    []Item
	Forward []Param
	Returns string // annotation of forward's result, "" for none
	Call    *Call  // nil where Go code computes it
	Hand    bool   // the Go type is written by hand
}

// A Param is a parameter of a constructor or of forward.
type Param struct {
	Name    string
	Default ir.Arg // nil where it must be given
	Any     bool   // of forward: not a tensor alone
	Type    string // of forward: its annotation, "" for none
}

// An Attr is an attribute with a fixed value.
type Attr struct {
	Name  string
	Value ir.Arg
}

// An Item is one part of extra_repr.
type Item struct {
	Name   string
	Named  bool   // written name=value
	Quoted bool   // by repr instead of str
	Unless string // left out where the value is this, in every place of a tuple
	Hides  bool   // whether Unless counts
}

// A Call is the one call that a forward method is: On is "F", "torch" or the
// name of an argument, and Func is empty where the argument itself is returned.
type Call struct {
	On   string
	Func string
	Args []Operand
}

// An Operand is an argument of a [Call].
type Operand struct {
	Keyword string // "" for a positional one
	Self    string // an attribute of the module
	Arg     string // a parameter of forward
	Literal ir.Arg
	Float   bool // converted by float()
}

// Text writes the call as Python does.
func (c *Call) Text() string {
	if c.Func == "" {
		return c.On
	}
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		switch {
		case a.Self != "":
			args[i] = "self." + a.Self
		case a.Arg != "":
			args[i] = a.Arg
		default:
			args[i] = ir.Repr(a.Literal)
		}
		if a.Float {
			args[i] = "float(" + args[i] + ")"
		}
		if a.Keyword != "" {
			args[i] = a.Keyword + "=" + args[i]
		}
	}
	return c.On + "." + c.Func + "(" + strings.Join(args, ", ") + ")"
}

// Signature writes the constructor as Python does.
func (c *Class) Signature() string {
	items := make([]string, len(c.Params))
	for i, p := range c.Params {
		items[i] = p.Name
		if p.Default != nil {
			items[i] += "=" + ir.Repr(p.Default)
		}
	}
	return c.Name + "(" + strings.Join(items, ", ") + ")"
}

// Table reads the table. A mistake in it is a bug, and panics.
func Table() []*Class {
	var classes []*Class
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] != ' ':
			module, rest, _ := strings.Cut(line, ".")
			name, params, _ := strings.Cut(rest, "(")
			classes = append(classes, &Class{Name: name, Module: "torch.nn.modules." + module, Params: parseParams(strings.TrimSuffix(params, ")"))})
		default:
			classes[len(classes)-1].line(strings.TrimSpace(line))
		}
	}
	annotate(classes)
	return classes
}

// annotate gives the parameters of forward their types.
func annotate(classes []*Class) {
	signatures := map[string]string{}
	for line := range strings.Lines(forwards) {
		name, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), "(")
		signatures[name] = rest
	}
	for _, c := range classes {
		list, returns, _ := strings.Cut(signatures[c.Name], ")")
		c.Returns = strings.TrimPrefix(returns, " -> ")
		items := split(list)
		if len(items) != len(c.Forward) {
			panic(fmt.Sprintf("layers: forward of %s: expected the parameters %q", c.Name, list))
		}
		for i := range c.Forward {
			p := &c.Forward[i]
			name, typ, _ := strings.Cut(items[i], ": ")
			typ, def, optional := strings.Cut(typ, "=")
			if name, p.Type = strings.TrimSuffix(name, "=None"), typ; name != p.Name || optional && ir.Repr(p.Default) != def {
				panic(fmt.Sprintf("layers: forward of %s: expected %s, got %s", c.Name, items[i], p.Name))
			}
		}
	}
}

func (c *Class) line(line string) {
	word, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	switch word {
	case "state":
		c.State = words
	case "buffers":
		c.Buffers = words
	case "dims":
		c.Dims, _ = strconv.Atoi(words[0])
		c.Tuples = words[1:]
	case "default":
		c.Default = append(c.Default, [2]string{words[0], words[1]})
	case "set":
		for _, w := range words {
			name, value, _ := strings.Cut(w, "=")
			c.Set = append(c.Set, Attr{name, literal(value)})
		}
	case "init":
		c.Init = words
	case "repr":
		for _, w := range words {
			c.Repr = append(c.Repr, parseItem(w))
		}
	case "forward":
		params, call, _ := strings.Cut(rest, " -> ")
		c.Forward = parseParams(params)
		c.Call = c.parseCall(call)
	case "hand":
		c.Hand = true
	default:
		panic("layers: unknown line " + line)
	}
}

func parseItem(w string) (it Item) {
	w, it.Unless, it.Hides = strings.Cut(w, "?")
	w, it.Quoted = strings.CutSuffix(w, "!")
	it.Name, it.Named = strings.CutPrefix(w, "=")
	return it
}

func parseParams(list string) []Param {
	var params []Param
	for _, item := range split(list) {
		name, def, optional := strings.Cut(item, "=")
		name, kind, _ := strings.Cut(name, ": ")
		p := Param{Name: name, Any: kind == "any"}
		if optional {
			p.Default = literal(def)
		}
		params = append(params, p)
	}
	return params
}

func (c *Class) parseCall(s string) *Call {
	if s == "go" {
		return nil
	}
	head, args, isCall := strings.Cut(s, "(")
	if !isCall {
		return &Call{On: s}
	}
	call := &Call{}
	call.On, call.Func, _ = strings.Cut(head, ".")
	for _, item := range split(strings.TrimSuffix(args, ")")) {
		var o Operand
		if before, after, keyword := strings.Cut(item, "="); keyword {
			o.Keyword, item = before, after
		}
		if inner, isFloat := strings.CutPrefix(item, "float("); isFloat {
			item, o.Float = strings.TrimSuffix(inner, ")"), true
		}
		if name, isSelf := strings.CutPrefix(item, "self."); isSelf {
			o.Self = name
		} else if c.takes(item) {
			o.Arg = item
		} else {
			o.Literal = literal(item)
		}
		call.Args = append(call.Args, o)
	}
	return call
}

func (c *Class) takes(name string) bool {
	for _, p := range c.Forward {
		if p.Name == name {
			return true
		}
	}
	return false
}

// split cuts at the commas outside of parentheses.
func split(list string) []string {
	var items []string
	depth, start := 0, 0
	for i, r := range list + "," {
		switch {
		case r == '(' || r == '[':
			depth++
		case r == ')' || r == ']':
			depth--
		case r == ',' && depth == 0:
			if item := strings.TrimSpace(list[start:i]); item != "" {
				items = append(items, item)
			}
			start = i + 1
		}
	}
	return items
}

func literal(s string) ir.Arg {
	switch s {
	case "None":
		return ir.None{}
	case "True":
		return ir.Bool(true)
	case "False":
		return ir.Bool(false)
	case "()":
		return ir.TupleOf()
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ir.Int(n)
	}
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return ir.Float(x)
	}
	if len(s) >= 2 && s[0] == '\'' {
		return ir.Str(strings.Trim(s, "'"))
	}
	panic(fmt.Sprintf("layers: no literal: %s", s))
}
