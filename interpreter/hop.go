package interpreter

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A hop is a higher-order operator, which runs graphs and is therefore executed
// here. Each does what the dense implementation in torch/_higher_order_ops does,
// with the same kernels in the same order, so that the bits are the same.
type hop func(r *Run, args []any, kwargs []torch.Kwarg) (any, error)

// hops holds them by function. It is filled by init, since the functions in it
// lead back to it.
var hops = map[*ir.Func]hop{}

func init() {
	for name, h := range map[string]hop{
		"cond":                       cond,
		"switch":                     switchOp,
		"while_loop":                 whileLoop,
		"while_loop_stack_output":    whileLoopStackOutput,
		"map_impl":                   mapOp,
		"scan":                       scan,
		"associative_scan":           associativeScan,
		"wrap_with_set_grad_enabled": wrapWithSetGradEnabled,
		"wrap_with_autocast":         wrapWithAutocast,
		"wrap":                       wrap,
		"tag_activation_checkpoint":  wrap,
		"strict_mode":                callOnList,
		"run_const_graph":            callOnList,
		"invoke_subgraph":            invokeSubgraph,
		"hints_wrapper":              hintsWrapper,
		"auto_functionalized":        autoFunctionalized,
		"auto_functionalized_v2":     autoFunctionalizedV2,
		"with_effects":               withEffects,
	} {
		hops[ir.FuncOf("torch.ops.higher_order."+name)] = h
	}
}

// absent tells why higher-order operators that files can hold do not run here.
var absent = map[string]string{
	"triton_kernel_wrapper_functional": "its kernel is Python code for the Triton compiler",
	"triton_kernel_wrapper_mutation":   "its kernel is Python code for the Triton compiler",
	"call_torchbind":                   "its object is of a class that only its own library can run",
	"aoti_call_delegate":               "it calls a compiled AOTInductor library",
	"executorch_call_delegate":         "it calls a back end of ExecuTorch",
	"inductor_compiled_code":           "its code is compiled by Inductor",
	"print":                            "a library does not print",
}

func unsupportedHigherOrder(fn *ir.Func) error {
	name := strings.TrimPrefix(fn.Name(), "torch.ops.higher_order.")
	if why, ok := absent[name]; ok {
		return ir.Errorf(ir.ErrUnsupported, "higher-order operator %s: not supported: %s", name, why)
	}
	return ir.Errorf(ir.ErrUnsupported, "higher-order operator %s: expected one of %s", name, strings.Join(higherOrderNames(), ", "))
}

func higherOrderNames() []string {
	names := make([]string, 0, len(hops))
	for fn := range hops {
		names = append(names, fn.Base())
	}
	slices.Sort(names)
	return names
}

// operands reads the arguments of a hop and remembers the first that is wrong.
type operands struct {
	name string
	args []any
	err  error
}

func (o *operands) fail(i int, want string) {
	if o.err != nil {
		return
	}
	got := "none"
	if i < len(o.args) {
		got = torch.Describe(o.args[i])
	}
	o.err = ir.Errorf(ir.ErrType, "%s: argument %d: expected %s, got %s", o.name, i, want, got)
}

func (o *operands) at(i int) any {
	if i < len(o.args) {
		return o.args[i]
	}
	return nil
}

func (o *operands) graph(i int) *ir.GraphModule {
	g, ok := o.at(i).(*ir.GraphModule)
	if !ok {
		o.fail(i, "a graph")
	}
	return g
}

func (o *operands) list(i int) []any {
	items, ok := list(o.at(i))
	if !ok {
		o.fail(i, "a list or tuple")
	}
	return items
}

func (o *operands) fn(i int) *ir.Func {
	f, ok := o.at(i).(*ir.Func)
	if !ok {
		o.fail(i, "an operator")
	}
	return f
}

func (o *operands) flag(i int) bool {
	b, ok := o.at(i).(bool)
	if !ok {
		o.fail(i, "a bool")
	}
	return b
}

// rest returns the arguments from i on.
func (o *operands) rest(i int) []any { return o.args[min(i, len(o.args)):] }

// work holds what a hop makes on its way and closes it at the end, except what
// is kept as the result.
type work struct {
	r    *Run
	held owners
}

func (r *Run) work() work { return work{r, owners{}} }

func (w work) close() { w.held.close() }

// hold takes over v.
func (w work) hold(v any, err error) (any, error) {
	w.held.retain(v)
	return v, err
}

// op calls an operator of libtorch and holds what it returns.
func (w work) op(name string, args ...any) (any, error) {
	return w.hold(torch.Invoke(&w.r.mode, ir.OverloadOf(name), args, nil))
}

// graph runs a graph module and holds what it returns.
func (w work) graph(module *ir.GraphModule, args ...any) (any, error) {
	return w.hold(w.r.Call(module, args...))
}

// leaves runs a graph module and returns the items of its result, or its one
// value.
func (w work) leaves(module *ir.GraphModule, args ...any) ([]any, error) {
	out, err := w.graph(module, args...)
	if err != nil {
		return nil, err
	}
	if items, ok := list(out); ok {
		return items, nil
	}
	return []any{out}, nil
}

// keep returns v as the result of the hop.
func (w work) keep(v any) (any, error) {
	w.held.keep(v)
	return v, nil
}

// truth is Python's bool(v).
func (r *Run) truth(v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case int64:
		return v != 0, nil
	case float64:
		return v != 0, nil
	case *torch.Tensor:
		switch n := v.Numel(); {
		case n == 0:
			return false, ir.Errorf(ir.ErrRuntime, "bool of a tensor: expected one element, Boolean value of Tensor with no values is ambiguous")
		case n > 1:
			return false, ir.Errorf(ir.ErrRuntime, "bool of a tensor: expected one element, Boolean value of Tensor with more than one value is ambiguous")
		}
		b, err := torch.Invoke(&r.mode, ir.OverloadOf("aten::is_nonzero"), []any{v}, nil)
		if err != nil {
			return false, err
		}
		return b.(bool), nil
	}
	return false, ir.Errorf(ir.ErrType, "bool: expected a tensor or number, got %s", torch.Describe(v))
}
