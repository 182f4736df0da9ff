package interpreter

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// map_impl(graph, mapped, extra): the graph on each slice along dimension 0 of
// the mapped tensors, the results stacked
func mapOp(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "map", args: args}
	body, mapped, extra := o.graph(0), o.list(1), o.list(2)
	n := o.length(1, mapped, 0)
	if o.err != nil {
		return nil, o.err
	}
	if n == 0 {
		return nil, ir.Errorf(ir.ErrAssertion, "map: expected tensors with at least one slice along dimension 0, got none")
	}
	w := r.work()
	defer w.close()
	slices0 := make([][]any, n) // operands of each round
	for _, x := range mapped {
		parts, err := w.op("aten::unbind.int", x, int64(0))
		if err != nil {
			return nil, err
		}
		items, _ := list(parts)
		for i, part := range items {
			slices0[i] = append(slices0[i], part)
		}
	}
	var rounds [][]any // by output
	single := false
	for _, operand := range slices0 {
		out, err := w.graph(body, slices.Concat(operand, extra)...)
		if err != nil {
			return nil, err
		}
		items, ok := list(out)
		if !ok {
			items, single = []any{out}, true
		}
		if rounds == nil {
			rounds = make([][]any, len(items))
		}
		for i, v := range items {
			rounds[i] = append(rounds[i], v)
		}
		w.held.drop(operand)
	}
	stacked := make(ir.PyTuple, len(rounds))
	for i, values := range rounds {
		if values[0] == nil {
			continue
		}
		v, err := w.op("aten::stack", values)
		if err != nil {
			return nil, err
		}
		stacked[i] = v
		w.held.drop(values)
	}
	if single {
		return w.keep(stacked[0])
	}
	return w.keep(stacked)
}

// length returns the common size of tensors along dim.
func (o *operands) length(i int, tensors []any, dim int) int {
	n := -1
	for _, v := range tensors {
		t, ok := v.(*torch.Tensor)
		if !ok || len(t.Shape()) <= dim || n >= 0 && t.Shape()[dim] != n {
			o.fail(i, "tensors of one leading size")
			return 0
		}
		n = t.Shape()[dim]
	}
	if n < 0 {
		o.fail(i, "at least one tensor")
	}
	return n
}

// scan(graph, init, xs, additional): carry and slice of xs in, carry and output
// out, the outputs stacked along dimension 0
func scan(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "scan", args: args}
	combine, carry, xs, extra := o.graph(0), o.list(1), o.list(2), o.list(3)
	n := o.length(2, xs, 0)
	if o.err != nil {
		return nil, o.err
	}
	w := r.work()
	defer w.close()
	first, err := w.firstSlices(xs)
	if err != nil {
		return nil, err
	}
	init := carry
	out, err := w.leaves(combine, slices.Concat(carry, first, extra)...)
	if err != nil {
		return nil, err
	}
	if len(out) < len(init) {
		return nil, ir.Errorf(ir.ErrRuntime, "scan: expected a graph that returns at least the %d carried values, got %d", len(init), len(out))
	}
	carry = out[:len(init)]
	stacked, err := w.stackInto(n, out[len(init):])
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return w.keep(ir.PyTuple(slices.Concat(init, stacked)))
	}
	w.held.drop(out[len(init):])
	w.held.drop(first)
	for i := 1; i < n; i++ {
		parts := make([]any, len(xs))
		for k, x := range xs {
			if parts[k], err = w.op("aten::select.int", x, int64(0), int64(i)); err != nil {
				return nil, err
			}
		}
		if out, err = w.leaves(combine, slices.Concat(carry, parts, extra)...); err != nil {
			return nil, err
		}
		w.held.drop(carry)
		w.held.drop(parts)
		carry = out[:len(init)]
		for k, v := range out[len(init):] {
			if err := w.setRow(stacked[k], i, v); err != nil {
				return nil, err
			}
		}
		w.held.drop(out[len(init):])
	}
	return w.keep(ir.PyTuple(slices.Concat(carry, stacked)))
}

// firstSlices returns copies of the first slices along dimension 0, zeros where
// there is none.
func (w work) firstSlices(xs []any) (first []any, err error) {
	first = make([]any, len(xs))
	for i, v := range xs {
		x := v.(*torch.Tensor)
		if x.Shape()[0] == 0 {
			first[i], err = w.op("aten::new_zeros", x, sizes(x.Shape()[1:]))
		} else {
			first[i], err = w.op("aten::select_copy.int", x, int64(0), int64(0))
		}
		if err != nil {
			return nil, err
		}
	}
	return first, nil
}

// stackInto returns for each tensor of a first round a new tensor with room for
// n of them, the first filled in. Python fills rows by scatter_; a copy stores
// the same bits.
func (w work) stackInto(n int, round []any) ([]any, error) {
	stacked := make([]any, len(round))
	for i, v := range round {
		t, ok := v.(*torch.Tensor)
		if !ok {
			continue
		}
		all, err := w.hold(torch.CallMode(&w.r.mode, "aten::empty.memory_format",
			[]any{sizes(append([]int{n}, t.Shape()...))},
			[]torch.Kwarg{torch.Kw("dtype", t.DType()), torch.Kw("device", t.Device())}))
		if err != nil {
			return nil, err
		}
		stacked[i] = all
		if n > 0 {
			if err := w.setRow(all, 0, t); err != nil {
				return nil, err
			}
		}
	}
	return stacked, nil
}

// setRow copies v to row i of all.
func (w work) setRow(all any, i int, v any) error {
	if all == nil {
		return nil
	}
	row, err := w.op("aten::select.int", all, int64(0), int64(i))
	if err != nil {
		return err
	}
	out, err := w.op("aten::copy_", row, v)
	w.held.drop(out)
	w.held.drop(row)
	return err
}

func sizes(shape []int) []any {
	out := make([]any, len(shape))
	for i, n := range shape {
		out[i] = int64(n)
	}
	return out
}

// associative_scan(graph, xs, additional), along dimension 0
func associativeScan(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "associative_scan", args: args}
	combine, xs, extra := o.graph(0), o.list(1), o.list(2)
	o.length(1, xs, 0)
	if o.err != nil {
		return nil, o.err
	}
	w := r.work()
	defer w.close()
	out, err := w.associate(combine, xs, extra)
	if err != nil {
		return nil, err
	}
	return w.keep(out)
}

// associate scans elems: neighbours are combined, the half as long result is
// scanned in turn and gives the odd elements, which combined with their right
// neighbours give the even ones.
func (w work) associate(combine *ir.GraphModule, elems, extra []any) ([]any, error) {
	n := elems[0].(*torch.Tensor).Shape()[0]
	if n < 2 {
		return elems, nil
	}
	left, err := w.slices(elems, 0, -1, 2)
	if err != nil {
		return nil, err
	}
	right, err := w.slices(elems, 1, nil, 2)
	if err != nil {
		return nil, err
	}
	reduced, err := w.leaves(combine, slices.Concat(left, right, extra)...)
	if err != nil {
		return nil, err
	}
	odd, err := w.associate(combine, reduced, extra)
	if err != nil {
		return nil, err
	}
	before := odd
	if n%2 == 0 {
		if before, err = w.slices(odd, 0, -1, 1); err != nil {
			return nil, err
		}
	}
	after, err := w.slices(elems, 2, nil, 2)
	if err != nil {
		return nil, err
	}
	even, err := w.leaves(combine, slices.Concat(before, after, extra)...)
	if err != nil {
		return nil, err
	}
	heads, err := w.slices(elems, 0, 1, 1)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(elems))
	for i := range elems {
		// the first element of a scan is the first of the original; a cat with
		// nothing is not made
		all := heads[i]
		if even[i].(*torch.Tensor).Numel() > 0 {
			if all, err = w.op("aten::cat", []any{heads[i], even[i]}, int64(0)); err != nil {
				return nil, err
			}
		}
		if out[i], err = w.interleave(all, odd[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// slices returns x[start:stop:step] of each x.
func (w work) slices(xs []any, start, stop, step any) ([]any, error) {
	out := make([]any, len(xs))
	for i, x := range xs {
		var err error
		if out[i], err = w.op("aten::slice.Tensor", x, int64(0), number(start), number(stop), number(step)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func number(v any) any {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v
}

// interleave returns a0 b0 a1 b1 …; a may be one longer than b.
func (w work) interleave(a, b any) (any, error) {
	na, nb := a.(*torch.Tensor).Shape()[0], b.(*torch.Tensor).Shape()[0]
	var err error
	if na == nb+1 {
		pad := make([]any, 2*len(b.(*torch.Tensor).Shape()))
		for i := range pad {
			pad[i] = int64(0)
		}
		pad[len(pad)-1] = int64(1)
		if b, err = w.op("aten::pad", b, pad); err != nil {
			return nil, err
		}
	}
	both, err := w.op("aten::stack", []any{a, b}, int64(1))
	if err != nil {
		return nil, err
	}
	flat, err := w.op("aten::flatten.using_ints", both, int64(0), int64(1))
	if err != nil || na != nb+1 {
		return flat, err
	}
	return w.op("aten::slice.Tensor", flat, int64(0), int64(0), int64(2*na-1))
}
