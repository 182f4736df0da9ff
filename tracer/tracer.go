package tracer

import (
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Tracer runs models and functions and keeps what they call as a graph. It
// implements torch.Recorder and nn.Caller.
type Tracer struct {
	config config

	mu        sync.Mutex // a goroutine in a Forward must not damage memory
	graph     *ir.Graph
	ended     bool
	attrs     map[string]any           // what the graph's targets name
	params    map[string]*ir.Node      // get_attr nodes of parameters, by path
	values    map[string]*torch.Tensor // parameters of the root, by path
	tensors   map[*torch.Tensor]string // paths of the root's buffers and of constants
	constants int                      // of them, made by this trace
	stack     []ir.ModuleCall
	depth     atomic.Int32   // of the container that is being lowered
	calls     map[string]int // calls of each module path so far
	scopes    map[string]Scope
	taken     map[string]bool      // names of the root's own attributes
	paths     map[nn.Module]string // of the root's modules
	following *ir.Node             // whose provenance new nodes carry on; see Follow
	pass      string               // which makes them of it
}

// A Scope is the module whose Forward made a node.
type Scope struct {
	Path string // qualified name, "" for the root
	Type string // class, as nn.ClassName has it; "" for a function
}

// New returns a tracer. What is wrong with an option is an error of its traces.
func New(opts ...Option) *Tracer {
	t := &Tracer{}
	if t.config.fault = ir.CheckOptions("trace", opts); t.config.fault != nil {
		opts = nil
	}
	for _, o := range opts {
		o(&t.config)
	}
	if t.config.leaf == nil {
		t.config.leaf = DefaultIsLeaf
	}
	return t
}

// SymbolicTrace traces root, an nn.Module, a Go function or an *ir.GraphModule, and returns the
// graph with the attributes that it names: tensors and modules of root, and
// constants met on the way. Follows torch.fx.symbolic_trace.
func SymbolicTrace(root any, opts ...Option) (*ir.GraphModule, error) {
	t := New(opts...)
	g, err := t.Trace(root)
	if err != nil {
		return nil, err
	}
	return ir.NewGraphModule(t.attrs, g, ir.ClassName(className(root)))
}

// Trace runs root, an nn.Module, a Go function or an *ir.GraphModule, and returns its graph. An
// error of the model's code is an [*Error] with the source line; panics that are
// no *torch.Error are bugs and pass.
func (t *Tracer) Trace(root any) (*ir.Graph, error) {
	if t.config.fault != nil {
		return nil, t.config.fault
	}
	t.begin(ir.NewGraph())
	defer t.end()

	if gm, ok := root.(*ir.GraphModule); ok {
		return t.graph, t.retrace(gm)
	}
	call, signature, err := t.entry(root)
	if err != nil {
		return nil, err
	}
	_, isModule := root.(nn.Module)
	in, tree, err := t.arguments(call.Type(), signature.Params, isModule)
	if err != nil {
		return nil, err
	}
	out, err := t.run(call, in)
	if err != nil {
		return nil, err
	}
	returns := signature.Returns
	if tree != nil || slices.ContainsFunc(signature.Params, func(p nn.Param) bool { return p.KeywordOnly || starsOf(p.Name) != "" }) {
		returns = "" // torch.fx wraps such functions, and the wrapper has no annotation
	}
	return t.graph, t.output(out, returns, tree)
}

func (t *Tracer) begin(g *ir.Graph) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.graph, t.ended = g, false
	t.attrs, t.params, t.values = map[string]any{}, map[string]*ir.Node{}, map[string]*torch.Tensor{}
	t.tensors, t.constants = map[*torch.Tensor]string{}, 0
	t.stack, t.calls = nil, map[string]int{}
	t.scopes, t.taken, t.paths = map[string]Scope{}, map[string]bool{}, map[nn.Module]string{}
}

func (t *Tracer) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

// output ends the graph with what the traced code returned, of the annotated
// type: as it is, or as the leaves of its containers.
func (t *Tracer) output(out any, typ string, tree *ir.PyTreeCodeGen) error {
	return t.protect(func() {
		end := NodeSpec{Op: ir.Output, Target: ir.Path("output"), Type: typ}
		if tree == nil {
			end.Args = []ir.Arg{t.lower(out)}
			t.create(end)
			return
		}
		spec, leaves := flatten(out)
		tree.Out = spec
		end.Args = []ir.Arg{ir.ListOf(t.lowerAll(leaves)...)}
		t.create(end)
		t.graph.SetCodeGen(*tree)
	})
}

// Scopes returns for each node of the trace, by name, the module that made it.
func (t *Tracer) Scopes() map[string]Scope { return maps.Clone(t.scopes) }

// Calls returns how often each module was called, by path.
func (t *Tracer) Calls() map[string]int { return maps.Clone(t.calls) }

// entry finds the function to run and its signature. For a module this is a
// method of its shadow.
func (t *Tracer) entry(root any) (call reflect.Value, signature nn.Signature, err error) {
	signature = t.config.signature
	m, isModule := root.(nn.Module)
	if !isModule {
		call = reflect.ValueOf(root)
		if call.Kind() != reflect.Func || call.IsNil() {
			return call, signature, ir.Errorf(ir.ErrAssertion, "trace: expected an nn.Module, an *ir.GraphModule or a function, got %T", root)
		}
		return call, signature, nil
	}
	if reflect.ValueOf(m).IsNil() {
		return call, signature, ir.Errorf(ir.ErrAssertion, "trace: expected an nn.Module, got a nil %T", root)
	}
	shadow, err := t.shadow(m)
	if err != nil {
		return call, signature, err
	}
	if t.config.method != nil {
		f := reflect.ValueOf(t.config.method)
		if f.Kind() != reflect.Func || f.Type().NumIn() == 0 || f.Type().In(0) != reflect.TypeOf(m) {
			return call, signature, ir.Errorf(ir.ErrAssertion, "trace: expected a method expression of %T, got %T", m, t.config.method)
		}
		return bindReceiver(f, reflect.ValueOf(shadow)), signature, nil
	}
	call = nn.ForwardOf(shadow)
	if !call.IsValid() {
		return call, signature, ir.Errorf(ir.ErrAssertion, "trace: traced_func_name=Forward doesn't exist in %s", className(m))
	}
	if signature.Params == nil {
		signature, err = nn.SignatureOf(m)
	}
	return call, signature, err
}

// bindReceiver makes a method value of a method expression.
func bindReceiver(f, receiver reflect.Value) reflect.Value {
	ft := f.Type()
	in := make([]reflect.Type, ft.NumIn()-1)
	for i := range in {
		in[i] = ft.In(i + 1)
	}
	out := make([]reflect.Type, ft.NumOut())
	for i := range out {
		out[i] = ft.Out(i)
	}
	return reflect.MakeFunc(reflect.FuncOf(in, out, ft.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		args = append([]reflect.Value{receiver}, args...)
		if ft.IsVariadic() {
			return f.CallSlice(args)
		}
		return f.Call(args)
	})
}

// run calls the traced function; several results are a tuple.
func (t *Tracer) run(call reflect.Value, in []reflect.Value) (out any, err error) {
	var failed error
	err = t.protect(func() {
		var results []reflect.Value
		if call.Type().IsVariadic() {
			results = call.CallSlice(in)
		} else {
			results = call.Call(in)
		}
		out, failed = nn.Results(results)
	})
	if err == nil {
		err = failed
	}
	return out, err
}

// className is what torch.fx names the traced module after: the class, or the
// function.
func className(root any) string {
	if gm, ok := root.(*ir.GraphModule); ok {
		return gm.ClassName()
	}
	if m, ok := root.(nn.Module); ok {
		return reflect.TypeOf(m).Elem().Name()
	}
	f := runtime.FuncForPC(reflect.ValueOf(root).Pointer())
	if f == nil {
		return "GraphModule"
	}
	name := f.Name()
	name = name[strings.LastIndexByte(name, '.')+1:]
	if rest, closure := strings.CutPrefix(name, "func"); closure && strings.Trim(rest, "0123456789") == "" {
		return "<lambda>"
	}
	return strings.TrimSuffix(name, "-fm")
}
