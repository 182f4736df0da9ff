package interpreter

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// numbers are the operators of Python that the bridge does on numbers.
var numbers = map[string]libtorch.PlanNumber{
	"add": libtorch.PlanAdd, "sub": libtorch.PlanSub, "mul": libtorch.PlanMul, "truediv": libtorch.PlanDiv,
	"floordiv": libtorch.PlanFloorDiv, "mod": libtorch.PlanMod, "eq": libtorch.PlanEq, "ne": libtorch.PlanNe,
	"lt": libtorch.PlanLt, "le": libtorch.PlanLe, "gt": libtorch.PlanGt, "ge": libtorch.PlanGe,
}

// facts are the functions that only read a fact about a tensor.
var facts = map[*ir.Func]struct {
	fact libtorch.PlanNumber
	dim  bool // of one dimension, the second argument
}{
	ir.FuncOf("torch.ops.aten.sym_size.int"):               {libtorch.PlanSizeOf, true},
	ir.FuncOf("torch.ops.aten.sym_stride.int"):             {libtorch.PlanStrideOf, true},
	ir.FuncOf("torch.ops.aten.sym_numel.default"):          {libtorch.PlanNumel, false},
	ir.FuncOf("torch.ops.aten.sym_storage_offset.default"): {libtorch.PlanOffset, false},
	ir.FuncOf("torch.Tensor.dim"):                          {libtorch.PlanDims, false},
	ir.FuncOf("torch.Tensor.ndimension"):                   {libtorch.PlanDims, false},
	ir.FuncOf("torch.Tensor.numel"):                        {libtorch.PlanNumel, false},
	ir.FuncOf("torch.Tensor.nelement"):                     {libtorch.PlanNumel, false},
	ir.FuncOf("torch.Tensor.storage_offset"):               {libtorch.PlanOffset, false},
	ir.FuncOf("torch.Tensor.size"):                         {libtorch.PlanSizeOf, true},
	ir.FuncOf("torch.Tensor.stride"):                       {libtorch.PlanStrideOf, true},
}

var (
	getItemFunc = ir.FuncOf("operator.getitem")
	getAttrFunc = ir.FuncOf("builtins.getattr")
	symMaxFunc  = ir.FuncOf("torch.sym_max")
	symMinFunc  = ir.FuncOf("torch.sym_min")
)

// function lowers the call of a function.
func (lw *lowerer) function(fn *ir.Func, args []operand, kwargs []keyword) operand {
	if fn.Kind() == ir.HigherOrder {
		return lw.higherOrder(fn, args, kwargs)
	}
	if lw.goOnly {
		return lw.invokes(fn, args, kwargs)
	}
	if fn == getItemFunc && len(args) == 2 && len(kwargs) == 0 {
		return lw.getItem(args)
	}
	if fact, ok := facts[fn]; ok && len(kwargs) == 0 {
		if out, ok := lw.fact(fn, fact.fact, fact.dim, args); ok {
			return out
		}
	}
	if name, ok := attrName(args); ok && fn == getAttrFunc && len(kwargs) == 0 {
		switch name {
		case "shape":
			return lw.size(fn, libtorch.PlanShape, torch.UnknownAny, args, args[:1])
		case "ndim":
			return lw.size(fn, libtorch.PlanDims, torch.UnknownInt, args, args[:1])
		}
	}
	if (fn == symMaxFunc || fn == symMinFunc) && len(args) == 2 && len(kwargs) == 0 && lw.isInt(args[0]) && lw.isInt(args[1]) {
		number := libtorch.PlanMax
		if fn == symMinFunc {
			number = libtorch.PlanMin
		}
		r := lw.slot(torch.UnknownInt, lw.tainted(args[0]) || lw.tainted(args[1]))
		lw.emit(planStep{fn: fn, args: args, PlanStep: libtorch.PlanStep{Code: libtorch.PlanCallStep, Number: number, Results: []int{r}, Operands: lw.plain(args)}})
		return lw.cell(r)
	}
	if out, ok := lw.call(fn, args, kwargs); ok {
		return out
	}
	if !torch.Implemented(fn) {
		return lw.fails(missing(fn))
	}
	return lw.invokes(fn, args, kwargs)
}

// missing says that a function is not there, as running it would.
func missing(fn *ir.Func) error {
	_, err := torch.Invoke(nil, fn, nil, nil)
	return err
}

func attrName(args []operand) (string, bool) {
	if len(args) < 2 {
		return "", false
	}
	c, ok := args[1].(constant)
	name, isName := c.v.(string)
	return name, ok && isName
}

// fact lowers a function that reads a fact about a tensor.
func (lw *lowerer) fact(fn *ir.Func, fact libtorch.PlanNumber, dim bool, args []operand) (operand, bool) {
	switch {
	case dim && len(args) == 2, !dim && len(args) == 1:
		return lw.size(fn, fact, torch.UnknownInt, args, args), true
	case fact == libtorch.PlanSizeOf && len(args) == 1 && fn.Kind() != ir.Overload:
		return lw.size(fn, libtorch.PlanShape, torch.UnknownAny, args, args), true
	}
	return nil, false
}

func (lw *lowerer) size(fn *ir.Func, fact libtorch.PlanNumber, kind torch.UnknownKind, args, operands []operand) operand {
	taint := false
	for _, a := range operands {
		taint = taint || lw.tainted(a)
	}
	r := lw.slot(kind, taint)
	lw.emit(planStep{fn: fn, args: args, PlanStep: libtorch.PlanStep{Code: libtorch.PlanSize, Number: fact, Results: []int{r}, Operands: lw.plain(operands)}})
	return lw.cell(r)
}

// plain makes operands whose values are taken as they are.
func (lw *lowerer) plain(args []operand) []libtorch.PlanOperand {
	out := make([]libtorch.PlanOperand, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case cellOf:
			out[i] = libtorch.PlanOperand{Kind: libtorch.PlanSlot, Slot: a.cell}
		case constant:
			v, ok := torch.ToBridge(a.v)
			if !ok {
				v = libtorch.Absent{}
			}
			out[i] = libtorch.PlanOperand{Const: v}
		default:
			out[i] = libtorch.PlanOperand{Const: libtorch.Absent{}}
		}
	}
	return out
}

// getItem is container[index]: settled where both are known, a step where the
// container is a slot, and an index into a tensor otherwise.
func (lw *lowerer) getItem(args []operand) operand {
	if c, ok := args[1].(constant); ok {
		switch of := args[0].(type) {
		case sequence:
			if i, ok := c.v.(int64); ok {
				if i < 0 {
					i += int64(len(of.items))
				}
				if 0 <= i && i < int64(len(of.items)) {
					return of.items[i]
				}
			}
		case mapping:
			for i := len(of.keys) - 1; i >= 0; i-- {
				if of.keys[i] == c.v {
					return of.values[i]
				}
			}
		case cellOf:
			if _, ok := c.v.(int64); ok && lw.slots[of.cell].kind != torch.UnknownTensor {
				info := lw.slots[of.cell]
				r := lw.slot(torch.UnknownAny, info.taint)
				lw.emit(planStep{fn: getItemFunc, args: args, PlanStep: libtorch.PlanStep{Code: libtorch.PlanItem, Results: []int{r}, Operands: lw.plain(args)}})
				return lw.cell(r)
			}
		}
	}
	return lw.invokes(getItemFunc, args, nil)
}

// call lowers a function to the operators that it may be. ok is false where there
// are none, or where a value that is known decides in a way that only the call
// itself can find.
func (lw *lowerer) call(fn *ir.Func, args []operand, kwargs []keyword) (out operand, ok bool) {
	given := make([]any, len(args))
	for i, a := range args {
		given[i] = lw.opened(a)
	}
	named := make([]torch.Kwarg, len(kwargs))
	for i, kw := range kwargs {
		named[i] = torch.Kwarg{Name: kw.name, Value: lw.opened(kw.value)}
	}
	candidates, number, ok, err := torch.Candidates(fn, given, named)
	if err != nil {
		return lw.fails(err), true
	}
	lw.temps = append(lw.temps, candidates...)
	if !ok {
		return nil, false
	}
	s := planStep{fn: fn, args: args, kwargs: kwargs, candidates: candidates}
	s.Code = libtorch.PlanCallStep
	for _, c := range candidates {
		s.Calls = append(s.Calls, c.Call)
		s.Tuples = s.Tuples || c.Tuples
	}
	if n, ok := numbers[number]; ok && len(args) == 2 {
		s.Number, s.Operands = n, lw.plain(args)
	}
	if len(s.Calls) == 0 && s.Number == 0 || !alike(s.Calls) {
		return nil, false
	}
	return lw.called(s), true
}

// alike reports whether all operators return as many values.
func alike(calls []libtorch.PlanCall) bool {
	for i := range calls {
		if len(calls[i].Op.Schema().Returns) != len(calls[0].Op.Schema().Returns) {
			return false
		}
	}
	return true
}

// called makes the step and says what is known of its results.
func (lw *lowerer) called(s planStep) operand {
	taint := false
	for _, a := range s.args {
		taint = taint || lw.tainted(a)
	}
	for _, kw := range s.kwargs {
		taint = taint || lw.tainted(kw.value)
	}
	lasts, numbers := false, len(s.Calls) > 0 && s.Number == 0
	s.Fresh = true
	returns := 1
	kind := torch.UnknownAny
	if len(s.Calls) > 0 {
		schema := s.Calls[0].Op.Schema()
		returns = len(schema.Returns)
		if returns == 1 && s.Number == 0 {
			kind = kindOfType(&schema.Returns[0].Type)
		}
	}
	for i := range s.Calls {
		schema := s.Calls[i].Op.Schema()
		builtin := builtinLibraries[schema.Namespace()]
		lw.foreign = lw.foreign || !builtin
		taint = taint || !builtin || schema.Tags.Has(ir.TagDataDependentOutput) || lw.sizedByElements(&s.Calls[i])
		e := schema.Effects()
		s.Hides = s.Hides || e.Opaque
		writes := e.Writes
		if !switchedOff(e.Flag, s.Calls[i].Args) {
			writes = slices.Concat(writes, e.Updates)
		}
		s.Writes = s.Writes || len(writes) > 0
		s.Fresh = s.Fresh && len(writes) == 0 && !e.View && !e.MayAlias && !e.Opaque
		for _, w := range writes {
			lw.written(&s, s.Calls[i].Args[w])
			if lw.mayLast(s.Calls[i].Args[w]) {
				lasts = true
				// an out argument of another size is resized
				lw.reshapes = lw.reshapes || schema.Tags.Has(ir.TagInplaceView) || schema.Args[w].KeywordOnly
			}
		}
		lasts = lasts || lw.returnsWhatLasts(schema, s.Calls[i].Args)
		numbers = numbers && lw.makesNumbers(&s.Calls[i])
	}
	if s.Number != 0 && lw.numeric(s.args) {
		kind = lw.resultKind(&s)
	}
	s.Plain = !taint && lw.plainHere()
	results := make([]operand, returns)
	for i := range results {
		k := kind
		if returns > 1 {
			k = kindOfType(&s.Calls[0].Op.Schema().Returns[i].Type)
		}
		r := lw.slot(k, taint)
		lw.slots[r].lasts, lw.slots[r].numbers = lasts, numbers
		s.Results = append(s.Results, r)
		results[i] = lw.cell(r)
	}
	lw.outVariants(&s)
	lw.emit(s)
	switch returns {
	case 0:
		return constant{nil}
	case 1:
		return results[0]
	}
	return sequence{results, true}
}

// mayLast reports whether an operand may be a tensor that is there in the next run too,
// the very one: a constant, or what an operator that wrote one has returned.
func (lw *lowerer) mayLast(o libtorch.PlanOperand) bool {
	switch o.Kind {
	case libtorch.PlanSlot:
		return lw.slots[o.Slot].lasts || lw.slots[o.Slot].taint
	case libtorch.PlanList:
		return slices.ContainsFunc(o.Items, lw.mayLast)
	}
	return true
}

// switchedOff reports whether the argument that says if others are written is false.
func switchedOff(flag int, args []libtorch.PlanOperand) bool {
	return flag >= 0 && args[flag].Kind == libtorch.PlanConst && args[flag].Const == false
}

// returnsWhatLasts reports whether an operator may return an operand itself that may
// last, as conj returns a real tensor.
func (lw *lowerer) returnsWhatLasts(schema *ir.Schema, args []libtorch.PlanOperand) bool {
	if schema.Effects().MayAlias {
		return slices.ContainsFunc(args, lw.mayLast)
	}
	for i := range schema.Returns {
		for _, at := range schema.Aliases(i) {
			if lw.mayLast(args[at]) {
				return true
			}
		}
	}
	return false
}

// plainHere reports whether results may be written to planned memory at this
// place: gradients and autocast do not go with out variants, and in a loop a step
// has a result for every round.
func (lw *lowerer) plainHere() bool {
	m := &lw.modes[lw.mode]
	if m.Grad || m.Autocast != nil || len(m.Vmap) > 0 {
		return false
	}
	for r := lw.region; r != 0; r = lw.regions[r].parent {
		if lw.regions[r].loop {
			return false
		}
	}
	return true
}

// resultKind is what arithmetic on numbers gives.
func (lw *lowerer) resultKind(s *planStep) torch.UnknownKind {
	switch s.Number {
	case libtorch.PlanAdd, libtorch.PlanSub, libtorch.PlanMul, libtorch.PlanFloorDiv, libtorch.PlanMod:
		if lw.isInt(s.args[0]) && lw.isInt(s.args[1]) {
			return torch.UnknownInt
		}
		return torch.UnknownAny
	case libtorch.PlanDiv:
		return torch.UnknownFloat
	}
	return torch.UnknownBool
}

func (lw *lowerer) written(s *planStep, o libtorch.PlanOperand) {
	switch o.Kind {
	case libtorch.PlanSlot:
		s.Written = append(s.Written, o.Slot)
	case libtorch.PlanList:
		for _, item := range o.Items {
			lw.written(s, item)
		}
	}
}

// builtinLibraries are the namespaces whose operators are libtorch's own: their
// tags say what their results depend on.
var builtinLibraries = map[string]bool{"aten": true, "prims": true, "mkl": true, "mkldnn": true, "onednn": true}

func kindOfType(t *ir.Type) torch.UnknownKind {
	switch t.Kind {
	case ir.TypeTensor:
		return torch.UnknownTensor
	case ir.TypeInt, ir.TypeSymInt:
		return torch.UnknownInt
	case ir.TypeFloat, ir.TypeSymFloat:
		return torch.UnknownFloat
	case ir.TypeBool, ir.TypeSymBool:
		return torch.UnknownBool
	}
	return torch.UnknownAny
}

// outVariants looks for the forms of the operators that write to given tensors.
func (lw *lowerer) outVariants(s *planStep) {
	if !s.Plain {
		return
	}
	for i := range s.Calls {
		s.Calls[i].Out = outVariant(s.Calls[i].Op)
	}
}

// structuredText holds the operators that are one implementation with their out
// variants; scripts/record_structured.py makes it and says what that means. Others
// may compute otherwise into a given tensor: binary_cross_entropy reduces in it.
//
//go:embed structured.txt
var structuredText string

var structured = sync.OnceValue(func() map[string]string {
	table := map[string]string{}
	for line := range strings.Lines(structuredText) {
		if words := strings.Fields(line); len(words) == 2 && words[0] != "#" {
			table[words[0]] = words[1]
		}
	}
	return table
})

// written holds operators that are not structured and whose functional form makes
// an empty tensor and calls the out variant on it, in
// aten/src/ATen/native/TensorCompare.cpp and Activation.cpp.
var written = map[string]string{
	"aten::where.self": "aten::where.self_out",
	"aten::hardtanh":   "aten::hardtanh.out",
	"aten::hardswish":  "aten::hardswish.out",
}

// outVariant returns the overload that takes the same arguments and then a tensor
// to write for each result, nil where there is none to be used.
func outVariant(o *libtorch.Operator) *libtorch.Operator {
	schema := o.Schema()
	name, ok := structured()[schema.Op]
	if !ok {
		name, ok = written[schema.Op]
	}
	if !ok {
		return nil
	}
	out, err := libtorch.Find(name)
	if err != nil || !outOf(schema, out.Schema()) {
		return nil // another release of libtorch
	}
	return out
}

// outOf reports whether out is f with written arguments behind.
func outOf(f, out *ir.Schema) bool {
	n := len(f.Args)
	if len(out.Args) != n+len(f.Returns) {
		return false
	}
	for i := range f.Args {
		a, b := &f.Args[i], &out.Args[i]
		if a.Name != b.Name || a.Type.String() != b.Type.String() {
			return false
		}
	}
	for i := n; i < len(out.Args); i++ {
		a := &out.Args[i]
		if a.Type.Kind != ir.TypeTensor || a.Alias == nil || !a.Alias.Write {
			return false
		}
	}
	return true
}

// opened is an operand as an argument to be settled: constants as their values,
// sequences as lists, slots as unknown values.
func (lw *lowerer) opened(o operand) any {
	switch o := o.(type) {
	case constant:
		return o.v
	case cellOf:
		return torch.Unknown{Slot: o.cell, Kind: lw.slots[o.cell].kind}
	case sequence:
		list := make([]any, len(o.items))
		for i, item := range o.items {
			list[i] = lw.opened(item)
		}
		if o.tuple {
			return ir.PyTuple(list)
		}
		return list
	}
	return torch.Unknown{Slot: -1}
}
