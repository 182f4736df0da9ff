package parity

import (
	_ "embed"
	"strings"
	"sync"
)

// fxTests says which Go test makes the program of a case with the Go API and
// gets what was recorded of it: a case and a test a line.
//
//go:embed fxtests.txt
var fxTests string

// goTests maps the name of a case to its test, "package.Test".
var goTests = sync.OnceValue(func() map[string]string {
	tests := map[string]string{}
	for line := range strings.Lines(fxTests) {
		if f := strings.Fields(line); len(f) == 2 && !strings.HasPrefix(f[0], "#") {
			tests[f[0]] = f[1]
		}
	}
	return tests
})
