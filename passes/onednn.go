package passes

import (
	"context"
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// OneDNN is the delegate on oneDNN: convolutions, linear layers, pooling and what is
// computed element by element between them, in float32 on the CPU, by kernels that are
// made once for a shape. Weights are packed once, activations and residual sums are
// part of the kernels before them, and values lie between kernels as these like best.
//
// Its results differ from libtorch's by rounding: kernels sum in another order, and
// batch norms are part of the weights.
type OneDNN struct{ library *libtorch.Delegate }

// NewOneDNN returns the delegate on a library that speaks its programs.
func NewOneDNN(library *libtorch.Delegate) *OneDNN { return &OneDNN{library} }

// Name returns "onednn".
func (*OneDNN) Name() string { return "onednn" }

// Version names the library and the release of its kernels, for which times hold.
func (d *OneDNN) Version() string { return d.library.Name + " " + d.library.Version }

// Library returns what it compiles with.
func (d *OneDNN) Library() *libtorch.Delegate { return d.library }

// Supported reports whether there is a node for n in programs of regions.
func (*OneDNN) Supported(m *ir.GraphModule, n *ir.Node) bool { return readCall(m, n) != nil }

// layersOfRegions are the calls that take time enough for a region.
var layersOfRegions = overloads("aten::conv1d aten::conv1d.padding aten::conv2d aten::conv2d.padding aten::conv3d aten::conv3d.padding " +
	"aten::conv_transpose1d aten::conv_transpose2d.input aten::conv_transpose3d.input aten::convolution aten::linear aten::addmm aten::mm aten::matmul")

// Worth reports whether there is a convolution or a linear layer.
func (*OneDNN) Worth(region *ir.GraphModule) bool {
	for n := range region.Graph().Nodes() {
		if layersOfRegions[n.Func()] {
			return true
		}
	}
	return false
}

// Compile compiles a region.
func (d *OneDNN) Compile(_ context.Context, region *ir.GraphModule, layouts delegate.Layouts) (*libtorch.Region, error) {
	w := &regionWriter{module: region, values: map[*ir.Node]delegate.Value{}}
	w.program.Layouts = layouts
	defer w.close()
	for _, n := range region.Graph().Find(ir.Placeholder, nil) {
		w.values[n] = w.program.Input()
	}
	for n := range region.Graph().Nodes() {
		switch n.Op() {
		case ir.CallFunction:
			write := readCall(region, n)
			if write == nil {
				return nil, ir.Errorf(ir.ErrUnsupported, "onednn: expected calls that it supports, got %s", n.Format())
			}
			w.values[n] = write(w)
		case ir.Output:
			for _, out := range n.Inputs() {
				format, _ := notedFormat(out)
				w.program.Output(w.value(out), map[bool]delegate.Format{true: delegate.ChannelsLast}[format == ir.ChannelsLast])
			}
		}
	}
	if w.err != nil {
		return nil, w.err
	}
	handles := make([]*libtorch.Tensor, len(w.constants))
	for i, t := range w.constants {
		h, err := t.Handle()
		if err != nil {
			return nil, err
		}
		handles[i] = h
	}
	return d.library.Compile(&w.program, handles)
}

// A regionWriter writes the program of a region.
type regionWriter struct {
	calculator
	module    *ir.GraphModule
	program   delegate.Program
	values    map[*ir.Node]delegate.Value
	constants []*torch.Tensor
}

// value returns the value of a node, which for a read of an attribute is a constant.
func (w *regionWriter) value(n *ir.Node) delegate.Value {
	v, ok := w.values[n]
	if !ok {
		attr, _ := w.module.Attr(n.Target().String())
		v = w.constant(attr.(*torch.Tensor)) // readCall has looked
		w.values[n] = v
	}
	return v
}

func (w *regionWriter) constant(t *torch.Tensor) delegate.Value {
	if t == nil {
		return delegate.None
	}
	w.constants = append(w.constants, t)
	return w.program.Constant()
}

// maxRegionDims bounds the dimensions of a value in a region.
const maxRegionDims = 6

// A callReader reads one call; its result writes the call into a program. nil is for a
// call that programs have no node for.
type callReader func(c *regionCall) func(w *regionWriter) delegate.Value

// readCall reads a call of an operator on float32 tensors of the CPU.
func readCall(m *ir.GraphModule, n *ir.Node) func(*regionWriter) delegate.Value {
	read := callReaders[n.Func().Op()]
	if read == nil {
		return nil
	}
	c := &regionCall{module: m, node: n}
	for _, v := range append(n.Inputs(), n) {
		if v.Op() == ir.GetAttr {
			// what is noted of it may be of another device: state moves when it is loaded
			if t := c.attribute(v); t == nil || t.DType() != ir.Float32 || t.Device().Kind() != ir.DeviceCPU || t.Layout() != ir.Strided {
				return nil
			}
			continue
		}
		meta, known := valueOf(v)
		if !known || meta.DType != ir.Float32 || meta.Device.Kind() != ir.DeviceCPU || meta.Layout != ir.Strided || len(meta.Sizes) > maxRegionDims {
			return nil
		}
		if slices.ContainsFunc(meta.Sizes, func(s ir.Size) bool { return s.Hint() <= 0 }) {
			return nil
		}
	}
	var err error
	if c.args, err = bind(n); err != nil {
		return nil
	}
	return read(c)
}

// A regionCall is a call with its arguments by the names of its schema.
type regionCall struct {
	module *ir.GraphModule
	node   *ir.Node
	args   map[string]ir.Arg
}

// tensor returns the node of an argument that is computed, nil for any other.
func (c *regionCall) tensor(name string) *ir.Node {
	n, _ := c.args[name].(*ir.Node)
	if n == nil || n.Op() == ir.GetAttr {
		return nil
	}
	return n
}

// constant returns a tensor that is an attribute. ok is true for None, too, which is
// nil.
func (c *regionCall) constant(name string) (t *torch.Tensor, ok bool) {
	a := c.args[name]
	if a == nil || a == (ir.None{}) {
		return nil, true
	}
	n, isNode := a.(*ir.Node)
	if !isNode || n.Op() != ir.GetAttr {
		return nil, false
	}
	t = c.attribute(n)
	return t, t != nil
}

// attribute returns the tensor that n reads, nil where it is none.
func (c *regionCall) attribute(n *ir.Node) *torch.Tensor {
	v, _ := c.module.Attr(n.Target().String())
	t, _ := v.(*torch.Tensor)
	return t
}

// rank is how many dimensions a value has.
func rank(n *ir.Node) int {
	meta, _ := valueOf(n)
	return len(meta.Sizes)
}

// number returns a literal number.
func (c *regionCall) number(name string) (float64, bool) { return literal(c.args[name]) }

// list returns literal integers, n of them; an empty list stands for fallback.
func (c *regionCall) list(name string, n int, fallback []int64) ([]int64, bool) {
	if l, ok := c.args[name].(ir.List); ok && l.Len() == 0 {
		return fallback, true
	}
	return numbers(c.args[name], n)
}

// integers returns a literal list of any length.
func (c *regionCall) integers(name string) ([]int64, bool) {
	l, ok := c.args[name].(ir.List)
	if !ok {
		return nil, false
	}
	return numbers(l, l.Len())
}
