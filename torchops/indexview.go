package torchops

import (
	"math"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// The operators of a subscript that is one int or one slice, of the first dimension.
var selectCall, sliceCall = viewOnce("aten::select.int", 1), viewOnce("aten::slice.Tensor", 3)

// viewOnce readies the calls of an operator with a tensor and n numbers.
func viewOnce(name string, n int) func() *libtorch.SlotCall {
	return sync.OnceValue(func() *libtorch.SlotCall {
		o, err := libtorch.Find(name)
		if err != nil {
			return nil // libtorch cannot be opened, which the whole way tells
		}
		args := []libtorch.Argument{{Kind: libtorch.ArgTensor}, {Kind: libtorch.ArgConstant, Value: 0}}
		for i := range n {
			args = append(args, libtorch.Argument{Kind: libtorch.ArgInt, Slot: 1 + i})
		}
		c, _ := o.PrepareSlots(args)
		return c
	})
}

// view is x[part] for an int or a slice of ints: what [getItem] does, with nothing read
// before the call. ok is false for whatever else, and where the operator fails: then
// the whole way does it again, and finds Python's words.
func (x *Tensor) view(part any) (t *Tensor, ok bool) {
	var m *libtorch.Mode
	if !isReal(x) || !m.Ordinary() {
		return nil, false
	}
	var s libtorch.Slots
	var call *libtorch.SlotCall
	s.Begin(4)
	switch part := part.(type) {
	case int:
		call = selectCall()
		s.Int(1, int64(part))
	case ir.Slice:
		start, ok1 := bound(part.Start, 0)
		stop, ok2 := bound(part.Stop, math.MaxInt64)
		step, ok3 := bound(part.Step, 1)
		if !ok1 || !ok2 || !ok3 || step < 1 {
			return nil, false
		}
		call = sliceCall()
		for i, n := range [...]int64{start, stop, step} {
			s.Int(1+i, n)
		}
	}
	var o outcome
	if call == nil || !s.Tensor(0, &x.handle) || call.Call(&s, &o.results) != nil {
		return nil, false
	}
	o.scope = x.scope.Load()
	return o.tensor(), true
}

// bound is a part of a slice, or what Python fills in for None.
func bound(part ir.Arg, absent int64) (n int64, ok bool) {
	switch v := part.(type) {
	case nil, ir.None:
		return absent, true
	case ir.Opaque:
		if v.Value == nil {
			return absent, true
		}
		n, isInt := v.Value.(int)
		return int64(n), isInt
	}
	return 0, false
}
