package interpreter

import (
	"context"
	"fmt"
	"slices"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// An Interpreter runs the graph of a module node by node. Any number of
// goroutines may run one Interpreter at the same time; each call has its own
// values. The module must not change while a run is going on; between runs it
// may, and the next run sees it.
type Interpreter struct {
	module    *ir.GraphModule
	graph     *ir.Graph // nil is the module's own
	handler   Handler
	mode      libtorch.Mode
	keep      bool
	subgraphs bool
	progress  func(done, total int)
	schedules sync.Map // *ir.Graph -> *schedule
	fault     error    // of the options, which every run returns
}

// WithHandler makes h execute the nodes. Default: [Default].
func WithHandler(h Handler) Option {
	return interpreterOption(func(in *Interpreter) { in.handler = h })
}

// InSubgraphs makes the handler execute the nodes of the graphs that
// higher-order operators and module calls enter, too. Default: those run by
// [Default], as torch.fx calls them without its Interpreter.
func InSubgraphs() Option { return interpreterOption(func(in *Interpreter) { in.subgraphs = true }) }

// KeepValues keeps every value until the end of the run, where [Run.Value] and
// [Options.Env] can see it. Default: a value is freed after its last use.
func KeepValues() Option { return interpreterOption(func(in *Interpreter) { in.keep = true }) }

// OnProgress has f called when a run begins and after each node, with how many
// nodes are done and how many there are; the nodes of graphs inside count with the
// node that enters them. It is for progress bars of long graphs: nothing is drawn
// here. f runs on the goroutine of the run, so that what it takes, the run takes.
// Default: none, at no cost. Follows the progress bar of torch.fx's Interpreter.
func OnProgress(f func(done, total int)) Option {
	return interpreterOption(func(in *Interpreter) { in.progress = f })
}

// New returns an interpreter of the module. It looks at nothing yet: [Check]
// tells beforehand what of the module cannot run. What is wrong with the module or an
// option is an error of the runs.
func New(module *ir.GraphModule, opts ...Option) *Interpreter {
	in := &Interpreter{module: module, handler: Default{}}
	in.mode.Threads = 1
	if err := ir.CheckOptions("run", opts); err != nil {
		in.fault = err
		return in
	}
	for _, o := range opts {
		o.interpreter(in)
	}
	if in.handler == nil {
		in.fault = ir.Errorf(ir.ErrInput, "run: expected a handler, got nil")
	}
	return in
}

// Run runs the graph on args, which its code generator fits to the placeholders,
// and returns what the code generator makes of the result.
//   - It does not start when ctx is over, and ctx is looked at between nodes: one
//     kernel, or one step of a handler, can outlive it. The error is then of
//     class ir.ErrCancelled and wraps ctx.Err().
//   - Arguments and attributes are lent: the run never closes them. Slices and
//     maps of Go are lists and dicts, see [ir.PyValueOf].
//   - A result belongs to the caller, every tensor in it to be closed by itself,
//     even where it is an argument, an attribute or stands there twice. There is
//     none on an error.
//   - An error at a node is a *[NodeError]. A *torchops.Error that a handler
//     panics with is returned like one; other panics pass.
func (in *Interpreter) Run(ctx context.Context, args ...any) (any, error) {
	return in.Call(ctx, args, nil)
}

// Call is [Interpreter.Run] with keyword arguments.
func (in *Interpreter) Call(ctx context.Context, args []any, kwargs map[string]any) (any, error) {
	if err := in.given(ctx); err != nil {
		return nil, err
	}
	return in.run(ctx, in.mode, in.currentGraph(), args, kwargs, Options{})
}

// Options are the less usual wishes for one run.
type Options struct {
	// Env holds values of nodes known beforehand, which are not computed again.
	// They are lent. Under KeepValues the run adds all other values, which then
	// belong to the caller. nil is none.
	Env map[*ir.Node]any

	// RawIO hands arguments to the placeholders in order and returns the value
	// of the output node, past the graph's code generator.
	RawIO bool

	counted bool // arguments are as many as the placeholders take
}

// RunWith is [Interpreter.Run] with options.
func (in *Interpreter) RunWith(ctx context.Context, o Options, args ...any) (any, error) {
	if err := in.given(ctx); err != nil {
		return nil, err
	}
	return in.run(ctx, in.mode, in.currentGraph(), args, nil, o)
}

// RunFlat gives one leaf to each placeholder, past the code generator, and
// returns the leaves of the result: the items of the tuple that exported
// programs end with, or else the one value. Another number of leaves is an error of
// class ir.ErrInput.
func (in *Interpreter) RunFlat(ctx context.Context, leaves []any) ([]any, error) {
	if err := in.given(ctx); err != nil {
		return nil, err
	}
	out, err := in.run(ctx, in.mode, in.currentGraph(), leaves, nil, Options{RawIO: true, counted: true})
	if err != nil {
		return nil, err
	}
	if items, ok := list(out); ok {
		return items, nil
	}
	return []any{out}, nil
}

// RunBoxed is Run on the values in *args, one for each placeholder, which it takes
// over: the list is emptied and each tensor in it closed after its last use. It
// takes nothing when there are not as many values as placeholders.
func (in *Interpreter) RunBoxed(ctx context.Context, args *[]any) (any, error) {
	if err := in.given(ctx); err != nil {
		return nil, err
	}
	g := in.currentGraph()
	n := len(g.Find(ir.Placeholder, nil))
	if len(*args) != n {
		detail := "missing arguments"
		if len(*args) > n {
			detail = "extra arguments"
		}
		return nil, ir.Errorf(ir.ErrRuntime, "Interpreter.boxed_run expected %d arguments for placeholders but received %d (%s)", n, len(*args), detail)
	}
	taken, err := pyValues(*args)
	if err != nil {
		return nil, err
	}
	*args = nil
	r := in.begin(ctx, in.module, g, taken)
	r.boxed = true
	for _, v := range taken {
		r.owners.retain(v)
	}
	out, err := r.finish()
	if err != nil {
		return nil, err
	}
	return processOutputs(g, out)
}

func (in *Interpreter) currentGraph() *ir.Graph {
	if in.graph != nil {
		return in.graph
	}
	if in.module == nil {
		return nil
	}
	return in.module.Graph()
}

func (in *Interpreter) run(ctx context.Context, mode libtorch.Mode, g *ir.Graph, args []any, kwargs map[string]any, o Options) (any, error) {
	if !o.RawIO {
		var err error
		if args, err = g.ProcessInputs(args, kwargs); err != nil {
			return nil, err
		}
	}
	args, err := pyValues(args)
	if err != nil {
		return nil, err
	}
	r := in.begin(ctx, in.module, g, args)
	r.mode, r.env = mode, o.Env
	if o.counted {
		if err := r.schedule.takes.check(len(args)); err != nil {
			r.leave()
			return nil, err
		}
	}
	for _, v := range args {
		r.owners.lend(v)
	}
	out, err := r.finish()
	if err != nil || o.RawIO {
		return out, err
	}
	return processOutputs(g, out)
}

// given refuses a run of nothing, by options that say nothing, or with a nil context.
func (in *Interpreter) given(ctx context.Context) error {
	switch {
	case in == nil:
		return ir.Errorf(ir.ErrInput, "run: expected an interpreter, got nil")
	case in.module == nil:
		return ir.Errorf(ir.ErrInput, "run: expected a graph module, got nil")
	case in.fault != nil:
		return in.fault
	}
	return given(ctx)
}

// given refuses a nil context, which a run could not look at.
func given(ctx context.Context) error {
	if ctx == nil {
		return ir.Errorf(ir.ErrInput, "run: expected a context, got nil")
	}
	return nil
}

// pyValues are the values of a run with containers of Go as Python's, see
// [ir.PyValueOf]; none holds itself.
func pyValues(args []any) ([]any, error) {
	fresh := args
	for i, v := range args {
		switch v.(type) {
		case nil, *torch.Tensor, bool, int64, float64, string:
			continue
		}
		if err := torch.CheckNesting(v); err != nil {
			return nil, fmt.Errorf("run: argument %d: %w", i, err)
		}
		if &fresh[0] == &args[0] {
			fresh = slices.Clone(args) // the caller's stay
		}
		fresh[i] = ir.PyValueOf(v)
	}
	return fresh, nil
}

// processOutputs makes of a result what the caller of g gets. Where that fails,
// the result is closed.
func processOutputs(g *ir.Graph, out any) (any, error) {
	processed, err := g.ProcessOutputs(out)
	if err != nil {
		closeAll(out)
		return nil, err
	}
	return processed, nil
}

// schedule returns the schedule of g as it is now.
func (in *Interpreter) schedule(g *ir.Graph) *schedule {
	if s, ok := in.schedules.Load(g); ok && s.(*schedule).fits(g) {
		return s.(*schedule)
	}
	// two runs that meet here make it twice, and either will do
	s := newSchedule(g)
	in.schedules.Store(g, s)
	return s
}
