package parity

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// raised maps the exceptions of Python and torch to classes of errors.
var raised = map[string]*ir.Class{
	"TypeError": ir.ErrType, "ValueError": ir.ErrValue, "IndexError": ir.ErrIndex, "KeyError": ir.ErrKey,
	"AttributeError": ir.ErrAttribute, "AssertionError": ir.ErrAssertion, "NotImplementedError": ir.ErrNotImplemented,
	"RuntimeError": ir.ErrRuntime, "ZeroDivisionError": ir.ErrZeroDivision, "_LinAlgError": ir.ErrLinAlg, "LinAlgError": ir.ErrLinAlg,
	"OutOfMemoryError": ir.ErrOutOfMemory,
}

// argumentNamed finds the argument that a message of Python is about.
var argumentNamed = regexp.MustCompile(`(?:argument|keyword argument) '(\w+)'`)

// refused checks an error against the recorded one: it is of the same class, names
// the operator, fits the pattern that PyTorch's tests expect, and where an argument
// does not fit its parameter, names the argument.
func (c *recordedCall) refused(err error) string {
	if err == nil {
		return fmt.Sprintf("expected %s, it ran: %s", c.Error, c.Message)
	}
	class, known := raised[c.Error]
	switch got := ir.ClassOf(err); {
	case !known:
		return fmt.Sprintf("recorded exception %s is unknown", c.Error)
	case got != class:
		return fmt.Sprintf("expected a %v as %s, got %v: %v; recorded: %s", class, c.Error, className(got), err, c.Message)
	}
	said := err.Error()
	base := c.Fn[strings.LastIndexByte(c.Fn, '.')+1:]
	if strings.HasPrefix(c.Fn, "torch.ops.") {
		base = strings.SplitN(c.Fn, ".", 4)[3]
		base, _, _ = strings.Cut(base, ".")
	}
	if !strings.Contains(said, base) {
		return fmt.Sprintf("expected an error that names %s, got: %s", base, said)
	}
	if c.Regex != "" {
		pattern, err := regexp.Compile(c.Regex)
		if err != nil {
			return fmt.Sprintf("recorded pattern: %v", err)
		}
		if !pattern.MatchString(said) {
			return fmt.Sprintf("expected an error that fits %q, got: %s", c.Regex, said)
		}
	}
	if m := argumentNamed.FindStringSubmatch(c.Message); m != nil && !strings.Contains(said, "'"+m[1]+"'") {
		return fmt.Sprintf("expected an error that names argument %s, got: %s", m[1], said)
	}
	return ""
}

func className(c *ir.Class) string {
	if c == nil {
		return "an error without class"
	}
	return errors.New("a " + c.Error()).Error()
}
