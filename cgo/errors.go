package libtorch

// #include "trampoline.h"
import "C"

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// An Error is a failure that libtorch reported. Its text is libtorch's message
// without the C++ backtrace; the operator's name is in Op and not in the text,
// since callers name the operator their own way.
type Error struct {
	Op      string // "aten::mm"; "" where no operator was called
	Message string
	// Accelerator says that the device reported it, mostly of something that was given
	// to it before: the operator that is named may be an innocent one.
	Accelerator bool
	classes     []error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the classes of ir: first Python's, then those that say more.
func (e *Error) Unwrap() []error { return e.classes }

// classes by the codes of bridge/tfx.h.
var classes = [...]*ir.Class{
	1: ir.ErrRuntime, 2: ir.ErrType, 3: ir.ErrValue, 4: ir.ErrIndex, 5: ir.ErrNotImplemented, 6: ir.ErrLinAlg,
	7: ir.ErrOutOfMemory, 8: ir.ErrRuntime, 9: ir.ErrSyntax, 10: ir.ErrRuntime,
}

// failure makes the error of a call that returned code.
func failure(op string, code int32, message string) error {
	e := &Error{Op: op, Message: clean(message), Accelerator: code == C.TFX_ACCELERATOR}
	class := ir.ErrRuntime
	if code > 0 && int(code) < len(classes) {
		class = classes[code]
	}
	e.classes = append(e.classes, class)
	// The CPU allocator throws the general class; Python shows a RuntimeError.
	if class == ir.ErrRuntime && (strings.Contains(message, "can't allocate memory") || strings.Contains(message, "not enough memory")) {
		e.classes = append(e.classes, ir.ErrOutOfMemory)
	}
	return e
}

// clean cuts what helps nobody: of a missing kernel's message the forty lines
// that list registrations, the advice for PyTorch's mobile builds, and the keys
// that are no backend; of others the C++ stack that some carry in their text.
func clean(s string) string {
	if strings.HasPrefix(s, "Could not run '") {
		s, _, _ = strings.Cut(s, "\n\n")
		before, advice, ok := strings.Cut(s, "This could be because")
		if _, rest, found := strings.Cut(advice, "for possible resolutions. "); ok && found {
			s = before + rest
		}
		if i, j := strings.LastIndexByte(s, '['), strings.LastIndexByte(s, ']'); 0 <= i && i < j {
			s = s[:i+1] + backends(s[i+1:j]) + s[j:]
		}
	}
	s, _, _ = strings.Cut(s, "\nException raised from ")
	return strings.TrimRight(s, "\n")
}

// backends drops from a list of dispatch keys those that are libtorch's layers
// and not places where a kernel runs.
func backends(list string) string {
	keys := strings.Split(list, ", ")
	return strings.Join(slices.DeleteFunc(keys, func(key string) bool {
		return layers[key] || strings.HasPrefix(key, "Autograd") || strings.HasPrefix(key, "Autocast") ||
			strings.HasPrefix(key, "FuncTorch") || strings.HasPrefix(key, "Python")
	}), ", ")
}

// Source: c10/core/DispatchKey.h.
var layers = map[string]bool{
	"BackendSelect": true, "Functionalize": true, "Named": true, "Conjugate": true, "Negative": true, "ZeroTensor": true,
	"ADInplaceOrView": true, "Tracer": true, "Batched": true, "VmapMode": true, "PreDispatch": true, "BatchedNestedTensor": true,
}

func closedError(what string) error {
	return ir.Errorf(ir.ErrClosed, "%s: the tensor is closed", what)
}
