package torchops

import (
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// methodBodies are what the methods of Tensor that are Python code compute.
func methodBodies() map[string]func(f *frame) any {
	self := func(name string, params ...string) func(f *frame) any {
		return func(f *frame) any { return f.invoke(name, append([]any{f.t("self")}, f.args(params...)...)...) }
	}
	all := map[string]func(f *frame) any{
		"split":       split,
		"unflatten":   unflatten,
		"dim_order":   dimOrder,
		"resize":      func(f *frame) any { return f.resize(f.shapeOf(f.arg("sizes").([]any))) },
		"resize_as":   func(f *frame) any { return f.resize(f.t("tensor").Shape()) },
		"module_load": moduleLoad,
		"stft":        self("torch.functional.stft", "n_fft", "hop_length", "win_length", "window", "center", "pad_mode", "normalized", "onesided", "return_complex", "align_to_window"),
		"istft": func(f *frame) any {
			return f.op("istft", f.args("self", "n_fft", "hop_length", "win_length", "window", "center", "normalized", "onesided", "length", "return_complex")...)
		},
		"norm": func(f *frame) any {
			return f.invoke("torch.functional.norm", append(f.args("self", "p", "dim", "keepdim"), Kw("dtype", f.arg("dtype")))...)
		},
		"lu": self("torch.functional.lu", "pivot", "get_infos"),
		"unique": func(f *frame) any {
			return f.invoke("torch.functional.unique", f.args("self", "sorted", "return_inverse", "return_counts", "dim")...)
		},
		"unique_consecutive": func(f *frame) any {
			return f.invoke("torch.functional.unique_consecutive", f.t("self"),
				Kw("return_inverse", f.arg("return_inverse")), Kw("return_counts", f.arg("return_counts")), Kw("dim", f.arg("dim")))
		},
		"to_sparse_coo": func(f *frame) any { return f.op("to_sparse", f.t("self")) },
		"reinforce":     func(f *frame) any { f.fail(ir.ErrRuntime, "%s", reinforceText); return nil },
		"cholesky":      self("torch._linalg_utils.cholesky"),
		"solve":         self("torch._linalg_utils.solve", "other"),
		"lstsq":         self("torch._linalg_utils.lstsq", "other"),
		"eig":           self("torch._linalg_utils.eig"),
		"qr":            self("torch._linalg_utils.qr", "some"),
		"symeig":        self("torch._linalg_utils._symeig"),
	}
	for name, op := range map[string]string{
		"__rsub__": "sub", "__rdiv__": "truediv", "__rmod__": "mod", "__rpow__": "pow", "__rfloordiv__": "floordiv",
		"__rlshift__": "lshift", "__rrshift__": "rshift", "__rmatmul__": "matmul",
	} {
		all[name] = reflected(op)
	}
	all["__floordiv__"] = func(f *frame) any { return f.invoke("operator.floordiv", f.t("self"), f.arg("other")) }
	all["__contains__"] = func(f *frame) any { return f.invoke("operator.contains", f.t("self"), f.arg("element")) }
	all["__len__"] = func(f *frame) any { return f.invoke("builtins.len", f.t("self")) }
	all["__iter__"] = func(f *frame) any {
		if f.t("self").Dim() == 0 {
			f.fail(ir.ErrType, "iteration over a 0-d tensor")
		}
		return ir.PyTuple(f.tuple("unbind.int", f.t("self"), 0))
	}
	all["__reversed__"] = func(f *frame) any {
		if f.t("self").Dim() == 0 {
			return f.t("self")
		}
		return f.op("flip", f.t("self"), []int{0})
	}
	return all
}

// reflected is an operator with the tensor on the right. Between two tensors
// subtraction and division go their own ways.
func reflected(op string) func(f *frame) any {
	return func(f *frame) any {
		t, other := f.t("self"), f.arg("other")
		_, both := other.(*Tensor)
		switch {
		case both && op == "sub":
			return f.op("rsub.Tensor", t, other)
		case both && op == "truediv":
			return f.op("mul.Tensor", f.tensor("reciprocal", t), other)
		}
		return f.invoke("operator."+op, other, t)
	}
}

func unflatten(f *frame) any {
	if !f.truth(f.arg("sizes")) {
		f.fail(ir.ErrRuntime, "unflatten: sizes must be non-empty")
	}
	return f.op("unflatten.int", f.args("self", "dim", "sizes")...)
}

func moduleLoad(f *frame) any {
	if f.bool("assign") {
		return f.op("detach", f.t("other", "detach"))
	}
	return f.op("detach", f.invoke("torch.Tensor.copy_", f.t("self"), f.arg("other")))
}

// shapeOf returns sizes, given one by one or as one list.
func (f *frame) shapeOf(sizes []any) []int {
	if len(sizes) == 1 {
		if list, kind := items(sizes[0]); kind != "" {
			sizes = list
		}
	}
	shape := make([]int, len(sizes))
	for i, v := range sizes {
		shape[i] = f.asInt("sizes", v)
	}
	return shape
}

// resize is a view, or a contiguous copy, of another shape with as many elements.
func (f *frame) resize(shape []int) any {
	t := f.t("self")
	if t.Numel() != product(shape) {
		join := func(x []int) string {
			parts := make([]string, len(x))
			for i, n := range x {
				parts[i] = strconv.Itoa(n)
			}
			return strings.Join(parts, "x")
		}
		f.fail(ir.ErrRuntime, "requested resize to %s (%d elements in total), but the given tensor has a size of %s (%d elements). autograd's resize can only change the shape of a given tensor, while preserving the number of elements. ",
			join(shape), product(shape), join(t.Shape()), t.Numel())
	}
	if contiguousIn(ContiguousFormat, t.Shape(), t.Strides()) {
		return f.op("view", f.tensor("alias", t), shape)
	}
	return f.op("view", f.tensor("contiguous", t), shape)
}

// reinforceText is what Python says of a method that was.
const reinforceText = `reinforce() was removed.
Use torch.distributions instead.
See https://pytorch.org/docs/main/distributions.html

Instead of:

probs = policy_network(state)
action = probs.multinomial()
next_state, reward = env.step(action)
action.reinforce(reward)
action.backward()

Use:

probs = policy_network(state)
# NOTE: categorical is equivalent to what used to be called multinomial
m = torch.distributions.Categorical(probs)
action = m.sample()
next_state, reward = env.step(action)
loss = -m.log_prob(action) * reward
loss.backward()
`
