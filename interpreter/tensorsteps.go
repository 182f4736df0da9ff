package interpreter

import (
	"slices"
	"sync/atomic"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// This file has what is done past the handler, where that is Default itself and
// nobody sees how: steps that call functions on tensors alone, and stretches of them,
// which cross to libtorch once.

// tensorCall returns the call that st makes if all of its operands are tensors.
func (st *step) tensorCall() *torch.TensorCall {
	st.once.Do(func() {
		var f *ir.Func
		switch n := st.node; n.Op() {
		case ir.CallFunction:
			f = n.Func()
		case ir.CallMethod:
			f = method(n.Target().String())
		default:
			return
		}
		for _, a := range st.args {
			if _, ok := a.(cellOf); !ok {
				return
			}
		}
		if len(st.kwargs) > 0 {
			return
		}
		for k, a := range st.args {
			if slices.Contains(st.free, a.(cellOf).cell) && !slices.Contains(st.args[:k], a) && !slices.Contains(st.args[k+1:], a) {
				st.last |= 1 << k
			}
		}
		st.tensors = torch.ForTensors(f, len(st.args))
	})
	return st.tensors
}

// callTensors executes a step that calls a function on tensors alone, past its
// handler. done is false where it is no such step, and nothing was done.
func (r *Run) callTensors(i int, st *step) (done bool, err error) {
	call := st.tensorCall()
	if call == nil {
		return false, nil
	}
	var x [torch.MaxTensors]*torch.Tensor
	last := st.last
	for k, a := range st.args {
		c := &r.cells[a.(cellOf).cell]
		if !c.fresh {
			last &^= 1 << k // for the owners to close
		}
		t, ok := c.value.(*torch.Tensor)
		if !ok || !c.set || t == nil || t.Traced() {
			return false, nil
		}
		x[k] = t
	}
	t, err := call.Call(&r.mode, last, &x)
	if err != nil {
		return true, err
	}
	for k, a := range st.args {
		if last>>k&1 != 0 {
			r.cells[a.(cellOf).cell] = cell{}
		}
	}
	if t == nil {
		r.store(i, nil)
		return true, nil
	}
	r.storeFresh(i, t)
	return true, nil
}

// A stretch is neighbouring steps, each a call of tensors alone without effects,
// that are made in one crossing.
type stretch struct {
	calls  *torch.TensorSequence
	steps  int
	inputs []int // cells
	ends   []int // by input, how many steps are done when nobody reads it any more; 0 where later steps do
}

// findStretches looks for the stretches of s.
func (s *schedule) findStretches() map[int]*stretch {
	s.once.Do(func() {
		s.stretches = map[int]*stretch{}
		for i := 0; i < len(s.steps); i++ {
			first := i
			for i < len(s.steps) && s.steps[i].repeats() {
				i++
			}
			if i-first > 1 {
				s.stretches[first] = newStretch(first, s.steps[first:i])
			}
		}
	})
	return s.stretches
}

// repeats reports whether a step is a call that may be made a second time, where the
// first one has failed in the middle of a stretch.
func (st *step) repeats() bool {
	c := st.tensorCall()
	return c != nil && c.Repeats()
}

func newStretch(first int, steps []*step) *stretch {
	s := &stretch{steps: len(steps)}
	registers := map[int]int{} // by cell
	for i, st := range steps {
		for _, c := range st.reads {
			if _, known := registers[c]; !known && c < first {
				registers[c] = len(s.inputs)
				s.inputs = append(s.inputs, c)
				s.ends = append(s.ends, 0)
			}
		}
		for _, c := range st.free {
			if c < first {
				s.ends[registers[c]] = i + 1
			}
		}
	}
	s.calls = torch.NewTensorSequence(len(s.inputs))
	for i, st := range steps {
		args, last := make([]int, len(st.args)), make([]int, len(st.free))
		for k, a := range st.args {
			args[k] = registers[a.(cellOf).cell]
		}
		registers[first+i] = len(s.inputs) + i
		for k, c := range st.free {
			last[k] = registers[c]
		}
		s.calls.Add(st.tensors, args, last)
	}
	return s
}

// runStretch executes the steps of s, which begin at step first, and returns how many
// of them: less than all where one fails, stop says so, or something is no tensor,
// which the steps are to see for themselves.
func (r *Run) runStretch(first int, s *stretch, stop *atomic.Int32) (int, error) {
	f := r.frame
	f.inputs, f.own = f.inputs[:0], f.own[:0]
	for k, i := range s.inputs {
		c := &f.cells[i]
		t, ok := c.value.(*torch.Tensor)
		if !ok || !c.set || t == nil || t.Traced() {
			return 0, nil
		}
		f.inputs, f.own = append(f.inputs, t), append(f.own, s.ends[k] > 0 && f.alone(c, t))
	}
	done, err := s.calls.Run(&r.mode, stop, f.inputs, f.own, func(register int, t *torch.Tensor) {
		r.storeFresh(first+register-len(s.inputs), t)
	})
	for k, i := range s.inputs {
		if end := s.ends[k]; end == 0 || end > done {
			continue
		}
		if f.own[k] {
			f.cells[i] = cell{}
		} else {
			f.empty(i)
		}
	}
	clear(f.inputs)
	return done, err
}

// alone reports whether t stands in cell c and nowhere else, and takes it from the
// owners then.
func (f *frame) alone(c *cell, t *torch.Tensor) bool {
	if !c.fresh && len(c.held) == 1 && f.owners[t] == 1 {
		delete(f.owners, t)
		c.held, c.one, c.fresh = nil, [1]resource{}, true
	}
	return c.fresh
}
