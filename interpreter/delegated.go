package interpreter

import (
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Delegated is a part of a graph that a delegate has compiled: the attribute that a
// call_module node names in the place of the part's nodes, which its twin keeps.
//
// An Interpreter and a Plan both run what was compiled, so that their results are the
// same to the last bit. The twin, which means the same by libtorch's operators, runs
// where the delegate cannot: where gradients or operators are recorded, under autocast
// or vmap, and on inputs that it has no kernels for. It is also what is looked at and saved.
//
// A Delegated is immutable and safe for concurrent use.
type Delegated struct {
	twin   *ir.GraphModule
	region *libtorch.Region
	tuple  bool // the twin returns its results as a tuple
}

// NewDelegated returns the part of a graph that twin computes and region was compiled
// of: the inputs of region are twin's placeholders, its outputs what twin's output node
// names, a tensor or a tuple of tensors. Neither may be changed from here on. The region
// is the caller's to close once nothing runs it any more.
func NewDelegated(twin *ir.GraphModule, region *libtorch.Region) (*Delegated, error) {
	if twin == nil {
		return nil, ir.Errorf(ir.ErrInput, "delegated: expected a graph module, got nil")
	}
	out, err := twin.Graph().OutputNode()
	if err != nil {
		return nil, err
	}
	_, bare := out.Arg(0).(*ir.Node)
	return &Delegated{twin, region, !bare}, nil
}

// Twin returns what computes the same by libtorch's operators. It must not be changed.
func (d *Delegated) Twin() *ir.GraphModule { return d.twin }

// Region returns what was compiled.
func (d *Delegated) Region() *libtorch.Region { return d.region }

// results is how many values the twin's output node names.
func (d *Delegated) results() int {
	out, err := d.twin.Graph().OutputNode()
	if err != nil || !d.tuple {
		return 1
	}
	return out.Arg(0).(ir.Tuple).Len()
}

// delegable reports whether what a delegate computes means the same in a mode, and
// nobody asks to be told of operators.
func delegable(m *libtorch.Mode) bool {
	return !m.Grad && m.Autocast == nil && len(m.Vmap) == 0 && m.Observe == nil
}

// call runs the region, and reports false where the twin is to be run.
func (d *Delegated) call(r *Run, args []any, kwargs []torch.Kwarg) (out any, ok bool, err error) {
	if !delegable(&r.mode) || len(kwargs) > 0 {
		return nil, false, nil
	}
	if _, recording := libtorch.RecordedSoFar(); recording {
		return nil, false, nil
	}
	inputs := make([]*libtorch.Tensor, len(args))
	for i, a := range args {
		carried, _ := torch.ToBridge(a)
		t, isTensor := carried.(*libtorch.Tensor)
		if !isTensor || t == nil {
			return nil, false, nil
		}
		inputs[i] = t
	}
	results, err := d.region.Run(&r.mode, inputs)
	if err != nil {
		return nil, ir.ClassOf(err) != ir.ErrNotImplemented, err
	}
	if !d.tuple && len(results) == 1 {
		return torch.FromBridge(results[0]), true, nil
	}
	items := make(ir.PyTuple, len(results))
	for i, t := range results {
		items[i] = torch.FromBridge(t)
	}
	return items, true, nil
}

// callDelegated runs a region, or its twin where the delegate cannot.
func (r *Run) callDelegated(path string, d *Delegated, args []any, kwargs []torch.Kwarg) (any, error) {
	if out, ok, err := d.call(r, args, kwargs); ok {
		return out, err
	}
	return r.callModule(path, d.twin, args, kwargs)
}

// delegated lowers the call of a region to one step, of one that is closed to an error as
// in a run. It reports false where the twin is to be lowered.
func (lw *lowerer) delegated(path string, d *Delegated, args []operand, kwargs []keyword) (operand, bool) {
	if len(kwargs) > 0 || lw.goOnly || !delegable(&lw.modes[lw.mode]) {
		return nil, false
	}
	for _, a := range args {
		if _, isCell := a.(cellOf); !isCell {
			return nil, false
		}
	}
	if d.region.Closed() {
		return lw.fails(ir.Errorf(ir.ErrClosed, "region: it is closed")), true
	}
	tainted := slices.ContainsFunc(args, lw.tainted)
	twin := lw.keeper.module(d.twin)
	s := planStep{args: args, delegated: d}
	s.Code, s.Region, s.Operands, s.Plain = libtorch.PlanDelegate, d.region, lw.plain(args), !tainted && lw.plainHere()
	s.call = func(r *Run, args []any, kwargs []torch.Kwarg) (any, error) {
		out, err := r.callModule(path, twin, args, kwargs)
		if items, ok := list(out); ok && len(items) == 1 && err == nil {
			return items[0], nil
		}
		return out, err
	}
	results := make([]operand, d.results())
	for i := range results {
		slot := lw.slot(torch.UnknownTensor, tainted)
		s.Results = append(s.Results, slot)
		results[i] = lw.cell(slot)
	}
	lw.emit(s)
	if d.tuple {
		return sequence{results, true}, true
	}
	return results[0], true
}
