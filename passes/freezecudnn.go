package passes

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// FreezeFor says on what kind of device the module will run: plans on a GPU, say, of
// a module whose weights are on the CPU until then. It chooses among the rewrites
// that are for one kind alone, see [Rewrite]. Default: that of the module's tensors.
func FreezeFor(kind ir.DeviceKind) FreezeOption { return func(f *freezer) { f.kind = &kind } }

// deviceKind is where the frozen module runs: on a GPU where one of its tensors is.
func (f *freezer) deviceKind() ir.DeviceKind {
	if f.kind != nil {
		return *f.kind
	}
	kind := ir.DeviceCPU
	for _, v := range f.module.Attrs() {
		if t, ok := v.(*torch.Tensor); ok && t.Device().Kind() != ir.DeviceCPU {
			kind = t.Device().Kind()
		}
	}
	return kind
}

// fuseCUDNN gives convolutions to cuDNN together with the residual add and the relu
// behind them.
func (f *freezer) fuseCUDNN() error {
	for n := range f.graph.Nodes() {
		args, why := cudnnConvolution(n)
		if args == nil {
			if why != "" {
				f.kept(n, "%s", why)
			}
			continue
		}
		op, last := "aten::cudnn_convolution_relu", n
		if add, other := residualOf(n); add != nil && f.delays(n, add) {
			op, last = "aten::cudnn_convolution_add_relu", add
			args["z"], args["alpha"] = other, ir.Float(1)
		}
		relu, e := activationOf(last)
		if relu == nil || e.attr != "relu" {
			f.kept(n, "no relu follows")
			continue
		}
		if !f.delays(n, relu) || !f.delays(last, relu) {
			f.kept(n, "what it reads is written before %s", relu)
			continue
		}
		positional, err := byName(op, args)
		if err != nil {
			return err
		}
		fused, err := f.call(relu, relu, op, positional...)
		if err != nil {
			return err
		}
		f.applied(fused, "%s", args)
		if err := f.replace(relu, fused); err != nil {
			return err
		}
	}
	return nil
}

// cudnnConvolution returns the arguments of a convolution by the names that cuDNN's
// operators have for them, nil with a reason where it is one that they do not take,
// and without where it is none.
func cudnnConvolution(n *ir.Node) (fusedArgs, string) {
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
	if kind.transposed(args) {
		return nil, "it is transposed"
	}
	input, isNode := args["input"].(*ir.Node)
	if !isNode {
		return nil, "its input is no node"
	}
	meta, known := valueOf(input)
	spatial := len(meta.Sizes) - 2
	switch {
	case !known:
		return nil, "its sizes are not noted"
	case spatial < 2 || spatial > 3:
		return nil, "it is not of two or three dimensions with a batch"
	case meta.DType != ir.Float32 && meta.DType != ir.Float16:
		return nil, fmt.Sprintf("expected float32 or float16, got %s", meta.DType)
	}
	fused := fusedArgs{"self": input, "weight": args["weight"], "bias": args["bias"], "groups": args["groups"]}
	if fused["bias"] == nil {
		fused["bias"] = ir.None{}
	}
	// by name alone: the operators of a convolution differ in their order
	for _, name := range []string{"stride", "padding", "dilation"} {
		list, ok := numbers(args[name], spatial)
		if !ok {
			return nil, "its " + name + " is computed, or a word"
		}
		fused[name] = ir.IntList(list...)
	}
	return fused, ""
}

// fusedArgs are the arguments of a call by name.
type fusedArgs map[string]ir.Arg

func (a fusedArgs) String() string {
	text := fmt.Sprintf("%s, weight %s", a["self"], a["weight"])
	if a["z"] != nil {
		text += fmt.Sprintf(" + %s", a["z"])
	}
	return text + ", relu"
}

// byName puts arguments in the order of an operator's schema.
func byName(op string, args map[string]ir.Arg) ([]ir.Arg, error) {
	s := ir.Operators().Lookup(op)
	if s == nil {
		return nil, ir.Errorf(ir.ErrUnsupported, "operator %s is unknown", op)
	}
	positional := make([]ir.Arg, len(s.Args))
	for i := range s.Args {
		a, ok := args[s.Args[i].Name]
		if !ok {
			return nil, ir.Errorf(ir.ErrType, "%s: expected an argument %s, got none", op, s.Args[i].Name)
		}
		positional[i] = a
	}
	return positional, nil
}
