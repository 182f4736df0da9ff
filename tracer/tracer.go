package tracer

import (
	"reflect"
	"runtime"
	"strings"
	"sync"

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
	calls     map[string]int // calls of each module path so far
	following *ir.Node       // whose provenance new nodes carry on; see Follow
}

// An Option changes how a Tracer traces.
type Option func(*config)

type config struct {
	leaf      func(m nn.Module, path string) bool
	concrete  map[string]any
	signature []nn.Param
	sigError  error
	method    any
	stacks    bool
	buffers   bool
}

// IsLeaf decides which modules stay one call_module node. Without it those of
// package nn do, containers excepted; see [DefaultIsLeaf].
func IsLeaf(f func(m nn.Module, path string) bool) Option {
	return func(c *config) { c.leaf = f }
}

// DefaultIsLeaf reports whether a module stays one node when [IsLeaf] is not
// given.
func DefaultIsLeaf(m nn.Module, path string) bool { return nn.IsLayer(m) }

// Concrete fixes arguments, by name, to values that the graph is specialised
// for. The argument stays a placeholder, and the graph checks it. [PH] leaves an
// argument symbolic.
func Concrete(args map[string]any) Option { return func(c *config) { c.concrete = args } }

// Signature gives the parameter list of a function in Python's notation:
// "x, y=None". Modules have theirs in a tag; see package nn.
func Signature(params string) Option {
	return func(c *config) { c.signature, c.sigError = nn.ParseParameters(params) }
}

// Method traces another method of a module than Forward, given as a method
// expression: Method((*Model).Encode).
func Method(f any) Option { return func(c *config) { c.method = f } }

// RecordStackTraces notes the Go frames of each call in the node's meta.
func RecordStackTraces() Option { return func(c *config) { c.stacks = true } }

// ProxyBuffers makes buffers stand for nodes, as parameters do. Without it they
// are real tensors: what is computed from buffers alone becomes a constant.
func ProxyBuffers() Option { return func(c *config) { c.buffers = true } }

// New returns a tracer.
func New(opts ...Option) *Tracer {
	t := &Tracer{}
	for _, o := range opts {
		o(&t.config)
	}
	if t.config.leaf == nil {
		t.config.leaf = DefaultIsLeaf
	}
	return t
}

// SymbolicTrace traces root, an nn.Module or a Go function, and returns the
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

// Trace runs root, an nn.Module or a Go function, and returns its graph. An
// error of the model's code is an [*Error] with the source line; panics that are
// no *torch.Error are bugs and pass.
func (t *Tracer) Trace(root any) (*ir.Graph, error) {
	if t.config.sigError != nil {
		return nil, t.config.sigError
	}
	t.graph, t.ended = ir.NewGraph(), false
	t.attrs, t.params, t.values = map[string]any{}, map[string]*ir.Node{}, map[string]*torch.Tensor{}
	t.tensors, t.constants = map[*torch.Tensor]string{}, 0
	t.stack, t.calls = nil, map[string]int{}
	defer func() { t.ended = true }()

	call, params, err := t.entry(root)
	if err != nil {
		return nil, err
	}
	in, err := t.arguments(call.Type(), params)
	if err != nil {
		return nil, err
	}
	out, err := t.run(call, in)
	if err != nil {
		return nil, err
	}
	if err := t.protect(func() {
		result := t.lower(out)
		t.graph.Output(result)
	}); err != nil {
		return nil, err
	}
	return t.graph, nil
}

// entry finds the function to run and its parameters. For a module this is a
// method of its shadow.
func (t *Tracer) entry(root any) (call reflect.Value, params []nn.Param, err error) {
	params = t.config.signature
	m, isModule := root.(nn.Module)
	if !isModule {
		call = reflect.ValueOf(root)
		if call.Kind() != reflect.Func || call.IsNil() {
			return call, nil, ir.Errorf(ir.ErrAssertion, "trace: expected an nn.Module or a function, got %T", root)
		}
		return call, params, nil
	}
	shadow, err := t.shadow(m)
	if err != nil {
		return call, nil, err
	}
	if t.config.method != nil {
		f := reflect.ValueOf(t.config.method)
		if f.Kind() != reflect.Func || f.Type().NumIn() == 0 || f.Type().In(0) != reflect.TypeOf(m) {
			return call, nil, ir.Errorf(ir.ErrAssertion, "trace: expected a method expression of %T, got %T", m, t.config.method)
		}
		return bindReceiver(f, reflect.ValueOf(shadow)), params, nil
	}
	call = reflect.ValueOf(shadow).MethodByName("Forward")
	if !call.IsValid() {
		return call, nil, ir.Errorf(ir.ErrAssertion, "trace: traced_func_name='Forward' doesn't exist in %T", m)
	}
	if params == nil {
		params, err = nn.Parameters(m)
	}
	return call, params, err
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
	err = t.protect(func() {
		results := call.Call(in)
		switch len(results) {
		case 0:
		case 1:
			out = results[0].Interface()
		default:
			tuple := make(ir.PyTuple, len(results))
			for i, r := range results {
				tuple[i] = r.Interface()
			}
			out = tuple
		}
	})
	return out, err
}

// className is what torch.fx names the traced module after: the class, or the
// function.
func className(root any) string {
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
