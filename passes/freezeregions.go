package passes

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// strideReaders are operators of ATen whose meaning depends on strides: a value that
// is laid out otherwise must be laid out again for them. All others compute the same
// for any strides.
var strideReaders = overloads("aten::view aten::_unsafe_view aten::view.dtype aten::view_as aten::as_strided aten::as_strided_ aten::as_strided_copy aten::as_strided_scatter " +
	"aten::unflatten.int aten::view_as_real aten::view_as_complex aten::_reshape_alias aten::sym_stride.int aten::sym_stride aten::stride.int " +
	"aten::sym_storage_offset aten::is_contiguous aten::resize_ aten::resize_as_ aten::set_.source_Tensor aten::_assert_tensor_metadata " +
	"aten::copy_ aten::unsafe_chunk aten::_nested_view_from_buffer")

// anyStrides reports whether n computes the same elements whatever the strides of its
// operands are.
func anyStrides(n *ir.Node) bool {
	if n.Op() != ir.CallFunction {
		return false
	}
	if n.Func() == getitem {
		return true
	}
	if n.Func().Kind() != ir.Overload || strideReaders[n.Func()] {
		return false
	}
	switch s := ir.Operators().Lookup(n.Func().Op()); {
	case s == nil:
		return false
	case s.Namespace() == "mkldnn", s.Namespace() == "mkl":
		return true
	default:
		return s.Namespace() == "aten"
	}
}

// bytesPerNano is what laying a value out again moves, read and written.
const bytesPerNano = 2.0

// A verdict says whether a convolution is worth packing, and what was measured.
type verdict struct {
	packed bool
	why    string // "" where nothing was measured
}

// payingRegions finds the convolutions that are worth packing. A region is what
// values of as many dimensions as convolutions take connect: inside it nothing is laid
// out again.
func (f *freezer) payingRegions(found []*convolutionCall) (map[*convolutionCall]verdict, error) {
	if f.packed || f.choices.fixed != "" {
		all := map[*convolutionCall]verdict{}
		for _, c := range found {
			all[c] = verdict{packed: true}
		}
		return all, nil
	}
	parent := map[*ir.Node]*ir.Node{}
	var top func(*ir.Node) *ir.Node
	top = func(n *ir.Node) *ir.Node {
		if parent[n] == nil || parent[n] == n {
			return n
		}
		parent[n] = top(parent[n])
		return parent[n]
	}
	inside, ranks := map[*ir.Node]bool{}, map[int]bool{}
	for _, c := range found {
		inside[c.node] = true
		ranks[len(c.t.Shape())] = true
	}
	image := func(n *ir.Node) bool {
		meta, ok := valueOf(n)
		return ok && ranks[len(meta.Sizes)] && (inside[n] || anyStrides(n))
	}
	border := map[*ir.Node]float64{} // nanoseconds, by top of the region
	for n := range f.graph.Nodes() {
		for _, in := range n.Inputs() {
			switch {
			case image(n) && image(in):
				a, b := top(n), top(in)
				parent[a] = b
			case image(n):
				border[n] += relayout(in)
			case image(in):
				border[in] += relayout(in)
			}
		}
	}
	plain, packed := map[*ir.Node]float64{}, map[*ir.Node]float64{}
	for n, nanos := range border {
		packed[top(n)] += nanos
	}
	result := map[*convolutionCall]verdict{}
	for _, c := range found {
		choice, err := f.choose(c.key(), []string{wayPlain, wayPacked}, c.ways)
		if refused(err) {
			delete(inside, c.node)
			f.kept(c.node, "oneDNN refuses it: %v", err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.node, err)
		}
		plain[top(c.node)] += choice.Nanos[wayPlain] + c.saves(f)
		packed[top(c.node)] += choice.Nanos[wayPacked]
		result[c] = verdict{why: choice.String()}
	}
	for _, c := range found {
		if !inside[c.node] {
			continue
		}
		region := top(c.node)
		v := verdict{packed: packed[region] < plain[region]}
		v.why = fmt.Sprintf("%s; its region takes %.0f µs as it is and %.0f µs packed", result[c].why, plain[region]/1e3, packed[region]/1e3)
		if result[c] = v; !v.packed {
			f.kept(c.node, "%s", v.why)
		}
	}
	return result, nil
}

// saves estimates what the operators take that are computed with a packed convolution.
func (c *convolutionCall) saves(f *freezer) (nanos float64) {
	c.fuse(f)
	for _, n := range []*ir.Node{c.residual, c.activation} {
		if n != nil {
			nanos += relayout(n)
		}
	}
	return nanos
}

// relayout estimates what reading a value and writing one like it takes, in
// nanoseconds.
func relayout(n *ir.Node) float64 {
	meta, ok := valueOf(n)
	if !ok || len(meta.Sizes) < 3 || n.Op() == ir.GetAttr {
		return 0
	}
	bytes := float64(meta.DType.Size())
	for _, s := range meta.Sizes {
		bytes *= float64(s.Hint())
	}
	return 1000 + 2*bytes/bytesPerNano
}

func (c *convolutionCall) key() string {
	kind := "convolution"
	if c.transposed {
		kind = fmt.Sprintf("transposed convolution, output padding %v", c.outputPadding)
	}
	return fmt.Sprintf("%s of %s, input %v, weight %v, bias %t, stride %v, padding %v, dilation %v, groups %d",
		kind, c.t.DType(), c.sizes, c.t.Shape(), c.biasTensor != nil, c.stride, c.padding, c.dilation, c.groups)
}

// ways makes the operators that compute c, on inputs as each would find them.
func (c *convolutionCall) ways(m *measured) error {
	input := m.call("aten::rand", c.sizes, torch.Kw("dtype", c.t.DType()))
	format := ir.ChannelsLast
	if len(c.sizes) == 5 {
		format = ir.ChannelsLast3D
	}
	last := m.call("aten::contiguous", input, torch.Kw("memory_format", format))
	if m.err != nil {
		return m.err
	}
	kernel, err := c.kernel()
	if err != nil {
		return err
	}
	m.temporaries = append(m.temporaries, kernel)
	weight, err := c.packWeight()
	if err != nil {
		return err
	}
	m.temporaries = append(m.temporaries, weight)
	var bias any
	if c.biasTensor != nil {
		bias = m.call("aten::contiguous", c.biasTensor)
	}
	outputPadding := c.outputPadding
	if !c.transposed {
		outputPadding = make([]int64, len(c.stride))
	}
	m.way(wayPlain, "aten::convolution", input, kernel, bias, c.stride, c.padding, c.dilation, c.transposed, outputPadding, c.groups)
	if c.transposed {
		m.way(wayPacked, "mkldnn::_convolution_transpose_pointwise", last, weight, bias, c.padding, c.outputPadding, c.stride, c.dilation, c.groups, "none", []any{}, "")
	} else {
		m.way(wayPacked, "mkldnn::_convolution_pointwise", last, weight, bias, c.padding, c.stride, c.dilation, c.groups, "none", []any{}, "")
	}
	return nil
}
