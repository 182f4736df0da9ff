package parity

import (
	"regexp"
	"strings"
	"unicode"
)

// unsaid returns what an error message leaves out of what it has to tell.
//
// What a case wants to be told is a sentence of its recorder, not a text to be
// met word by word. So of its words:
//
//   - names must all occur: whatever holds a digit or a sign inside (weight_0,
//     l.bias, models/model.json, aten::lineaar.default, 7, ..), an inner capital
//     (TorchScript, JSON), or follows "node", "argument" or "value";
//   - of the other words of at least four letters, half must occur, compared by
//     their first five letters, so that "missing" and "misses" agree.
//
// What stands in parentheses is a remark. "/" between words means or: one side
// is enough.
func unsaid(message, says string) []string {
	var missing []string
	for i, side := range strings.Split(parenthesised.ReplaceAllString(says, ""), " / ") {
		if m := unsaidSide(message, side); i == 0 || len(m) < len(missing) {
			missing = m
		}
	}
	return missing
}

var (
	parenthesised = regexp.MustCompile(`\s*\([^)]*\)`)
	word          = regexp.MustCompile(`[\pL\pN_./:'-]+`)
)

// fillers are words of a sentence that carry nothing.
var fillers = map[string]bool{
	"this": true, "that": true, "with": true, "must": true, "than": true, "only": true, "name": true,
	"before": true, "produced": true, "older": true, "have": true, "they": true, "were": true,
}

func unsaidSide(message, says string) []string {
	said := normal(message)
	var missing, others []string
	total, after := 0, ""
	for _, w := range word.FindAllString(says, -1) {
		w = strings.TrimRight(w, ",;:'")
		if w != ".." {
			w = strings.TrimRight(w, ".")
		}
		previous := after
		after = strings.ToLower(w)
		switch {
		case isName(w) || previous == "node" || previous == "argument" || previous == "value":
			if !hasWord(said, normal(w)) {
				missing = append(missing, w)
			}
		case len(w) >= 4 && !fillers[after]:
			total++
			if !strings.Contains(said, after[:min(5, len(after))]) {
				others = append(others, w)
			}
		}
	}
	if 2*len(others) > total {
		missing = append(missing, others...)
	}
	return missing
}

// normal lowers case and drops ".default", which an operator may be named with
// or without.
func normal(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), ".default", "")
}

func isName(w string) bool {
	for i, r := range w {
		if unicode.IsDigit(r) || strings.ContainsRune("_./:", r) || i > 0 && unicode.IsUpper(r) {
			return true
		}
	}
	return false
}

// hasWord reports whether name stands in text with no letter or digit touching
// it, so that 7 is not found in 8.17.
func hasWord(text, name string) bool {
	part := func(r byte) bool { return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' }
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(name)
		if (i == 0 || !part(text[i-1]) || !part(name[0])) && (end == len(text) || !part(text[end]) || !part(name[len(name)-1])) {
			return true
		}
		at = i + 1
	}
}
