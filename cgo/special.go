package libtorch

// #include "trampoline.h"
// #include <stdlib.h>
import "C"

import (
	"path/filepath"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// WrappedNumber makes a tensor of a number, for an argument where Python's
// parser takes a number for a Tensor: it is without dimensions and flagged, so
// that it takes part in type promotion as a number does. Without the flag, an
// int64 tensor plus 1.5 would be float64 and not float32. v is an int64, int,
// uint64, float64, bool or complex128.
func WrappedNumber(v any) (*Tensor, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	var words [4]uint64
	e := encoder{w: words[:0]}
	if !e.scalar(v) {
		return nil, ir.Errorf(ir.ErrType, "wrapped number: expected a number, got %s", kindOf(v))
	}
	var r reply
	code := C.tfx_wrapped_number((*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(e.w))), C.uint64_t(len(e.w)), r.w(), replyWords, &r.out)
	return r.tensor("", code)
}

// AddBatchDim is torch._functorch.predispatch._add_batch_dim: t with dimension
// dim hidden as the batch of a level of torch.vmap, counted from 1, which m.Vmap
// must hold. The result is good in calls that open the same level.
func AddBatchDim(m *Mode, t *Tensor, dim, level int64) (*Tensor, error) {
	m = m.current()
	var cmode C.tfx_mode
	mode, p, err := m.batch(&cmode, t, level)
	if err != nil {
		return nil, err
	}
	defer t.unuse()
	slots.acquire()
	defer slots.release()
	var r reply
	return r.tensor("", C.tfx_add_batch_dim(mode, C.uint64_t(p), C.int64_t(dim), C.int64_t(level), r.w(), replyWords, &r.out))
}

// RemoveBatchDim is torch._functorch.predispatch._remove_batch_dim: t with the
// batch of a level as its dimension outDim. A tensor that the level did not touch
// is expanded to batchSize.
func RemoveBatchDim(m *Mode, t *Tensor, level, batchSize, outDim int64) (*Tensor, error) {
	m = m.current()
	var cmode C.tfx_mode
	mode, p, err := m.batch(&cmode, t, level)
	if err != nil {
		return nil, err
	}
	defer t.unuse()
	slots.acquire()
	defer slots.release()
	var r reply
	return r.tensor("", C.tfx_remove_batch_dim(mode, C.uint64_t(p), C.int64_t(level), C.int64_t(batchSize), C.int64_t(outDim), r.w(), replyWords, &r.out))
}

// batch checks what the two above have in common and takes t into use.
func (m *Mode) batch(c *C.tfx_mode, t *Tensor, level int64) (*C.tfx_mode, uint64, error) {
	if m == nil || level < 1 || level > int64(len(m.Vmap)) {
		open := 0
		if m != nil {
			open = len(m.Vmap)
		}
		return nil, 0, ir.Errorf(ir.ErrValue, "batch dimension: expected a level from 1 to the %d that are open, got %d", open, level)
	}
	mode, err := m.encode(c)
	if err != nil {
		return nil, 0, err
	}
	p, ok := t.ptr()
	if !ok {
		return nil, 0, closedError("batch dimension")
	}
	return mode, p, nil
}

// OpenLibrary opens a library of custom operators, whose static initialisers
// register them; [Find] sees them afterwards. It must be built against the
// libtorch that is open. It is never closed. Opening one twice does nothing. A path
// without a folder is a file of the working folder, not one that the system's
// loader searches for.
//
// The library's code runs in this process. An exception in an initialiser, as for
// a schema that does not parse, ends the process, in Python too: the loader lets
// none through.
func OpenLibrary(path string) error {
	if err := Open(); err != nil {
		return err
	}
	file, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	name := C.CString(file)
	defer C.free(unsafe.Pointer(name))
	var r reply
	if code := C.tfx_open_library(name, r.w(), replyWords, &r.out); code != 0 {
		err := r.fail("", code)
		return ir.Errorf(ir.ErrMissing, "operator library %s: %w", path, err)
	}
	live.Lock()
	live.catalogue = nil
	live.Unlock()
	return oneLibtorch(loaded.libDir)
}
