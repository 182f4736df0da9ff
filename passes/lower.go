package passes

import (
	"context"
	"maps"
	"slices"
	"sort"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// A LowerOption changes what [Lower] lowers to.
type LowerOption func(*lowering)

// ToLeaves lowers to what operators bottom out in, addmm for linear, as make_fx
// does. Default: composite operators stay whole, as torch.export leaves them.
func ToLeaves() LowerOption { return func(l *lowering) { l.leaf = true } }

// Dynamic keeps sizes of inputs as symbols, see [tracer.Recording]. The inputs of a
// [tracer.Dim] are the placeholders.
func Dynamic(dims ...tracer.Dim) LowerOption {
	return func(l *lowering) { l.dynamic = append(l.dynamic, dims...) }
}

// Lower returns a graph of ATen overloads that does what m does: calls of torch
// functions, of methods, of layers and of graph modules are replaced by the
// operators that they make, by running m on args and recording these, see
// [tracer.Recording]. It is what a traced model needs before it can be written as
// a .pt2 file. m is left as it was; both share their tensors.
//
// args are the values of the placeholders, in order. nil takes tensors as the
// placeholders' meta describes them, under [ir.MetaVal] or [ir.MetaTensorMeta]. Where
// one of args is on the device meta the run is without elements: nothing is computed,
// the tensors of m are taken without elements, too, and the operators are those that
// m's device would see, see [tracer.Recording.Record]. All sizes are fixed to those
// of args, as with torch.fx.experimental.proxy_tensor.make_fx, but for those of [Dynamic].
//
// Each new node has, under [ir.MetaVal], what its value is; the meta of the node
// whose call made it (stack trace, module stack, …); and under [ir.MetaFromNode] that
// node as one more [ir.NodeSource].
//
// Higher-order operators choose by values which of their graphs they run; a graph
// with one is refused with an error of class ir.ErrUnsupported.
func Lower(ctx context.Context, m *ir.GraphModule, args []any, opts ...LowerOption) (*ir.GraphModule, error) {
	if err := given("lower", m, opts); err != nil {
		return nil, err
	}
	l := &lowering{
		module: m, state: map[string]*torch.Tensor{}, real: map[string]*torch.Tensor{},
		prop: &shapeProp{graph: m.Graph(), tensors: map[*torch.Tensor]*torch.Tensor{}, modules: map[nn.Module]nn.Module{}},
	}
	defer l.prop.close()
	for _, o := range opts {
		o(l)
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	args, err := l.arguments(args)
	if err != nil {
		return nil, err
	}
	if err := l.tensors("", m); err != nil {
		return nil, err
	}
	return l.record(ctx, args)
}

type lowering struct {
	module  *ir.GraphModule
	leaf    bool
	dynamic []tracer.Dim
	prop    *shapeProp
	state   map[string]*torch.Tensor // what the run uses, by path
	real    map[string]*torch.Tensor // what m has there
	spans   []span
	noted   bool // by the first run
}

// A span is which of the recorded operators a node has called: those before end
// that no earlier span has.
type span struct {
	node *ir.Node
	end  int
}

func (l *lowering) check() error {
	for n := range l.module.Graph().Nodes() {
		if f := n.Func(); f != nil && f.Kind() == ir.HigherOrder {
			return ir.Errorf(ir.ErrUnsupported, "lower: node %s: expected a graph without higher-order operators, got %s", n, f)
		}
	}
	return nil
}

// arguments returns the values to run on, and switches to tensors without elements
// where there is one.
func (l *lowering) arguments(args []any) ([]any, error) {
	inputs := l.module.Graph().Find(ir.Placeholder, nil)
	if args == nil {
		for _, n := range inputs {
			t, err := l.described(n)
			if err != nil {
				return nil, err
			}
			args = append(args, t)
		}
	}
	if len(args) != len(inputs) {
		return nil, ir.Errorf(ir.ErrValue, "lower: expected %d values, one for each placeholder, got %d", len(inputs), len(args))
	}
	for _, a := range args {
		_, err := mapTensors(a, func(t *torch.Tensor) (*torch.Tensor, error) {
			l.prop.onMeta = l.prop.onMeta || t != nil && t.Device().Kind() == ir.DeviceMeta
			return t, nil
		})
		if err != nil {
			return nil, err
		}
	}
	if !l.prop.onMeta {
		return args, nil
	}
	bare := make([]any, len(args))
	for i, a := range args {
		var err error
		if bare[i], err = l.prop.bare(a); err != nil {
			return nil, err
		}
	}
	return bare, nil
}

// described makes the tensor that a placeholder's meta describes.
func (l *lowering) described(n *ir.Node) (*torch.Tensor, error) {
	for _, key := range []string{ir.MetaVal, ir.MetaTensorMeta} {
		meta, ok := n.Meta().Get(key).(ir.TensorMeta)
		if !ok {
			continue
		}
		v, err := torch.Call("aten::empty_strided", hints(meta.Sizes), hints(meta.Strides),
			torch.Kw("dtype", meta.DType), torch.Kw("device", ir.NewDevice(ir.DeviceMeta, -1)))
		if err != nil {
			return nil, err
		}
		t := v.(*torch.Tensor)
		l.prop.tensors[t] = t // it needs no other, and is closed with them
		return t, nil
	}
	return nil, ir.Errorf(ir.ErrMissing, "lower: placeholder %s: expected meta that describes a tensor, got none; give the arguments", n)
}

func hints(sizes []ir.Size) []int {
	out := make([]int, len(sizes))
	for i, s := range sizes {
		out[i] = int(s.Hint())
	}
	return out
}

// tensors collects the tensors of m and of what it holds, by path, without their
// elements where the run is without.
func (l *lowering) tensors(prefix string, m *ir.GraphModule) error {
	for path, v := range m.Attrs() {
		switch path = prefix + path; v := v.(type) {
		case *torch.Tensor:
			used, err := l.used(v)
			if err != nil {
				return err
			}
			l.state[path], l.real[path] = used.(*torch.Tensor), v
		case nn.Module:
			run := v
			if l.prop.onMeta {
				var err error
				if run, err = l.prop.bareModule(v); err != nil {
					return err
				}
			}
			for t := range nn.Tensors(run) {
				l.state[path+"."+t.Name] = t.Tensor
			}
			for t := range nn.Tensors(v) {
				l.real[path+"."+t.Name] = t.Tensor
			}
		case *ir.GraphModule:
			if err := l.tensors(path+".", v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lowering) used(t *torch.Tensor) (any, error) {
	if l.prop.onMeta {
		return l.prop.bare(t)
	}
	return t, nil
}

func (l *lowering) record(ctx context.Context, args []any) (*ir.GraphModule, error) {
	g := l.module.Graph()
	r := tracer.Recording{Leaf: l.leaf, State: l.state, Dynamic: l.dynamic, Device: l.realDevice(), OnOperator: l.annotate}
	for _, n := range g.Find(ir.Placeholder, nil) {
		r.Names = append(r.Names, n.Target().String())
	}
	run := interpreter.New(l.module, interpreter.InSubgraphs(), interpreter.WithHandler(interpreter.Around(shapeHandler{prop: l.prop}, l.note)))
	lowered, err := r.Record(func(values ...any) (any, error) {
		defer func() { l.noted = true }()
		return run.RunWith(ctx, interpreter.Options{RawIO: true}, values...)
	}, args...)
	if err != nil {
		return nil, err
	}
	for path := range l.state {
		if _, uses := lowered.Attr(path); uses {
			lowered.SetAttr(path, l.real[path])
		}
	}
	if tree, ok := g.CodeGen().(ir.PyTreeCodeGen); ok {
		lowered.Graph().SetCodeGen(tree)
	}
	return lowered, nil
}

// realDevice is that of the module's tensors, and the CPU without any.
func (l *lowering) realDevice() ir.Device {
	for _, path := range slices.Sorted(maps.Keys(l.real)) {
		if d := l.real[path].Device(); d.Kind() != ir.DeviceMeta {
			return d
		}
	}
	return ir.NewDevice(ir.DeviceCPU, -1)
}

// note remembers how many operators there were when a node was done.
func (l *lowering) note(_ *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
	v, err := run()
	if done, ok := libtorch.RecordedSoFar(); ok && err == nil && !l.noted && n.Graph() == l.module.Graph() {
		l.spans = append(l.spans, span{n, done})
	}
	return v, err
}

// annotate gives a new node what the node that made it has.
func (l *lowering) annotate(n *ir.Node, index int) {
	i := sort.Search(len(l.spans), func(i int) bool { return l.spans[i].end > index })
	if i == len(l.spans) {
		return
	}
	from := l.spans[i].node
	for key, v := range from.Meta().All() {
		switch key {
		case ir.MetaVal, ir.MetaTensorMeta, ir.MetaExampleValue, MetaType, ir.MetaFromNode, ir.MetaBoxedArgs, ir.MetaDesc:
		default:
			n.Meta().Set(key, v)
		}
	}
	n.Meta().Set(ir.MetaFromNode, []ir.NodeSource{ir.NewNodeSource(from, l.module.ClassName(), "Lower", ir.SourceCreate)})
}
