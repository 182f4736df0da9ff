package tracer

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// ErrEnded is the cause of an error where a value is used after its trace.
var ErrEnded = ir.Errorf(ir.ErrTrace, "the trace that this value belongs to has ended")

// An Error is a failure of model code during a trace.
type Error struct {
	Module string // qualified name of the module whose Forward ran, "" for the root
	Source string // where in the model's code, "model.go:12"; "" where unknown
	Err    error  // what failed, a *torch.Error
}

// Error returns the cause with the place.
func (e *Error) Error() string {
	s := "trace"
	if e.Module != "" {
		s += " " + e.Module
	}
	if e.Source != "" {
		s += " at " + e.Source
	}
	cause := e.Err
	if inner, ok := cause.(*torch.Error); ok && inner.Op == "trace" {
		cause = inner.Err
	}
	return s + ": " + cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// protect runs model code and returns what it panicked with as an *Error, if
// that is a *torch.Error. The frames that panicked are still there while the
// deferred function runs, and tell the source line.
func (t *Tracer) protect(f func()) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		e, ok := p.(*torch.Error)
		if !ok {
			panic(p)
		}
		module := ""
		if n := len(t.stack); n > 0 {
			module = t.stack[n-1].Path
		}
		t.stack = nil
		err = &Error{Module: module, Source: source(), Err: e}
	}()
	f()
	return nil
}

// source returns the innermost frame of the caller's stack that is model code.
func source() string {
	for _, f := range modelFrames() {
		return fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
	}
	return ""
}

// ours are the packages whose frames are not the model's.
var ours = []string{
	"runtime.", "reflect.", "sync.",
	"github.com/torchfx-go/torchfx/torchops.", "github.com/torchfx-go/torchfx/operator.",
	"github.com/torchfx-go/torchfx/nn.", "github.com/torchfx-go/torchfx/nn/functional.",
	"github.com/torchfx-go/torchfx/tracer.", "github.com/torchfx-go/torchfx/interpreter.",
	"github.com/torchfx-go/torchfx/transformer.", "github.com/torchfx-go/torchfx.",
}

// torchopsDir is where package torchops lies. The closures of its iterators can be
// inlined into model code, and are named after it then.
var torchopsDir = func() string {
	_, file, _, _ := runtime.Caller(0)
	return strings.TrimSuffix(file, "tracer/errors.go") + "torchops/"
}()

// modelFrames returns the frames of model code on this goroutine's stack,
// innermost first.
func modelFrames() []runtime.Frame {
	pc := make([]uintptr, 256)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	var found []runtime.Frame
	for {
		f, more := frames.Next()
		model := f.Function != "" && !strings.HasPrefix(f.File, torchopsDir)
		for _, prefix := range ours {
			model = model && !strings.HasPrefix(f.Function, prefix)
		}
		if model {
			found = append(found, f)
		} else if strings.HasPrefix(f.Function, "github.com/torchfx-go/torchfx/tracer.(*Tracer).run") {
			return found
		}
		if !more {
			return found
		}
	}
}

// stackTrace is the stack in Python's form, outermost frame first, which is
// what readable texts take the source line from.
func stackTrace() string {
	var b strings.Builder
	frames := modelFrames()
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		fmt.Fprintf(&b, "  File %q, line %d, in %s\n", f.File, f.Line, f.Function[strings.LastIndexByte(f.Function, '.')+1:])
	}
	return b.String()
}
