package export

import (
	"errors"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// graphModuleFunc is what makes a GraphModule of its state and its imports, in
// torch/fx/graph_module.py.
const graphModuleFunc = "torch.fx.graph_module.reduce_graph_module"

// ModuleClasses takes the classes that whole modules are made of, for [Classes].
// They become data, from which [Saved.Module] makes a module.
func ModuleClasses(name string) bool {
	for _, prefix := range []string{"torch.fx.", "torch.nn.", "torch._C._nn.", "torch.utils._pytree.", "builtins.", "collections.", "typing.", "operator.", "_operator.", "math."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Module returns the module that was saved whole, by torch.save(module, file),
// in a file that was opened with Classes(ModuleClasses):
//
//   - of a torch.fx.GraphModule an *[ir.GraphModule]. Its graph is read from the
//     code in the file, which is parsed and never executed; opts tell what code
//     does not say. The attributes are *[Tensor], *[SavedModule] and
//     *[ir.GraphModule];
//   - of a module of torch.nn a *[SavedModule]. Its arguments are the attributes
//     that the module keeps under the names of its constructor's parameters.
//
// Modules of other classes, which are Python code, fail with [ir.ErrUnsupported];
// the error names each. Hooks are not kept, and Warnings says where there were
// some.
func (s *Saved) Module(opts ...ir.ParseOption) (any, error) {
	i, ok := s.Value.(*Instance)
	if !ok {
		return nil, ir.Errorf(ir.ErrType, "module: expected a module that was saved whole, got %s; StateDict reads its tensors", pyTypeName(s.Value))
	}
	r := newSavedReader(opts)
	m := r.module(i, "")
	s.Warnings = append(s.Warnings, r.f.warnings...)
	return m, r.f.join()
}

// A savedReader makes modules of instances.
type savedReader struct {
	opts   []ir.ParseOption
	seen   map[*Instance]any                // what was made of it: nil after a fault, underway until then
	weight map[any]int                      // modules at and below a module
	graphs map[*ir.GraphModule]*SavedModule // what stands for a graph module in a module of torch.nn
	f      faults
	depth  int
}

func newSavedReader(opts []ir.ParseOption) *savedReader {
	return &savedReader{opts: opts, seen: map[*Instance]any{}, weight: map[any]int{}, graphs: map[*ir.GraphModule]*SavedModule{}}
}

type underway struct{}

// maxModules bounds the modules of a tree: one that is shared counts again, as
// whoever walks the tree will see it again.
const maxModules = 1 << 16

// module makes a module, nil after a fault.
func (r *savedReader) module(i *Instance, path string) any {
	if m, ok := r.seen[i]; ok {
		if m == (underway{}) {
			r.f.add(ir.ErrFormat, "module %s: holds itself", clip(path))
			return nil
		}
		return m
	}
	if r.depth++; r.depth > maxReprDepth {
		r.f.add(ir.ErrFormat, "module %s: expected modules nested at most %d deep", clip(path), maxReprDepth)
		return nil
	}
	defer func() { r.depth-- }()
	r.seen[i] = underway{}
	var m any
	switch {
	case i.Class == graphModuleFunc:
		if g := r.graphModule(i, path); g != nil {
			m = g
		}
	case strings.HasPrefix(i.Class, "torch.nn.modules."):
		m = r.layer(i, path)
	default:
		r.f.add(ir.ErrUnsupported, "module %s: is of class %s, which is Python code; in Python, export the whole with torch.export.export, "+
			"or trace it with torch.fx.symbolic_trace, and save that; or save its state_dict()", pathOrRoot(path), clip(i.Class))
	}
	if m != nil {
		r.weight[m] = r.weigh(m)
		if r.weight[m] > maxModules {
			r.f.add(ir.ErrFormat, "module %s: expected at most %d modules, got more", pathOrRoot(path), maxModules)
			m = nil
		}
	}
	r.seen[i] = m
	return m
}

func (r *savedReader) weigh(m any) int {
	n := 1
	switch m := m.(type) {
	case *SavedModule:
		for _, c := range m.Children {
			if c.Graph != nil {
				n += r.weight[c.Graph]
			} else {
				n += r.weight[c]
			}
		}
	case *ir.GraphModule:
		for _, v := range m.Attrs() {
			n += r.weight[v]
		}
	}
	return n
}

func pathOrRoot(path string) string {
	if path == "" {
		return "itself"
	}
	return clip(path)
}

// entry returns an entry of a dict as a dict; an empty one where it is not there.
func entry(d *ir.PyDict, key string) *ir.PyDict {
	v, _ := d.Get(key)
	if sub, ok := v.(*ir.PyDict); ok {
		return sub
	}
	return &ir.PyDict{}
}

// parts yields tensors and modules of a module's state.
func (r *savedReader) parts(state *ir.PyDict, path string, tensor func(name string, t *Tensor), module func(name string, m any)) {
	below := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	for _, group := range []string{"_parameters", "_buffers"} {
		for key, v := range entry(state, group).All() {
			name, _ := key.(string)
			switch v := v.(type) {
			case nil:
			case *Tensor:
				tensor(name, v.as(group == "_parameters"))
			default:
				r.f.add(ir.ErrUnsupported, "module %s: %s is %s, not a tensor", pathOrRoot(path), below(name), pyTypeName(v))
			}
		}
	}
	for key, v := range entry(state, "_modules").All() {
		name, _ := key.(string)
		switch v := v.(type) {
		case nil:
		case *Instance:
			if m := r.module(v, below(name)); m != nil {
				module(name, m)
			}
		default:
			r.f.add(ir.ErrFormat, "module %s: expected a module, got %s", below(name), pyTypeName(v))
		}
	}
	for _, hooks := range []string{"_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"} {
		if entry(state, hooks).Len() > 0 {
			r.f.warn("module %s: its %s are not kept", pathOrRoot(path), strings.TrimPrefix(hooks, "_"))
		}
	}
}

// graphModule makes the module of reduce_graph_module(state, imports).
func (r *savedReader) graphModule(i *Instance, path string) *ir.GraphModule {
	var state *ir.PyDict
	var code, imports string
	if len(i.Args) == 2 {
		state, _ = i.Args[0].(*ir.PyDict)
		imports, _ = i.Args[1].(string)
	}
	if state != nil {
		v, ok := state.Get("_code")
		if !ok {
			v, _ = state.Get("code")
		}
		code, _ = v.(string)
	}
	if code == "" {
		r.f.add(ir.ErrFormat, "module %s: expected a GraphModule with its code, got none", pathOrRoot(path))
		return nil
	}
	graph, err := ir.ParseCode(imports+"\n"+code, r.opts...)
	if err != nil {
		r.f.add(ir.ClassOf(err), "module %s: %w", pathOrRoot(path), err)
		return nil
	}
	traces := entry(state, "_graphmodule_graph_node_meta_stack_trace")
	for n := range graph.Nodes() {
		if v, _ := traces.Get(n.Name()); v != nil {
			if text, ok := v.(string); ok {
				n.Meta().Set(ir.MetaStackTrace, text)
			}
		}
	}
	attrs := map[string]any{}
	var order []string
	put := func(name string, v any) {
		if _, dup := attrs[name]; !dup {
			order = append(order, name)
		}
		attrs[name] = v
	}
	r.parts(state, path, func(name string, t *Tensor) { put(name, t) }, put)
	for key, v := range state.All() {
		if t, ok := v.(*Tensor); ok {
			if name, ok := key.(string); ok {
				put(name, t)
			}
		}
	}
	class := "GraphModule"
	if v, _ := state.Get("_graphmodule_cls_name"); v != nil {
		if text, ok := v.(string); ok && isIdentifier(text) {
			class = text
		}
	}
	m, err := ir.NewGraphModule(attrs, graph, ir.ClassName(class), ir.AttrOrder(order...))
	if err != nil {
		r.f.add(ir.ClassOf(err), "module %s: %w", pathOrRoot(path), err)
		return nil
	}
	r.graphs[m] = graphChild(m, r.graphs)
	return m
}

// graphChild returns what stands for a graph module, whose attributes have names
// without dots, among the modules of a folder. known has that of modules met
// before.
func graphChild(m *ir.GraphModule, known map[*ir.GraphModule]*SavedModule) *SavedModule {
	if c := known[m]; c != nil {
		return c
	}
	c := &SavedModule{Class: m.ClassName(), Graph: m, graph: m.Graph()}
	for name, v := range m.Attrs() {
		switch v := v.(type) {
		case *Tensor:
			c.setTensor(name, v)
		case *SavedModule:
			c.add(name, v)
		case *ir.GraphModule:
			c.add(name, graphChild(v, known))
		}
	}
	return c
}

// noParameter are attributes of layers that are no parameters of their
// constructors, although no underscore says so.
var noParameter = words("training transposed mode name head_dim bias_k bias_v activation_relu_or_gelu all_weights call_super_init dump_patches T_destination " +
	"shortlist_size n_clusters head_size use_nested_tensor")

// layer makes the description of a module of torch.nn.
func (r *savedReader) layer(i *Instance, path string) *SavedModule {
	m := &SavedModule{Class: i.Class[strings.LastIndexByte(i.Class, '.')+1:], Whole: true}
	state, ok := i.State.(*ir.PyDict)
	if !ok {
		r.f.add(ir.ErrFormat, "module %s: expected the state of a %s as a dict, got %s", pathOrRoot(path), clip(i.Class), pyTypeName(i.State))
		return m
	}
	for key, v := range state.All() {
		name, _ := key.(string)
		if name == "" || name[0] == '_' || noParameter[name] && !(name == "mode" && (m.Class == "Upsample" || m.Class == "EmbeddingBag")) {
			continue
		}
		if name == "output_padding" && !strings.Contains(m.Class, "Transpose") || name == "proj_size" && m.Class != "LSTM" {
			continue
		}
		if a, err := argOf(v, 0); err == nil {
			m.Args = append(m.Args, SavedArg{Name: name, Text: ir.Repr(a), Value: a})
		}
	}
	if bias, ok := entry(state, "_parameters").Get("bias"); ok && biasIsArgument(state) {
		a := ir.Bool(bias != nil)
		m.Args = append(m.Args, SavedArg{Name: "bias", Text: ir.Repr(a), Value: a})
	}
	v, _ := state.Get("training")
	training, _ := v.(bool)
	m.Eval = !training
	r.parts(state, path, m.setTensor, func(name string, child any) {
		switch c := child.(type) {
		case *SavedModule:
			m.add(name, c)
		case *ir.GraphModule:
			m.add(name, r.graphs[c])
		}
	})
	m.constructorOfParts(state)
	return m
}

// biasIsArgument tells the layers whose constructors take bias: linear ones,
// convolutions and layer norms.
func biasIsArgument(state *ir.PyDict) bool {
	for _, name := range []string{"in_features", "in1_features", "in_channels", "normalized_shape"} {
		if _, ok := state.Get(name); ok {
			return true
		}
	}
	return false
}

var errNoLiteral = errors.New("no literal")

// argOf makes a literal of a plain value.
func argOf(v any, depth int) (ir.Arg, error) {
	if depth > 8 {
		return nil, errNoLiteral
	}
	list := func(items []any) ([]ir.Arg, error) {
		out := make([]ir.Arg, len(items))
		for i, item := range items {
			var err error
			if out[i], err = argOf(item, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	switch v := v.(type) {
	case nil:
		return ir.None{}, nil
	case bool:
		return ir.Bool(v), nil
	case int64:
		return ir.Int(v), nil
	case float64:
		return ir.Float(v), nil
	case string:
		return ir.Str(v), nil
	case ir.DType:
		return v, nil
	case ir.PyTuple:
		items, err := list(v)
		return ir.TupleOf(items...), err
	case []any:
		items, err := list(v)
		return ir.ListOf(items...), err
	}
	return nil, errNoLiteral
}
