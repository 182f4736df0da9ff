package script

import (
	"fmt"
	"slices"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Translate returns the code of a method, usually "forward", as a graph, without
// running it: calls are inlined, attributes that are no tensors are constants, and what
// depends on constants alone is computed. Parameters and buffers keep their names and
// share the program's memory; arguments are placeholders with their defaults, but for
// those given in fixed, which are constants too.
//
// Conditions and loops on values that a run computes become torch.ops.higher_order.cond
// and while_loop with all that they read as operands; loops with a constant number of
// rounds are unrolled while they are short. A branch that raises becomes an assertion.
// In-place operators stay what they are.
//
// What has no place in a graph, such as attributes that the code sets, lists that grow
// inside such a loop, or prints, is an [ir.ErrUnsupported] that names the operation and
// its line; [Module.Graph] records a run of these.
func (m *Module) Translate(method string, fixed ...torch.Kwarg) (*ir.GraphModule, error) {
	g, err := m.script.Graph(method)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	t := &translator{values: map[int64]any{}, unset: map[int64]bool{}, types: map[int64]string{}, tensors: map[string]*ir.Node{}, numbers: map[*ir.Node]any{}, optional: map[*ir.Node]bool{}, dtypes: map[*ir.Node]bool{}}
	t.root = t.newFrame(nil)
	gm, err := t.method(m.script.Method(method), g, fixed)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", m.path, method, err)
	}
	return gm, nil
}

// A translator turns the code of one method into graphs. It runs the code with nodes in
// the place of what only a run knows.
type translator struct {
	root     *frame
	values   map[int64]any       // by number: see values.go
	unset    map[int64]bool      // those that a branch may leave without a value
	tensors  map[string]*ir.Node // get_attr nodes by path, in the graph of root
	numbers  map[*ir.Node]any    // what tensors that are made of a number were made of
	dtypes   map[*ir.Node]bool   // nodes that read a dtype, which TorchScript takes for a number
	types    map[int64]string    // of all values, as TorchScript writes them
	optional map[*ir.Node]bool   // nodes whose value may be None
	steps    int                 // operations so far
}

// maxSteps bounds the work: code may nest loops that are unrolled.
const maxSteps = 200_000

// A frame is a graph that is being made.
type frame struct {
	parent   *frame
	graph    *ir.Graph
	attrs    map[string]any
	operands []*ir.Node            // of frames outside, in the order of their placeholders
	lifted   map[*ir.Node]*ir.Node // and these
	inputs   []*ir.Node            // the placeholders that are no operands
}

func (t *translator) newFrame(parent *frame) *frame {
	return &frame{parent: parent, graph: ir.NewGraph(), attrs: map[string]any{}, lifted: map[*ir.Node]*ir.Node{}}
}

// local returns what n is in the frame: itself, or the placeholder through which it
// comes in.
func (f *frame) local(n *ir.Node) *ir.Node {
	if n.Graph() == f.graph {
		return n
	}
	p := f.lifted[n]
	if p == nil {
		p = f.placeholder(n.Name())
		f.lifted[n] = p
		f.operands = append(f.operands, n)
	}
	return p
}

// placeholder appends an input whose parameter has a name of its own.
func (f *frame) placeholder(name string) *ir.Node {
	free := name
	for i := 1; f.graph.Lookup(free) != nil || len(f.graph.Find(ir.Placeholder, ir.Path(free))) > 0; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	return f.graph.Placeholder(free)
}

func (f *frame) localize(a ir.Arg) ir.Arg {
	return ir.MapNodes(a, func(n *ir.Node) ir.Arg { return f.local(n) })
}

// mayBeNone reports whether a run may give None for a value.
func (t *translator) mayBeNone(v any) bool {
	if n, ok := v.(*ir.Node); ok {
		return t.optional[n]
	}
	_, none := v.(ir.None)
	return none
}

// call appends a call.
func (f *frame) call(name string, args ...ir.Arg) *ir.Node {
	return f.callKw(ir.FuncOf(name), args, nil)
}

func (f *frame) callKw(fn *ir.Func, args []ir.Arg, kw []ir.Keyword) *ir.Node {
	for i, a := range args {
		args[i] = f.localize(a)
	}
	for i, k := range kw {
		kw[i] = ir.Kw(k.Name, f.localize(k.Value))
	}
	return f.graph.CallFunction(fn, args, ir.Kwargs(kw...), ir.Name(fn.Packet()))
}

// module ends the frame: inputs come first, then the operands.
func (f *frame) module() (*ir.GraphModule, error) {
	order := slices.Clone(f.inputs)
	for _, n := range f.operands {
		order = append(order, f.lifted[n])
	}
	for i := len(order) - 1; i >= 0; i-- {
		for first := range f.graph.Nodes() {
			if first != order[i] {
				if err := first.Prepend(order[i]); err != nil {
					return nil, err
				}
			}
			break
		}
	}
	return ir.NewGraphModule(f.attrs, f.graph)
}

// add puts a module under a free name of the frame and returns the node that reads it.
func (f *frame) add(name string, m *ir.GraphModule) *ir.Node {
	for i := 0; ; i++ {
		path := fmt.Sprintf("%s_%d", name, i)
		if _, taken := f.attrs[path]; !taken {
			f.attrs[path] = m
			return f.graph.GetAttr(path)
		}
	}
}

// tensor returns the node that reads a tensor of the program.
func (t *translator) tensor(path string, handle *libtorch.Tensor) *ir.Node {
	if n := t.tensors[path]; n != nil {
		return n
	}
	n := t.root.graph.GetAttr(path)
	t.tensors[path] = n
	t.root.attrs[path] = torch.FromHandle(handle)
	return n
}

func (t *translator) method(m *libtorch.ScriptMethod, g *libtorch.ScriptGraph, fixed []torch.Kwarg) (*ir.GraphModule, error) {
	given := map[string]any{}
	for _, k := range fixed {
		if !slices.ContainsFunc(m.Args, func(a libtorch.ScriptArg) bool { return a.Name == k.Name }) {
			return nil, ir.Errorf(ir.ErrType, "unexpected keyword argument %s", k.Name)
		}
		given[k.Name] = k.Value
	}
	t.survey(g.Body)
	for i, in := range g.Body.Inputs[1:] {
		a := m.Args[i]
		if v, ok := given[a.Name]; ok {
			c, err := constant(v, a.TypeText)
			if err != nil {
				return nil, fmt.Errorf("argument %s: %w", a.Name, err)
			}
			t.values[in.ID] = c
			continue
		}
		var opts []ir.NodeOption
		if d := g.Defaults[i]; d.Given {
			c, err := constant(d.Value, a.TypeText)
			if err == nil {
				var arg ir.Arg
				if arg, err = t.arg(t.root, c); err == nil {
					opts = append(opts, ir.Default(arg))
				}
			}
			if err != nil {
				return nil, fmt.Errorf("argument %s: default: %w", a.Name, err)
			}
		}
		p := t.root.graph.Placeholder(a.Name, opts...)
		t.optional[p] = strings.HasSuffix(a.TypeText, "?") || strings.HasPrefix(a.TypeText, "Optional")
		t.values[in.ID] = p
	}
	t.values[g.Body.Inputs[0].ID] = moduleValue{}
	results, err := t.block(t.root, g.Body)
	if err != nil {
		return nil, err
	}
	result := ir.Arg(ir.None{})
	if len(results) == 1 {
		if result, err = t.arg(t.root, results[0]); err != nil {
			return nil, err
		}
	}
	t.root.graph.Output(t.root.localize(result))
	gm, err := t.root.module()
	if err != nil {
		return nil, err
	}
	if _, err := gm.Graph().EliminateDeadCode(); err != nil {
		return nil, err
	}
	return pruned(gm)
}

// pruned leaves out the attributes that no node reads.
func pruned(gm *ir.GraphModule) (*ir.GraphModule, error) {
	used := map[string]any{}
	for _, n := range gm.Graph().Find(ir.GetAttr, nil) {
		path := n.Target().String()
		used[path], _ = gm.Attr(path)
	}
	for path := range gm.Attrs() {
		if _, ok := used[path]; !ok {
			defer gm.DeleteAttr(path)
		}
	}
	return gm, gm.Graph().Lint()
}

// survey notes the types of all values, and which a branch may leave without one, as
// code does that returns or raises early.
func (t *translator) survey(b *libtorch.ScriptBlock) {
	for _, in := range b.Inputs {
		t.types[in.ID] = in.Type
	}
	for _, n := range b.Nodes {
		for _, out := range n.Outputs {
			t.types[out.ID] = out.Type
		}
		for _, inner := range n.Blocks {
			t.survey(inner)
		}
		switch n.Kind {
		case "prim::Uninitialized":
			t.unset[n.Outputs[0].ID] = true
		case "prim::If":
			for i, out := range n.Outputs {
				t.unset[out.ID] = t.unset[n.Blocks[0].Results[i]] || t.unset[n.Blocks[1].Results[i]]
			}
		}
	}
}

// block translates a whole block.
func (t *translator) block(f *frame, b *libtorch.ScriptBlock) ([]any, error) {
	return t.rest(f, b.Nodes, b.Results)
}

// rest translates nodes and returns the values of results. A condition that may leave a
// value unset takes the nodes after it into its branches, where they know which it was.
func (t *translator) rest(f *frame, nodes []*libtorch.ScriptNode, results []int64) ([]any, error) {
	for i, n := range nodes {
		if t.steps++; t.steps > maxSteps {
			return nil, t.refuse(n, "it takes more than %d operations to unroll", maxSteps)
		}
		if n.Kind == "prim::If" && slices.ContainsFunc(n.Outputs, func(v libtorch.ScriptValue) bool { return t.unset[v.ID] }) {
			return t.condition(f, n, nodes[i+1:], results)
		}
		if err := t.node(f, n); err != nil {
			return nil, err
		}
	}
	out := make([]any, len(results))
	for i, id := range results {
		out[i] = t.values[id]
	}
	return out, nil
}

// refuse says that a node has no place in a graph, where it is, and what to do.
func (t *translator) refuse(n *libtorch.ScriptNode, format string, args ...any) error {
	where := ""
	if n.Source != "" {
		where = " at " + n.Source
	}
	return ir.Errorf(ir.ErrUnsupported, "%s%s: %s; record a run instead, or export the model with torch.export", operatorName(n), where, fmt.Sprintf(format, args...))
}

// about adds to an error which node it is of.
func about(n *libtorch.ScriptNode, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), operatorName(n)) {
		return err
	}
	if n.Source == "" {
		return fmt.Errorf("%s: %w", operatorName(n), err)
	}
	return fmt.Errorf("%s at %s: %w", operatorName(n), n.Source, err)
}

func operatorName(n *libtorch.ScriptNode) string {
	return strings.TrimSuffix(n.Kind+"."+n.Overload, ".")
}
