// Package snake turns names of Go into names of Python.
package snake

import (
	"strings"
	"unicode"
)

// Case turns a Go field name into Python's: RunningMean to running_mean, Fc1 and
// FC1 to fc1.
func Case(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
