package libtorch

// #include "delegate.h"
// #include <stdlib.h>
import "C"

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/torchfx-go/torchfx/internal/install"
	"github.com/torchfx-go/torchfx/ir"
)

// DelegateABI is the version of the function table of delegates, which
// delegate/tfx_delegate.h states too; a test compares them.
const DelegateABI = 3

var _ = [1]struct{}{}[DelegateABI-C.TFX_DELEGATE_ABI] // or it does not compile

// A Delegate is an opened library that runs regions of graphs with kernels of its
// own. It is never closed and safe for concurrent use.
type Delegate struct {
	Name    string // "oneDNN"
	Version string // of the kernels' library: "3.2.0"
	Path    string

	api *C.tfx_delegate_api
}

// delegates are those that the process opened, by path.
var delegates struct {
	sync.Mutex
	open map[string]*Delegate
}

// OpenDelegate opens the delegate that set-up built, once for the process. The
// error wraps [ir.ErrMissing] where there is none, with set-up's reason, and
// [ir.ErrVersion] where it does not fit this program or the libtorch in the process; then
// libtorch alone runs everything.
func OpenDelegate() (*Delegate, error) {
	r, err := install.Read(install.Home())
	if err != nil {
		return nil, err
	}
	if r.Delegate == "" {
		why := r.DelegateNote
		if why == "" {
			why = "not set up; run `torchfx setup`"
		}
		return nil, ir.Errorf(ir.ErrMissing, "delegate: %s", why)
	}
	return OpenDelegateFile(r.Delegate)
}

// OpenDelegateFile is [OpenDelegate] for a library by its path. It opens libtorch
// first, whose OpenMP runtime the delegate's kernels use.
func OpenDelegateFile(path string) (*Delegate, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	delegates.Lock()
	defer delegates.Unlock()
	if d := delegates.open[path]; d != nil {
		return d, nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil, ir.Errorf(ir.ErrMissing, "delegate: not there; run `torchfx setup`: %w", err)
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var m message
	api := C.tfx_open_delegate(name, m.at(), m.size())
	if api == nil {
		return nil, ir.Errorf(ir.ErrVersion, "delegate: it does not load; run `torchfx setup`: %s", m.text())
	}
	if api.abi != DelegateABI || uintptr(api.size) != unsafe.Sizeof(*api) {
		return nil, ir.Errorf(ir.ErrVersion, "delegate %s: expected function table %d of %d bytes, got %d of %d; run `torchfx setup`",
			path, DelegateABI, unsafe.Sizeof(*api), uint32(api.abi), uint32(api.size))
	}
	d := &Delegate{Name: C.GoString(api.name), Version: C.GoString(api.version), Path: path, api: api}
	if delegates.open == nil {
		delegates.open = map[string]*Delegate{}
	}
	delegates.open[path] = d
	return d, nil
}

// API is the address of the delegate's function table (tfx_delegate_api), for the
// bridge to call it. It stays valid.
func (d *Delegate) API() uintptr { return uintptr(unsafe.Pointer(d.api)) }

// A message is where the C side writes the text of a failure.
type message struct{ bytes [512]byte }

func (m *message) at() *C.char    { return (*C.char)(unsafe.Pointer(&m.bytes)) }
func (m *message) size() C.size_t { return C.size_t(len(m.bytes)) }
func (m *message) text() string {
	text, _, _ := strings.Cut(string(m.bytes[:]), "\x00")
	return text
}

// fail makes an error of a code of tfx_delegate_code, with the class of Python's
// exception; not implemented is [ir.ErrUnsupported] too: the plain twin serves.
func (m *message) fail(what string, code C.int32_t) error {
	switch code {
	case C.TFX_DELEGATE_CANCELLED:
		return ir.Errorf(ir.ErrCancelled, "%s: cancelled", what)
	case C.TFX_DELEGATE_NOT_IMPLEMENTED:
		return ir.Errorf(ir.ErrUnsupported, "%s: %s", what, m.text())
	}
	class := ir.ErrRuntime
	if code > 0 && int(code) < len(classes) && classes[code] != nil {
		class = classes[code]
	}
	return ir.Errorf(class, "%s: %s", what, m.text())
}

// An owned is a reference to an object of a delegate, given back by close or, where
// that is forgotten, by the collector, and never while a call uses it.
type owned struct {
	mu   sync.RWMutex
	ptr  unsafe.Pointer
	free func(unsafe.Pointer)
	net  runtime.Cleanup
}

func own(ptr unsafe.Pointer, free func(unsafe.Pointer)) *owned {
	o := &owned{ptr: ptr, free: free}
	o.net = runtime.AddCleanup(o, free, ptr)
	return o
}

func (o *owned) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ptr == nil {
		return
	}
	o.net.Stop()
	o.free(o.ptr)
	o.ptr = nil
}

// use calls f with the pointer, which stays valid meanwhile.
func (o *owned) use(what string, f func(ptr unsafe.Pointer) error) error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.ptr == nil {
		return ir.Errorf(ir.ErrClosed, "%s: it is closed", what)
	}
	return f(o.ptr)
}
