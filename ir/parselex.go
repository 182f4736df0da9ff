package ir

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenEnd     tokenKind = iota
	tokenNewline           // the end of a line that is in no bracket
	tokenName
	tokenInt
	tokenFloat
	tokenImaginary // text without the j
	tokenString    // text is the literal, value what it means
	tokenBytes
	tokenSymbol
	tokenBad
)

type token struct {
	kind  tokenKind
	pos   int
	text  string
	value string
	bad   string // of a tokenBad: what was expected
}

// describe says what a token is, for an error.
func (t token) describe() string {
	switch {
	case t.kind == tokenEnd:
		return "the end of the code"
	case t.kind == tokenNewline:
		return "the end of the line"
	case len(t.text) > 40:
		cut := 40
		for !utf8.RuneStart(t.text[cut]) {
			cut--
		}
		return strconv.Quote(t.text[:cut]) + "..."
	}
	return strconv.Quote(t.text)
}

// A lexer cuts code into tokens, one ahead.
type lexer struct {
	src       string
	pos       int // behind tok
	brackets  int // open ones
	lineStart int // of the line of tok
	tok       token
	comment   string // the last one between the token before and tok
}

func (l *lexer) isName(s string) bool   { return l.tok.kind == tokenName && l.tok.text == s }
func (l *lexer) isSymbol(s string) bool { return l.tok.kind == tokenSymbol && l.tok.text == s }

// peek returns the token after the one at hand.
func (l *lexer) peek() token {
	ahead := *l
	ahead.next()
	return ahead.tok
}

// indent is how far the line of the token at hand is indented.
func (l *lexer) indent() int {
	n := l.lineStart
	for n < len(l.src) && (l.src[n] == ' ' || l.src[n] == '\t') {
		n++
	}
	return n - l.lineStart
}

// next reads a token.
func (l *lexer) next() {
	l.comment = ""
	if l.space(); l.pos == len(l.src) {
		l.tok = token{kind: tokenEnd, pos: l.pos}
		return
	}
	start := l.pos
	c := l.src[start]
	switch {
	case c == '\n':
		l.pos++
		l.lineStart = l.pos
		l.tok = token{kind: tokenNewline, pos: start, text: "\n"}
	case c >= '0' && c <= '9':
		l.number()
	case c == '\'' || c == '"':
		l.text(start, tokenString)
	case isNameByte(c):
		l.word()
	default:
		l.symbol()
	}
}

// space skips blanks, comments, colours, and the ends of lines that end nothing.
func (l *lexer) space() {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			l.pos++
		case c == '\n':
			if l.brackets == 0 && l.tok.kind != tokenNewline && l.tok.kind != tokenEnd {
				return
			}
			l.pos++
			l.lineStart = l.pos
		case c == '#':
			end := l.pos + lineLength(l.src[l.pos:])
			l.comment = l.src[l.pos+1 : end]
			l.pos = end
		case c == '\033':
			n := colorLength(l.src[l.pos:])
			if n == 0 {
				return
			}
			l.pos += n
		default:
			return
		}
	}
}

func lineLength(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// colorLength is the length of a terminal's colour code at the start of s, 0
// where there is none.
func colorLength(s string) int {
	if !strings.HasPrefix(s, "\033[") {
		return 0
	}
	for i := 2; i < len(s) && i < 12; i++ {
		if s[i] == 'm' {
			return i + 1
		}
		if s[i] != ';' && (s[i] < '0' || s[i] > '9') {
			return 0
		}
	}
	return 0
}

// uncolored returns s without terminal colours.
func uncolored(s string) string {
	if !strings.Contains(s, "\033[") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := colorLength(s[i:]); n > 0 {
			i += n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func (l *lexer) word() {
	start := l.pos
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		if c < utf8.RuneSelf {
			if !isNameByte(c) && (c < '0' || c > '9') {
				break
			}
			l.pos++
			continue
		}
		r, n := utf8.DecodeRuneInString(l.src[l.pos:])
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Nl, r) && !unicode.IsDigit(r) && !unicode.In(r, unicode.Mn, unicode.Mc, unicode.Pc) {
			break
		}
		l.pos += n
	}
	text := l.src[start:l.pos]
	switch {
	case text == "":
		_, n := utf8.DecodeRuneInString(l.src[start:])
		l.pos = start + n
		l.tok = token{tokenBad, start, l.src[start:l.pos], "", "a name, a literal or a symbol"}
	case text == "b" && l.pos < len(l.src) && (l.src[l.pos] == '\'' || l.src[l.pos] == '"'):
		l.text(start, tokenBytes)
	default:
		l.tok = token{kind: tokenName, pos: start, text: text}
	}
}

func (l *lexer) digits() {
	for l.pos < len(l.src) && l.src[l.pos] >= '0' && l.src[l.pos] <= '9' {
		l.pos++
	}
}

func (l *lexer) number() {
	start, kind := l.pos, tokenInt
	l.digits()
	rest := func() string { return l.src[l.pos:] }
	if s := rest(); len(s) > 1 && s[0] == '.' && s[1] >= '0' && s[1] <= '9' {
		kind = tokenFloat
		l.pos++
		l.digits()
	}
	if s := rest(); len(s) > 1 && (s[0] == 'e' || s[0] == 'E') {
		if exp := strings.TrimLeft(s[1:min(len(s), 3)], "+-"); exp != "" && exp[0] >= '0' && exp[0] <= '9' {
			kind = tokenFloat
			l.pos += 2
			l.digits()
		}
	}
	l.tok = token{kind: kind, pos: start, text: l.src[start:l.pos]}
	if s := rest(); s != "" && s[0] == 'j' {
		l.tok.kind = tokenImaginary
		l.pos++
	}
	if s := rest(); s != "" && isNameByte(s[0]) {
		l.tok.kind, l.tok.bad = tokenBad, "a number"
		l.tok.text = l.src[start : l.pos+1]
	} else if kind == tokenInt && l.tok.kind == tokenInt && len(l.tok.text) > 1 && l.tok.text[0] == '0' {
		l.tok.kind, l.tok.bad = tokenBad, "a number without leading zeros"
	}
}

// text reads a string literal, which begins at start and whose quote is next.
func (l *lexer) text(start int, kind tokenKind) {
	quote := l.src[l.pos]
	i := l.pos + 1
	plain := true
	for ; i < len(l.src) && l.src[i] != quote && l.src[i] != '\n'; i++ {
		if l.src[i] == '\\' && i+1 < len(l.src) && l.src[i+1] != '\n' {
			plain = false
			i++
		}
	}
	if i >= len(l.src) || l.src[i] != quote {
		l.tok = token{tokenBad, start, l.src[start:i], "", "a string that ends on its line"}
		l.pos = i
		return
	}
	inside := l.src[l.pos+1 : i]
	l.pos = i + 1
	l.tok = token{kind: kind, pos: start, text: l.src[start:l.pos], value: inside}
	if !plain {
		value, bad := unescape(inside, kind == tokenBytes)
		l.tok.value = value
		if bad != "" {
			l.tok.kind, l.tok.bad = tokenBad, bad
		}
	}
}

// unescape reads the escapes that Python's repr writes. A lone surrogate from
// dc80 to dcff is a byte that was no UTF-8, as Python's surrogateescape has it.
func unescape(s string, bytes bool) (value, bad string) {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits := 0
		switch c := s[i]; c {
		case '\\', '\'', '"':
			b.WriteByte(c)
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			return "", "an escape that Python's repr writes in a string"
		}
		if digits == 0 {
			continue
		}
		if i+digits >= len(s) {
			return "", fmt.Sprintf("%d hexadecimal digits after \\%c in a string", digits, s[i])
		}
		n, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
		switch {
		case err != nil:
			return "", fmt.Sprintf("%d hexadecimal digits after \\%c in a string", digits, s[i])
		case bytes && digits == 2, n >= 0xdc80 && n <= 0xdcff:
			b.WriteByte(byte(n))
		case n >= 0xd800 && n < 0xe000 || n > unicode.MaxRune:
			return "", "an escape of a character in a string"
		default:
			b.WriteRune(rune(n))
		}
		i += digits
	}
	return b.String(), ""
}

// symbols are Python's operators and brackets that occur, long ones first.
var symbols = []string{
	"**=", "//=", "<<=", ">>=",
	"->", "**", "//", "<<", ">>", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "@=", "&=", "|=", "^=",
}

func (l *lexer) symbol() {
	rest := l.src[l.pos:]
	n := 0
	if len(rest) > 1 && strings.IndexByte("=*/<>", rest[1]) >= 0 {
		for _, s := range symbols {
			if strings.HasPrefix(rest, s) {
				n = len(s)
				break
			}
		}
	}
	if n == 0 && strings.IndexByte("()[]{},:;.=+-*/%@&|^~<>", rest[0]) >= 0 {
		n = 1
	}
	if n == 0 {
		l.tok = token{tokenBad, l.pos, rest[:1], "", "a name, a literal or a symbol"}
		l.pos++
		return
	}
	switch rest[0] {
	case '(', '[', '{':
		l.brackets++
	case ')', ']', '}':
		l.brackets = max(l.brackets-1, 0)
	}
	l.tok = token{kind: tokenSymbol, pos: l.pos, text: rest[:n]}
	l.pos += n
}
