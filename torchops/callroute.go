package torchops

import (
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// A route is how the arguments of calls in one form go to the operator.
type route struct {
	form    callForm
	call    *libtorch.SlotCall // nil where each call needs the parser
	results int                // how many tensors are returned, or one of the following
	lengths []length
	next    *route // of the function, one that was found before
}

const (
	oneTensor  = 1
	oneValue   = 0  // which is no tensor
	aList      = -1 // of tensors
	maxResults = 4  // of tensors
)

// A length is one that a list must have.
type length struct{ slot, n int }

// formRoutes is the most forms that a function remembers. One that is called in more is
// called with numbers of keywords or sizes that change, and the rest through the parser.
const formRoutes = 64

// An outcome is what a call by a route returned, to be taken once.
type outcome struct {
	route   *route
	scope   *Scope
	results libtorch.Results
}

// fast calls the function with arguments whose form has a route. ok is false where it has
// none, and nothing was called; the error is that of the operator.
func (p *public) fast(m *libtorch.Mode, a *callArgs, o *outcome) (ok bool, err error) {
	if p == nil || !m.Ordinary() {
		return false, nil
	}
	var form callForm
	var slots libtorch.Slots
	if o.scope, ok = a.form(&form, &slots); ok {
		if o.route = p.routes.Load(); o.route == nil || !o.route.form.is(&form) {
			o.route = p.routeOf(&form)
		}
	}
	if !ok || !o.route.takes(&slots) {
		slots.Drop()
		return false, nil // the parser says why
	}
	return true, o.route.call.Call(&slots, &o.results)
}

// takes reports whether arguments of the form go by the route.
func (r *route) takes(s *libtorch.Slots) bool {
	if r == nil || r.call == nil {
		return false
	}
	for _, l := range r.lengths {
		if s.Len(l.slot) != l.n {
			return false
		}
	}
	return true
}

// tensor is the one tensor that was returned, nil for an undefined one.
func (o *outcome) tensor() *Tensor {
	t := newTensor()
	o.results.Tensor(&t.handle)
	o.results.Done()
	if !t.real() {
		return nil
	}
	if o.scope != nil {
		o.scope.Add(t)
	}
	return t
}

// put makes the tensors that were returned, and list refer to them.
func (o *outcome) put(made []Tensor, list []*Tensor) {
	for i := range made {
		t := &made[i]
		t.made = t
		if o.route.results == aList {
			o.results.Item(&t.handle)
		} else {
			o.results.Tensor(&t.handle)
		}
		if list[i] = nil; t.real() {
			list[i] = t
			if o.scope != nil {
				o.scope.Add(t)
			}
		}
	}
	o.results.Done()
}

// tensors are those that were returned.
func (o *outcome) tensors() []*Tensor {
	n := o.route.results
	if n == aList {
		n = o.results.List()
	}
	if n <= 2 {
		few := new(struct {
			t    [2]Tensor
			list [2]*Tensor
		})
		o.put(few.t[:n], few.list[:n])
		return few.list[:n:n]
	}
	list := make([]*Tensor, n)
	o.put(make([]Tensor, n), list)
	return list
}

// value is what was returned, as [public.parse] returns it.
func (o *outcome) value() any {
	switch o.route.results {
	case oneTensor:
		if t := o.tensor(); t != nil {
			return t
		}
		return nil
	case oneValue:
		v := o.results.Value()
		o.results.Done()
		return v
	}
	return ir.PyTuple(listOf(o.tensors(), func(t *Tensor) any {
		if t == nil {
			return nil
		}
		return t
	}))
}

// routeOf returns the route of a form, which is found where it is new; nil where the
// function remembers no more.
func (p *public) routeOf(f *callForm) *route {
	n := 0
	for r := p.routes.Load(); r != nil; r = r.next {
		if r.form.is(f) {
			return r
		}
		n++
	}
	if n >= formRoutes {
		return nil
	}
	return p.addRoute(*f)
}

func (p *public) addRoute(f callForm) *route {
	for i, name := range f.names {
		f.names[i] = strings.Clone(name) // their memory is the caller's
	}
	r := p.learn(&f)
	p.learning.Lock()
	defer p.learning.Unlock()
	r.next = p.routes.Load()
	p.routes.Store(r)
	return r
}
