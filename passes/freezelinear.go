package passes

import (
	"fmt"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A linearCall is a linear layer of constant weights.
type linearCall struct {
	node       *ir.Node
	input      *ir.Node
	weight     *ir.Node // [out, in], or [in, out] where transposed
	t          *torch.Tensor
	transposed bool
	bias       ir.Arg // a node or None
	biasTensor *torch.Tensor
	rows       int64 // of the input as a matrix, as noted
	fixed      bool  // the rows are known, not only noted
	in, out    int64

	residual, other *ir.Node
	activation      *ir.Node
	epilogue        epilogue
	last            *ir.Node
}

// packLinears gives linear layers to oneDNN with packed weights, and with the
// activation or the residual add that follows, or to MKL with its own packed weights,
// where that was measured to be faster.
func (f *freezer) packLinears() error {
	for _, n := range nodesOf(f.graph) {
		if n.Graph() == nil {
			continue // fused
		}
		c, why := f.linear(n)
		if c == nil {
			if why != "" {
				f.kept(n, "%s", why)
			}
			continue
		}
		c.fuse(f)
		choice, err := f.choose(c.key(), c.wayNames(), c.ways)
		if refused(err) {
			f.kept(n, "oneDNN refuses it: %v", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
		if choice.Way == wayPlain {
			f.kept(n, "%s: %s", c, choice)
			continue
		}
		pack := f.packLinear
		if choice.Way == wayMKL {
			pack = f.packMKL
		}
		if err := pack(c, choice); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	return nil
}

var (
	linearOp = ir.OverloadOf("aten::linear")
	addmmOp  = ir.OverloadOf("aten::addmm")
	mmOp     = ir.OverloadOf("aten::mm")
)

// linear reads a linear layer, or the products that it is lowered to. Both results
// are zero where n is none.
func (f *freezer) linear(n *ir.Node) (c *linearCall, why string) {
	if n.Op() != ir.CallFunction || n.Func() != linearOp && n.Func() != addmmOp && n.Func() != mmOp {
		return nil, ""
	}
	args, err := bind(n)
	if err != nil {
		return nil, err.Error()
	}
	c = &linearCall{node: n, last: n, epilogue: noEpilogue, bias: args["bias"]}
	input, weight := args["input"], args["weight"]
	switch n.Func() {
	case addmmOp:
		if !isOne(args["alpha"]) || !isOne(args["beta"]) {
			return nil, "it is scaled"
		}
		c.transposed, c.bias, input, weight = true, args["self"], args["mat1"], args["mat2"]
	case mmOp:
		c.transposed, input, weight = true, args["self"], args["mat2"]
	}
	if c.bias == nil {
		c.bias = ir.None{}
	}
	var ok bool
	if c.input, ok = input.(*ir.Node); !ok {
		return nil, "its input is no node"
	}
	if c.t, ok = f.constant(weight); !ok {
		return nil, "its weight is no constant"
	}
	if c.biasTensor, ok = f.constantOrNone(c.bias); !ok {
		return nil, "its bias is no constant"
	}
	c.weight = weight.(*ir.Node)
	meta, known := valueOf(c.input)
	result, knownToo := valueOf(n)
	shape := c.t.Shape()
	switch {
	case !known || !knownToo:
		return nil, "its sizes are not noted"
	case len(shape) != 2 || len(meta.Sizes) < 2:
		return nil, "it is not of matrices"
	case c.biasTensor != nil && len(c.biasTensor.Shape()) != 1:
		return nil, "its bias is no vector"
	case meta.DType != ir.Float32 && meta.DType != ir.BFloat16 || c.t.DType() != meta.DType || result.DType != meta.DType:
		return nil, fmt.Sprintf("expected float32 or bfloat16, got %s", meta.DType)
	case meta.Device.Kind() != ir.DeviceCPU || c.t.Device().Kind() != ir.DeviceCPU:
		return nil, "it is not on the CPU"
	case meta.Layout != ir.Strided || c.t.Layout() != ir.Strided:
		return nil, "it is not strided"
	}
	c.out, c.in = int64(shape[0]), int64(shape[1])
	if c.transposed {
		c.out, c.in = c.in, c.out
	}
	if c.biasTensor != nil && int64(c.biasTensor.Shape()[0]) != c.out {
		return nil, "its bias is broadcast"
	}
	c.rows, c.fixed = 1, true
	for _, s := range meta.Sizes[:len(meta.Sizes)-1] {
		c.rows *= s.Hint()
		_, known := s.Known()
		c.fixed = c.fixed && known
	}
	if c.rows <= 0 || c.in == 0 || c.out == 0 {
		return nil, "a size is zero"
	}
	return c, ""
}

func isOne(a ir.Arg) bool { return a == ir.Int(1) || a == ir.Float(1) }

// fuse finds what follows the layer and can be computed with it, there.
func (c *linearCall) fuse(f *freezer) {
	if add, other := residualOf(c.node); add != nil && inRows(add) && f.delays(c.node, add) {
		c.residual, c.other, c.last = add, other, add
		return
	}
	if a, e := activationOf(c.node); a != nil && f.delays(c.node, a) {
		c.activation, c.epilogue, c.last = a, e, a
	}
}

// inRows reports whether a value lies in rows, as what packed operators return does. A sum
// lies as its first operand. One of which no strides are noted may lie as it likes.
func inRows(n *ir.Node) bool {
	meta, ok := valueOf(n)
	if !ok || meta.Strides == nil {
		return ok
	}
	format, dense := notedFormat(n)
	return dense && format == ir.ContiguousFormat
}

// plain returns the weight as [out, in], which belongs to the caller.
func (c *linearCall) plain() (*torch.Tensor, error) {
	if c.transposed {
		return tensor("aten::t", c.t)
	}
	return c.t.Ref()
}

func (c *linearCall) packWeight() (*torch.Tensor, error) {
	w, err := c.plain()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return tensor("mkldnn::_reorder_linear_weight", w, c.rows)
}

func (f *freezer) packLinear(c *linearCall, choice Choice) error {
	weight, err := c.packWeight()
	if err != nil {
		return err
	}
	if c.bias, err = f.dense(c.node, c.bias); err != nil {
		return err
	}
	read, err := f.attribute(c.last, pathOf(c.weight)+"_packed", weight)
	if err != nil {
		return err
	}
	var n *ir.Node
	if c.residual != nil {
		n, err = f.call(c.last, c.last, "mkldnn::_linear_pointwise.binary", c.input, c.other, read, c.bias, ir.Str("add"))
	} else {
		n, err = f.call(c.last, c.last, "mkldnn::_linear_pointwise", c.input, read, c.bias, ir.Str(c.epilogue.attr), c.epilogue.scalars, ir.Str(c.epilogue.algorithm))
	}
	if err != nil {
		return err
	}
	f.applied(n, "%s", choice.after(c.String()))
	return f.replace(c.last, n)
}

// mklBytes is the size of a weight up to which MKL may have it packed: its operator
// keeps the weight as it was beside the packed one.
const mklBytes = 256 << 10

// fitsMKL reports whether the layer can run on weights that MKL packed: for one number
// of rows, at any other of which they would be of no use.
func (c *linearCall) fitsMKL() bool {
	if !c.fixed || c.t.DType() != ir.Float32 || c.in*c.out*4 > mklBytes {
		return false
	}
	_, err := libtorch.Find("mkl::_mkl_linear")
	return err == nil
}

func (f *freezer) packMKL(c *linearCall, choice Choice) error {
	weight, err := c.plain()
	if err != nil {
		return err
	}
	if c.bias, err = f.dense(c.node, c.bias); err != nil {
		return err
	}
	plain, err := f.attribute(c.node, pathOf(c.weight)+"_plain", weight)
	if err != nil {
		return err
	}
	packed, err := tensor("mkl::_mkl_reorder_linear_weight", weight, c.rows)
	if err != nil {
		return err
	}
	read, err := f.attribute(c.node, pathOf(c.weight)+"_mkl", packed)
	if err != nil {
		return err
	}
	n, err := f.call(c.node, c.node, "mkl::_mkl_linear", c.input, read, plain, c.bias, ir.Int(c.rows))
	if err != nil {
		return err
	}
	f.applied(n, "%s", choice.after(fmt.Sprintf("%s: %d rows, %d to %d, by MKL", c.node, c.rows, c.in, c.out)))
	return f.replace(c.node, n)
}

// String tells what is computed at once.
func (c *linearCall) String() string {
	text := c.node.Name()
	if c.residual != nil {
		text += " + " + c.other.Name()
	}
	if c.activation != nil {
		text += ", " + c.epilogue.attr
	}
	return fmt.Sprintf("%s: %d rows, %d to %d", text, c.rows, c.in, c.out)
}

func (c *linearCall) key() string {
	return fmt.Sprintf("linear of %s, rows %d, fixed %t, %d to %d, bias %t, transposed %t, %s %s, residual %t",
		c.t.DType(), c.rows, c.fixed, c.in, c.out, c.biasTensor != nil, c.transposed, c.epilogue.attr, c.epilogue.algorithm, c.residual != nil)
}

// wayNames are those of ways.
func (c *linearCall) wayNames() []string {
	if c.fitsMKL() {
		return []string{wayPlain, wayMKL, wayPacked}
	}
	return []string{wayPlain, wayPacked}
}

// ways makes the operators that compute c.
func (c *linearCall) ways(m *measured) error {
	input := m.call("aten::rand", []int64{c.rows, c.in}, torch.Kw("dtype", c.t.DType()))
	other := m.call("aten::rand", []int64{c.rows, c.out}, torch.Kw("dtype", c.t.DType()))
	if m.err != nil {
		return m.err
	}
	w, err := c.plain()
	if err != nil {
		return err
	}
	packed, err := c.packWeight()
	if err != nil {
		return err
	}
	m.temporaries = append(m.temporaries, w, packed)
	var bias any
	if c.biasTensor != nil {
		bias = m.call("aten::contiguous", c.biasTensor)
	}
	m.way(wayPlain, "aten::linear", input, w, bias)
	unfused := []string{wayPlain}
	if c.fitsMKL() {
		m.way(wayMKL, "mkl::_mkl_linear", input, m.call("mkl::_mkl_reorder_linear_weight", w, c.rows), w, bias, c.rows)
		unfused = append(unfused, wayMKL)
	}
	if c.residual != nil {
		m.way(wayPacked, "mkldnn::_linear_pointwise.binary", input, other, packed, bias, "add")
		for _, name := range unfused {
			m.then(name, "aten::add.Tensor", other, other)
		}
	} else {
		m.way(wayPacked, "mkldnn::_linear_pointwise", input, packed, bias, c.epilogue.attr, c.scalars(), c.epilogue.algorithm)
		if c.activation != nil {
			for _, name := range unfused {
				m.then(name, c.activation.Func().Op(), append([]any{other}, c.activationArgs()...)...)
			}
		}
	}
	return m.err
}

// scalars are the parameters of what is computed with the layer.
func (c *linearCall) scalars() []any {
	scalars := []any{}
	for _, s := range c.epilogue.scalars.All() {
		scalars = append(scalars, torch.FromArg(s))
	}
	return scalars
}

// activationArgs are the operands of the activation behind the value.
func (c *linearCall) activationArgs() (args []any) {
	for _, a := range c.activation.Args()[1:] {
		args = append(args, torch.FromArg(a))
	}
	for _, k := range c.activation.Kwargs() {
		args = append(args, torch.Kw(k.Name, torch.FromArg(k.Value)))
	}
	return args
}
