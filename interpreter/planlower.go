package interpreter

import (
	"slices"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A planStep is one step of a plan: what the bridge runs, and how Go does the same
// where it has to, which is the way of the Interpreter.
type planStep struct {
	libtorch.PlanStep
	site   *site
	mode   int // in modes
	region int

	// What Go does. The operands' cells are the plan's slots.
	fn         *ir.Func           // a function, or a method as the function that it is
	candidates []*torch.Candidate // of the calls
	call       goCall             // otherwise
	delegated  *Delegated         // the region of a delegate's step
	args       []operand
	kwargs     []keyword
	reads      []int // slots of args and kwargs
}

// A goCall does a step in Go.
type goCall func(r *Run, args []any, kwargs []torch.Kwarg) (any, error)

// A site is the place of a step in the program.
type site struct {
	node   *ir.Node
	module *ir.GraphModule
	parent *site // the node that runs the graph of node; nil outside of all
}

// A slotInfo is what is known of a slot beforehand.
type slotInfo struct {
	kind   torch.UnknownKind
	taint  bool // its layout or value may depend on elements of tensors
	region int
	last   int // the last step that reads or writes it
	pinned bool
	lasts  bool // it may hold a constant itself
	// It holds a tensor of integers that is no mask where it is an index.
	numbers bool
	name    string // of the node
}

// A region is a part of the steps that may be skipped or repeated. end is the step
// behind it that always runs.
type region struct {
	parent, end int
	loop        bool
}

// Bounds of what is inlined; beyond them a graph is run by the Interpreter.
const (
	maxPlanSteps = 1 << 20
	maxPlanDepth = 64
)

// A lowerer turns graphs into steps.
type lowerer struct {
	steps   []planStep
	slots   []slotInfo
	regions []region
	region  int
	modes   []libtorch.Mode
	mode    int
	at      *site
	depth   int
	temps   []*torch.Candidate // hold the numbers that were made tensors
	foreign bool               // an operator of another library
	keeper  *keeper            // of what Go reads
	literal []any              // constants that may hold resources
	faults  []error
	goOnly  bool // Go does every step
	// A constant gets other sizes or strides in a run: those of the inputs do not say
	// what those of other values are.
	reshapes bool
	given    int  // the first slots, which are the inputs
	staged   bool // the bridge has other values for them than Go
}

// slot makes a slot for a value of the current node.
func (lw *lowerer) slot(kind torch.UnknownKind, taint bool) int {
	name := ""
	if lw.at != nil {
		name = lw.at.node.Name()
	}
	lw.slots = append(lw.slots, slotInfo{kind: kind, taint: taint, region: lw.region, last: -1, name: name})
	return len(lw.slots) - 1
}

// cell is the operand that reads a slot.
func (lw *lowerer) cell(s int) operand {
	c := cellOf{cell: s}
	if lw.at != nil {
		c.node = lw.at.node
	}
	return c
}

// emit appends a step of the current node and returns its number.
func (lw *lowerer) emit(s planStep) int {
	s.site, s.mode, s.region = lw.at, lw.mode, lw.region
	lw.steps = append(lw.steps, s)
	return len(lw.steps) - 1
}

// graph lowers the graph of a module, of which args are the placeholders' values,
// and returns what its output node gives.
func (lw *lowerer) graph(m *ir.GraphModule, args []operand, parent *site) operand {
	return lw.graphOf(m.Graph(), m, args, parent)
}

// graphOf is graph for a graph that need not be the module's own. Without a parent
// the placeholders' values are as the plan's frame has settled them.
func (lw *lowerer) graphOf(g *ir.Graph, m *ir.GraphModule, args []operand, parent *site) operand {
	env := map[*ir.Node]operand{}
	outer := lw.at
	lw.depth++
	defer func() { lw.at = outer; lw.depth-- }()
	next := 0
	for n := range g.Nodes() {
		lw.at = &site{n, m, parent}
		if n.Op() == ir.Placeholder {
			if parent == nil {
				env[n] = args[next]
				next++
				continue
			}
			env[n], next = lw.placeholder(n, args, next, env)
			continue
		}
		nodeArgs, kwargs := lw.arguments(n, env)
		switch n.Op() {
		case ir.GetAttr:
			env[n] = lw.attr(m, n.Target().String())
		case ir.CallFunction:
			env[n] = lw.function(n.Func(), nodeArgs, kwargs)
		case ir.CallMethod:
			if len(nodeArgs) == 0 {
				env[n] = lw.fails(ir.Errorf(ir.ErrType, "method %s: expected a receiver, got no argument", n.Target()))
				continue
			}
			env[n] = lw.function(method(n.Target().String()), nodeArgs, kwargs)
		case ir.CallModule:
			env[n] = lw.module(m, n.Target().String(), nodeArgs, kwargs)
		case ir.Output:
			if len(nodeArgs) == 0 {
				return constant{nil}
			}
			return nodeArgs[0]
		}
	}
	return constant{nil}
}

// placeholder is the next of args, as Default.Placeholder takes them.
func (lw *lowerer) placeholder(n *ir.Node, args []operand, next int, env map[*ir.Node]operand) (operand, int) {
	target := n.Target().String()
	if strings.HasPrefix(target, "*") {
		return sequence{slices.Clone(args[min(next, len(args)):]), false}, len(args)
	}
	if next < len(args) {
		if c, ok := args[next].(constant); !ok || c.v != (ir.Absent{}) {
			return args[next], next + 1
		}
		next++
	}
	if len(n.Args()) > 0 {
		return lw.operand(n.Args()[0], env), next
	}
	return lw.fails(ir.Errorf(ir.ErrRuntime, "Expected positional argument for parameter %s, but one was not passed in!", target)), next
}

func (lw *lowerer) arguments(n *ir.Node, env map[*ir.Node]operand) (args []operand, kwargs []keyword) {
	for _, a := range n.Args() {
		args = append(args, lw.operand(a, env))
	}
	for _, kw := range n.Kwargs() {
		kwargs = append(kwargs, keyword{kw.Name, lw.operand(kw.Value, env)})
	}
	return args, kwargs
}

// operand makes an argument ready: what compile does, with what is known of nodes
// in their places.
func (lw *lowerer) operand(a ir.Arg, env map[*ir.Node]operand) operand {
	ir.Walk(a, func(leaf ir.Arg) {
		if o, ok := leaf.(ir.Opaque); ok {
			lw.literal = append(lw.literal, o.Value)
		}
	})
	return substitute(compile(a, nil), env)
}

// substitute puts operands in the places of nodes.
func substitute(o operand, env map[*ir.Node]operand) operand {
	all := func(items []operand) []operand {
		out := make([]operand, len(items))
		for i, item := range items {
			out[i] = substitute(item, env)
		}
		return out
	}
	switch o := o.(type) {
	case stranger:
		if known, ok := env[o.node]; ok {
			return known
		}
		return o
	case sequence:
		return fold(sequence{all(o.items), o.tuple})
	case mapping:
		return mapping{o.keys, all(o.values)}
	case slicing:
		parts := all([]operand{o.start, o.stop, o.step})
		return fold(slicing{parts[0], parts[1], parts[2]})
	case instance:
		return instance{o.typ, o.fields, all(o.items)}
	}
	return o
}

// attr is an attribute as it is when the plan is made.
func (lw *lowerer) attr(m *ir.GraphModule, path string) operand {
	v, ok := m.Attr(path)
	if !ok {
		return lw.fails(noAttribute(m, path))
	}
	if held, ok := parametersOf(v); ok {
		v = held
	}
	if t, ok := v.(*torch.Tensor); ok && t != nil {
		v = lw.keeper.tensor(t)
	}
	lw.literal = append(lw.literal, v)
	return constant{v}
}

// fails makes a step that fails as the Interpreter would at this place. Where it
// is certain to run, there is no plan.
func (lw *lowerer) fails(err error) operand {
	if lw.region == 0 {
		lw.faults = append(lw.faults, lw.at.error(err))
	}
	lw.goes(func(*Run, []any, []torch.Kwarg) (any, error) { return nil, err }, nil, nil)
	return constant{nil}
}

// goes makes a step that Go does.
func (lw *lowerer) goes(call goCall, args []operand, kwargs []keyword) operand {
	return lw.goStep(planStep{call: call, args: args, kwargs: kwargs}, true)
}

func (lw *lowerer) goStep(s planStep, taint bool) operand {
	r := lw.slot(torch.UnknownAny, taint)
	s.Code = libtorch.PlanGo
	s.Results = []int{r}
	lw.emit(s)
	return lw.cell(r)
}

// invokes makes a step that Go does by torchops.Invoke.
func (lw *lowerer) invokes(fn *ir.Func, args []operand, kwargs []keyword) operand {
	taint := !lw.numeric(args) || len(kwargs) > 0
	for _, a := range args {
		taint = taint || lw.tainted(a)
	}
	return lw.goStep(planStep{fn: fn, args: args, kwargs: kwargs}, taint)
}

// numeric reports whether all operands are numbers, of which a function makes the
// same whenever it is asked.
func (lw *lowerer) numeric(args []operand) bool {
	for _, a := range args {
		switch a := a.(type) {
		case cellOf:
			if k := lw.slots[a.cell].kind; k != torch.UnknownInt && k != torch.UnknownFloat && k != torch.UnknownBool {
				return false
			}
		case constant:
			switch a.v.(type) {
			case int64, float64, bool:
			default:
				return false
			}
		default:
			return false
		}
	}
	return true
}

// tainted reports whether a layout that follows from o may differ between runs
// whose inputs have the same shapes.
func (lw *lowerer) tainted(o operand) bool {
	found := false
	eachCell(o, func(c int) { found = found || lw.slots[c].taint })
	return found
}

// eachCell calls f with the cells that o reads.
func eachCell(o operand, f func(cell int)) {
	switch o := o.(type) {
	case cellOf:
		f(o.cell)
	case sequence:
		for _, item := range o.items {
			eachCell(item, f)
		}
	case mapping:
		for _, item := range o.values {
			eachCell(item, f)
		}
	case slicing:
		eachCell(o.start, f)
		eachCell(o.stop, f)
		eachCell(o.step, f)
	case instance:
		for _, item := range o.items {
			eachCell(item, f)
		}
	}
}

// module lowers the call of a submodule.
func (lw *lowerer) module(m *ir.GraphModule, path string, args []operand, kwargs []keyword) operand {
	v, ok := m.Attr(path)
	if !ok {
		return lw.fails(noAttribute(m, path))
	}
	if !callable(v) {
		return lw.fails(notCallable(path, v))
	}
	if d, ok := v.(*Delegated); ok {
		if out, ok := lw.delegated(path, d, args, kwargs); ok {
			return out
		}
		v = d.twin
	}
	if sub, ok := v.(*ir.GraphModule); ok && len(kwargs) == 0 && lw.inlines() && !lw.goOnly {
		if _, plain := sub.Graph().CodeGen().(ir.PlainCodeGen); plain {
			return lw.graph(sub, args, lw.at)
		}
	}
	if sub, ok := v.(*ir.GraphModule); ok {
		v = lw.keeper.module(sub)
	}
	return lw.goes(func(r *Run, args []any, kwargs []torch.Kwarg) (any, error) {
		return r.callModule(path, v, args, kwargs)
	}, args, kwargs)
}

func (lw *lowerer) inlines() bool { return lw.depth < maxPlanDepth && len(lw.steps) < maxPlanSteps }

// finish computes lifetimes and returns the program of the bridge. results are the
// slots that the output reads.
func (lw *lowerer) finish(results []int) *libtorch.PlanProgram {
	done := lw.emit(planStep{PlanStep: libtorch.PlanStep{Code: libtorch.PlanDone, Slots: results}})
	checks := lw.checks()
	for i := range lw.steps {
		s := &lw.steps[i]
		s.reads = nil
		seen := map[int]bool{}
		read := func(c int) {
			if (c >= lw.given || lw.staged && i >= checks) && !seen[c] { // the inputs are in Go's hands already
				seen[c] = true
				s.reads = append(s.reads, c)
			}
		}
		for _, a := range s.args {
			eachCell(a, read)
		}
		for _, kw := range s.kwargs {
			eachCell(kw.value, read)
		}
		if s.Code == libtorch.PlanGo {
			s.Slots = s.reads
		}
		each := func(c int) { lw.touch(c, i) }
		eachSlot(&s.PlanStep, each)
		for _, c := range s.reads {
			each(c)
		}
	}
	for c := range lw.slots {
		if last := lw.slots[c].last; last >= 0 && last != done {
			lw.steps[last].Frees = append(lw.steps[last].Frees, c)
		}
	}
	p := &libtorch.PlanProgram{Slots: len(lw.slots), Modes: lw.modes, BelowAutograd: !lw.foreign}
	for _, m := range lw.modes {
		p.BelowAutograd = p.BelowAutograd && !m.Grad
	}
	for c := range lw.slots {
		if lw.slots[c].pinned {
			p.Pinned = append(p.Pinned, c)
		}
	}
	for i := range lw.steps {
		lw.steps[i].Plain = lw.steps[i].Plain && !lw.reshapes
		p.Steps = append(p.Steps, lw.steps[i].PlanStep)
	}
	return p
}

// checks counts the steps at the beginning that Go does for their errors alone, and
// that read nothing but the inputs: the guards of an exported program. They may look at
// arguments as the caller gave them, see beforeTheRun.
func (lw *lowerer) checks() int {
	read := map[int]bool{}
	for i := range lw.steps {
		for _, c := range lw.steps[i].readSlots() {
			read[c] = true
		}
	}
	for i := range lw.steps {
		s := &lw.steps[i]
		if s.Code != libtorch.PlanGo {
			return i
		}
		for _, c := range s.Results {
			if read[c] {
				return i
			}
		}
		for _, c := range s.readSlots() {
			if c >= lw.given {
				return i
			}
		}
	}
	return len(lw.steps)
}

// touch notes that step i reads or writes slot c. From outside, a region is one
// step: what is only used in it lives to its end, whichever way it is gone.
func (lw *lowerer) touch(c, i int) {
	s := &lw.slots[c]
	at := i
	for r := lw.steps[i].region; r != s.region; r = lw.regions[r].parent {
		if r == 0 { // a result slot of a region that lies beside
			break
		}
		s.pinned = true
		at = max(at, lw.regions[r].end)
	}
	s.last = max(s.last, at)
}

// eachSlot calls f with the slots that a step reads and writes.
func eachSlot(s *libtorch.PlanStep, f func(int)) {
	for _, list := range [][]int{s.Results, s.Written, s.Slots} {
		for _, c := range list {
			f(c)
		}
	}
	var walk func(list []libtorch.PlanOperand)
	walk = func(list []libtorch.PlanOperand) {
		for _, o := range list {
			if o.Kind == libtorch.PlanSlot {
				f(o.Slot)
			}
			walk(o.Items)
		}
	}
	walk(s.Operands)
	for i := range s.Calls {
		walk(s.Calls[i].Args)
	}
}

// isInt reports whether an operand is known to be an integer.
func (lw *lowerer) isInt(o operand) bool {
	switch o := o.(type) {
	case cellOf:
		return lw.slots[o.cell].kind == torch.UnknownInt
	case constant:
		_, ok := o.v.(int64)
		return ok
	}
	return false
}
