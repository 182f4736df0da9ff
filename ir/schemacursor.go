package ir

import (
	"strings"
	"unicode/utf8"
)

// A cursor reads a text from left to right for the recursive descent parsers of
// this package. Its first error sticks; whoever loops looks at err.
type cursor struct {
	what string // names the kind of text in errors
	text string
	pos  int
	err  error
}

func (c *cursor) space() {
	for c.pos < len(c.text) && strings.IndexByte(" \t\r\n", c.text[c.pos]) >= 0 {
		c.pos++
	}
}

// peek returns the next byte that is no space, 0 at the end or after an error.
func (c *cursor) peek() byte {
	c.space()
	if c.err != nil || c.pos == len(c.text) {
		return 0
	}
	return c.text[c.pos]
}

// accept skips token if it is next.
func (c *cursor) accept(token string) bool {
	if c.err != nil {
		return false
	}
	c.space()
	if !strings.HasPrefix(c.text[c.pos:], token) {
		return false
	}
	c.pos += len(token)
	return true
}

func (c *cursor) expect(token string) {
	if c.err == nil && !c.accept(token) {
		c.fail(`"` + token + `"`)
	}
}

// ident reads a word at the very place; spaces are the caller's affair.
func (c *cursor) ident(expected string) string {
	if c.err != nil {
		return ""
	}
	start := c.pos
	for c.pos < len(c.text) && isWordByte(c.text[c.pos]) {
		c.pos++
	}
	if c.pos == start || c.text[start] >= '0' && c.text[start] <= '9' {
		c.pos = start
		c.fail(expected)
		return ""
	}
	return c.text[start:c.pos]
}

func isWordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// fail records what was expected at the place, and what is there.
func (c *cursor) fail(expected string) {
	if c.err == nil {
		c.err = Errorf(ErrSyntax, "%s: column %d: expected %s, got %s", c.what, c.pos+1, expected, c.found())
	}
}

// found quotes the next word or character.
func (c *cursor) found() string {
	rest := c.text[c.pos:]
	if rest == "" {
		return "the end"
	}
	n := 0
	for n < len(rest) && n < 24 && isWordByte(rest[n]) {
		n++
	}
	if n == 0 {
		_, n = utf8.DecodeRuneInString(rest)
	}
	return strings.ToValidUTF8(`"`+rest[:n]+`"`, "\uFFFD")
}
