package torchops

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/torchfx-go/torchfx/ir"
)

// A Scope closes the tensors that are in it. The result of an operator joins
// the scope of its inputs (where these differ, the one opened last), and what
// has no inputs is put there by [In] or [Scope.Add]:
//
//	s := torch.NewScope()
//	defer s.Close()
//	x := torch.Rand(1, 3, torch.In(s))
//	y := s.Keep(torch.Relu(x.Add(x))) // x + x and x go with the scope, y stays
//
// A scope belongs to who opened it; a library never closes what it did not
// make. It may be used by many goroutines.
type Scope struct {
	id      uint64 // grows with every scope
	mu      sync.Mutex
	tensors map[*Tensor]struct{} // nil once closed
}

var scopes atomic.Uint64

// NewScope opens a scope.
func NewScope() *Scope {
	return &Scope{id: scopes.Add(1), tensors: map[*Tensor]struct{}{}}
}

// Close closes every tensor in s. A second call does nothing. Tensors that
// would join later are closed at once, so that a late result does not leak.
func (s *Scope) Close() error {
	s.mu.Lock()
	tensors := s.tensors
	s.tensors = nil
	s.mu.Unlock()
	var errs []error
	for t := range tensors {
		if t.scope.CompareAndSwap(s, nil) {
			errs = append(errs, t.handle.Close())
		}
	}
	return errors.Join(errs...)
}

// Add puts tensors into s, out of the scope that they were in. Nil and traced
// ones have nothing to close and are left alone.
func (s *Scope) Add(tensors ...*Tensor) {
	for _, t := range tensors {
		if !t.real() {
			continue
		}
		if old := t.scope.Swap(s); old != nil && old != s {
			old.forget(t)
		}
		s.mu.Lock()
		open := s.tensors != nil
		if open {
			s.tensors[t] = struct{}{}
		}
		s.mu.Unlock()
		if !open && t.scope.CompareAndSwap(s, nil) {
			_ = t.handle.Close()
		}
	}
}

// Keep takes t out of s and returns it: it lives until it is closed by itself.
// A tensor of another scope stays there.
func (s *Scope) Keep(t *Tensor) *Tensor {
	if t != nil && t.scope.CompareAndSwap(s, nil) {
		s.forget(t)
	}
	return t
}

// Len returns the number of tensors in s.
func (s *Scope) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tensors)
}

func (s *Scope) forget(t *Tensor) {
	s.mu.Lock()
	delete(s.tensors, t)
	s.mu.Unlock()
}

// An inScope is the option that [In] makes.
type inScope struct{ scope *Scope }

// In puts the result of a call into s. It stands among the sizes of a factory,
// torch.Zeros(2, 3, torch.In(s)), and among the arguments of [Call].
func In(s *Scope) any {
	escape(s)
	return inScope{s}
}

// escape makes the compiler put on the heap what v refers to, where it does not see
// through [hidden] that it is kept.
//
//go:noinline
func escape(v any) {
	if v != nil && v == escaped {
		escaped = v
	}
}

var escaped any // nil always

// scopeOf returns the scope that a result of the arguments joins.
func scopeOf(args []any, kw []Kwarg) (found *Scope) {
	for _, a := range args {
		found = younger(found, findScope(a))
	}
	for _, k := range kw {
		found = younger(found, findScope(k.Value))
	}
	return found
}

func findScope(v any) *Scope {
	switch v := v.(type) {
	case *Tensor:
		if v != nil {
			return v.scope.Load()
		}
	case []any:
		return scopeOf(v, nil)
	case ir.PyTuple:
		return scopeOf(v, nil)
	case List:
		return scopeOfTensors(v)
	case Tuple:
		return scopeOfTensors(v)
	case []*Tensor:
		return scopeOfTensors(v)
	case Tensors:
		return scopeOfTensors(v.list)
	case inScope:
		return v.scope
	}
	return nil
}

func scopeOfTensors(list []*Tensor) (found *Scope) {
	for _, t := range list {
		found = younger(found, findScope(t))
	}
	return found
}

func younger(a, b *Scope) *Scope {
	if a == nil || b != nil && b.id > a.id {
		return b
	}
	return a
}
