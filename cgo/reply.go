package libtorch

// #cgo CFLAGS: -std=c11
// #cgo linux LDFLAGS: -ldl
// #include "trampoline.h"
import "C"

import (
	"unsafe"
)

// A reply receives the results of one crossing, or its message. It lives on the
// stack of the caller, since C keeps no pointer to it.
type reply struct {
	out   C.tfx_out
	words [replyWords]uint64
}

// replyWords holds a few results with their shapes; longer ones come in memory
// of the bridge.
const replyWords = 48

func (r *reply) w() *C.uint64_t { return (*C.uint64_t)(unsafe.Pointer(&r.words)) }

// view returns the words of the results. They are gone after done.
func (r *reply) view() []uint64 {
	if r.out.heap != 0 {
		return unsafe.Slice((*uint64)(address(uint64(r.out.heap))), int(r.out.used))
	}
	return r.words[:r.out.used]
}

// text returns the message of a failure.
func (r *reply) text() string {
	p := unsafe.Pointer(&r.words)
	if r.out.heap != 0 {
		p = address(uint64(r.out.heap))
	}
	return string(unsafe.Slice((*byte)(p), int(r.out.used)))
}

// done frees what did not fit into the reply.
func (r *reply) done() {
	if r.out.heap != 0 {
		C.tfx_free(r.out.heap)
		r.out.heap = 0
	}
}

// fail makes the error of a failed crossing and frees the reply.
func (r *reply) fail(op string, code C.int32_t) error {
	err := failure(op, int32(code), r.text())
	r.done()
	return err
}

// address turns a word that C wrote into a pointer to C's memory. vet cannot see
// that no Go memory is meant; the double indirection says so.
func address(word uint64) unsafe.Pointer {
	p := uintptr(word)
	return *(*unsafe.Pointer)(unsafe.Pointer(&p))
}

// str reads the bytes of a string of n bytes from words, and the words it takes.
func str(words []uint64, n int) (string, int) {
	if n == 0 {
		return "", 0
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)), (n + 7) / 8
}

// one reads a reply that is one string.
func (r *reply) one() string {
	w := r.view()
	s, _ := str(w[1:], int(w[0]>>8))
	r.done()
	return s
}
