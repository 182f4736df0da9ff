//go:build gotorch

package gotorch

import (
	"runtime"
	"strings"
	"sync"
	"time"

	_ "github.com/torchfx-go/torchfx/gotorch/internal/onecore" // before gotorch starts
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Do calls f, which uses gotorch, and contains what is risky in that:
//
//   - While f runs, no finalizer of the process does. gotorch's operators do not
//     keep their operands alive, so a collection in the wrong moment frees a tensor
//     that C++ still reads; here it is freed once f is done. Collections go on, and
//     calls of Do may overlap and nest.
//   - A panic of f, which is how gotorch reports an error, is returned as an error.
//   - The goroutine is locked to its thread.
//
// f must not call gotorch's GC or FinishGC, or the To of a module, which calls
// them: they wait for finalizers. It should be short, as a Forward is: what other
// finalizers of the process would free waits too. C++ exceptions of Backward and of
// optimizers end the process, here also: gotorch lets them through.
func Do(f func()) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	holdFinalizers()
	defer resumeFinalizers()
	defer caught(&err)
	f()
	return nil
}

// caught turns a panic into an error; it is to be deferred.
func caught(err *error) {
	switch v := recover().(type) {
	case nil:
	case *torch.Error:
		*err = v
	case runtime.Error:
		*err = ir.Errorf(ir.ErrRuntime, "gotorch: %w", v)
	case error:
		*err = ir.Errorf(ir.ErrRuntime, "gotorch: %w", v)
	case string: // C++'s message, with its stack
		text, _, _ := strings.Cut(v, "\nException raised from ")
		*err = ir.Errorf(ir.ErrRuntime, "gotorch: %s", strings.TrimSpace(text))
	default:
		*err = ir.Errorf(ir.ErrRuntime, "gotorch: %v", v)
	}
}

// Finalizers run one after another on one goroutine (runtime.SetFinalizer says so),
// so one that waits holds all others.
var finalizers struct {
	sync.Mutex
	holders int
	resume  chan struct{}
}

func holdFinalizers() {
	finalizers.Lock()
	defer finalizers.Unlock()
	if finalizers.holders++; finalizers.holders > 1 {
		return
	}
	finalizers.resume = make(chan struct{})
	held := leaveGuard(finalizers.resume)
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		runtime.GC()
		select {
		case <-held:
			return
		case <-time.After(wait): // other finalizers come first
		}
	}
}

// leaveGuard makes garbage whose finalizer waits for resume. It says on held when
// it has begun to.
//
//go:noinline
func leaveGuard(resume <-chan struct{}) (held <-chan struct{}) {
	began := make(chan struct{})
	guard := new([64]byte) // too large to share a block with others, which would delay it
	runtime.SetFinalizer(guard, func(*[64]byte) {
		close(began)
		<-resume
	})
	return began
}

func resumeFinalizers() {
	finalizers.Lock()
	defer finalizers.Unlock()
	if finalizers.holders--; finalizers.holders == 0 {
		close(finalizers.resume)
	}
}
