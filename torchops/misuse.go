package torchops

import (
	_ "embed"
	"errors"
	"strings"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
)

// What Python says of a wrong argument depends on who looks at it first: the Python
// code of a function, which asks an attribute of it, or a parser of C++.

//go:embed misuse.txt
var misuseText string

// askedFirst maps the parameters of a function that are tensors to the attribute that
// its code asks of them before anything else.
var askedFirst = sync.OnceValue(func() map[*composed]map[string]string {
	all := map[*composed]map[string]string{}
	for line := range strings.Lines(misuseText) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if len(columns) != 3 {
			continue
		}
		c := composedFunctions[ir.FuncOf(columns[0])]
		if all[c] == nil {
			all[c] = map[string]string{}
		}
		all[c][columns[1]] = columns[2]
	}
	return all
})

// checkTensors refuses what is no tensor where Python would.
func (f *frame) checkTensors() {
	for i, p := range f.of.params {
		if strings.HasSuffix(p.name, "_lengths") || p.name == "out" {
			continue // of ctc_loss: lists of numbers too; out is for the operator, at the end
		}
		v := f.values[i]
		if isTensor(v) {
			continue
		}
		optional := strings.HasSuffix(p.annotation, "| None")
		attribute := askedFirst()[f.of][p.name]
		switch {
		case optional && v == nil:
		case i == 0 && p.name == "self":
			f.fail(ir.ErrAttribute, "'%s' object is no tensor, on which %s is called", typeName(v), f.of.name)
		case attribute != "":
			f.fail(ir.ErrAttribute, "'%s' object has no attribute '%s'", typeName(v), attribute)
		case p.annotation == "Tensor", p.annotation == "Tensor | MaskedTensor", p.annotation == "Tensor | None":
			f.fail(ir.ErrType, "%s(): argument '%s' (position %d) must be Tensor, not %s", f.of.name, p.name, i+1, typeName(v))
		}
	}
}

// parsed are the types that the parser before an operator looks at.
var parsed = map[ir.TypeKind]parameterKind{
	ir.TypeTensor: paramTensor, ir.TypeScalar: paramScalar, ir.TypeFloat: paramFloat, ir.TypeInt: paramInt, ir.TypeSymInt: paramSymInt,
	ir.TypeBool: paramBool, ir.TypeStr: paramString,
}

// parse refuses arguments of an operator as the parser does that stands before it in
// Python; the dispatcher alone takes more.
func (f *frame) parse(s *ir.Schema, args []any, kw []Kwarg) error {
	name, _, _ := strings.Cut(strings.TrimPrefix(s.Op, "aten::"), ".")
	one := func(v any, a *ir.Param, place int) error {
		v, err := normalize(v)
		if err != nil || v == nil {
			return err
		}
		t := a.Type.Required()
		p := parameter{name: a.Name, numbers: takesNumbers[strings.TrimSuffix(name, "_")]}
		var known bool
		if t.Kind == ir.TypeList {
			p.size = t.Len
			switch t.Elem.Kind {
			case ir.TypeTensor:
				p.kind, known = paramTensors, true
			case ir.TypeInt, ir.TypeSymInt:
				p.kind, known = paramInts, true
			}
		} else {
			p.kind, known = parsed[t.Kind]
		}
		if !known {
			return nil
		}
		ok, failed, err := p.accepts(v, place)
		if err == nil && !ok {
			err = (&signature{function: name}).wrong(&p, place, false, v, failed)
		}
		return err
	}
	for i, v := range args {
		if i < len(s.Args) {
			if err := one(v, &s.Args[i], i); err != nil {
				return err
			}
		}
	}
	for _, k := range kw {
		for i := range s.Args {
			if s.Args[i].Name == k.Name {
				if err := one(k.Value, &s.Args[i], i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// refused makes a TypeError of what an operator did not take, as it is where Python's
// parser stands before it.
func refused(err error) error {
	if r, ok := errors.AsType[*mismatch](err); ok {
		return ir.Errorf(ir.ErrType, "%s", r.text)
	}
	return err
}
