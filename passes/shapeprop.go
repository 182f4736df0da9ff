package passes

import (
	"context"
	"reflect"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// MetaType is the key of a node's meta under which [ShapeProp] notes the Python
// type of the value, "torch.Tensor" or "builtins.tuple", a string.
const MetaType = "type"

// A ShapeOption changes how [ShapeProp] runs.
type ShapeOption func(*shapeProp)

// OnMeta runs on tensors without elements, so that nothing is computed and no
// memory of theirs is taken: the arguments, and the tensors of the module, are
// replaced by such of the same sizes, strides and dtype. Results are on the device
// meta then, and meta of nodes says so. Operators whose result depends on elements
// fail. Default: the module is run.
func OnMeta() ShapeOption { return func(p *shapeProp) { p.onMeta = true } }

// EachValue has f called with each node of the graph and what is known of its value:
// an [ir.TensorMeta] for a tensor, a []any for several values, and any other value as
// it is. Default: nobody is told.
func EachValue(f func(n *ir.Node, value any)) ShapeOption {
	return func(p *shapeProp) { p.observe = f }
}

// ShapeProp runs m on args and notes for each node of its graph what the value is:
// under [ir.MetaTensorMeta] a [ir.TensorMeta], or a []any of these where the value
// holds several and nothing where it holds none, and under [MetaType] the type. It
// returns the result, whose tensors are the caller's to close. Gradients are
// recorded as in PyTorch by default, so that RequiresGrad is known.
//
// A failure is an error of class ir.ErrRuntime that names the node and wraps the
// cause; nodes before it stay annotated. Follows torch.fx.passes.shape_prop; the
// memory format that it notes follows from sizes and strides, see [MemoryFormatOf].
func ShapeProp(ctx context.Context, m *ir.GraphModule, args []any, opts ...ShapeOption) (any, error) {
	if err := given("shapes", m, opts); err != nil {
		return nil, err
	}
	p := &shapeProp{graph: m.Graph(), mode: libtorch.Mode{Grad: true, Threads: 1}, tensors: map[*torch.Tensor]*torch.Tensor{}, modules: map[nn.Module]nn.Module{}}
	defer p.close()
	for _, o := range opts {
		o(p)
	}
	run := []interpreter.Option{interpreter.WithMode(p.mode),
		interpreter.WithHandler(interpreter.Around(shapeHandler{prop: p}, p.annotate))}
	if err := torch.CheckNesting(args...); err != nil {
		return nil, err
	}
	if p.onMeta {
		run = append(run, interpreter.InSubgraphs())
		moved := make([]any, len(args))
		for i, a := range args {
			var err error
			if moved[i], err = p.bare(a); err != nil {
				return nil, err
			}
		}
		args = moved
	}
	return interpreter.New(m, run...).Run(ctx, args...)
}

type shapeProp struct {
	graph   *ir.Graph
	onMeta  bool
	mode    libtorch.Mode
	observe func(n *ir.Node, value any)
	instead func(n *ir.Node, failed bool) (v any, ok bool) // the value of a node that is not to run, or that failed
	tensors map[*torch.Tensor]*torch.Tensor                // of the module and its arguments -> without elements
	modules map[nn.Module]nn.Module
}

func (p *shapeProp) close() {
	for _, t := range p.tensors {
		t.Close()
	}
}

// annotate runs a node and notes what came out.
func (p *shapeProp) annotate(_ *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
	v, err := p.value(n, run)
	if err == nil && n.Graph() == p.graph {
		err = p.note(n, v)
	}
	if err != nil && n.Graph() == p.graph {
		var known []string
		for key := range n.Meta().All() {
			known = append(known, key)
		}
		return nil, ir.Errorf(ir.ErrRuntime, "ShapeProp error for: node=%s with meta=%v: %w", n.Format(), known, err)
	}
	return v, err
}

// value runs a node, unless there is something instead.
func (p *shapeProp) value(n *ir.Node, run func() (any, error)) (any, error) {
	if p.instead == nil {
		return run()
	}
	if v, ok := p.instead(n, false); ok {
		return v, nil
	}
	v, err := run()
	if err != nil {
		if v, ok := p.instead(n, true); ok {
			return v, nil
		}
	}
	return v, err
}

func (p *shapeProp) note(n *ir.Node, v any) error {
	found := false
	meta, err := describe(v, &found)
	if err != nil {
		return err
	}
	if found {
		n.Meta().Set(ir.MetaTensorMeta, meta)
	}
	n.Meta().Set(MetaType, pythonType(v))
	if p.observe != nil {
		p.observe(n, meta)
	}
	return nil
}

// describe replaces the tensors in a value by what is known of them.
func describe(v any, found *bool) (any, error) {
	list := func(items []any) (any, error) {
		out := make([]any, len(items))
		for i, item := range items {
			var err error
			if out[i], err = describe(item, found); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	switch v := v.(type) {
	case *torch.Tensor:
		*found = true
		return metaOf(v)
	case []any:
		return list(v)
	case ir.PyTuple:
		return list(v)
	case *ir.PyObject:
		return list(v.Values)
	case *ir.PyDict:
		var values []any
		for _, item := range v.All() {
			values = append(values, item)
		}
		return list(values)
	}
	return v, nil
}

// metaOf returns what is known of a tensor. Sparse ones have no strides.
func metaOf(t *torch.Tensor) (ir.TensorMeta, error) {
	h, err := t.Handle()
	if err != nil {
		return ir.TensorMeta{}, err
	}
	info, err := h.Info()
	if err != nil {
		return ir.TensorMeta{}, err
	}
	meta := ir.TensorMeta{DType: info.DType, Device: info.Device, Layout: info.Layout, RequiresGrad: info.RequiresGrad, StorageOffset: ir.SizeOf(info.Offset)}
	for _, n := range info.Sizes {
		meta.Sizes = append(meta.Sizes, ir.SizeOf(n))
	}
	for _, n := range info.Strides {
		meta.Strides = append(meta.Strides, ir.SizeOf(n))
	}
	return meta, nil
}

// pythonType returns the qualified name of a value's Python type.
func pythonType(v any) string {
	switch v := v.(type) {
	case *torch.Tensor:
		return "torch.Tensor"
	case nil:
		return "builtins.NoneType"
	case int64:
		return "builtins.int"
	case float64:
		return "builtins.float"
	case bool:
		return "builtins.bool"
	case complex128:
		return "builtins.complex"
	case string:
		return "builtins.str"
	case []any:
		return "builtins.list"
	case ir.PyTuple:
		return "builtins.tuple"
	case *ir.PyDict:
		return "builtins.dict"
	case *ir.PyObject:
		return v.Type
	case *ir.GraphModule:
		return "torch.fx.graph_module." + v.ClassName()
	}
	return reflect.TypeOf(v).String()
}

// MemoryFormatOf returns the first of contiguous, channels last and channels last
// 3d that a strided tensor of known sizes has. ok is false where it has none.
func MemoryFormatOf(m ir.TensorMeta) (f ir.MemoryFormat, ok bool) {
	if m.Layout != ir.Strided || len(m.Strides) != len(m.Sizes) {
		return 0, false
	}
	plain := make([]int, len(m.Sizes))
	for i := range plain {
		plain[i] = len(plain) - 1 - i
	}
	switch {
	case dense(m, plain):
		return ir.ContiguousFormat, true
	case len(plain) == 4 && dense(m, []int{1, 3, 2, 0}):
		return ir.ChannelsLast, true
	case len(plain) == 5 && dense(m, []int{1, 4, 3, 2, 0}):
		return ir.ChannelsLast3D, true
	}
	return 0, false
}

// dense reports whether the elements lie without gaps, the dimensions from the
// innermost to the outermost as in order.
func dense(m ir.TensorMeta, order []int) bool {
	want := int64(1)
	for _, d := range order {
		size, known := m.Sizes[d].Known()
		stride, knownStride := m.Strides[d].Known()
		if !known || !knownStride || size != 1 && stride != want {
			return false
		}
		want *= size
	}
	return true
}
