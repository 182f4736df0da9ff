package torchops

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// An Error is what every failing call of this package returns or, from the
// functions that model code calls, panics with; see [Try]. The class of Err is
// the one that Python would raise.
type Error struct {
	In   string   // the function that called Op, where that is another: "torch.nn.functional.l1_loss"
	Op   string   // what was called: "aten::add.Tensor", "operator.add", "Shape"
	Args []string // its arguments: "self: f32[2, 3] cpu", "dim: 1"
	Err  error    // the cause
}

// Error returns the operation, the cause and the arguments.
func (e *Error) Error() string {
	text := e.Op + ": " + e.Err.Error()
	if e.In != "" {
		text = e.In + ": " + text
	}
	if len(e.Args) > 0 {
		text += " (" + strings.Join(e.Args, ", ") + ")"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrTracers is the cause of an error where values of two traces meet.
var ErrTracers = ir.Errorf(ir.ErrTrace, "values of two traces meet in one call")

// failed makes an Error of a cause, unless the cause is one already: the
// innermost operation is the one that people look for.
func failed(op string, args []any, kw []Kwarg, cause error) error {
	if cause == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](cause); ok {
		return e
	}
	e := &Error{Op: op, Err: cause}
	for _, a := range withoutScopes(args) {
		e.Args = append(e.Args, Describe(a))
	}
	for _, k := range kw {
		e.Args = append(e.Args, k.Name+"="+Describe(k.Value))
	}
	return e
}

// failedIn is failed for a function that calls others: the error keeps the
// innermost operation and names the outermost function.
func failedIn(f *ir.Func, args []any, kw []Kwarg, cause error) error {
	err := failed(f.Name(), args, kw, cause)
	if e, ok := errors.AsType[*Error](err); ok && !strings.Contains(e.Op, f.Base()) {
		named := *e
		named.In = f.Name()
		return &named
	}
	return err
}

// mustNot panics with err as an *Error, for the functions of model code.
func mustNot(op string, err error) {
	if err != nil {
		panic(failed(op, nil, nil, err))
	}
}

// describedItems is how much of a list a message shows.
const describedItems = 8

// Describe writes a value as an error message shows it: a tensor by dtype,
// shape and device, "f32[2, 3] cpu", never by its elements.
func Describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case *Tensor:
		return v.describe()
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		if len(v) > 64 {
			return strconv.Quote(v[:64]) + "…"
		}
		return strconv.Quote(v)
	case *ir.GraphModule:
		return "graph"
	case SymInt:
		return v.String()
	case Value:
		return "a traced value"
	case ir.Slice:
		return "slice(" + Describe(v.Start) + ", " + Describe(v.Stop) + ", " + Describe(v.Step) + ")"
	}
	if plain, err := normalize(v); err == nil {
		if v = plain; v == nil {
			return "None"
		}
		if x, kind := items(v); kind != "" {
			parts := make([]string, 0, describedItems+1)
			for i, item := range x {
				if i == describedItems {
					parts = append(parts, fmt.Sprintf("… %d in all", len(x)))
					break
				}
				parts = append(parts, Describe(item))
			}
			return "[" + strings.Join(parts, ", ") + "]"
		}
	}
	return fmt.Sprint(v)
}
