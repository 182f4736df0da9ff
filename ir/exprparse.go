package ir

import (
	"strconv"
	"strings"
)

// Bounds on an expression's text and on the tree that it makes.
const (
	maxExprText  = 1 << 16
	maxExprDepth = 200
)

// ParseExpr reads a symbolic size as torch.export writes it: SymPy's srepr
// ("Mul(Integer(2), Symbol('s27', positive=True, integer=True))", torch 2.6 and
// later) or its str ("2*s27", torch 2.5 and the keys of range constraints).
//
// PyTorch's loader hands such a text to Python's eval; here it is read by a
// grammar of numbers, symbols, operators and known functions, and everything
// else is an error of class [ErrSyntax] that names the column. It should cost a
// reader the checks that need the size, not the program.
func ParseExpr(text string) (*Expr, error) { return parseExpr("expression", text, false) }

// parseExpr reads text; in a guard the symbols are places in the arguments of
// a call, and / is Python's.
func parseExpr(what, text string, guard bool) (*Expr, error) {
	if len(text) > maxExprText {
		return nil, Errorf(ErrSyntax, "%s: expected at most %d bytes, got %d", what, maxExprText, len(text))
	}
	p := exprParser{cursor: cursor{what: what, text: text}, guard: guard}
	e := p.or()
	p.space()
	if p.err == nil && p.pos < len(text) {
		p.fail("an operator or the end")
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

// exprParser reads Python's expression grammar, one method a level of
// precedence, the loosest first. After an error every method returns at once.
type exprParser struct {
	cursor
	guard bool
	depth int
}

// enter guards the recursion; the caller calls leave.
func (p *exprParser) enter() bool {
	if p.depth++; p.depth > maxExprDepth {
		p.fail("parts nested at most " + strconv.Itoa(maxExprDepth) + " deep")
	}
	return p.err == nil
}

func (p *exprParser) leave() { p.depth-- }

// apply makes a function, unless an error came before or the tree is too deep.
func (p *exprParser) apply(fn *exprFunc, args ...*Expr) *Expr {
	if p.err != nil {
		return nil
	}
	e := apply(fn, args...)
	if e.depth > maxExprDepth {
		p.fail("parts nested at most " + strconv.Itoa(maxExprDepth) + " deep")
	}
	return e
}

// word skips a keyword, if it is next.
func (p *exprParser) word(w string) bool {
	p.space()
	if rest := p.text[p.pos:]; p.err != nil || !strings.HasPrefix(rest, w) || len(rest) > len(w) && isWordByte(rest[len(w)]) {
		return false
	}
	p.pos += len(w)
	return true
}

func (p *exprParser) or() *Expr {
	args := []*Expr{p.and()}
	for p.word("or") {
		args = append(args, p.and())
	}
	return p.join(fnOr, args)
}

func (p *exprParser) and() *Expr {
	args := []*Expr{p.not()}
	for p.word("and") {
		args = append(args, p.not())
	}
	return p.join(fnAnd, args)
}

// join makes one function of args; sums in a sum and products in a product
// become part of it, as in SymPy.
func (p *exprParser) join(fn *exprFunc, args []*Expr) *Expr {
	if p.err != nil {
		return nil
	}
	if len(args) == 1 {
		return args[0]
	}
	flat := make([]*Expr, 0, len(args))
	for _, a := range args {
		if a.fn == fn {
			flat = append(flat, a.args...)
		} else {
			flat = append(flat, a)
		}
	}
	return p.apply(fn, flat...)
}

func (p *exprParser) not() *Expr {
	if !p.word("not") {
		return p.comparison()
	}
	defer p.leave()
	if !p.enter() {
		return nil
	}
	return p.apply(fnNot, p.not())
}

var comparisons = []struct {
	token string
	fn    *exprFunc
}{{"==", fnEq}, {"!=", fnNe}, {"<=", fnLe}, {">=", fnGe}, {"<", fnLt}, {">", fnGt}}

// comparison reads a chain, which is the conjunction of its links.
func (p *exprParser) comparison() *Expr {
	left := p.bitOr()
	var links []*Expr
next:
	for p.err == nil {
		for _, c := range comparisons {
			if !p.accept(c.token) {
				continue
			}
			right := p.bitOr()
			links = append(links, p.apply(c.fn, left, right))
			left = right
			continue next
		}
		break
	}
	if len(links) == 0 {
		return left
	}
	return p.join(fnAnd, links)
}

func (p *exprParser) bitOr() *Expr {
	e := p.bitXor()
	for p.accept("|") {
		e = p.logical(fnOr, fnBitOr, e, p.bitXor())
	}
	return e
}

func (p *exprParser) bitXor() *Expr {
	e := p.bitAnd()
	for p.accept("^") {
		e = p.apply(fnBitXor, e, p.bitAnd())
	}
	return e
}

func (p *exprParser) bitAnd() *Expr {
	e := p.shift()
	for p.accept("&") {
		e = p.logical(fnAnd, fnBitAnd, e, p.shift())
	}
	return e
}

// logical is SymPy's & and |: a conjunction of conditions, bits of integers.
func (p *exprParser) logical(logic, bits *exprFunc, a, b *Expr) *Expr {
	switch {
	case p.err != nil:
		return nil
	case !a.isCondition() || !b.isCondition():
		return p.apply(bits, a, b)
	}
	return p.join(logic, []*Expr{a, b})
}

// isCondition reports whether the value of e is a truth value.
func (e *Expr) isCondition() bool {
	return e.fn != nil && e.fn.boolean || e.isNumber() && e.value.kind == kindBool
}

func (p *exprParser) shift() *Expr {
	e := p.sum()
	for p.err == nil {
		switch {
		case p.accept("<<"):
			e = p.apply(fnLShift, e, p.sum())
		case p.accept(">>"):
			e = p.apply(fnRShift, e, p.sum())
		default:
			return e
		}
	}
	return e
}

func (p *exprParser) sum() *Expr {
	terms := []*Expr{p.product()}
	for p.err == nil {
		switch {
		case p.accept("+"):
			terms = append(terms, p.product())
		case p.accept("-"):
			if t := p.product(); p.err == nil {
				terms = append(terms, negate(t))
			}
		default:
			return p.join(fnAdd, terms)
		}
	}
	return nil
}

func (p *exprParser) product() *Expr {
	factors := []*Expr{p.unary()}
	all := func() *Expr { return p.join(fnMul, factors) }
	for p.err == nil {
		switch {
		case p.accept("//"):
			factors = []*Expr{p.apply(fnFloorDiv, all(), p.unary())}
		case p.accept("%"):
			factors = []*Expr{p.apply(fnMod, all(), p.unary())}
		case p.accept("/"):
			if d := p.unary(); p.guard {
				factors = []*Expr{p.apply(fnTrueDiv, all(), d)}
			} else {
				factors = p.divide(factors, d)
			}
		case p.accept("*"):
			factors = append(factors, p.unary())
		default:
			return all()
		}
	}
	return nil
}

// divide is SymPy's /: exact, so that s/2 is half of s and not a float.
func (p *exprParser) divide(factors []*Expr, d *Expr) []*Expr {
	if p.err != nil {
		return nil
	}
	last := len(factors) - 1
	if !d.isNumber() || d.value.kind != kindInt {
		inverse := p.apply(fnPow, d, IntExpr(-1))
		if last == 0 && factors[0].isInt(1) {
			return []*Expr{inverse}
		}
		return append(factors, inverse)
	}
	numerator := int64(1)
	if f := factors[last]; f.isNumber() && f.value.kind == kindInt {
		numerator, factors = f.value.n, factors[:last]
	}
	q, err := fraction(numerator, d.value.n)
	if err != nil {
		p.fail("a divisor that is not zero")
		return nil
	}
	return append([]*Expr{{value: q}}, factors...)
}

func (p *exprParser) unary() *Expr {
	c := p.peek()
	if c != '-' && c != '+' && c != '~' {
		return p.power()
	}
	p.accept(string(c))
	defer p.leave()
	if !p.enter() {
		return nil
	}
	e := p.unary()
	switch {
	case p.err != nil:
		return nil
	case c == '-':
		return negate(e)
	case c == '~' && !e.isCondition():
		p.fail("a condition after ~")
	case c == '~':
		return p.apply(fnNot, e)
	}
	return e
}

func (p *exprParser) power() *Expr {
	e := p.atom()
	if !p.accept("**") {
		return e
	}
	defer p.leave()
	if !p.enter() {
		return nil
	}
	return p.apply(fnPow, e, p.unary())
}
