package interpreter

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// The functions that torch.vmap leaves in programs exported before dispatch
// (torch/_functorch/predispatch.py). The levels are the run's, and every
// operator between an increment and its decrement is called under them.

// _vmap_increment_nesting(batch_size, randomness): the level
func vmapIncrementNesting(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "_vmap_increment_nesting", args: args}
	size, ok := o.at(0).(int64)
	if !ok {
		o.fail(0, "a size")
	}
	text, ok := o.at(1).(string)
	randomness, err := libtorch.ParseRandomness(text)
	if !ok || err != nil {
		o.fail(1, `"error", "same" or "different"`)
	}
	if o.err != nil {
		return nil, o.err
	}
	n := len(r.mode.Vmap)
	r.mode.Vmap = append(r.mode.Vmap[:n:n], libtorch.VmapLevel{BatchSize: size, Randomness: randomness})
	return int64(n + 1), nil
}

// _vmap_decrement_nesting(): the level that ends
func vmapDecrementNesting(r *Run, _ []any, _ []torch.Kwarg) (any, error) {
	n := len(r.mode.Vmap)
	if n == 0 {
		return nil, ir.Errorf(ir.ErrRuntime, "_vmap_decrement_nesting: expected a level to end, got none")
	}
	r.mode.Vmap = r.mode.Vmap[:n-1]
	return int64(n), nil
}

// _add_batch_dim(tensor, dim, level)
func addBatchDim(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "_add_batch_dim", args: args}
	h, dim, level := o.handle(0), o.int(1), o.int(2)
	if o.err != nil {
		return nil, o.err
	}
	if dim < 0 {
		dim += int64(len(args[0].(*torch.Tensor).Shape()))
	}
	return fromHandle(libtorch.AddBatchDim(&r.mode, h, dim, level))
}

// _remove_batch_dim(tensor, level, batch_size, dim)
func removeBatchDim(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "_remove_batch_dim", args: args}
	h, level, size, dim := o.handle(0), o.int(1), o.int(2), o.int(3)
	if o.err != nil {
		return nil, o.err
	}
	return fromHandle(libtorch.RemoveBatchDim(&r.mode, h, level, size, dim))
}

// lazy_load_decompositions(): Python registers decompositions for vmap here,
// which libtorch has no part in
func lazyLoadDecompositions(*Run, []any, []torch.Kwarg) (any, error) { return nil, nil }

func fromHandle(h *libtorch.Tensor, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return torch.FromHandle(h), nil
}

func (o *operands) int(i int) int64 {
	n, ok := o.at(i).(int64)
	if !ok {
		o.fail(i, "an integer")
	}
	return n
}

func (o *operands) handle(i int) *libtorch.Tensor {
	t, ok := o.at(i).(*torch.Tensor)
	if !ok || t == nil {
		o.fail(i, "a tensor")
		return nil
	}
	h, err := t.Handle()
	if err != nil && o.err == nil {
		o.err = err
	}
	return h
}
