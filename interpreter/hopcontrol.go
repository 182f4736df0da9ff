package interpreter

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// cond(pred, true_graph, false_graph, operands)
func cond(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "cond", args: args}
	yes, no, values := o.graph(1), o.graph(2), o.list(3)
	if o.err != nil {
		return nil, o.err
	}
	taken, err := r.truth(o.at(0))
	if err != nil {
		return nil, err
	}
	if taken {
		return r.Call(yes, values...)
	}
	return r.Call(no, values...)
}

// switch(index, branches, operands)
func switchOp(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "switch", args: args}
	branches, values := o.list(1), o.list(2)
	if o.err != nil {
		return nil, o.err
	}
	i, ok := o.at(0).(int64)
	if t, isTensor := o.at(0).(*torch.Tensor); isTensor {
		v, err := t.Item()
		if err != nil {
			return nil, err
		}
		i, ok = v.(int64)
	}
	if !ok || i < 0 || i >= int64(len(branches)) {
		return nil, ir.Errorf(ir.ErrAssertion, "switch: expected an index below %d branches, got %s", len(branches), torch.Describe(o.at(0)))
	}
	branch := operands{name: "switch: branches", args: branches}
	g := branch.graph(int(i))
	if branch.err != nil {
		return nil, branch.err
	}
	return r.Call(g, values...)
}

// while_loop(cond_graph, body_graph, carried, additional)
func whileLoop(r *Run, args []any, _ []torch.Kwarg) (any, error) { return loop(r, args, false) }

func whileLoopStackOutput(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	return loop(r, args, true)
}

// loop runs a while_loop; with stack the results of all rounds are stacked.
func loop(r *Run, args []any, stack bool) (any, error) {
	o := operands{name: "while_loop", args: args}
	test, body, carried, extra := o.graph(0), o.graph(1), o.list(2), o.list(3)
	if o.err != nil {
		return nil, o.err
	}
	w := r.work()
	defer w.close()
	again, err := goesOn(w, test, carried, extra)
	if err != nil {
		return nil, err
	}
	if !again {
		return w.unlooped(carried, stack)
	}
	rounds := make([][]any, len(carried)) // results by carry, for stack
	for again {
		out, err := w.leaves(body, slices.Concat(carried, extra)...)
		if err != nil {
			return nil, err
		}
		if len(out) != len(carried) {
			return nil, ir.Errorf(ir.ErrAssertion, "while_loop: expected a body that returns %d values as carried in, got %d", len(carried), len(out))
		}
		if stack {
			for i, v := range out {
				rounds[i] = append(rounds[i], v)
			}
		} else {
			w.held.drop(carried)
		}
		carried = out
		if again, err = goesOn(w, test, carried, extra); err != nil {
			return nil, err
		}
	}
	if !stack {
		return w.keep(ir.PyTuple(carried))
	}
	stacked := make(ir.PyTuple, len(rounds))
	for i, values := range rounds {
		if stacked[i], err = w.op("aten::stack", values, int64(0)); err != nil {
			return nil, err
		}
	}
	return w.keep(stacked)
}

// goesOn runs the condition of a loop.
func goesOn(w work, test *ir.GraphModule, carried, extra []any) (bool, error) {
	v, err := w.graph(test, slices.Concat(carried, extra)...)
	if err != nil {
		return false, err
	}
	defer w.held.drop(v)
	if items, ok := list(v); ok && len(items) == 1 {
		v = items[0]
	}
	return loopGoesOn(w.r, v)
}

// loopGoesOn is what the condition of a loop has said.
func loopGoesOn(r *Run, v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case *torch.Tensor:
		if len(v.Shape()) == 0 && v.DType() == ir.Bool8 {
			return r.truth(v)
		}
	}
	return false, ir.Errorf(ir.ErrRuntime, "while_loop: expected a condition that returns a boolean scalar tensor or a bool, got %s", torch.Describe(v))
}

// unlooped returns copies of the carried values, for a loop without a round.
func (w work) unlooped(carried []any, stack bool) (any, error) {
	out := make(ir.PyTuple, len(carried))
	for i, v := range carried {
		out[i] = v
		if _, ok := v.(*torch.Tensor); !ok {
			continue
		}
		var err error
		if stack {
			if v, err = w.op("aten::unsqueeze", v, int64(0)); err != nil {
				return nil, err
			}
		}
		if out[i], err = w.op("aten::clone", v); err != nil {
			return nil, err
		}
	}
	return w.keep(out)
}
