package libtorch

// #include "trampoline.h"
// #include <stdlib.h>
import "C"

import (
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// A Script is a TorchScript program that libtorch has loaded. It is safe for
// concurrent use as far as the program is: libtorch locks nothing.
type Script struct {
	object  *Object
	methods map[string]*ScriptMethod
	names   []string
}

// A ScriptMethod is one method of a [Script].
type ScriptMethod struct {
	Name   string
	Args   []ScriptArg // without self
	Return *ir.Type    // nil where the type has no name here

	ReturnText string // as TorchScript writes it
}

// A ScriptArg is one argument of a method.
type ScriptArg struct {
	Name     string
	TypeText string   // as TorchScript writes it
	Type     *ir.Type // nil where the type has no name here
	Optional bool     // it has a default
}

// OpenScript loads a TorchScript file, with its tensors on a device, or where they
// were saved when device is the zero one. The program's code runs in this process
// when it is called, as in Python.
func OpenScript(path string, device ir.Device) (*Script, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	kind, index := -1, -1
	if device != (ir.Device{}) {
		kind, index = device.C10()
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var r reply
	if code := C.tfx_script_load(name, C.int32_t(kind), C.int32_t(index), r.w(), replyWords, &r.out); code != 0 {
		return nil, ir.Errorf(ir.ErrInput, "TorchScript %s: %w", path, r.fail("", code))
	}
	d := decoder{w: r.view()}
	object, ok := d.value(nil).(*Object)
	r.done()
	if !ok {
		return nil, ir.Errorf(ir.ErrInput, "TorchScript %s: expected a module, got something else", path)
	}
	s := &Script{object: object, methods: map[string]*ScriptMethod{}}
	if err := s.describe(); err != nil {
		object.Close()
		return nil, err
	}
	return s, nil
}

// ask makes one call about the module and reads its answer.
func (s *Script) ask(f func(m C.uint64_t, r *reply) C.int32_t) (any, error) {
	p, ok := s.object.ptr()
	if !ok {
		return nil, closedError("TorchScript module")
	}
	defer s.object.unuse()
	var r reply
	if code := f(C.uint64_t(p), &r); code != 0 {
		return nil, r.fail("TorchScript", code)
	}
	defer r.done()
	d := decoder{w: r.view()}
	if len(d.w) == 0 {
		return nil, nil
	}
	v := d.value(nil)
	return v, d.err
}

func (s *Script) describe() error {
	v, err := s.ask(func(m C.uint64_t, r *reply) C.int32_t { return C.tfx_script_methods(m, r.w(), replyWords, &r.out) })
	if err != nil {
		return err
	}
	for _, item := range v.([]any) {
		t := item.([]any)
		m := &ScriptMethod{Name: t[0].(string), Return: scriptType(t[2].(string)), ReturnText: t[2].(string)}
		for _, a := range t[1].([]any) {
			a := a.([]any)
			m.Args = append(m.Args, ScriptArg{a[0].(string), a[1].(string), scriptType(a[1].(string)), a[2].(bool)})
		}
		s.methods[m.Name] = m
		s.names = append(s.names, m.Name)
	}
	return nil
}

// scriptType reads a type in the notation of schemas, which TorchScript prints too
// for the types that schemas have.
func scriptType(text string) *ir.Type {
	schema, err := ir.ParseSchema("script::f(" + text + " x) -> ()")
	if err != nil || len(schema.Args) != 1 {
		return nil
	}
	return &schema.Args[0].Type
}

// Methods returns the methods in libtorch's order.
func (s *Script) Methods() []*ScriptMethod {
	all := make([]*ScriptMethod, len(s.names))
	for i, name := range s.names {
		all[i] = s.methods[name]
	}
	return all
}

// Method returns a method, nil where there is none of that name.
func (s *Script) Method(name string) *ScriptMethod { return s.methods[name] }

// A ScriptTensor is a parameter or buffer of a [Script].
type ScriptTensor struct {
	Name      string
	Tensor    *Tensor // the caller's to close; it shares the program's memory
	Parameter bool
}

// State returns the parameters, then the buffers, by qualified name.
func (s *Script) State() ([]ScriptTensor, error) {
	v, err := s.ask(func(m C.uint64_t, r *reply) C.int32_t { return C.tfx_script_state(m, r.w(), replyWords, &r.out) })
	if err != nil {
		return nil, err
	}
	var all []ScriptTensor
	for _, item := range v.([]any) {
		t := item.([]any)
		tensor, _ := t[1].(*Tensor)
		all = append(all, ScriptTensor{t[0].(string), tensor, t[2].(bool)})
	}
	return all, nil
}

// Attribute reads an attribute of the module; ok is false where there is none.
func (s *Script) Attribute(name string) (v any, ok bool, err error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	v, err = s.ask(func(m C.uint64_t, r *reply) C.int32_t {
		return C.tfx_script_attribute(m, c, r.w(), replyWords, &r.out)
	})
	if list, found := v.([]any); err == nil && found {
		return list[0], true, nil
	}
	return nil, false, err
}

// Train puts the program into training or evaluation mode.
func (s *Script) Train(on bool) error {
	_, err := s.ask(func(m C.uint64_t, r *reply) C.int32_t {
		return C.tfx_script_train(m, C.int32_t(bit(on)), r.w(), replyWords, &r.out)
	})
	return err
}

// Call runs a method on arguments by name, of the kinds of [Operator.Call] and a dict
// as []any of []any{key, value}. The result is of those kinds and the caller's to close.
func (s *Script) Call(m *Mode, method string, args map[string]any) (any, error) {
	f := s.methods[method]
	if f == nil {
		return nil, ir.Errorf(ir.ErrMissing, "TorchScript: expected one of the methods %q, got %q", s.names, method)
	}
	var e encoder
	defer e.unuse()
	for _, a := range f.Args {
		v, given := args[a.Name]
		if !given {
			continue
		}
		e.str(a.Name)
		t := a.Type
		if t == nil {
			t = &ir.Type{Kind: ir.TypeAny}
		}
		if err := e.value(t, v, -1); err != nil {
			return nil, badArg(&param{name: a.Name, typ: t}, v, err)
		}
	}
	return onThreads(m, func() (any, error) { return s.call(m, f, &e) })
}

func (s *Script) call(m *Mode, f *ScriptMethod, e *encoder) (any, error) {
	var cmode C.tfx_mode
	mode, err := m.encode(&cmode)
	if err != nil {
		return nil, err
	}
	p, ok := s.object.ptr()
	if !ok {
		return nil, closedError("TorchScript module")
	}
	defer s.object.unuse()
	name := C.CString(f.Name)
	defer C.free(unsafe.Pointer(name))
	var r reply
	code := C.tfx_script_call(C.uint64_t(p), mode, name, (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(e.w))), C.uint64_t(len(e.w)), r.w(), replyWords, &r.out)
	if code != 0 {
		return nil, r.fail("TorchScript "+f.Name, code)
	}
	defer r.done()
	d := decoder{w: r.view()}
	v := d.value(f.Return)
	return v, d.err
}

// Close lets go of the program.
func (s *Script) Close() error { return s.object.Close() }
