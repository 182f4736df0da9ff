package parity

import (
	_ "embed"
	"strings"
	"sync"
)

// fxTests says which Go test makes the program of a case with the Go API and
// gets what was recorded of it, or why no Go program can be it: a case a line.
//
//go:embed fxtests.txt
var fxTests string

// A goTest is what fxTests says of a case.
type goTest struct {
	test   string // "package.Test", "" where there is none
	reason string // why there is none, or why it reads a program's text
}

// goTests maps the name of a case to its test.
var goTests = sync.OnceValue(func() map[string]goTest {
	tests := map[string]goTest{}
	for line := range strings.Lines(fxTests) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || name == "#" {
			continue
		}
		test, reason, _ := strings.Cut(" "+rest, " - ")
		tests[name] = goTest{strings.TrimSpace(test), reason}
	}
	return tests
})

// programNote says who checks what a case's files do not determine.
func programNote(name, what string) string {
	switch t, ok := goTests()[name]; {
	case t.test != "":
		return "Go test " + t.test
	case ok:
		return what + " that Go cannot have: " + t.reason
	}
	return what + ", which only a program built from Go can repeat"
}
