package passes

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
)

// signaturesText is how Python's functions, and the layers of torch.nn, take their
// arguments, and which operators functions of C++ stand for.
//
//go:embed signatures.txt
var signaturesText string

type signatureTable struct {
	python    map[string]string   // qualified name of a function or layer -> its parameters
	builtins  map[string]string   // qualified name of a function -> "aten::add"
	operators map[string][]string // "aten::add" -> its overloads in the order in which they are tried

	mu   sync.Mutex
	made map[string][]*Signature // what was asked for, by qualified name or operator
}

var signatures = sync.OnceValue(func() *signatureTable {
	t := &signatureTable{python: map[string]string{}, builtins: map[string]string{}, operators: map[string][]string{}, made: map[string][]*Signature{}}
	for line := range strings.Lines(signaturesText) {
		switch f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); {
		case len(f) < 2 || f[0] == "#":
		case f[0] == "python" || f[0] == "layer":
			t.python[f[1]] = f[2]
		case f[0] == "builtin":
			t.builtins[f[1]] = f[2]
		case f[0] == "operator":
			t.operators[f[1]] = f[2:]
		}
	}
	return t
})

// of returns the signatures kept under a name, made by build at the first need.
func (t *signatureTable) of(name string, build func() []*Signature) []*Signature {
	t.mu.Lock()
	defer t.mu.Unlock()
	made, ok := t.made[name]
	if !ok {
		made = build()
		t.made[name] = made
	}
	return made
}

// pythonSignature returns the signature of a function written in Python, or of the
// forward method of a layer of torch.nn, nil where it is not known.
func pythonSignature(name string) *Signature {
	t := signatures()
	text, ok := t.python[name]
	if !ok {
		return nil
	}
	return t.of(name, func() []*Signature {
		sig := &Signature{}
		if text == "" {
			return []*Signature{sig}
		}
		for _, part := range strings.Split(text, ";") {
			var p Parameter
			name, value, hasDefault := strings.Cut(part, "=")
			switch {
			case strings.HasPrefix(name, "**"):
				p.Kind, name = VarKeyword, name[2:]
			case strings.HasPrefix(name, "*"):
				p.Kind, name = VarPositional, name[1:]
			case strings.HasPrefix(name, "/"):
				p.Kind, name = PositionalOnly, name[1:]
			case strings.HasPrefix(name, "!"):
				p.Kind, name = KeywordOnly, name[1:]
			}
			p.Name = name
			if hasDefault {
				p.Default = pythonLiteral(value)
			}
			sig.Params = append(sig.Params, p)
		}
		return []*Signature{sig}
	})[0]
}

// pythonLiteral reads a literal of the embedded table.
func pythonLiteral(text string) ir.Arg {
	g, err := ir.ParseCode("def forward(self):\n    return " + text)
	if err != nil {
		return ir.None{} // not of this table, which a test reads through
	}
	return g.Last().Arg(0)
}

// SignaturesOf returns the signatures of the overloads that a function of PyTorch
// dispatches to, in the order in which they are tried: those of torch.add,
// math.sqrt, torch.ops.aten.add and, one alone, torch.ops.aten.add.Tensor. A
// function that is written in Python, or not known, has none. The result is shared
// and must not be changed. Same as
// torch.fx.operator_schemas.get_signature_for_torch_op.
func SignaturesOf(f *ir.Func) []*Signature {
	t := signatures()
	switch op := t.builtins[f.Name()]; {
	case f.Kind() == ir.Overload:
		s := ir.Operators().Lookup(f.Op())
		if s == nil {
			return nil
		}
		return t.of(f.Op(), func() []*Signature { return []*Signature{SignatureOf(s)} })
	case f.Kind() == ir.Packet:
		name := strings.Replace(strings.TrimPrefix(f.Name(), "torch.ops."), ".", "::", 1)
		return t.of("packet "+name, func() []*Signature { return t.overloads(name) })
	case op != "":
		return t.of("builtin "+op, func() []*Signature { return t.overloads(op) })
	}
	return nil
}

// overloads returns the signatures of an operator, in the recorded order where
// there is one.
func (t *signatureTable) overloads(name string) []*Signature {
	var made []*Signature
	recorded, ok := t.operators[name]
	if !ok {
		for _, s := range ir.Operators().Overloads(name) {
			made = append(made, SignatureOf(s))
		}
		return made
	}
	for _, text := range recorded {
		var s *ir.Schema
		switch {
		case strings.Contains(text, "("):
			s, _ = ir.ParseSchema(text) // of this table, which a test reads through
		case text == "":
			s = ir.Operators().Lookup(name)
		default:
			s = ir.Operators().Lookup(name + "." + text)
		}
		if s != nil {
			made = append(made, SignatureOf(s))
		}
	}
	return made
}
