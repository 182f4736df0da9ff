package export

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/torchfx-go/torchfx/ir"
)

var errIsDirectory = errors.New("is a directory")

// The bounds on the report on one file: a hostile one could have millions of
// faults, and names of millions of letters.
const (
	maxFaults    = 100
	maxFaultText = 2048
)

// faults collects all that is wrong with a file, so that it is reported at once.
type faults struct {
	errs     []error
	dropped  int
	warnings []string
	warned   map[string]bool
}

// add notes a fault of a class; the text is `what: expected, got`. Names come
// from the file: what could play tricks with a terminal or a log is escaped.
func (f *faults) add(class *ir.Class, format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = printable(s[:min(len(s), maxFaultText)])
		}
	}
	f.err(ir.Errorf(class, format, args...))
}

// printable escapes control characters and the like.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// err notes err, if it is one.
func (f *faults) err(err error) {
	switch {
	case err == nil:
	case len(f.errs) < maxFaults:
		f.errs = append(f.errs, err)
	default:
		f.dropped++
	}
}

// warn notes something odd that stops nobody; equal texts are kept once.
func (f *faults) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	text = printable(text[:min(len(text), maxFaultText)])
	if f.warned[text] || len(f.warnings) >= maxFaults {
		return
	}
	if f.warned == nil {
		f.warned = map[string]bool{}
	}
	f.warned[text] = true
	f.warnings = append(f.warnings, text)
}

// any reports whether there is a fault.
func (f *faults) any() bool { return len(f.errs) > 0 }

// join returns all faults as one error, nil where there is none.
func (f *faults) join() error {
	if f.dropped > 0 {
		return errors.Join(append(f.errs, ir.Errorf(ir.ErrFormat, "and %d more faults", f.dropped))...)
	}
	return errors.Join(f.errs...)
}
