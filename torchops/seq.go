package torchops

import (
	"iter"

	"github.com/torchfx-go/torchfx/ir"
)

// A Seq is what takes a list of tensors: a [List] or a [Tuple] that the caller
// writes, or the [Tensors] that an operator returned.
type Seq interface{ sequence() any }

// sequences makes lists and tuples of any values of those of tensors, in place.
func sequences(args []any) {
	for i, a := range args {
		if s, ok := a.(Seq); ok {
			args[i] = s.sequence()
		}
	}
}

// A List is a list of tensors written by the caller: torch.List{x, y}.
type List []*Tensor

func (l List) sequence() any {
	list := make([]any, len(l))
	for i, t := range l {
		list[i] = t
	}
	return list
}

// A Tuple is a [List] that a trace records as Python's tuple: torch.Tuple{x, y} is
// (x, y).
type Tuple []*Tensor

func (l Tuple) sequence() any { return l.PyTuple() }

// PyTuple is l as a tuple of any values.
func (l Tuple) PyTuple() ir.PyTuple { return ir.PyTuple(List(l).sequence().([]any)) }

// Tensors is what an operator returns that makes several tensors: chunk, split,
// unbind. In a trace it stands for the list, whose length is not known.
type Tensors struct {
	list  []*Tensor
	value Value
}

func (ts Tensors) sequence() any {
	if ts.value.recorder != nil {
		return ts.value
	}
	return List(ts.list).sequence()
}

// At returns tensor i; a negative i counts from the end. In a trace it records
// the subscript. It panics with an *[Error] where there is no such tensor.
func (ts Tensors) At(i int) *Tensor {
	if ts.value.recorder != nil {
		return ts.value.Index(int64(i)).Tensor()
	}
	j := i
	if j < 0 {
		j += len(ts.list)
	}
	if j < 0 || j >= len(ts.list) {
		mustNot("At", ir.Errorf(ir.ErrIndex, "tensors: expected an index below %d, got %d", len(ts.list), i))
	}
	return ts.list[j]
}

// Len returns the number of tensors. It panics with an *[Error] in a trace,
// where the number is not known: unpack as many as there are.
func (ts Tensors) Len() int {
	if ts.value.recorder != nil {
		return ts.value.Len()
	}
	return len(ts.list)
}

// All yields the tensors. In a trace it is for tracers that say how many there
// are; see [Flow].
func (ts Tensors) All() iter.Seq2[int, *Tensor] {
	return func(yield func(int, *Tensor) bool) {
		if ts.value.recorder != nil {
			for i, v := range ts.value.All() {
				if !yield(i, v.Tensor()) {
					return
				}
			}
			return
		}
		for i := range ts.Len() {
			if !yield(i, ts.list[i]) {
				return
			}
		}
	}
}

// Unpack2 returns the tensors of a list of two, as "a, b = x" in Python.
func (ts Tensors) Unpack2() (a, b *Tensor) {
	ts.unpack(2)
	return ts.At(0), ts.At(1)
}

// Unpack3 returns the tensors of a list of three.
func (ts Tensors) Unpack3() (a, b, c *Tensor) {
	ts.unpack(3)
	return ts.At(0), ts.At(1), ts.At(2)
}

func (ts Tensors) unpack(n int) {
	if ts.value.recorder == nil && len(ts.list) != n {
		mustNot("unpack", ir.Errorf(ir.ErrValue, "tensors: expected %d to unpack, got %d", n, len(ts.list)))
	}
}
