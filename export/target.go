package export

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A targetKind says how a node's arguments are bound.
type targetKind uint8

const (
	badTarget      targetKind = iota
	overloadTarget            // by a dispatcher schema
	symbolicTarget            // all by position, one symbolic result
	functionTarget            // as they are written: higher-order operators and Python functions
)

// higherOrder lists torch.ops.higher_order of torch 2.15.0.
var higherOrder = words(`_export_tracepoint aoti_call_delegate associative_scan auto_functionalized auto_functionalized_v2
autograd_function_apply call_torchbind cond custom_function_call dynamo_bypassing_wrapper executorch_call_delegate
flat_apply flex_attention flex_attention_backward flex_gemm foreach_map graphsafe_run_with_rng_state hints_wrapper
inductor_compiled_code inline_asm_elementwise invoke_leaf_function invoke_quant invoke_quant_packed invoke_subgraph
local_map_hop map_impl out_dtype print run_and_save_rng_state run_const_graph run_dtensor_rng_op run_with_rng_state
scan strict_mode switch tag_activation_checkpoint while_loop while_loop_stack_output with_effects wrap
wrap_activation_checkpoint wrap_with_autocast wrap_with_set_grad_enabled`)

// symbolicOps lists _SYM_OPS of torch/_export/serde/serialize.py, as spelled in
// files.
var symbolicOps = words(`_operator.eq _operator.ne _operator.le _operator.ge _operator.lt _operator.gt _operator.neg
_operator.pos _operator.mul _operator.add _operator.sub _operator.floordiv _operator.mod _operator.pow
_operator.truediv _operator.and_ _operator.or_ _operator.lshift _operator.rshift math.trunc torch.sym_not
torch.sym_int torch.sym_float torch.sym_ite torch.sym_max torch.sym_min torch._sym_sqrt torch.sym_sqrt`)

// symbolicArity says how many arguments those take that do not take two.
var symbolicArity = map[string]int{
	"_operator.neg": 1, "_operator.pos": 1, "math.trunc": 1, "torch.sym_not": 1, "torch.sym_int": 1, "torch.sym_float": 1,
	"torch._sym_sqrt": 1, "torch.sym_sqrt": 1, "torch.sym_ite": 3,
}

// pythonFunctions lists the other functions that the verifier of torch 2.15.0
// lets into a program (torch/_export/verifier.py).
var pythonFunctions = words(`_operator.getitem _operator.not_ _operator.abs math.ceil math.floor torch.sym_sum
torch.autograd.grad_mode.set_grad_enabled torch._C._set_grad_enabled
torch.amp.autocast_mode._enter_autocast torch.amp.autocast_mode._exit_autocast
torch.export.custom_ops._call_custom_autograd_function_in_pre_dispatch
torch.fx.experimental.symbolic_shapes.cast_symbool_to_symint_guardless
torch._functorch.predispatch._add_batch_dim torch._functorch.predispatch._remove_batch_dim
torch._functorch.predispatch._vmap_increment_nesting torch._functorch.predispatch._vmap_decrement_nesting
torch._functorch.predispatch.lazy_load_decompositions torch._functorch.predispatch._make_dual
torch._functorch.predispatch._unpack_dual torch._functorch.predispatch._jvp_increment_nesting
torch._functorch.predispatch._jvp_decrement_nesting torch._functorch.predispatch._unwrap_for_grad
torch._functorch.predispatch._enter_dual_level torch._functorch.predispatch._exit_dual_level`)

func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// maxSearches bounds for how many unknown operators of a file the nearest known
// one is looked up.
const maxSearches = 10

// A target is what the text of a node's target stands for.
type target struct {
	fn     *ir.Func
	kind   targetKind
	schema *ir.Schema // of an overload; nil where the catalogue does not have it
}

// resolve finds the function that text names. The target is usable even when
// there is an error, unless its fn is nil.
func (b *builder) resolve(text string) (target, error) {
	if strings.HasPrefix(text, "torch.ops.") {
		return b.resolveOperator(text)
	}
	switch {
	case symbolicOps[text]:
		return target{fn: ir.FuncOf(text), kind: symbolicTarget}, nil
	case pythonFunctions[text]:
		return target{fn: ir.FuncOf(text), kind: functionTarget}, nil
	case strings.HasPrefix(text, "#"):
		return target{}, ir.Errorf(ir.ErrUnsupported, "operator %s belongs to an extension of torch.export, which is not supported", clip(text))
	case text == "":
		return target{}, ir.Errorf(ir.ErrFormat, "has no target")
	}
	return target{}, ir.Errorf(ir.ErrUnsupported, "unknown target %s: expected torch.ops.<namespace>.<name>.<overload> or a function that torch.export writes", clip(text))
}

func (b *builder) resolveOperator(text string) (target, error) {
	if name, ok := strings.CutPrefix(text, "torch.ops.higher_order."); ok {
		t := target{fn: ir.FuncOf(text), kind: functionTarget}
		if strings.HasPrefix(name, "triton_kernel_wrapper_") {
			return t, ir.Errorf(ir.ErrUnsupported, "%s: a Triton kernel needs Python and is not supported", name)
		}
		if !higherOrder[name] {
			return t, ir.Errorf(ir.ErrUnsupported, "unknown higher-order operator %s", clip(name))
		}
		return t, nil
	}
	parts := strings.Split(text, ".")
	if len(parts) == 4 {
		return target{}, ir.Errorf(ir.ErrFormat, "target %s names no overload: expected %s.default or another one", clip(text), clip(text))
	}
	if len(parts) != 5 {
		return target{}, ir.Errorf(ir.ErrFormat, "target %s: expected torch.ops.<namespace>.<name>.<overload>", clip(text))
	}
	t := target{fn: ir.FuncOf(text), kind: overloadTarget}
	if t.schema = b.catalogue.Lookup(t.fn.Op()); t.schema != nil {
		return t, nil
	}
	return t, b.unknown(parts[2] + "::" + parts[3] + "." + parts[4])
}

// unknown is the error of an operator that libtorch here does not have: it says
// which releases have it, or what else may be the matter.
func (b *builder) unknown(op string) error {
	namespace, _, _ := strings.Cut(op, "::")
	here := clip(op) + " in libtorch " + b.catalogue.Version()
	switch has := whoHas(op, ""); {
	case has != "":
		return ir.Errorf(ir.ErrUnsupported, "unknown operator %s%s", here, has)
	case pythonNamespaces[namespace]:
		return ir.Errorf(ir.ErrUnsupported, "unknown operator %s, which has none of %s: PyTorch defines those in Python; decompose the program before it is saved", here, namespace)
	case !b.hasNamespace(namespace):
		return ir.Errorf(ir.ErrUnsupported, "unknown operator %s, which has none of %s; open the library that defines them first", here, clip(namespace))
	}
	newer := ""
	if b.release > releaseOf(b.catalogue.Version()) {
		newer = "; the program is of torch " + b.release.String() + ", which is newer"
	}
	// the search costs; a file with many unknown operators has enough hints soon
	if b.searches++; b.searches <= maxSearches {
		if near := b.catalogue.Nearest(op); near != "" {
			newer += "; the nearest one is " + near
		}
	}
	return ir.Errorf(ir.ErrUnsupported, "unknown operator %s%s", here, newer)
}

// pythonNamespaces are those of operators that PyTorch's own Python code defines.
var pythonNamespaces = words(`prims quantized_decomposed rngprims debugprims _inductor_test`)

// hasNamespace reports whether any known operator is in a namespace.
func (b *builder) hasNamespace(ns string) bool {
	if b.namespaces == nil {
		b.namespaces = map[string]bool{}
		for s := range b.catalogue.All() {
			name, _, _ := strings.Cut(s.Op, "::")
			b.namespaces[name] = true
		}
	}
	return b.namespaces[ns]
}
