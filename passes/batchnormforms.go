package passes

import (
	"github.com/torchfx-go/torchfx/ir"
)

// A normForm is an operator that normalises batches.
type normForm struct {
	several bool // it returns statistics beside the result
}

// The batch norms of exported programs. All name their arguments alike; those
// without an argument "training" never train.
var normForms = map[*ir.Func]normForm{
	ir.OverloadOf("aten::batch_norm"):                           {},              // as exported
	ir.OverloadOf("aten::_native_batch_norm_legit_no_training"): {several: true}, // after the core decompositions
	ir.OverloadOf("aten::_native_batch_norm_legit"):             {several: true},
	ir.OverloadOf("aten::native_batch_norm"):                    {several: true},
	ir.OverloadOf("aten::_batch_norm_no_update"):                {several: true},
}

var getItem = ir.FuncOf("operator.getitem")

// normOf reports whether n normalises batches, and how.
func normOf(n *ir.Node) (normForm, bool) {
	form, ok := normForms[n.Func()]
	return form, ok
}

// evaluates reports whether a batch norm with these arguments reads its running
// statistics and leaves them alone.
func evaluates(args map[string]ir.Arg) bool {
	training, ok := args["training"]
	return !ok || training == ir.Bool(false)
}

// A layerKind is a family of layers that a batch norm can be folded into.
type layerKind uint8

const (
	linear          layerKind = 1 + iota // weight [out, in]
	convolution                          // weight [out, in / groups, ...]
	transposed                           // weight [in, out / groups, ...]
	maybeTransposed                      // aten.convolution, which says so in an argument
)

var layerKinds = map[*ir.Func]layerKind{
	ir.OverloadOf("aten::linear"):                 linear,
	ir.OverloadOf("aten::conv1d"):                 convolution,
	ir.OverloadOf("aten::conv1d.padding"):         convolution,
	ir.OverloadOf("aten::conv2d"):                 convolution,
	ir.OverloadOf("aten::conv2d.padding"):         convolution,
	ir.OverloadOf("aten::conv3d"):                 convolution,
	ir.OverloadOf("aten::conv3d.padding"):         convolution,
	ir.OverloadOf("aten::conv_transpose1d"):       transposed,
	ir.OverloadOf("aten::conv_transpose2d.input"): transposed,
	ir.OverloadOf("aten::conv_transpose3d.input"): transposed,
	ir.OverloadOf("aten::convolution"):            maybeTransposed,
}

func layerOf(n *ir.Node) (layerKind, bool) {
	kind, ok := layerKinds[n.Func()]
	return kind, ok
}

// rank returns the dimensions that a batched result has, given the weight's shape.
func (k layerKind) rank(weight []int) int {
	if k == linear {
		return 2
	}
	return len(weight)
}

func (k layerKind) transposed(args map[string]ir.Arg) bool {
	return k == transposed || k == maybeTransposed && args["transposed"] == ir.Bool(true)
}

// bind returns the arguments of a call by the names of its operator's schema,
// defaults filled in.
func bind(n *ir.Node) (map[string]ir.Arg, error) {
	s := ir.Operators().Lookup(n.Func().Op())
	if s == nil {
		return nil, ir.Errorf(ir.ErrUnsupported, "%s: operator %s is unknown", n, n.Func().Op())
	}
	if len(n.Args()) > len(s.Args) {
		return nil, ir.Errorf(ir.ErrType, "%s: expected at most %d arguments, got %d", n, len(s.Args), len(n.Args()))
	}
	args := make(map[string]ir.Arg, len(s.Args))
	for i, p := range s.Args {
		if v := operand(n, i, p.Name); v != nil {
			args[p.Name] = v
		} else if p.Default != nil {
			args[p.Name] = p.Default
		} else {
			return nil, ir.Errorf(ir.ErrType, "%s: argument %s is missing", n, p.Name)
		}
	}
	return args, nil
}

// operand returns argument i of a call, given by position or by name, or nil.
func operand(n *ir.Node, i int, name string) ir.Arg {
	if i < len(n.Args()) {
		return n.Arg(i)
	}
	v, _ := n.Kwarg(name)
	return v
}

// rebind makes the named argument of a call v, in its place.
func rebind(n *ir.Node, name string, v ir.Arg) error {
	i, ok := ir.Operators().Lookup(n.Func().Op()).Arg(name)
	if !ok {
		return ir.Errorf(ir.ErrType, "%s: has no argument %s", n, name)
	}
	_, named := n.Kwarg(name)
	switch {
	case i < len(n.Args()):
		return n.UpdateArg(i, v)
	case i == len(n.Args()) && !named:
		n.SetArgs(append(n.Args()[:i:i], v)...)
	default:
		n.UpdateKwarg(name, v)
	}
	return nil
}

func describeCall(n *ir.Node) string {
	if n.Op() == ir.Placeholder {
		return "the placeholder " + n.Name()
	}
	return n.Target().String()
}

func describeArg(a ir.Arg) string {
	if n, ok := a.(*ir.Node); ok {
		return describeCall(n)
	}
	return "a literal"
}
