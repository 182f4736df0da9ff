package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// MaxTensors is the most arguments of a [TensorCall].
const MaxTensors = 4

// A TensorCall is a function that is called with tensors and nothing else, which is
// what most calls of most functions are. There is nothing to choose and to convert
// then: they are made ready once, and cost little more than the operator. It is safe
// for concurrent use.
type TensorCall struct {
	ready *libtorch.Prepared // nil where such calls are no call of one operator
	order []int              // the argument that goes into each hole
	fail  func(args []any, cause error) error
}

// ForTensors returns the calls of f with n tensors for arguments, or nil where
// [Invoke] does more for them than to call one operator that returns one tensor.
func ForTensors(f *ir.Func, n int) *TensorCall {
	if n < 1 || n > MaxTensors {
		return nil
	}
	impl := implementationOf(f)
	var c TensorCall
	switch {
	case impl == nil && f.Op() != "":
		c = operatorForTensors(f.Op(), n)
	case impl == nil:
	case impl.public != nil:
		c = *impl.public.tensorCall(n)
	case len(pythonOperators[f]) > 0:
		if w := pythonOperators[f][0]; len(w.order) == n && !writes(w.op) {
			c = operatorForTensors(w.op, n)
		}
	}
	if c.ready == nil {
		return nil
	}
	if impl != nil {
		inner := c.fail
		c.fail = func(args []any, cause error) error { return failedIn(f, args, nil, inner(args, cause)) }
	}
	return &c
}

// writes reports whether an operator returns its first argument.
func writes(op string) bool {
	o, err := libtorch.Find(op)
	if err != nil {
		return true
	}
	a := o.Schema().Args
	return len(a) > 0 && a[0].Alias != nil && a[0].Alias.Write
}

// operatorForTensors is a call of an operator as [CallMode] makes it.
func operatorForTensors(op string, n int) (c TensorCall) {
	o, err := libtorch.Find(op)
	if err != nil {
		return c // told by the call in full
	}
	s := o.Schema()
	if n > s.Positional() || s.VarArgs {
		return c
	}
	args := make([]any, len(s.Args))
	for i := range s.Args {
		if i < n {
			args[i], c.order = libtorch.Hole{}, append(c.order, i)
			continue
		}
		v, err := normalize(s.Args[i].Default)
		if err != nil || s.Args[i].Default == nil {
			return c
		}
		call := call{schema: s}
		encoded, fits, err := call.encode(v, &s.Args[i].Type)
		if err == nil && fits {
			encoded, err = call.fixedLength(encoded, &s.Args[i])
		}
		if err != nil || !fits {
			return c
		}
		args[i] = encoded
	}
	c.ready, _ = o.Prepare(args)
	c.fail = func(args []any, cause error) error { return operatorError(s, args, nil, cause) }
	return c
}

// tensorCall returns the calls of a function with n tensors, by its first signature.
func (p *public) tensorCall(n int) *TensorCall {
	if c := p.tensorCalls[n].Load(); c != nil {
		return c
	}
	c := p.forTensors(n)
	p.tensorCalls[n].Store(c)
	return c
}

func (p *public) forTensors(n int) *TensorCall {
	c := &TensorCall{}
	s := p.signatures[0]
	skip := 0 // the receiver is no parameter
	if p.method {
		skip = 1
	}
	given := n - skip
	if p.run != nil || n == 0 || given < 0 || given > s.positional || given < s.required || s.spread {
		return c
	}
	for i := range s.params[:given] {
		if s.params[i].kind != paramTensor {
			return c
		}
	}
	plan, err := s.plan(p.method, false)
	if err != nil {
		return c // told by the call in full
	}
	args := make([]any, len(plan.from))
	for i, src := range plan.from {
		switch {
		case src.param == fromReceiver:
			args[i], c.order = libtorch.Hole{}, append(c.order, 0)
		case src.param == fromDefault || src.param >= given:
			args[i] = src.absent
		default:
			args[i], c.order = libtorch.Hole{}, append(c.order, src.param+skip)
		}
	}
	if len(c.order) == n {
		c.ready, _ = plan.operator.Prepare(args)
	}
	c.fail = func(args []any, cause error) error {
		var self any
		if p.method {
			self, args = args[0], args[1:]
		}
		bound := make([]any, len(s.params))
		copy(bound, args)
		return publicError(s, plan, self, bound, cause)
	}
	return c
}

// Call calls the function with the tensors, the receiver of a method first, under modes
// of libtorch, nil for none. None of them may be nil or traced.
// The result is a tensor of its own, also where the operator returns an argument; it
// is nil where the operator returns an undefined tensor.
//
// last has a bit for each tensor, from the lowest, that nobody uses after the call or
// beside it, and that stands among the arguments once: it is closed where the call
// succeeds.
func (c *TensorCall) Call(m *libtorch.Mode, last uint, x *[MaxTensors]*Tensor) (*Tensor, error) {
	var handles [MaxTensors]*libtorch.Tensor
	var scope *Scope
	var closes uint
	for i, at := range c.order {
		t := x[at]
		handles[i], scope = &t.handle, younger(scope, t.scope.Load())
		closes |= last >> at & 1 << i
	}
	t := newTensor()
	if err := c.ready.Call(m, &t.handle, closes, handles[:len(c.order)]...); err != nil {
		args := make([]any, len(c.order))
		for i := range args {
			args[i] = x[i]
		}
		return nil, c.fail(args, err)
	}
	if last != 0 && scope != nil {
		for at := range c.order {
			if last>>at&1 != 0 {
				_ = x[at].Close() // only out of its scope
			}
		}
	}
	if !t.real() {
		return nil, nil
	}
	if scope != nil {
		scope.Add(t)
	}
	return t, nil
}
