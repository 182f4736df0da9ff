package export

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/torchfx-go/torchfx/ir"
)

// The limits on a JSON record.
const (
	maxDepth  = 512     // nested containers
	maxTokens = 1 << 25 // values and keys
)

// A jsonDoc is a JSON text that was checked once from end to end and is looked
// at in place: what nobody asks for is never decoded. A program's value tables
// may hold a hundred thousand entries that no node mentions.
type jsonDoc struct {
	text []byte
	toks []jsonTok
	strs map[string]string // decoded strings by their text: names and stack traces recur
}

// A jsonTok is the start of a value or key. For containers the tokens up to
// next are their content: keys and values in turn, or items.
type jsonTok struct {
	pos  uint32 // in the text
	next uint32 // the first token behind this value
}

// A jsonValue is one value of a document. The zero value is no value.
type jsonValue struct {
	doc *jsonDoc
	tok uint32
}

// parseJSON checks text and finds its tokens. Python's spelling of infinities
// and NaN, which is not JSON, is taken only when lax is set. Errors have the
// line and column.
func parseJSON(text []byte, lax bool) (jsonValue, error) {
	if len(text) > maxText {
		return jsonValue{}, ir.Errorf(ir.ErrFormat, "expected at most %d bytes of JSON, got %d", maxText, len(text))
	}
	if !utf8.Valid(text) {
		return jsonValue{}, ir.Errorf(ir.ErrFormat, "not valid JSON: expected UTF-8 text")
	}
	p := jsonParser{text: text, lax: lax}
	p.toks = make([]jsonTok, 0, tokensIn(text))
	if err := p.document(); err != nil {
		return jsonValue{}, err
	}
	return jsonValue{&jsonDoc{text: text, toks: p.toks, strs: map[string]string{}}, 0}, nil
}

// tokensIn is about how many tokens a text has, so that their list need not grow: each
// but the first follows one of these marks. Those in strings count, too, so a text of
// hardly anything else is not believed.
func tokensIn(text []byte) int {
	n := 1
	for _, mark := range []string{",", ":", "{", "["} {
		n += bytes.Count(text, []byte(mark))
	}
	return min(n, len(text)/8+1)
}

type jsonParser struct {
	text []byte
	at   int
	toks []jsonTok
	open []uint32 // tokens of the containers we are in
	lax  bool
}

func (p *jsonParser) fail(format string, args ...any) error {
	line, col := 1, 1
	for _, c := range p.text[:min(p.at, len(p.text))] {
		if col++; c == '\n' {
			line, col = line+1, 1
		}
	}
	err := ir.Errorf(ir.ErrFormat, format, args...)
	return ir.Errorf(ir.ErrFormat, "not valid JSON: line %d column %d (byte %d): %w", line, col, p.at, err)
}

func (p *jsonParser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek returns the next byte that is not white space, 0 at the end.
func (p *jsonParser) peek() byte {
	p.space()
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *jsonParser) push() error {
	if len(p.toks) >= maxTokens {
		return p.fail("expected at most %d values", maxTokens)
	}
	p.toks = append(p.toks, jsonTok{uint32(p.at), uint32(len(p.toks) + 1)})
	return nil
}

// one parses a value, without recursion.
func (p *jsonParser) one() error {
	if err := p.value(); err != nil {
		return err
	}
	for len(p.open) > 0 {
		if err := p.member(); err != nil {
			return err
		}
	}
	return nil
}

// document parses the one value of the text.
func (p *jsonParser) document() error {
	if err := p.one(); err != nil {
		return err
	}
	if p.peek() != 0 || p.at < len(p.text) {
		return p.fail("expected the end, got more text")
	}
	return nil
}

// value reads a scalar, or the opening of a container.
func (p *jsonParser) value() error {
	c := p.peek()
	if err := p.push(); err != nil {
		return err
	}
	switch {
	case c == '{' || c == '[':
		if len(p.open) == maxDepth {
			return p.fail("expected at most %d nested containers", maxDepth)
		}
		p.open = append(p.open, uint32(len(p.toks)-1))
		p.at++
		return nil
	case c == '"':
		return p.str()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 0 && p.at >= len(p.text):
		return p.fail("expected a value, got the end")
	}
	for _, word := range []string{"null", "true", "false", "Infinity", "NaN"} {
		if p.word(word) {
			if word[0] <= 'Z' && !p.lax {
				return p.fail("%s is no JSON number", word)
			}
			return nil
		}
	}
	return p.fail("expected a value, got %q", c)
}

func (p *jsonParser) word(w string) bool {
	if len(p.text)-p.at >= len(w) && string(p.text[p.at:p.at+len(w)]) == w {
		p.at += len(w)
		return true
	}
	return false
}

// member reads what may follow in the innermost container: its end, or the
// next member. A closing one also takes the comma or end behind it.
func (p *jsonParser) member() error {
	top := p.open[len(p.open)-1]
	object := p.text[p.toks[top].pos] == '{'
	closing := byte(']')
	if object {
		closing = '}'
	}
	first := uint32(len(p.toks)) == top+1
	c := p.peek()
	if c == closing {
		p.at++
		p.toks[top].next = uint32(len(p.toks))
		p.open = p.open[:len(p.open)-1]
		return nil
	}
	if !first {
		if c != ',' {
			return p.expected("a comma or "+string(closing), c)
		}
		p.at++
	}
	if object {
		if c := p.peek(); c != '"' {
			return p.expected("a key in quotes", c)
		}
		if err := p.push(); err != nil {
			return err
		}
		if err := p.str(); err != nil {
			return err
		}
		if c := p.peek(); c != ':' {
			return p.expected("a colon", c)
		}
		p.at++
	}
	return p.value()
}

func (p *jsonParser) expected(what string, got byte) error {
	if p.at >= len(p.text) {
		return p.fail("expected %s, got the end", what)
	}
	return p.fail("expected %s, got %q", what, got)
}

// str skips a string and checks its escapes.
func (p *jsonParser) str() error {
	start := p.at
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.at = i + 1
			return nil
		case c < ' ':
			p.at = i
			return p.fail("control character %#02x in a string", c)
		case c == '\\':
			if i++; i >= len(p.text) {
				break
			}
			switch p.text[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if _, ok := hex4(p.text, i+1); !ok {
					p.at = i
					return p.fail("expected four hexadecimal digits after \\u")
				}
				i += 4
			default:
				p.at = i
				return p.fail("unknown escape \\%c", p.text[i])
			}
		}
	}
	p.at = start
	return p.fail("unterminated string")
}

func hex4(text []byte, at int) (r rune, ok bool) {
	if len(text)-at < 4 {
		return 0, false
	}
	for _, c := range text[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// number skips a number of JSON's grammar.
func (p *jsonParser) number() error {
	if p.lax && p.word("-Infinity") {
		return nil
	}
	digits := func() bool {
		start := p.at
		for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			p.at++
		}
		return p.at > start
	}
	next := func(set string) bool {
		if p.at < len(p.text) {
			for i := range len(set) {
				if p.text[p.at] == set[i] {
					p.at++
					return true
				}
			}
		}
		return false
	}
	start := p.at
	next("-")
	if !next("0") && !digits() {
		return p.fail("expected a digit")
	}
	if next(".") && !digits() {
		return p.fail("expected a digit after the point")
	}
	if next("eE") {
		next("+-")
		if !digits() {
			return p.fail("expected a digit in the exponent")
		}
	}
	if p.at-start > 400 {
		return p.fail("expected a number of at most 400 characters")
	}
	return nil
}

// is reports whether v is there at all.
func (v jsonValue) is() bool { return v.doc != nil }

// lead returns the first byte of the value: one of { [ " t f n - 0…9.
func (v jsonValue) lead() byte { return v.doc.text[v.doc.toks[v.tok].pos] }

// kind names what v is, for messages.
func (v jsonValue) kind() string {
	switch v.lead() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a bool"
	case 'n':
		return "null"
	}
	return "a number"
}

func (v jsonValue) null() bool { return v.lead() == 'n' }

// str returns the text of a string.
func (v jsonValue) str() (string, bool) {
	if v.lead() != '"' {
		return "", false
	}
	raw, escaped := v.raw()
	s, ok := v.doc.strs[string(raw)]
	if !ok {
		text := string(raw)
		if s = text; escaped {
			s = unescape(raw)
		}
		v.doc.strs[text] = s
	}
	return s, true
}

// raw returns a string's bytes between the quotes, as they stand.
func (v jsonValue) raw() (raw []byte, escaped bool) {
	start := int(v.doc.toks[v.tok].pos) + 1
	for i := start; ; i++ {
		switch v.doc.text[i] {
		case '"':
			return v.doc.text[start:i], escaped
		case '\\':
			escaped = true
			i++
		}
	}
}

// unescape decodes a string whose escapes were checked. A surrogate without
// its other half becomes U+FFFD.
func unescape(raw []byte) string {
	var out strings.Builder
	out.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out.WriteByte(raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'b':
			out.WriteByte('\b')
		case 'f':
			out.WriteByte('\f')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 't':
			out.WriteByte('\t')
		case 'u':
			r, _ := hex4(raw, i+1)
			i += 4
			if utf16.IsSurrogate(r) && i+2 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
				low, _ := hex4(raw, i+3)
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
			out.WriteRune(r)
		default:
			out.WriteByte(raw[i])
		}
	}
	return out.String()
}

// number returns the characters of a number, "" for any other value.
func (v jsonValue) number() string {
	start := int(v.doc.toks[v.tok].pos)
	i := start
	for i < len(v.doc.text) {
		switch c := v.doc.text[i]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			i++
			continue
		}
		break
	}
	return string(v.doc.text[start:i])
}

// int64 returns a number without point or exponent that fits 64 signed bits.
func (v jsonValue) int64() (int64, bool) {
	n, err := strconv.ParseInt(v.number(), 10, 64)
	return n, err == nil
}

// float64 returns a number, or one of the strings that stand for infinities
// and NaN.
func (v jsonValue) float64() (float64, bool) {
	if v.lead() == '"' {
		switch s, _ := v.str(); s {
		case "Infinity":
			return math.Inf(1), true
		case "-Infinity":
			return math.Inf(-1), true
		case "NaN":
			return math.NaN(), true
		}
		return 0, false
	}
	if v.lead() != '-' && (v.lead() < '0' || v.lead() > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.number(), 64)
	return f, err == nil
}

// infinite reports whether v is one of Python's bare words for an infinity,
// which torch 2.5 wrote and a strict parser has refused.
func (v jsonValue) infinite() bool { return v.lead() == 'I' || v.number() == "-" }

// bool returns a bool.
func (v jsonValue) bool() (value, ok bool) {
	return v.lead() == 't', v.lead() == 't' || v.lead() == 'f'
}

// items calls f with each item of a list, or with each key and value of an
// object, in order. It stops when f returns false.
func (v jsonValue) items(f func(key, item jsonValue) bool) {
	object := v.lead() == '{'
	end := v.doc.toks[v.tok].next
	for t := v.tok + 1; t < end; {
		var key jsonValue
		if object {
			key = jsonValue{v.doc, t}
			t++
		}
		item := jsonValue{v.doc, t}
		if !f(key, item) {
			return
		}
		t = v.doc.toks[t].next
	}
}

// len returns the number of items or of keys.
func (v jsonValue) len() int {
	n := 0
	v.items(func(_, _ jsonValue) bool { n++; return true })
	return n
}
