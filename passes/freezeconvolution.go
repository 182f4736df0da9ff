package passes

import (
	"fmt"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A convolutionCall is a convolution that can run on packed weights. One of one
// dimension is computed as one of two, the first of which has one element, as libtorch
// does.
type convolutionCall struct {
	node          *ir.Node
	weight        *ir.Node
	line          bool   // of one dimension; what follows is of two
	bias          ir.Arg // a node or None
	t             *torch.Tensor
	biasTensor    *torch.Tensor
	padding       []int64
	stride        []int64
	dilation      []int64
	outputPadding []int64 // of a transposed one
	groups        int64
	transposed    bool
	sizes         []int64 // of the input, as noted

	// what is fused
	residual, other *ir.Node // the addition and its other operand
	activation      *ir.Node
	epilogue        epilogue
	last            *ir.Node // the node whose value it computes
}

// packConvolutions gives convolutions to oneDNN with their weights in the layout that
// its kernels want, and with the residual add and the activation that follow. Their
// results are channels last; what follows takes that as it is, and where an operator
// or a result depends on strides the value is laid out again. A region of the graph
// is packed where the sum of its layers was measured to be faster so.
func (f *freezer) packConvolutions() error {
	var found []*convolutionCall
	for n := range f.graph.Nodes() {
		c, why := f.convolution(n)
		switch {
		case why != "":
			f.kept(n, "%s", why)
		case c != nil:
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return nil
	}
	paying, err := f.payingRegions(found)
	if err != nil {
		return err
	}
	packed := map[*ir.Node]bool{}
	for _, c := range found {
		if !paying[c].packed {
			continue
		}
		n, err := f.packConvolution(c, paying[c].why)
		switch {
		case refused(err):
			f.kept(c.node, "oneDNN refuses it: %v", err)
		case err != nil:
			return fmt.Errorf("%s: %w", c.node, err)
		default:
			packed[n] = true
		}
	}
	f.writeSums(packed)
	return f.restoreLayouts(packed)
}

// refused reports whether an error is that of a kernel that does not compute what it is
// asked for, of a layer with odd numbers say, which stays as it is.
func refused(err error) bool { return err != nil && ir.ClassOf(err) == ir.ErrRuntime }

// convolution reads a call of a convolution. Both results are zero where n is none.
func (f *freezer) convolution(n *ir.Node) (c *convolutionCall, why string) {
	if n.Op() != ir.CallFunction {
		return nil, ""
	}
	kind, ok := layerKinds[n.Func()]
	if !ok || kind == linear {
		return nil, ""
	}
	args, err := bind(n)
	if err != nil {
		return nil, err.Error()
	}
	c = &convolutionCall{node: n, last: n, epilogue: noEpilogue, bias: args["bias"], transposed: kind.transposed(args)}
	if c.bias == nil {
		c.bias = ir.None{}
	}
	input, ok := args["input"].(*ir.Node)
	if !ok {
		return nil, "its input is no node"
	}
	if c.t, ok = f.constant(args["weight"]); !ok {
		return nil, "its weight is no constant"
	}
	if c.biasTensor, ok = f.constantOrNone(args["bias"]); !ok {
		return nil, "its bias is no constant"
	}
	c.weight = args["weight"].(*ir.Node)
	meta, known := valueOf(input)
	result, knownToo := valueOf(n)
	rank := len(c.t.Shape())
	switch {
	case !known || !knownToo:
		return nil, "its sizes are not noted"
	case len(meta.Sizes) != rank || rank < 3 || rank > 5:
		return nil, "it is not of one to three dimensions with a batch"
	case meta.DType != ir.Float32 && meta.DType != ir.BFloat16 || c.t.DType() != meta.DType || result.DType != meta.DType:
		return nil, fmt.Sprintf("expected float32 or bfloat16, got %s", meta.DType)
	case meta.Device.Kind() != ir.DeviceCPU || c.t.Device().Kind() != ir.DeviceCPU:
		return nil, "it is not on the CPU"
	case meta.Layout != ir.Strided:
		return nil, "its input is not strided"
	}
	for _, s := range append(append([]ir.Size{}, meta.Sizes...), result.Sizes...) {
		if s.Hint() <= 0 {
			return nil, "a size is zero"
		}
	}
	for _, s := range meta.Sizes {
		c.sizes = append(c.sizes, s.Hint())
	}
	groups, ok := args["groups"].(ir.Int)
	c.groups = int64(groups)
	dims := rank - 2
	var oks [4]bool
	c.stride, oks[0] = numbers(args["stride"], dims)
	c.dilation, oks[1] = numbers(args["dilation"], dims)
	c.padding, oks[2] = c.paddings(args["padding"], dims)
	oks[3] = true
	if c.transposed {
		c.outputPadding, oks[3] = numbers(args["output_padding"], dims)
	}
	if !ok || !oks[0] || !oks[1] || !oks[2] || !oks[3] {
		return nil, "its sizes are computed, or its padding is not the same on both sides"
	}
	if channels, _ := meta.Sizes[1].Known(); meta.DType == ir.BFloat16 && dims == 3 && c.groups > 1 && c.groups == channels {
		// with several results a channel and padding around a depth of 1; F.conv3d takes another kernel
		return nil, "libtorch's packed kernel for channels by themselves in three dimensions computes something else for some sizes in bfloat16"
	}
	if c.line = dims == 1; c.line {
		c.sizes = slices.Insert(c.sizes, 2, 1)
		c.stride, c.dilation, c.padding = slices.Insert(c.stride, 0, 1), slices.Insert(c.dilation, 0, 1), slices.Insert(c.padding, 0, 0)
		if c.transposed {
			c.outputPadding = slices.Insert(c.outputPadding, 0, 0)
		}
	}
	return c, ""
}

// paddings returns the padding of each dimension; "same" may need another at its end.
func (c *convolutionCall) paddings(a ir.Arg, dims int) ([]int64, bool) {
	p := make([]int64, dims)
	switch a {
	case ir.Str("valid"):
		return p, true
	case ir.Str("same"):
		if c.dilation == nil {
			return nil, false
		}
		for i := range p {
			total := c.dilation[i] * int64(c.t.Shape()[2+i]-1)
			if total%2 != 0 {
				return nil, false
			}
			p[i] = total / 2
		}
		return p, true
	}
	return numbers(a, dims)
}

// fuse finds what follows the convolution and can be computed with it, there.
func (c *convolutionCall) fuse(f *freezer) {
	c.residual, c.other, c.activation, c.epilogue, c.last = nil, nil, nil, noEpilogue, c.node
	if !c.transposed {
		if add, other := residualOf(c.node); add != nil && f.delays(c.node, add) {
			c.residual, c.other, c.last = add, other, add
		}
	}
	a, e := activationOf(c.last)
	if a == nil || c.residual != nil && e.attr != "relu" {
		return // with an operand beside it, relu is all that libtorch fuses
	}
	if !f.delays(c.node, a) || !f.delays(c.last, a) {
		return
	}
	c.activation, c.epilogue, c.last = a, e, a
}

// kernel returns the weight, of two dimensions where there is one. It is the caller's.
func (c *convolutionCall) kernel() (*torch.Tensor, error) {
	if c.line {
		return tensor("aten::unsqueeze", c.t, 2)
	}
	return c.t.Ref()
}

// packWeight returns the weight as oneDNN wants it for the sizes noted.
func (c *convolutionCall) packWeight() (*torch.Tensor, error) {
	w, err := c.kernel()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if c.transposed {
		return tensor("mkldnn::_reorder_convolution_transpose_weight", w, c.padding, c.outputPadding, c.stride, c.dilation, c.groups, c.sizes)
	}
	return tensor("mkldnn::_reorder_convolution_weight", w, c.padding, c.stride, c.dilation, c.groups, c.sizes)
}

// plane is an operand for a convolution that is computed as one of two dimensions.
func (f *freezer) plane(c *convolutionCall, a ir.Arg) (ir.Arg, error) {
	x, ok := a.(*ir.Node)
	if !c.line || !ok {
		return a, nil
	}
	n, err := f.call(c.last, x, "aten::unsqueeze", x, ir.Int(2))
	if meta, known := valueOf(x); err == nil && known {
		meta.Sizes, meta.Strides = slices.Insert(slices.Clone(meta.Sizes), 2, ir.SizeOf(1)), nil
		n.Meta().Set(ir.MetaVal, meta)
	}
	return n, err
}

// packConvolution replaces one convolution and what is fused with it by a call on
// packed weights, which it returns. why is what was measured, "" where nothing was.
func (f *freezer) packConvolution(c *convolutionCall, why string) (*ir.Node, error) {
	weight, err := c.packWeight()
	if err != nil {
		return nil, err
	}
	c.fuse(f)
	args, err := bind(c.node) // its input may have been packed meanwhile
	if err != nil {
		return nil, err
	}
	read, err := f.attribute(c.last, pathOf(c.weight)+"_packed", weight)
	if err != nil {
		return nil, err
	}
	if c.bias, err = f.dense(c.last, c.bias); err != nil {
		return nil, err
	}
	input, err := f.plane(c, args["input"])
	if err != nil {
		return nil, err
	}
	var n *ir.Node
	list := func(v []int64) ir.Arg { return ir.IntList(v...) }
	attr, scalars, algorithm := ir.Str(c.epilogue.attr), c.epilogue.scalars, ir.Str(c.epilogue.algorithm)
	switch {
	case c.transposed:
		n, err = f.call(c.last, c.last, "mkldnn::_convolution_transpose_pointwise", input, read, c.bias, list(c.padding), list(c.outputPadding), list(c.stride), list(c.dilation),
			ir.Int(c.groups), attr, scalars, algorithm)
	case c.residual != nil:
		unary := ir.Arg(ir.None{})
		if c.activation != nil {
			unary = attr
		}
		var other ir.Arg
		if other, err = f.plane(c, c.other); err != nil {
			return nil, err
		}
		n, err = f.call(c.last, c.last, sumOp.Op(), input, other, read, c.bias, list(c.padding), list(c.stride), list(c.dilation), ir.Int(c.groups),
			ir.Str("add"), ir.Float(1), unary, scalars, ir.Str(""))
	default:
		n, err = f.call(c.last, c.last, "mkldnn::_convolution_pointwise", input, read, c.bias, list(c.padding), list(c.stride), list(c.dilation), ir.Int(c.groups),
			attr, scalars, algorithm)
	}
	if err != nil {
		return nil, err
	}
	what := c.String()
	if why != "" {
		what += ": " + why
	}
	f.applied(n, "%s", what)
	if !c.line {
		return n, f.replace(c.last, n)
	}
	if meta, known := valueOf(n); known {
		meta.Sizes, meta.Strides = slices.Insert(slices.Clone(meta.Sizes), 2, ir.SizeOf(1)), nil
		n.Meta().Set(ir.MetaVal, meta)
	}
	result, err := f.call(c.last, c.last, "aten::squeeze.dim", n, ir.Int(2))
	if err != nil {
		return nil, err
	}
	return n, f.replace(c.last, result)
}

var (
	sumOp      = ir.OverloadOf("mkldnn::_convolution_pointwise.binary")
	writtenSum = ir.OverloadOf("mkldnn::_convolution_pointwise_.binary")
)

// writeSums lets a convolution write its sum over the other operand, where that is
// the result of a packed one, too, and nobody reads it any more.
func (f *freezer) writeSums(packed map[*ir.Node]bool) {
	for n := range f.graph.Nodes() {
		if n.Func() != sumOp {
			continue
		}
		other, _ := n.Arg(1).(*ir.Node)
		if !packed[other] {
			continue
		}
		if m := mapMemory(f.module); m.lastUse(other, n) && !m.mayShare(n.Arg(0).(*ir.Node), other) {
			_ = n.SetTarget(writtenSum) // an operator fits
			n.SetArgs(append([]ir.Arg{other, n.Arg(0)}, n.Args()[2:]...)...)
		}
	}
}

// String tells what is computed at once.
func (c *convolutionCall) String() string {
	text := c.node.Name()
	if c.residual != nil {
		text += " + " + c.other.Name()
	}
	if c.activation != nil {
		text += ", " + c.epilogue.attr
	}
	return fmt.Sprintf("%s: weight %v, stride %v, padding %v, groups %d, input %v", text, c.t.Shape(), c.stride, c.padding, c.groups, c.sizes)
}
