package ir

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (p *exprParser) atom() *Expr {
	c := p.peek()
	switch {
	case c == '(':
		defer p.leave()
		if !p.enter() {
			return nil
		}
		p.expect("(")
		e := p.or()
		p.expect(")")
		return e
	case c == '.' || c >= '0' && c <= '9':
		return p.number()
	}
	start := p.pos
	name := p.ident("a number, a symbol or a function")
	if name == "torch" || name == "math" {
		for p.err == nil && p.pos < len(p.text) && p.text[p.pos] == '.' {
			p.pos++
			p.ident("a function")
		}
		name = p.text[start:p.pos]
	}
	if value, ok := exprConstants[name]; ok {
		return value
	}
	end := p.pos
	switch {
	case p.err != nil:
		return nil
	case p.peek() == '(':
		return p.call(name, start)
	case strings.Contains(name, "."):
		p.fail(`"("`)
		return nil
	}
	p.pos = end
	if p.guard {
		return p.place(start)
	}
	return &Expr{symbol: name}
}

// exprConstants are the numbers that have names.
var exprConstants = map[string]*Expr{
	"True": {value: boolNumber(true)}, "False": {value: boolNumber(false)},
	"true": {value: boolNumber(true)}, "false": {value: boolNumber(false)},
	"oo":       {value: floatNumber(math.Inf(1)), text: "oo"},
	"int_oo":   {value: floatNumber(math.Inf(1)), text: "int_oo"},
	"math.inf": {value: floatNumber(math.Inf(1)), text: "oo"},
}

func (p *exprParser) number() *Expr {
	start := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		sign := (c == '+' || c == '-') && p.pos > start && (p.text[p.pos-1]|0x20) == 'e'
		if !sign && c != '.' && c|0x20 != 'e' && (c < '0' || c > '9') {
			break
		}
		p.pos++
	}
	text := p.text[start:p.pos]
	if strings.ContainsAny(text, ".eE") {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return floatExpr(f)
		}
	} else if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return IntExpr(n)
	}
	p.pos = start
	p.fail("a number of 64 bits")
	return nil
}

// floatExpr is a literal of the precision of float64.
func floatExpr(f float64) *Expr {
	return &Expr{value: floatNumber(f), text: sympyFloat(f, 17, true), bits: 53}
}

// call reads the arguments of a function, and the constructors of srepr.
func (p *exprParser) call(name string, start int) *Expr {
	defer p.leave()
	if !p.enter() {
		return nil
	}
	if (p.guard || !exprConstructors[name]) && exprFuncNamed(name, 1) == nil {
		p.pos = start
		p.fail("a known function")
	}
	p.expect("(")
	switch name {
	case "Symbol":
		return p.symbol()
	case "Integer":
		n := p.integer()
		p.expect(")")
		return IntExpr(n)
	case "Rational":
		n := p.integer()
		p.expect(",")
		d := p.integer()
		q, err := fraction(n, d)
		if err != nil && p.err == nil {
			p.fail("a fraction of 64 bits")
		}
		p.expect(")")
		return &Expr{value: q}
	case "Float":
		return p.float()
	}
	var args []*Expr
	for p.err == nil && !p.accept(")") {
		if len(args) > 0 {
			p.expect(",")
		}
		args = append(args, p.or())
	}
	if p.err != nil {
		return nil
	}
	fn := exprFuncNamed(name, len(args))
	if name == "sqrt" {
		fn = fnPow
		args = append(args, &Expr{value: number{kind: kindFraction, n: 1, d: 2}})
	}
	if len(args) < fn.min || len(args) > fn.max {
		p.pos = start
		p.fail(fn.name + " with " + arity(fn) + " arguments")
	}
	return p.apply(fn, args...)
}

// exprConstructors are the calls that are no function of an expression.
var exprConstructors = map[string]bool{"Symbol": true, "Integer": true, "Rational": true, "Float": true, "sqrt": true}

func arity(fn *exprFunc) string {
	switch fn.max {
	case fn.min:
		return strconv.Itoa(fn.min)
	case manyArgs:
		return strconv.Itoa(fn.min) + " or more"
	}
	return strconv.Itoa(fn.min) + " to " + strconv.Itoa(fn.max)
}

// symbol reads the rest of Symbol('s77', positive=True, integer=True).
func (p *exprParser) symbol() *Expr {
	e := &Expr{symbol: p.str()}
	var assume []string
	for p.err == nil && !p.accept(")") {
		p.expect(",")
		p.space()
		key := p.ident("an assumption")
		p.expect("=")
		p.space()
		value := p.ident("True or False")
		if value != "True" && value != "False" && p.err == nil {
			p.pos -= len(value)
			p.fail("True or False")
		}
		assume = append(assume, key+"="+value)
	}
	e.assume = strings.Join(assume, ", ")
	return e
}

// float reads the rest of Float('0.5', precision=53).
func (p *exprParser) float() *Expr {
	p.space()
	start := p.pos
	text := p.str()
	f, err := strconv.ParseFloat(text, 64)
	p.expect(",")
	p.expect("precision")
	p.expect("=")
	bits := p.integer()
	p.expect(")")
	if p.err == nil && (err != nil || text == "" || bits < 1 || bits > maxExprText) {
		p.pos = start
		p.fail("a float")
	}
	return &Expr{value: floatNumber(f), text: text, bits: int(bits)}
}

func (p *exprParser) integer() int64 {
	p.space()
	start := p.pos
	p.accept("-")
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	n, err := strconv.ParseInt(p.text[start:p.pos], 10, 64)
	if err != nil {
		p.pos = start
		p.fail("an integer of 64 bits")
	}
	return n
}

// str reads a quoted string without escapes.
func (p *exprParser) str() string {
	quote := p.peek()
	if quote != '\'' && quote != '"' {
		p.fail("a quoted string")
		return ""
	}
	s, _, closed := strings.Cut(p.text[p.pos+1:], string(quote))
	odd := func(r rune) bool { return r == '\\' || r == utf8.RuneError || !strconv.IsPrint(r) }
	if s == "" || !closed || strings.ContainsFunc(s, odd) {
		p.fail("a quoted string without escapes")
		return ""
	}
	p.pos += len(s) + 2
	return s
}
