package libtorch

// #include "trampoline.h"
// #include <stdlib.h>
import "C"

import (
	"os"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// A Compiled is a program that AOTInductor compiled, loaded from its package. It may
// run from several goroutines at once.
type Compiled struct{ object *Object }

// OpenCompiled loads the program called model from an AOTInductor package, for up to
// runners runs at once, on the device of that index, -1 for the package's. The
// package's machine code runs in this process.
//
// It is made to check sizes, strides and dtypes of what a run is given, which it
// believes otherwise and reads beyond: AOTI_RUNTIME_CHECK_INPUTS=1 is put into the
// environment, unless that says something already, since the code looks there.
func OpenCompiled(path, model string, runners, device int) (*Compiled, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	if _, said := os.LookupEnv(checkInputs); !said {
		if err := os.Setenv(checkInputs, "1"); err != nil {
			return nil, ir.Errorf(ir.ErrRuntime, "AOTInductor package %s: %w", path, err)
		}
	}
	file, name := C.CString(path), C.CString(model)
	defer C.free(unsafe.Pointer(file))
	defer C.free(unsafe.Pointer(name))
	var r reply
	code := C.tfx_aoti_load(file, name, C.int64_t(runners), C.int32_t(device), r.w(), replyWords, &r.out)
	if code != 0 {
		return nil, ir.Errorf(ir.ErrInput, "AOTInductor package %s: %w", path, r.fail("", code))
	}
	defer r.done()
	d := decoder{w: r.view()}
	return &Compiled{d.value(nil).(*Object)}, nil
}

// checkInputs is what a package's code looks for in the environment.
const checkInputs = "AOTI_RUNTIME_CHECK_INPUTS"

// Metadata returns what the package says of itself: AOTI_DEVICE_KEY and others.
func (p *Compiled) Metadata() (map[string]string, error) {
	texts, err := p.texts(func(impl C.uint64_t, r *reply) C.int32_t { return C.tfx_aoti_metadata(impl, r.w(), replyWords, &r.out) })
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for i := 0; i+1 < len(texts); i += 2 {
		all[texts[i]] = texts[i+1]
	}
	return all, nil
}

// Spec returns how arguments, as (positional, by keyword), and results are nested, in
// the JSON of pytree.
func (p *Compiled) Spec() (in, out string, err error) {
	texts, err := p.texts(func(impl C.uint64_t, r *reply) C.int32_t { return C.tfx_aoti_spec(impl, r.w(), replyWords, &r.out) })
	if err == nil && len(texts) != 2 {
		err = ir.Errorf(ir.ErrFormat, "compiled program: expected a spec of arguments and one of results, got %d", len(texts))
	}
	if err != nil {
		return "", "", err
	}
	return texts[0], texts[1], nil
}

// texts returns the strings that a question about the program is answered with.
func (p *Compiled) texts(ask func(impl C.uint64_t, r *reply) C.int32_t) ([]string, error) {
	impl, ok := p.object.ptr()
	if !ok {
		return nil, closedError("compiled program")
	}
	defer p.object.unuse()
	var r reply
	if code := ask(C.uint64_t(impl), &r); code != 0 {
		return nil, r.fail("", code)
	}
	defer r.done()
	d := decoder{w: r.view()}
	var all []string
	items, _ := d.value(nil).([]any)
	for _, item := range items {
		text, _ := item.(string)
		all = append(all, text)
	}
	return all, d.err
}

// Run calls the program. The results are the caller's to close. How many threads it
// uses is m's.
func (p *Compiled) Run(m *Mode, inputs []*Tensor) ([]*Tensor, error) {
	impls := make([]uint64, len(inputs))
	for i, t := range inputs {
		if t == nil {
			return nil, ir.Errorf(ir.ErrType, "input %d: expected a tensor, got None", i)
		}
		impl, ok := t.ptr()
		if !ok {
			return nil, closedError("input of a compiled program")
		}
		defer t.unuse()
		impls[i] = impl
	}
	run := func() ([]*Tensor, error) {
		var cmode C.tfx_mode
		mode, err := m.encode(&cmode)
		if err != nil {
			return nil, err
		}
		impl, ok := p.object.ptr()
		if !ok {
			return nil, closedError("compiled program")
		}
		defer p.object.unuse()
		var r reply
		code := C.tfx_aoti_run(C.uint64_t(impl), mode, (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(impls))), C.uint64_t(len(impls)), r.w(), replyWords, &r.out)
		if code != 0 {
			return nil, r.fail("compiled program", code)
		}
		defer r.done()
		d := decoder{w: r.view()}
		results, _ := d.value(nil).([]*Tensor)
		return results, d.err
	}
	return onThreads(m, run)
}

// Close lets go of the program.
func (p *Compiled) Close() error { return p.object.Close() }

// onThreads runs f where a call of m's number of threads runs.
func onThreads[R any](m *Mode, f func() (R, error)) (result R, err error) {
	if n := m.threads(); n > 1 {
		if _, recording := RecordedSoFar(); !recording {
			onWorker(n, func() { result, err = f() })
			collectReleased()
			return result, err
		}
	}
	slots.acquire()
	result, err = f()
	slots.release()
	collectReleased()
	return result, err
}
