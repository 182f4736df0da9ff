package ir

import (
	"strconv"
	"strings"
)

// ParseGuard reads a condition on the arguments of a call as torch.export
// writes it in guards_code:
//
//	L['z'].size()[0] == (2*L['x'].size()[1])
//	L['n'] >= 0 and L['n'] <= 10
//
// The symbols of the result are places in the arguments, with their text as
// name; [ParseGuardPlace] takes such a name apart. Python's loader compiles and
// runs these texts; here everything but comparisons, arithmetic and the few
// functions that PyTorch's printer writes is an error of class [ErrSyntax].
func ParseGuard(text string) (*Expr, error) { return parseExpr("guard", text, true) }

// A GuardPlace is what a symbol of a guard stands for: a value inside the
// arguments, or a number that belongs to a tensor there.
type GuardPlace struct {
	Path []Arg  // the forward argument's name, then keys and attributes (Str) and positions (Int) below it
	Of   string // "size", "stride", "storage_offset" or "numel" of the tensor; "" for the value itself
	Dim  int    // the dimension of a size or stride, -1 where there is none
}

// ParseGuardPlace takes apart the name of a symbol of a guard:
// "L['xs'][1].size()[0]" is dimension 0 of the size of item 1 of argument xs.
func ParseGuardPlace(symbol string) (GuardPlace, error) {
	p := exprParser{cursor: cursor{what: "guard", text: symbol}, guard: true}
	p.ident("an argument")
	place := p.trailers(0)
	if p.err == nil && p.pos < len(symbol) {
		p.fail("the end")
	}
	return place, p.err
}

// place reads the trailers of a name whose text began at start.
func (p *exprParser) place(start int) *Expr {
	p.trailers(start)
	return &Expr{symbol: p.text[start:p.pos]}
}

// trailers reads what follows the first name of a place: keys, positions,
// attributes, and at the end a method of tensors. The name itself belongs to
// the path unless it is L, the table of all arguments.
func (p *exprParser) trailers(start int) GuardPlace {
	place := GuardPlace{Dim: -1}
	if name := p.text[start:p.pos]; name != "L" {
		place.Path = append(place.Path, Str(name))
	}
	for p.err == nil && p.pos < len(p.text) {
		switch {
		case p.text[p.pos] == '[':
			p.pos++
			if c := p.peek(); c == '\'' || c == '"' {
				place.Path = append(place.Path, Str(p.str()))
			} else {
				place.Path = append(place.Path, Int(p.integer()))
			}
			p.expect("]")
		case p.text[p.pos] == '.':
			p.pos++
			name := p.ident("an attribute")
			if !strings.HasPrefix(p.text[p.pos:], "(") {
				place.Path = append(place.Path, Str(name))
				continue
			}
			place.Of = name
			p.method(name, &place.Dim)
			return p.named(place)
		default:
			return p.named(place)
		}
	}
	return p.named(place)
}

// named refuses L without an argument.
func (p *exprParser) named(place GuardPlace) GuardPlace {
	if len(place.Path) == 0 {
		p.fail("an argument's name")
	}
	return place
}

// method reads the rest of size()[0].
func (p *exprParser) method(name string, dim *int) {
	switch name {
	case "size", "stride":
		p.expect("()")
		p.expect("[")
		n := p.integer()
		if p.err == nil && (n < 0 || n > maxGuardDim) {
			p.fail("a dimension from 0 to " + strconv.Itoa(maxGuardDim))
		}
		*dim = int(n)
		p.expect("]")
	case "storage_offset", "numel":
		p.expect("()")
	default:
		p.pos -= len(name)
		p.fail("size, stride, storage_offset or numel")
	}
}

const maxGuardDim = 63
