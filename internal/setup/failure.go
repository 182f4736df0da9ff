package setup

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A Failure is what stops a set-up or what a diagnosis found: what is missing or
// wrong, and the commands that mend it. Its class is ir.ErrMissing unless the
// cause has one.
type Failure struct {
	What string   // one or two sentences without a full stop
	Fix  []string // commands to run or changes to make, any one of them suffices
	Err  error    // cause, may be nil
}

// Error returns What, the cause, and one indented line for each way out.
func (f *Failure) Error() string {
	var b strings.Builder
	b.WriteString(f.What)
	if f.Err != nil {
		b.WriteString(": " + f.Err.Error())
	}
	for i, fix := range f.Fix {
		if i == 0 {
			b.WriteString("\n  fix: " + fix)
		} else {
			b.WriteString("\n   or: " + fix)
		}
	}
	return b.String()
}

// Unwrap returns the class and the cause.
func (f *Failure) Unwrap() []error {
	if f.Err == nil {
		return []error{ir.ErrMissing}
	}
	if ir.ClassOf(f.Err) != nil {
		return []error{f.Err}
	}
	return []error{ir.ErrMissing, f.Err}
}
