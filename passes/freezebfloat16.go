package passes

import (
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// narrowOps compute in bfloat16 what they are given in it, without a sum of many terms:
// between two layers no value is widened for them.
var narrowOps = overloads("aten::relu aten::hardtanh aten::relu6 aten::clamp aten::silu aten::hardswish aten::hardsigmoid aten::gelu aten::leaky_relu aten::sigmoid aten::tanh " +
	"aten::add.Tensor aten::max_pool2d aten::avg_pool2d aten::adaptive_avg_pool2d aten::view aten::reshape aten::flatten.using_ints aten::transpose.int aten::permute aten::slice.Tensor aten::cat")

var toDType = ir.OverloadOf("aten::to.dtype")

// toBFloat16 computes convolutions and linear layers of constant float32 weights, and
// what lies between them, in bfloat16, which keeps 8 bits of a number. All else, and
// all results, stay float32.
func (f *freezer) toBFloat16() error {
	supported, err := torch.Call("mkldnn::_is_mkldnn_bf16_supported")
	if err != nil {
		return err
	}
	if supported != true {
		f.report.Kept = append(f.report.Kept, NotApplied{f.rewrite, "all", "this processor has no kernels of bfloat16"})
		return nil
	}
	for _, n := range nodesOf(f.graph) {
		names := map[string]string{"input": "input", "weight": "weight", "bias": "bias"}
		if c, _ := f.convolution(n); c != nil && c.t.DType() == ir.Float32 {
			err = f.narrowLayer(n, names)
		} else if l, _ := f.linear(n); l != nil && l.t.DType() == ir.Float32 {
			switch n.Func() {
			case addmmOp:
				names = map[string]string{"input": "mat1", "weight": "mat2", "bias": "self"}
			case mmOp:
				names = map[string]string{"input": "self", "weight": "mat2"}
			}
			err = f.narrowLayer(n, names)
		}
		if err != nil {
			return err
		}
	}
	memory := mapMemory(f.module)
	for _, n := range nodesOf(f.graph) {
		if len(memory.roots[n]) > 1 && memory.is(memory.returned, n) {
			continue // a view, and results are to share its memory
		}
		if err := f.narrowBetween(n); err != nil {
			return err
		}
	}
	for _, n := range nodesOf(f.graph) {
		if n.Graph() == nil || n.Func() != toDType || n.Arg(1) != ir.Arg(ir.BFloat16) {
			continue
		}
		if wide, narrow := widened(n.Arg(0)); wide != nil {
			if err := f.replace(n, narrow); err != nil { // through float32 and back is the same
				return err
			}
		}
	}
	return nil
}

// widened returns a cast to float32 and the value of bfloat16 that it is of.
func widened(a ir.Arg) (wide, narrow *ir.Node) {
	n, ok := a.(*ir.Node)
	if !ok || n.Func() != toDType || n.Arg(1) != ir.Arg(ir.Float32) {
		return nil, nil
	}
	from, _ := n.Arg(0).(*ir.Node)
	if meta, known := valueOf(from); !known || meta.DType != ir.BFloat16 {
		return nil, nil
	}
	return n, from
}

// narrowLayer gives a layer operands of bfloat16.
func (f *freezer) narrowLayer(n *ir.Node, names map[string]string) error {
	args, err := bind(n)
	if err != nil {
		return err
	}
	old := n.Inputs()
	for part, name := range names {
		a, ok := args[name].(*ir.Node)
		if !ok {
			continue
		}
		var narrow *ir.Node
		if part == "input" {
			narrow, err = f.cast(n, a, ir.BFloat16)
		} else {
			t, _ := f.constant(a)
			var small *torch.Tensor
			if small, err = tensor("aten::to.dtype", t, ir.BFloat16); err == nil {
				narrow, err = f.attribute(n, pathOf(a)+"_bfloat16", small)
			}
		}
		if err != nil {
			return err
		}
		if err := rebind(n, name, narrow); err != nil {
			return err
		}
	}
	f.applied(n, "in bfloat16")
	if err := f.erase(old...); err != nil {
		return err
	}
	return f.widen(n)
}

// cast puts a cast of a before at.
func (f *freezer) cast(at, a *ir.Node, d ir.DType) (*ir.Node, error) {
	n, err := f.call(at, a, "aten::to.dtype", a, d)
	if err != nil {
		return nil, err
	}
	setDType(n, d)
	return n, nil
}

func setDType(n *ir.Node, d ir.DType) {
	if meta, ok := valueOf(n); ok {
		meta.DType = d
		n.Meta().Set(ir.MetaVal, meta)
	}
}

// widen makes what reads n, which is of bfloat16 from here on, read it as float32.
func (f *freezer) widen(n *ir.Node) error {
	setDType(n, ir.BFloat16)
	wide, err := f.cast(n.Next(), n, ir.Float32)
	if err != nil {
		return err
	}
	n.ReplaceAllUsesWith(wide, ir.OnlyUsers(func(u *ir.Node) bool { return u != wide }))
	return nil
}

// narrowBetween computes n in bfloat16 where all that it reads is widened from it.
func (f *freezer) narrowBetween(n *ir.Node) error {
	meta, known := valueOf(n)
	if n.Op() != ir.CallFunction || !narrowOps[n.Func()] || !known || meta.DType != ir.Float32 || len(n.Inputs()) == 0 {
		return nil
	}
	narrow := map[*ir.Node]*ir.Node{}
	for _, in := range n.Inputs() {
		wide, from := widened(in)
		if wide == nil {
			return nil
		}
		narrow[wide] = from
	}
	for wide, from := range narrow {
		n.ReplaceInputWith(wide, from)
	}
	if err := f.widen(n); err != nil {
		return err
	}
	for wide := range narrow {
		if err := f.erase(wide); err != nil {
			return err
		}
	}
	return nil
}
