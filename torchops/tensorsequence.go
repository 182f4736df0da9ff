package torchops

import (
	"sync/atomic"

	libtorch "github.com/torchfx-go/torchfx/cgo"
)

// A TensorSequence is [TensorCall]s that are made one after the other, at little more
// than the cost of their kernels: what goes from one to the next never becomes a
// Tensor. It works on registers: the inputs, and behind them the result of each call.
// Once built it is safe for concurrent use.
type TensorSequence struct {
	calls  *libtorch.Sequence
	inputs int
	args   [][]int // by call, the registers that it reads
}

// NewTensorSequence returns a sequence of no calls on so many inputs.
func NewTensorSequence(inputs int) *TensorSequence {
	return &TensorSequence{calls: libtorch.NewSequence(inputs), inputs: inputs}
}

// Repeats reports whether the call can be in a [TensorSequence]: nothing comes of it
// but its result, so that one which failed may be made again.
func (c *TensorCall) Repeats() bool { return c.ready.Pure() }

// Add appends a call of registers, after which the registers in last are read no more.
// It returns the register of the result.
func (s *TensorSequence) Add(c *TensorCall, registers, last []int) int {
	holes := make([]int, len(c.order))
	for i, at := range c.order {
		holes[i] = registers[at]
	}
	s.args = append(s.args, holes)
	return s.calls.Add(c.ready, holes, last)
}

// Run makes the calls under modes of libtorch, nil for none, and returns how many were
// made. It stops before one that fails, returns an undefined tensor, or would be made
// once stop is not zero, which may be nil: the caller makes such a call by itself. It
// makes none in a mode that is not the usual one. None of the tensors may be nil or
// traced.
//
// own says which tensors are given away: one that a call in last has read is closed.
// Such a tensor stands among the tensors once, and nobody else uses it.
// result is given each result that is left, with its register.
func (s *TensorSequence) Run(m *libtorch.Mode, stop *atomic.Int32, tensors []*Tensor, own []bool, result func(register int, t *Tensor)) (int, error) {
	if !m.Ordinary() {
		return 0, nil
	}
	handles := make([]*libtorch.Tensor, len(tensors))
	scoped := false
	for i, t := range tensors {
		handles[i] = &t.handle
		scoped = scoped || t.scope.Load() != nil
	}
	var scopes []*Scope // by register, where there are any
	if scoped {
		scopes = s.scopes(tensors)
	}
	var joining map[*Tensor]*Scope
	if scoped {
		joining = map[*Tensor]*Scope{}
	}
	done, err := s.calls.Run(stop, handles, own, func(register int) *libtorch.Tensor {
		t := newTensor()
		if scoped && scopes[register] != nil {
			joining[t] = scopes[register]
		}
		result(register, t)
		return &t.handle
	})
	if !scoped {
		return done, err
	}
	for t, scope := range joining {
		scope.Add(t)
	}
	for i, t := range tensors {
		if own[i] && t.handle.Closed() {
			_ = t.Close() // only out of its scope
		}
	}
	return done, err
}

// scopes finds the scope that each result joins: the youngest of its arguments'.
func (s *TensorSequence) scopes(tensors []*Tensor) []*Scope {
	all := make([]*Scope, s.inputs, s.inputs+len(s.args))
	for i, t := range tensors {
		all[i] = t.scope.Load()
	}
	for _, args := range s.args {
		var scope *Scope
		for _, r := range args {
			scope = younger(scope, all[r])
		}
		all = append(all, scope)
	}
	return all
}
