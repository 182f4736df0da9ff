package ir

import (
	"slices"
	"strconv"
	"strings"
)

// String returns what SymPy's str does, "2*s27 + 1": the text that torch.export
// uses as key of range constraints and that people read in messages. Terms stay
// in the order in which they were written.
func (e *Expr) String() string { return e.str(1) }

// str follows sympy/printing/str.py. level counts how deep the printer is: only
// a float that stands alone keeps its zeros.
func (e *Expr) str(level int) string {
	switch {
	case e.symbol != "":
		return e.symbol
	case e.isNumber():
		return e.numberStr(level)
	}
	switch e.fn {
	case fnAdd:
		return e.addStr(level)
	case fnMul:
		return e.mulStr(level)
	case fnPow:
		return powStr(e.args[0], e.args[1], level)
	case fnFloorDiv, fnCleanDiv:
		return "(" + e.args[0].paren(precAtom-1, level) + "//" + e.args[1].paren(precAtom-1, level) + ")"
	case fnIdentity:
		return "(" + e.args[0].str(level+1) + ")"
	case fnEq:
		return e.callStr("Eq", level)
	case fnNe:
		return e.callStr("Ne", level)
	case fnLt:
		return e.infix(" < ", precRelational, level)
	case fnLe:
		return e.infix(" <= ", precRelational, level)
	case fnGt:
		return e.infix(" > ", precRelational, level)
	case fnGe:
		return e.infix(" >= ", precRelational, level)
	}
	if !slices.ContainsFunc(e.args, func(a *Expr) bool { return !a.isCondition() }) {
		switch e.fn {
		case fnAnd:
			return e.infix(" & ", precBitAnd, level)
		case fnOr:
			return e.infix(" | ", precBitOr, level)
		case fnNot:
			return "~" + e.args[0].paren(precNot, level)
		}
	}
	return e.callStr(e.fn.name, level)
}

func (e *Expr) numberStr(level int) string {
	switch {
	case e.bits > 0:
		digits := max(1, int(float64(e.bits)/3.3219280948873626+0.5)-1) // mpmath's prec_to_dps
		return sympyFloat(e.value.f, digits, level > 1)
	case e.text != "":
		return e.text
	case e.value.kind == kindFraction:
		return strconv.FormatInt(e.value.n, 10) + "/" + strconv.FormatInt(e.value.d, 10)
	case e.value.kind == kindBool:
		return boolText(e.value.n != 0)
	}
	return strconv.FormatInt(e.value.n, 10)
}

// precedence says how tightly the printed form of e binds.
func (e *Expr) precedence() int {
	switch {
	case e.negative():
		return precAdd
	case e.isNumber() && e.value.kind == kindFraction:
		return precMul
	case e.fn == nil:
		return precAtom
	case e.fn == fnMul && e.args[0].negative() && !e.hasLooseFunction():
		return precAdd
	}
	return e.fn.prec
}

// hasLooseFunction reports whether an argument is one of PyTorch's functions
// that bind more loosely than a product.
func (e *Expr) hasLooseFunction() bool {
	for _, a := range e.args {
		if f := a.fn; f != nil && f.prec < precMul && f != fnAdd && !f.boolean {
			return true
		}
	}
	return false
}

// paren prints e, in parentheses unless it binds more tightly than prec.
func (e *Expr) paren(prec, level int) string {
	if e.precedence() <= prec {
		return "(" + e.str(level+1) + ")"
	}
	return e.str(level + 1)
}

func (e *Expr) infix(sep string, prec, level int) string {
	parts := make([]string, len(e.args))
	for i, a := range e.args {
		parts[i] = a.paren(prec, level)
	}
	return strings.Join(parts, sep)
}

func (e *Expr) callStr(name string, level int) string {
	return name + "(" + e.infix(", ", 0, level) + ")"
}

func (e *Expr) addStr(level int) string {
	var b strings.Builder
	for i, term := range e.args {
		text, minus := term.str(level+1), false
		loose := term.precedence() < precAdd || term.fn == fnAdd
		if !loose {
			text, minus = strings.CutPrefix(text, "-")
		}
		switch {
		case i > 0 && minus:
			b.WriteString(" - ")
		case i > 0:
			b.WriteString(" + ")
		case minus:
			b.WriteByte('-')
		}
		if loose {
			text = "(" + text + ")"
		}
		b.WriteString(text)
	}
	return b.String()
}

// mulStr sorts the factors into those above and those below the bar.
func (e *Expr) mulStr(level int) string {
	prec := e.precedence()
	var above, below []string
	minus := false
	for _, a := range e.args {
		if a.negative() {
			minus = !minus
			a = negate(a)
		}
		switch {
		case a.isInt(1):
		case a.isNumber() && a.value.kind == kindFraction:
			if a.value.n != 1 {
				above = append(above, strconv.FormatInt(a.value.n, 10))
			}
			below = append(below, strconv.FormatInt(a.value.d, 10))
		case a.fn == fnPow && a.args[1].isInt(-1):
			below = append(below, a.args[0].paren(prec, level))
		case a.fn == fnPow && a.args[1].minus():
			inverse := apply(fnPow, a.args[0], negate(a.args[1]))
			below = append(below, inverse.paren(prec, level))
		default:
			above = append(above, a.paren(prec, level))
		}
	}
	if len(above) == 0 {
		above = []string{"1"}
	}
	text := strings.Join(above, "*")
	if minus {
		text = "-" + text
	}
	switch len(below) {
	case 0:
		return text
	case 1:
		return text + "/" + below[0]
	}
	return text + "/(" + strings.Join(below, "*") + ")"
}

// minus reports whether e is written with a minus sign in front.
func (e *Expr) minus() bool { return e.negative() || e.fn == fnMul && e.args[0].negative() }

func powStr(base, exp *Expr, level int) string {
	half := number{kind: kindFraction, n: 1, d: 2}
	switch {
	case exp.isNumber() && exp.value == half:
		return "sqrt(" + base.str(level+1) + ")"
	case exp.isNumber() && exp.value == half.neg():
		return "1/sqrt(" + base.str(level+1) + ")"
	case exp.isInt(-1):
		return "1/" + base.paren(precPow, level)
	}
	return base.paren(precPow, level) + "**" + exp.paren(precPow, level)
}
