package torchops

import (
	"sync"
	"sync/atomic"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// A public is a function of torch or a method of its tensors that Python binds
// to C++, with its signatures in the order in which they are tried.
type public struct {
	name       string
	method     bool
	signatures []*signature
	most       int // parameters of the longest signature
	// what is done with the arguments, where that is more than to call the
	// operator of the signature; which is its place
	run func(b *binding) (any, error)

	tensorCalls [MaxTensors + 1]atomic.Pointer[TensorCall] // by the number of tensors
	routes      atomic.Pointer[route]                      // by the form of a call
	learning    sync.Mutex                                 // held while one is added
}

// A binding is a call whose arguments were matched with a signature.
type binding struct {
	mode   *libtorch.Mode
	which  int // place of the signature that won
	self   *Tensor
	args   []any // as they were given by position
	values []any // one for each parameter, nil for absent and None
	scope  *Scope

	encoded []any // the arguments of the operator
	results []any // and what it returned
}

// bindings are reused, since every call of a public function needs one.
var bindings = sync.Pool{New: func() any { return new(binding) }}

func newPublic(name string, method bool, signatures []*signature) *public {
	p := &public{name: name, method: method, signatures: signatures}
	for _, s := range signatures {
		p.most = max(p.most, len(s.params))
	}
	return p
}

// call tries the signatures in order and calls the operator of the first that
// takes the arguments. Nothing is called, and no number made a tensor, before.
func (p *public) call(m *libtorch.Mode, args []any, kw []Kwarg) (any, error) {
	var o outcome
	ok, err := p.fast(m, &callArgs{args: args, kw: kw}, &o)
	if ok && err == nil {
		return o.value(), nil
	}
	return p.parse(m, args, kw, err)
}

// parse is call for whatever the arguments are. With a cause nothing is called any more:
// the operator failed with it, and the error says of what arguments.
func (p *public) parse(m *libtorch.Mode, args []any, kw []Kwarg, cause error) (any, error) {
	scope := scopeOf(args, kw)
	args, err := normalizeItems(withoutScopes(args))
	if err != nil {
		return nil, err
	}
	if kw, err = normalizeKeywords(kw); err != nil {
		return nil, err
	}
	b := bindings.Get().(*binding)
	defer b.put()
	b.mode, b.scope, b.self = m, scope, nil
	if p.method {
		if b.self, args, err = receiver(p.signatures[0].function, args); err != nil {
			return nil, err
		}
	}
	b.args = args
	if cap(b.values) < p.most {
		b.values = make([]any, p.most)
	}
	b.values = b.values[:p.most]
	s, err := p.choose(b, args, kw)
	if err != nil {
		return nil, err
	}
	if p.run != nil && cause == nil {
		return p.run(b)
	}
	return s.invoke(b, p.method, cause)
}

func (b *binding) put() {
	clear(b.values[:cap(b.values)])
	clear(b.encoded[:cap(b.encoded)])
	clear(b.results[:cap(b.results)])
	*b = binding{values: b.values[:0], encoded: b.encoded[:0], results: b.results[:0]}
	bindings.Put(b)
}

// receiver takes the tensor off the arguments of a method.
func receiver(method string, args []any) (*Tensor, []any, error) {
	if len(args) == 0 {
		return nil, nil, typeErrorf("unbound method TensorBase.%s() needs an argument", method)
	}
	self, ok := args[0].(*Tensor)
	if !ok {
		return nil, nil, typeErrorf("descriptor '%s' for 'torch._C.TensorBase' objects doesn't apply to a '%s' object", method, typeName(args[0]))
	}
	return self, args[1:], nil
}

// choose binds the arguments to the first signature that takes them.
func (p *public) choose(b *binding, args []any, kw []Kwarg) (*signature, error) {
	alone := len(p.signatures) == 1
	if alone && p.most == 0 {
		// Python has no parser for these: a function looks at nothing
		if p.method && len(args)+len(kw) > 0 {
			return nil, takesNothing(p.signatures[0].function, args, kw)
		}
		return p.signatures[0], nil
	}
	for i, s := range p.signatures {
		ok, err := s.match(args, kw, b.values[:len(s.params)], alone)
		if err != nil {
			return nil, err
		}
		if ok {
			b.which = i
			return s, nil
		}
	}
	return nil, noSignature(p.signatures, args, kw, b.values)
}

// invoke calls the operator of a signature with the bound values; with a cause see parse.
func (s *signature) invoke(b *binding, method bool, cause error) (any, error) {
	out := s.out >= 0 && b.values[s.out] != nil
	p, err := s.plan(method, out)
	if err != nil {
		return nil, err
	}
	if out && s.options {
		if err := s.checkOut(b); err != nil {
			return nil, err
		}
	}
	c := call{mode: b.mode, schema: p.operator.Schema(), public: true, scope: b.scope}
	defer c.release()
	var self any
	if b.self != nil {
		self = b.self
	}
	if cause != nil {
		return nil, publicError(s, p, self, b.values, cause)
	}
	b.encoded, err = c.arguments(b.encoded[:0], s, p, self, b.values)
	if err != nil {
		return nil, err
	}
	mode := b.mode
	if direct[s.op] && mode != nil && mode.Observe != nil {
		unseen := *mode
		unseen.Observe, mode = nil, &unseen
	}
	b.results, err = p.operator.CallInto(b.results[:0], mode, b.encoded)
	if err != nil {
		return nil, publicError(s, p, self, b.values, err)
	}
	v := tensorTuples(c.results(b.results))
	if s.options && b.values[len(s.params)-1] == true {
		err = requireGrad(v)
	}
	return v, err
}

// direct are the operators that Python's functions of C++ tensors do by
// themselves, without a call of the dispatcher (manual_cpp_binding in
// native_functions.yaml).
var direct = map[string]bool{
	"aten::is_complex": true, "aten::is_floating_point": true, "aten::is_signed": true, "aten::is_conj": true, "aten::is_neg": true,
	"aten::is_inference": true, "aten::_is_zerotensor": true,
}

// tensorTuples makes tuples of the lists of tensors in a result, as the functions of
// torch return them; torch.ops returns lists.
func tensorTuples(v any) any {
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			if _, isTensor := v[0].(*Tensor); !isTensor {
				return v
			}
		}
		return ir.PyTuple(v)
	case ir.PyTuple:
		for i, item := range v {
			v[i] = tensorTuples(item)
		}
	}
	return v
}

// results makes the value of a call of what an operator returned.
func (c *call) results(results []any) any {
	switch len(results) {
	case 0:
		return nil
	case 1:
		return c.result(results[0])
	}
	return ir.PyTuple(listOf(results, c.result))
}

// publicError describes the arguments that the operator got by their names.
func publicError(s *signature, p *plan, self any, bound []any, cause error) error {
	e := &Error{Op: p.operator.Schema().Op, Err: whereKernelsAre(p.operator.Schema().Op, cause)}
	for i, src := range p.from {
		v := self
		if src.param >= 0 {
			v = bound[src.param]
		} else if src.param == fromDefault {
			continue
		}
		if v != nil {
			e.Args = append(e.Args, p.operator.Schema().Args[i].Name+": "+Describe(v))
		}
	}
	return e
}

// normalizeKeywords returns kw itself where nothing in it has to change.
func normalizeKeywords(kw []Kwarg) ([]Kwarg, error) {
	changed := kw
	for i, k := range kw {
		v, err := normalize(k.Value)
		if err != nil {
			return nil, err
		}
		switch k.Value.(type) {
		case *Tensor, int64, float64, bool, string, nil, DType, Device, Layout, MemoryFormat:
			if v != nil || k.Value == nil {
				continue
			}
		}
		if &changed[0] == &kw[0] {
			changed = append([]Kwarg(nil), kw...)
		}
		changed[i].Value = v
	}
	return changed, nil
}

// checkOut refuses an out that does not have the dtype, layout or device that is
// asked for (check_out_type_matches in torch/csrc/autograd/utils).
func (s *signature) checkOut(b *binding) error {
	out, ok := b.values[s.out].(*Tensor)
	if !ok {
		return nil
	}
	info, err := out.info()
	if err != nil {
		return err
	}
	for i := range s.params {
		v := b.values[i]
		if v == nil {
			continue
		}
		switch s.params[i].kind {
		case paramDType:
			if dt, _ := dtypeOf(v); dt != info.DType {
				return ir.Errorf(ir.ErrRuntime, "dtype %s does not match dtype of out parameter (%s)", legacyNames[dt], legacyNames[info.DType])
			}
		case paramLayout:
			if v != info.Layout {
				return ir.Errorf(ir.ErrRuntime, "layout %v does not match layout of out parameter (%v)", v, info.Layout)
			}
		case paramDevice:
			d, err := deviceOf(v)
			if err != nil {
				return err
			}
			if d.Kind() != info.Device.Kind() {
				return ir.Errorf(ir.ErrRuntime, "device type %s does not match device type of out parameter (%s)", d.Kind(), info.Device.Kind())
			}
		}
	}
	return nil
}

// deviceOf is the device that a value names.
func deviceOf(v any) (Device, error) {
	switch v := v.(type) {
	case Device:
		return v, nil
	case string:
		return ir.ParseDevice(v)
	case int64:
		return CUDA(int(v)), nil
	}
	return Device{}, typeErrorf("expected a torch.device, got %s", typeName(v))
}

// requireGrad makes a fresh result record gradients.
func requireGrad(v any) error {
	t, ok := v.(*Tensor)
	if !ok {
		return nil
	}
	_, err := discard(Call("aten::requires_grad_", t, true))
	return err
}
