package interpreter

import (
	"context"
	"maps"
	"strings"
	"sync/atomic"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Run is one execution of one graph, as the steps of a [Handler] see it. It
// belongs to the goroutine that runs it and ends with the run; a handler must
// not keep it.
type Run struct {
	in       *Interpreter
	ctx      context.Context
	module   *ir.GraphModule
	graph    *ir.Graph
	schedule *schedule
	*frame
	handler Handler
	mode    libtorch.Mode
	args    []any // what the placeholders take
	next    int   // the next of args
	boxed   bool  // args are the run's own
	inner   bool  // of a graph that another run entered
	env     map[*ir.Node]any
	node    *ir.Node // the current one
}

// begin prepares a run of g.
func (in *Interpreter) begin(ctx context.Context, module *ir.GraphModule, g *ir.Graph, args []any) *Run {
	s := in.schedule(g)
	f := s.frames.Get().(*frame)
	for _, v := range s.literals {
		f.owners.lend(v)
	}
	return &Run{in: in, ctx: ctx, module: module, graph: g, schedule: s, frame: f,
		handler: in.handler, mode: in.mode, args: args}
}

// finish executes the run and returns what the caller owns. The frame goes back
// to its pool, and everything that the run still owns is closed.
func (r *Run) finish() (any, error) {
	defer r.leave()
	for _, v := range r.env {
		r.owners.lend(v)
	}
	out, err := r.execute()
	if err != nil {
		return nil, err
	}
	if !r.in.keep || r.env == nil {
		return r.owners.handOver(out)
	}
	return r.fill(out)
}

// leave gives the frame back to its pool.
func (r *Run) leave() {
	r.frame.reset()
	r.schedule.frames.Put(r.frame)
}

// fill puts all values of the run into the caller's environment, in handles that
// can be closed one by one.
func (r *Run) fill(out any) (any, error) {
	values := map[*ir.Node]any{}
	fail := func(err error) (any, error) {
		for _, v := range values {
			closeAll(v)
		}
		return nil, err
	}
	for i, st := range r.schedule.steps {
		c := &r.cells[i]
		if _, given := r.env[st.node]; given || !c.set {
			continue
		}
		v, err := r.owners.handOver(c.value)
		if err != nil {
			return fail(err)
		}
		values[st.node] = v
	}
	out, err := r.owners.handOver(out)
	if err != nil {
		return fail(err)
	}
	maps.Copy(r.env, values)
	return out, nil
}

// execute runs node after node up to the first output and returns its value.
func (r *Run) execute() (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(*torch.Error)
			if !ok {
				panic(p)
			}
			err = r.nodeError(e)
		}
	}()
	done := r.ctx.Done()
	// Nobody sees how a step is done by Default itself, so that the shortest way does.
	_, plain := r.handler.(Default)
	plain = plain && !r.in.keep
	var stretches map[int]*stretch
	var stop *atomic.Int32
	if plain && r.env == nil && r.in.progress == nil {
		if stretches = r.schedule.findStretches(); len(stretches) > 0 && done != nil {
			stop = new(atomic.Int32)
			defer context.AfterFunc(r.ctx, func() { stop.Store(1) })()
		}
	}
	r.report(0)
	for i := 0; i < len(r.schedule.steps); i++ {
		if s := stretches[i]; s != nil {
			n, err := r.runStretch(i, s, stop)
			if err != nil {
				return nil, err
			}
			if i += n; i == len(r.schedule.steps) {
				break // without an output
			}
		}
		st := r.schedule.steps[i]
		r.node = st.node
		if done != nil {
			select {
			case <-done:
				return nil, ir.Errorf(ir.ErrCancelled, "run: stopped before node %s: %w", st.node, r.ctx.Err())
			default:
			}
		}
		v, known := r.env[st.node]
		if !known && plain {
			done, err := r.callTensors(i, st)
			if err != nil {
				return nil, r.failure(err)
			}
			if done {
				r.after(i, st)
				continue
			}
		}
		for _, c := range st.reads {
			r.share(c)
		}
		if !known {
			first := r.next
			if v, err = r.handler.RunNode(r, st.node); err != nil {
				return nil, r.failure(err)
			}
			r.store(i, v)
			if r.boxed && r.next > first {
				for _, taken := range r.args[first:r.next] {
					r.owners.drop(taken)
				}
			}
		} else {
			r.store(i, v)
		}
		if st.node.Op() == ir.Output {
			r.report(i + 1)
			return v, nil
		}
		r.after(i, st)
	}
	return nil, nil
}

// after ends a step.
func (r *Run) after(i int, st *step) {
	r.report(i + 1)
	if !r.in.keep {
		for _, c := range st.free {
			r.empty(c)
		}
	}
}

// report tells who asked how far the run is.
func (r *Run) report(done int) {
	if f := r.in.progress; f != nil && !r.inner {
		f(done, len(r.schedule.steps))
	}
}

// failure says at which node an error happened, unless it has nothing to do
// with the node: a context that is over, inputs that a guard refuses.
func (r *Run) failure(err error) error {
	if refused, ok := err.(refusal); ok {
		return refused.error
	}
	if ir.ClassOf(err) == ir.ErrCancelled {
		return err
	}
	return r.nodeError(err)
}

// A refusal is an error about the inputs of the run, not about a node.
type refusal struct{ error }

// Context returns the context of the run.
func (r *Run) Context() context.Context { return r.ctx }

// Module returns the module whose attributes the run reads.
func (r *Run) Module() *ir.GraphModule { return r.module }

// Graph returns the graph that runs.
func (r *Run) Graph() *ir.Graph { return r.graph }

// Node returns the node that is being executed.
func (r *Run) Node() *ir.Node { return r.node }

// Handler returns the outermost handler, through which every step is
// dispatched, so that an override sees it.
func (r *Run) Handler() Handler { return r.handler }

// Mode returns libtorch's modes at this point of the run, for operators that a
// handler calls itself. It is not to be changed.
func (r *Run) Mode() *libtorch.Mode { return &r.mode }

// Value returns the value of a node of this graph, false when it is not yet
// computed or already freed. The value stays the run's.
func (r *Run) Value(n *ir.Node) (any, bool) {
	i, ok := r.schedule.cells[n]
	if !ok || !r.cells[i].set {
		return nil, false
	}
	return r.cells[i].value, true
}

// Args returns the arguments of n with the values of nodes in their places. The
// lists in them are not to be changed.
func (r *Run) Args(n *ir.Node) ([]any, []torch.Kwarg, error) {
	i, ok := r.schedule.cells[n]
	if !ok {
		return nil, nil, ir.Errorf(ir.ErrRuntime, "arguments of %s: expected a node of the graph that runs", n)
	}
	st := r.schedule.steps[i]
	args, err := values(r, st.args)
	if err != nil || len(st.kwargs) == 0 {
		return args, nil, err
	}
	kwargs := make([]torch.Kwarg, len(st.kwargs))
	for k, kw := range st.kwargs {
		v, err := kw.value.value(r)
		if err != nil {
			return nil, nil, err
		}
		kwargs[k] = torch.Kwarg{Name: kw.name, Value: v}
	}
	return args, kwargs, nil
}

// Resolve returns a with the values of nodes in their places.
func (r *Run) Resolve(a ir.Arg) (any, error) { return compile(a, r.schedule.cells).value(r) }

// Attr returns the attribute of the module at a dotted path. It stays the
// module's.
func (r *Run) Attr(path string) (any, error) {
	v, ok := r.module.Attr(path)
	if !ok {
		return nil, noAttribute(r.module, path)
	}
	r.owners.lend(v)
	return v, nil
}

// noAttribute names the first piece of a path that is not there.
func noAttribute(m *ir.GraphModule, path string) error {
	missing := path
	for i := range len(path) {
		if path[i] == '.' && !hasBelow(m, path[:i]) {
			missing = path[:i]
			break
		}
	}
	return ir.Errorf(ir.ErrRuntime, "Node referenced nonexistent target %s", missing)
}

func hasBelow(m *ir.GraphModule, path string) bool {
	if _, ok := m.Attr(path); ok {
		return true
	}
	for name := range m.Attrs() {
		if strings.HasPrefix(name, path+".") {
			return true
		}
	}
	return false
}

// take returns the next argument of the run, false where the caller left it out.
func (r *Run) take() (any, bool) {
	if r.next >= len(r.args) {
		return nil, false
	}
	r.next++
	v := r.args[r.next-1]
	return v, v != (ir.Absent{})
}

// takeAll returns the arguments that no placeholder took.
func (r *Run) takeAll() []any {
	rest := append([]any{}, r.args[min(r.next, len(r.args)):]...)
	r.next = len(r.args)
	return rest
}

// Call runs another graph module on args, one for each of its placeholders, with
// the context, modes and threads of r, and returns the value of its output,
// which is then the caller's. The arguments are lent.
func (r *Run) Call(module *ir.GraphModule, args ...any) (any, error) {
	return r.call(r.mode, module, args)
}

func (r *Run) call(mode libtorch.Mode, module *ir.GraphModule, args []any) (any, error) {
	g := module.Graph()
	sub := r.in.begin(r.ctx, module, g, args)
	sub.mode, sub.inner = mode, true
	if !r.in.subgraphs {
		sub.handler = Default{}
	}
	for _, v := range args {
		sub.owners.lend(v)
	}
	return sub.finish()
}
