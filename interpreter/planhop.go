package interpreter

import (
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Higher-order operators whose graphs become steps of the plan. The others are
// done by Go, which runs their graphs with the Interpreter.

// higherOrder lowers the call of a higher-order operator.
func (lw *lowerer) higherOrder(fn *ir.Func, args []operand, kwargs []keyword) operand {
	h := hops[fn]
	if h == nil {
		return lw.fails(unsupportedHigherOrder(fn))
	}
	if lw.inlines() && !lw.goOnly {
		if lower := lowerHops[fn.Base()]; lower != nil {
			if out, ok := lower(lw, args, kwargs); ok {
				return out
			}
		}
	}
	return lw.goes(goCall(h), args, kwargs)
}

var lowerHops map[string]func(lw *lowerer, args []operand, kwargs []keyword) (operand, bool)

func init() {
	lowerHops = map[string]func(lw *lowerer, args []operand, kwargs []keyword) (operand, bool){
		"cond":                       lowerCond,
		"while_loop":                 lowerWhile,
		"wrap":                       lowerCallAfter(0),
		"tag_activation_checkpoint":  lowerCallAfter(0),
		"invoke_subgraph":            lowerCallAfter(1),
		"strict_mode":                lowerCallOnList,
		"run_const_graph":            lowerCallOnList,
		"hints_wrapper":              lowerCallOnList,
		"wrap_with_set_grad_enabled": lowerSetGrad,
		"wrap_with_autocast":         lowerAutocast,
	}
}

func graphOf(args []operand, i int) (*ir.GraphModule, bool) {
	if i >= len(args) {
		return nil, false
	}
	c, _ := args[i].(constant)
	g, ok := c.v.(*ir.GraphModule)
	return g, ok
}

// listOperand returns the items of a list whose length is known.
func listOperand(args []operand, i int) ([]operand, bool) {
	if i >= len(args) {
		return nil, false
	}
	switch o := args[i].(type) {
	case sequence:
		return o.items, true
	case constant:
		items, ok := list(o.v)
		out := make([]operand, len(items))
		for k, item := range items {
			out[k] = constant{item}
		}
		return out, ok
	}
	return nil, false
}

// lowerCallAfter is for operators that call args[0] on what follows it and n more.
func lowerCallAfter(n int) func(*lowerer, []operand, []keyword) (operand, bool) {
	return func(lw *lowerer, args []operand, _ []keyword) (operand, bool) {
		g, ok := graphOf(args, 0)
		if !ok || len(args) < 1+n {
			return nil, false
		}
		return lw.graph(g, args[1+n:], lw.at), true
	}
}

func lowerCallOnList(lw *lowerer, args []operand, _ []keyword) (operand, bool) {
	g, ok := graphOf(args, 0)
	values, isList := listOperand(args, 1)
	if !ok || !isList || len(args) > 2 && !emptyDict(args[2]) {
		return nil, false
	}
	return lw.graph(g, values, lw.at), true
}

func emptyDict(o operand) bool {
	m, ok := o.(mapping)
	return ok && len(m.keys) == 0
}

func lowerSetGrad(lw *lowerer, args []operand, _ []keyword) (operand, bool) {
	g, ok := graphOf(args, 1)
	c, _ := args[0].(constant)
	enabled, isBool := c.v.(bool)
	if !ok || !isBool {
		return nil, false
	}
	mode := lw.modes[lw.mode]
	if mode.Grad = enabled; enabled && mode.Inference {
		return nil, false // which fails when it runs
	}
	return lw.under(mode, g, args[2:])
}

func lowerAutocast(lw *lowerer, args []operand, _ []keyword) (operand, bool) {
	g, ok := graphOf(args, 4)
	if !ok {
		return nil, false
	}
	values := make([]any, 5)
	for i := range 4 {
		c, ok := args[i].(constant)
		if !ok {
			return nil, false
		}
		values[i] = c.v
	}
	values[4] = g
	a, err := autocastOf(values)
	if err != nil {
		return nil, false
	}
	mode := lw.modes[lw.mode]
	mode.Autocast = a
	return lw.under(mode, g, args[5:])
}

// under lowers a graph between Enter and Leave of a mode.
func (lw *lowerer) under(mode libtorch.Mode, g *ir.GraphModule, args []operand) (operand, bool) {
	outer := lw.mode
	lw.modes = append(lw.modes, mode)
	lw.mode = len(lw.modes) - 1
	lw.emit(planStep{PlanStep: libtorch.PlanStep{Code: libtorch.PlanEnter, Target: lw.mode}})
	out := lw.graph(g, args, lw.at)
	lw.emit(planStep{PlanStep: libtorch.PlanStep{Code: libtorch.PlanLeave}})
	lw.mode = outer
	return out, true
}

// truthStep is how Go finds what a condition says.
func truthStep(r *Run, args []any, _ []torch.Kwarg) (any, error) { return r.truth(args[0]) }

// unless makes a jump that is taken where o is false; its target is set later.
func (lw *lowerer) unless(o operand, call goCall) int {
	return lw.emit(planStep{call: call, args: []operand{o}, PlanStep: libtorch.PlanStep{
		Code: libtorch.PlanUnless, Operands: lw.plain([]operand{o}), Results: []int{lw.slot(torch.UnknownBool, true)},
	}})
}

// open begins a region that may be skipped or repeated; close ends it.
func (lw *lowerer) open(loop bool) (id, outer int) {
	outer = lw.region
	lw.regions = append(lw.regions, region{parent: outer, loop: loop})
	lw.region = len(lw.regions) - 1
	return lw.region, outer
}

func (lw *lowerer) jump() int {
	return lw.emit(planStep{PlanStep: libtorch.PlanStep{Code: libtorch.PlanJump}})
}

// here makes a step that does nothing, for jumps to lead to.
func (lw *lowerer) here() int {
	return lw.emit(planStep{PlanStep: libtorch.PlanStep{Code: libtorch.PlanMove}})
}

func lowerCond(lw *lowerer, args []operand, _ []keyword) (operand, bool) {
	yes, ok := graphOf(args, 1)
	no, ok2 := graphOf(args, 2)
	values, ok3 := listOperand(args, 3)
	if !ok || !ok2 || !ok3 {
		return nil, false
	}
	if _, isNode := args[0].(cellOf); !isNode {
		if _, isConst := args[0].(constant); !isConst {
			return nil, false
		}
	}
	split := lw.unless(args[0], truthStep)
	a, outer := lw.open(false)
	first := lw.graph(yes, values, lw.at)
	lw.region = outer
	result, slots := lw.merged(first)
	lw.region = a
	lw.moves(slots, first)
	end := lw.jump()
	lw.region = outer
	b, _ := lw.open(false)
	lw.steps[split].Target = len(lw.steps)
	second := lw.graph(no, values, lw.at)
	if !sameForm(first, second) { // the results are put together by Go
		lw.collect(second, slots, result, first)
	} else {
		lw.moves(slots, second)
	}
	lw.region = outer
	join := lw.here()
	lw.steps[end].Target = join
	lw.regions[a].end, lw.regions[b].end = join, join
	return result, true
}

// merged makes slots for the leaves of a value that two ways lead to.
func (lw *lowerer) merged(o operand) (operand, []int) {
	var slots []int
	return lw.mapLeaves(o, func(operand) operand {
		s := lw.slot(torch.UnknownAny, true)
		slots = append(slots, s)
		return lw.cell(s)
	}), slots
}

// mapLeaves rebuilds a value of lists and tuples.
func (lw *lowerer) mapLeaves(o operand, f func(operand) operand) operand {
	if s, ok := o.(sequence); ok {
		items := make([]operand, len(s.items))
		for i, item := range s.items {
			items[i] = lw.mapLeaves(item, f)
		}
		return sequence{items, s.tuple}
	}
	return f(o)
}

// moves stores the leaves of a value in slots.
func (lw *lowerer) moves(slots []int, o operand) {
	var from []operand
	lw.mapLeaves(o, func(leaf operand) operand {
		switch l := leaf.(type) {
		case cellOf:
		case constant:
			if _, ok := torch.ToBridge(l.v); !ok {
				leaf = lw.stored(leaf)
			}
		default:
			leaf = lw.stored(leaf)
		}
		from = append(from, leaf)
		return leaf
	})
	lw.emit(planStep{PlanStep: libtorch.PlanStep{Code: libtorch.PlanMove, Results: slots, Operands: lw.plain(from)}})
}

// computed puts the tensors among the constants of a value into slots, as if the plan
// had computed them.
func (lw *lowerer) computed(o operand) operand {
	return lw.mapLeaves(o, func(leaf operand) operand {
		c, ok := leaf.(constant)
		held := false
		if ok {
			eachResource(c.v, func(resource) { held = true })
		}
		if !held {
			return leaf
		}
		s := lw.slot(torch.UnknownAny, false)
		lw.moves([]int{s}, leaf)
		return lw.cell(s)
	})
}

// stored puts what the bridge cannot carry into a slot.
func (lw *lowerer) stored(o operand) operand {
	return lw.goes(func(_ *Run, args []any, _ []torch.Kwarg) (any, error) { return args[0], nil }, []operand{o}, nil)
}

// sameForm reports whether two values have their leaves at the same places.
func sameForm(a, b operand) bool {
	x, ok := a.(sequence)
	y, ok2 := b.(sequence)
	if !ok || !ok2 {
		return !ok && !ok2
	}
	if x.tuple != y.tuple || len(x.items) != len(y.items) {
		return false
	}
	for i := range x.items {
		if !sameForm(x.items[i], y.items[i]) {
			return false
		}
	}
	return true
}

// collect is for branches that return values of two forms, which a graph of
// torch.export never has: the second way fails.
func (lw *lowerer) collect(operand, []int, operand, operand) {
	lw.goes(func(*Run, []any, []torch.Kwarg) (any, error) {
		return nil, ir.Errorf(ir.ErrUnsupported, "cond in a plan: expected two branches that return values of one form")
	}, nil, nil)
}

// lowerWhile lowers a loop as loop runs it: without a round the results are
// copies of what was carried in.
func lowerWhile(lw *lowerer, args []operand, _ []keyword) (operand, bool) {
	test, ok := graphOf(args, 0)
	body, ok2 := graphOf(args, 1)
	carried, ok3 := listOperand(args, 2)
	extra, ok4 := listOperand(args, 3)
	if !ok || !ok2 || !ok3 || !ok4 {
		return nil, false
	}
	for _, o := range carried {
		if _, nested := o.(sequence); nested {
			return nil, false
		}
	}
	slots := make([]int, len(carried))
	cells := make([]operand, len(carried))
	for i := range slots {
		slots[i] = lw.slot(torch.UnknownAny, true)
		cells[i] = lw.cell(slots[i])
	}
	lw.moves(slots, sequence{carried, true})
	condition := func() int {
		again := lw.graph(test, slices.Concat(cells, extra), lw.at)
		if s, ok := again.(sequence); ok && len(s.items) == 1 {
			again = s.items[0]
		}
		if _, ok := again.(cellOf); !ok {
			again = lw.stored(again)
		}
		return lw.unless(again, func(r *Run, args []any, _ []torch.Kwarg) (any, error) { return loopGoesOn(r, args[0]) })
	}
	none := condition()
	inside, outer := lw.open(true)
	top := len(lw.steps)
	out := lw.graph(body, slices.Concat(cells, extra), lw.at)
	results, isList := out.(sequence)
	if !isList {
		results = sequence{[]operand{out}, true}
	}
	if len(results.items) != len(carried) || slices.ContainsFunc(results.items, func(o operand) bool { _, nested := o.(sequence); return nested }) {
		lw.goes(func(*Run, []any, []torch.Kwarg) (any, error) {
			return nil, ir.Errorf(ir.ErrAssertion, "while_loop: expected a body that returns %d values as carried in, got %d", len(carried), len(results.items))
		}, nil, nil)
		results.items = cells
	}
	// all at once: a result may be a value carried in at another place
	fresh := make([]int, len(slots))
	for i := range fresh {
		fresh[i] = lw.slot(torch.UnknownAny, true)
	}
	lw.moves(fresh, results)
	next := make([]operand, len(fresh))
	for i, s := range fresh {
		next[i] = lw.cell(s)
	}
	lw.moves(slots, sequence{next, true})
	over := condition()
	back := lw.jump()
	lw.steps[back].Target = top
	lw.steps[over].Target = len(lw.steps)
	end := lw.jump()
	lw.region = outer
	idle, _ := lw.open(false)
	lw.steps[none].Target = len(lw.steps)
	copies := make([]operand, len(cells))
	for i, c := range cells {
		copies[i] = lw.goes(func(r *Run, args []any, _ []torch.Kwarg) (any, error) {
			w := r.work()
			defer w.close()
			out, err := w.unlooped(args, false)
			if err != nil {
				return nil, err
			}
			return out.(ir.PyTuple)[0], nil
		}, []operand{c}, nil)
	}
	lw.moves(slots, sequence{copies, true})
	lw.region = outer
	join := lw.here()
	lw.steps[end].Target = join
	lw.regions[inside].end, lw.regions[idle].end = join, join
	return sequence{cells, true}, true
}
