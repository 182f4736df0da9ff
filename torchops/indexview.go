package torchops

import (
	"math"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// The operators of a subscript that is one int or one slice.
var selectOp, sliceOp = operatorOnce("aten::select.int"), operatorOnce("aten::slice.Tensor")

func operatorOnce(name string) func() *libtorch.Operator {
	return sync.OnceValue(func() *libtorch.Operator {
		o, _ := libtorch.Find(name)
		return o // nil where libtorch cannot be opened, which the whole way tells
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
	var w libtorch.Words
	op := selectOp
	switch part := part.(type) {
	case int:
		w.Tensor(&x.handle)
		w.Int(0)
		w.Int(int64(part))
	case ir.Slice:
		start, ok1 := bound(part.Start, 0)
		stop, ok2 := bound(part.Stop, math.MaxInt64)
		step, ok3 := bound(part.Step, 1)
		if !ok1 || !ok2 || !ok3 || step < 1 {
			return nil, false
		}
		op = sliceOp
		w.Tensor(&x.handle)
		for _, n := range [...]int64{0, start, stop, step} {
			w.Int(n)
		}
	default:
		return nil, false
	}
	t = new(Tensor)
	if o := op(); w.Failed() || o == nil || o.CallWords(&w, []*libtorch.Tensor{&t.handle}) != nil {
		w.Drop()
		return nil, false
	}
	if s := x.scope.Load(); s != nil {
		s.Add(t)
	}
	return t, true
}

// bound is a part of a slice, or what Python fills in for None.
func bound(part ir.Arg, absent int64) (n int64, ok bool) {
	switch v := part.(type) {
	case nil, ir.None:
		return absent, true
	case ir.Opaque:
		n, isInt := v.Value.(int)
		return int64(n), isInt
	}
	return 0, false
}
