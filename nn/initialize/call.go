package initialize

import (
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// held are the temporary tensors of a computation.
type held []*torch.Tensor

func (h *held) keep(v any) *torch.Tensor {
	t := v.(*torch.Tensor)
	*h = append(*h, t)
	return t
}

func (h *held) call(op string, args ...any) *torch.Tensor { return h.keep(call(op, args...)) }

func (h *held) close() {
	for _, t := range *h {
		_ = t.Close()
	}
}

// call calls an operator that returns a tensor.
func call(op string, args ...any) *torch.Tensor {
	v, err := torch.Call(op, args...)
	check(err)
	return v.(*torch.Tensor)
}

// inplace calls an operator that writes its first argument.
func inplace(op string, t *torch.Tensor, args ...any) {
	_ = call(op, append([]any{t}, args...)...).Close()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func fail(class *ir.Class, format string, args ...any) {
	panic(&torch.Error{Op: "initialize", Err: ir.Errorf(class, format, args...)})
}

func values(options []torch.Kwarg) []any {
	out := make([]any, len(options))
	for i, o := range options {
		out[i] = o
	}
	return out
}
