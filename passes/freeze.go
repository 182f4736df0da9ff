package passes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Rewrite is one of the changes that [Freeze] makes to a graph, to be switched
// on and off by its name.
type Rewrite struct {
	Name string
	Doc  string // one sentence
	// Tolerance is how far a result may be from the one without the rewrite, relative
	// to the largest magnitude among its elements; 0 promises equal bits. It is
	// for float32 and wider, and a network of some hundred layers; see
	// [FreezeReport.Tolerance] for narrower dtypes.
	Tolerance float64
	// Device is the kind of device that the rewrite is for, "" for all; see [FreezeFor].
	Device string
	// Off is true where the rewrite is made only when it is asked for.
	Off bool

	apply func(*freezer) error
}

// rewrites lists the rewrites in the order in which they are made.
var rewrites = []Rewrite{
	// first, since all others look for operators without effects
	{Name: "functional", Doc: "calls that write a fresh value in place become calls that return it", apply: (*freezer).functional},
	// makes views of states that may be constant
	{Name: "pack-lstms", Device: "cpu", Doc: "layers of LSTMs run on packed weights", Tolerance: 1e-5, apply: (*freezer).packLSTMs},
	// what depends on constants alone is a constant for those behind
	{Name: "fold-constants", Doc: "what depends on attributes and literals alone is computed once", apply: (*freezer).foldConstants},
	// a dropout or a cast between two operators hides that they follow each other
	{Name: "drop-identities", Doc: "dropout that evaluates, casts, views, copies and checks that change nothing are taken out", apply: (*freezer).dropIdentities},
	{Name: "fuse-attention", Doc: "attention that is written out becomes scaled_dot_product_attention", Tolerance: 1e-5, apply: (*freezer).fuseAttention},
	{Name: "group-heads", Device: "cpu", Doc: "heads of keys and values that are repeated for groups of queries are given to attention once", Tolerance: 1e-5, apply: (*freezer).groupHeads},
	{Name: "fuse-patterns", Doc: "layer norms, gelu, silu and hardswish that are written out become one operator", Tolerance: 1e-5, apply: (*freezer).fusePatterns},
	// its twins keep the weights as they were given, which may be pages of a file; whoever
	// compiles them folds norms
	{Name: "delegate", Device: "cpu", Doc: "regions of convolutions, linear layers and what is between them run by oneDNN's kernels, made once for a shape, where that is measured to be faster", Tolerance: 1e-4, apply: func(f *freezer) error { return giveRegions(f) }},
	{Name: "fold-batch-norm", Doc: "batch norms that evaluate go into the convolution or linear layer before or behind them", Tolerance: 1e-4, apply: (*freezer).foldBatchNorm},
	{Name: "bfloat16", Doc: "convolutions, linear layers and what lies between them compute in bfloat16", Tolerance: 0.05, Off: true, apply: (*freezer).toBFloat16},
	// packs the weights that batch norms have changed, with the activations that patterns were
	{Name: "pack-convolutions", Device: "cpu", Doc: "convolutions of one to three dimensions, with the activation and residual add behind them, run on packed weights, channels last", Tolerance: 1e-4, apply: (*freezer).packConvolutions},
	// another algorithm may be chosen, and both may round to TF32, as PyTorch's convolutions do
	{Name: "fuse-cudnn", Device: "cuda", Doc: "convolutions run with the residual add and the relu behind them, by cuDNN", Tolerance: 1e-3, apply: (*freezer).fuseCUDNN},
	{Name: "merge-linears", Device: "cpu", Doc: "linear layers of one input become one, where that is measured to be faster", Tolerance: 1e-5, apply: (*freezer).mergeLinears},
	{Name: "pack-linears", Device: "cpu", Doc: "linear layers, with the activation behind them, run on packed weights where that is measured to be faster", Tolerance: 1e-4, apply: (*freezer).packLinears},
}

// Rewrites lists what [Freeze] can do, in the order in which it does it.
func Rewrites() []Rewrite { return slices.Clone(rewrites) }

// A FreezeOption changes what [Freeze] does.
type FreezeOption func(*freezer)

// WithRewrites switches rewrites on that are off by default. An unknown name is an
// error of Freeze.
func WithRewrites(names ...string) FreezeOption { return func(f *freezer) { f.switches(true, names) } }

// WithoutRewrites switches rewrites off. An unknown name is an error of Freeze.
func WithoutRewrites(names ...string) FreezeOption {
	return func(f *freezer) { f.switches(false, names) }
}

// OnlyRewrites switches all rewrites off but these.
func OnlyRewrites(names ...string) FreezeOption {
	return func(f *freezer) {
		clear(f.on)
		f.switches(true, names)
	}
}

// FreezeArgs gives the values of the placeholders on which a module of torch
// functions, methods or layers is lowered, see [Lower]; their sizes become fixed. A
// graph of ATen operators needs none. Default: tensors as the placeholders' meta
// describes them.
func FreezeArgs(args ...any) FreezeOption { return func(f *freezer) { f.args = args } }

// WithChoices takes measured choices from c, and notes there what is measured.
// Default: one of the process.
func WithChoices(c *Choices) FreezeOption { return func(f *freezer) { f.choices = c } }

// KeepChoices takes measured choices from a file and writes there what is measured; "" is
// for no file. A
// process that finds its network there measures nothing, starts sooner, and has no kernels
// in memory that were only tried. A file that cannot be read is an error of Freeze, see
// [OpenChoices], and so is one that cannot be written where something is to be measured,
// before it is; for a file that is only to be read there is [WithChoices].
func KeepChoices(name string) FreezeOption { return func(f *freezer) { f.file = name } }

// FreezeThreads sets how many threads a kernel that is measured may use. Default: 1.
func FreezeThreads(n int) FreezeOption { return func(f *freezer) { f.threads = max(n, 1) } }

// ReleaseOriginals closes the tensors of the module given that the frozen one does
// not need, each as soon as it is replaced, so that weights are in memory once. The
// module given cannot be run any more. Default: its tensors stay open.
func ReleaseOriginals() FreezeOption { return func(f *freezer) { f.release = true } }

// Idle has f called with a tensor of the module given each time that its elements have
// been read and will not be for a while, so that weights that are pages of a file can be
// left to the system until they are read again. nil is for nothing.
func Idle(f func(*torch.Tensor)) FreezeOption { return func(z *freezer) { z.idle = f } }

// A Frozen is what [Freeze] made.
type Frozen struct {
	// Module computes what the module given does. It shares the tensors that did not
	// change.
	Module *ir.GraphModule
	Report *FreezeReport

	owned   []*torch.Tensor
	regions []*libtorch.Region
}

// Close frees the tensors and regions that Freeze made. Module must not be run any more; Plans
// of it may be: they have handles of their own.
func (f *Frozen) Close() error {
	if f == nil {
		return nil
	}
	for _, t := range f.owned {
		if err := t.Close(); err != nil {
			return err
		}
	}
	for _, r := range f.regions {
		if err := r.Close(); err != nil {
			return err
		}
	}
	return nil
}

// A FreezeReport tells what [Freeze] did, in order. A nil one tells of nothing.
type FreezeReport struct {
	Applied []Applied
	Kept    []NotApplied
	Dropped []string     // attributes of the module given that the frozen one has not
	Regions []Delegation // what was given to a delegate
	Choices []Chosen     // what measured times decided, in the order in which it was asked

	narrow float64 // how far results of the narrowest dtype in the graph given may be off
}

// An Applied is a place where a rewrite was made.
type Applied struct {
	Rewrite string
	Node    string // name of the node that is new or changed
	What    string
}

// A NotApplied is a place that a rewrite looked at and left.
type NotApplied struct {
	Rewrite string
	Node    string
	Why     string
}

// Count returns in how many places a rewrite was made.
func (r *FreezeReport) Count(rewrite string) (n int) {
	if r == nil {
		return 0
	}
	for _, a := range r.Applied {
		if a.Rewrite == rewrite {
			n++
		}
	}
	return n
}

// Measured returns how many measurements were made; 0 where all was known.
func (r *FreezeReport) Measured() (n int) {
	if r == nil {
		return 0
	}
	for _, c := range r.Choices {
		if c.From == FromMeasuring {
			n++
		}
	}
	return n
}

// Tolerance returns the largest tolerance among the rewrites that were made. For a
// program that computes in float16 or bfloat16 it is at least 0.01 or 0.05 where one
// of them does not promise equal bits: what it fuses was rounded to those in between.
func (r *FreezeReport) Tolerance() (t float64) {
	for _, w := range rewrites {
		if r.Count(w.Name) > 0 {
			t = max(t, w.Tolerance)
		}
	}
	if t > 0 {
		t = max(t, r.narrow)
	}
	return t
}

// narrowest returns the tolerance of the narrowest dtype that a graph computes in, 0
// for float32 and wider.
func narrowest(g *ir.Graph) (t float64) {
	for n := range g.Nodes() {
		switch meta, _ := valueOf(n); meta.DType {
		case ir.BFloat16:
			return 0.05
		case ir.Float16:
			t = 0.01
		}
	}
	return t
}

// String returns the report as text, a line for each place, with what was measured there
// against what, both times and how they are known.
func (r *FreezeReport) String() string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	for _, a := range r.Applied {
		fmt.Fprintf(&b, "%s: %s: %s\n", a.Rewrite, a.Node, a.What)
	}
	for _, k := range r.Kept {
		fmt.Fprintf(&b, "%s: %s left: %s\n", k.Rewrite, k.Node, k.Why)
	}
	if len(r.Choices) > 0 {
		fmt.Fprintf(&b, "choices: %d, measured: %d\n", len(r.Choices), r.Measured())
	}
	fmt.Fprintf(&b, "rewritten: %d, attributes dropped: %d, tolerance: %g\n", len(r.Applied), len(r.Dropped), r.Tolerance())
	return b.String()
}

// Freeze makes a module for inference of m: one that takes and returns the same and
// runs faster, by the rewrites that [Rewrites] lists, each of which states how far
// its results may be from those of m. It returns what was rewritten where, and
// leaves m as it is, but see [ReleaseOriginals].
//
// A graph that calls torch functions, methods or layers is lowered first, see [Lower]
// and [FreezeArgs]; one of ATen operators, a saved program say, keeps its dynamic
// sizes. Packed weights are opaque constants of the module; they are laid out for the
// sizes noted in the graph and right for all. Graphs of higher-order operators are not
// looked into.
//
// What a graph writes, an attribute or memory shared with one, is no constant. What
// results share memory with stays the same, and so do their strides, of dimensions of
// more than one element: where an operator depends on them, a value is laid out again.
//
// Tolerances are for finite values: an activation fused into a packed layer may make
// 0 of NaN, as oneDNN's relu does. A number of -10000 or less in the place of a score of
// attention is taken to hide it, so scores to be larger than half of that.
//
// A graph in which torch.vmap is open around operators stays as it is.
//
// Errors: an unknown rewrite is of class ir.ErrKey, a context that is over of class
// ir.ErrCancelled; others are those of Lower and of operators that failed.
func Freeze(ctx context.Context, m *ir.GraphModule, opts ...FreezeOption) (*Frozen, error) {
	f, err := newFreezer(ctx, m, opts)
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread() // C's allocator keeps holes by thread: one thread's are filled again
	defer runtime.UnlockOSThread()
	end := libtorch.Lasting()                                    // weights stay; what they are made from leaves no holes
	err, panicked := torch.Try(func() error { return f.run(m) }) // of a tensor that is closed
	if err == nil && panicked == nil {
		err = f.saveChoices()
	}
	end()
	if kept, ok := errors.AsType[*choicesError](err); ok {
		err = kept // whichever rewrite came upon it
	}
	if err = cmp.Or(panicked, err); err != nil {
		for _, t := range f.owned {
			t.Close()
		}
		for _, r := range f.regions {
			_ = r.Close()
		}
		return nil, err
	}
	libtorch.TrimMemory() // of weights before they were folded and packed
	return &Frozen{f.module, f.report, f.owned, f.regions}, nil
}

// CheckFreeze reports what Freeze would refuse before it rewrites anything: a context that is over,
// no module, an option, a file of choices that cannot be read.
func CheckFreeze(ctx context.Context, m *ir.GraphModule, opts ...FreezeOption) error {
	_, err := newFreezer(ctx, m, opts)
	return err
}

func newFreezer(ctx context.Context, m *ir.GraphModule, opts []FreezeOption) (*freezer, error) {
	if ctx == nil {
		return nil, ir.Errorf(ir.ErrInput, "freeze: expected a context, got nil")
	}
	if err := given("freeze", m, opts); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ir.Errorf(ir.ErrCancelled, "freeze: stopped before the first rewrite: %w", ctx.Err())
	}
	f := &freezer{ctx: ctx, on: map[string]bool{}, choices: processChoices, threads: 1, delegate: onednnOfSetUp, report: &FreezeReport{}}
	for _, r := range rewrites {
		f.on[r.Name] = !r.Off
	}
	for _, o := range opts {
		o(f)
	}
	if err := (&libtorch.Mode{Threads: f.threads}).Check(); err != nil {
		return nil, fmt.Errorf("freeze: %w", err)
	}
	if len(f.unknown) > 0 {
		return nil, ir.Errorf(ir.ErrKey, "freeze: expected rewrites that Rewrites lists, got %s", strings.Join(f.unknown, ", "))
	}
	if err := f.openChoices(); err != nil {
		return nil, err
	}
	return f, nil
}

// A freezer rewrites one module.
type freezer struct {
	ctx      context.Context
	on       map[string]bool
	unknown  []string
	args     []any
	choices  *Choices
	file     string // of choices, "" for none
	keeps    bool   // the file was found to be writable
	threads  int
	packed   bool // convolutions are packed without measuring
	release  bool
	idle     func(*torch.Tensor)
	delegate func() (Delegate, error)
	kind     *ir.DeviceKind // where the module will run; nil for where its tensors are

	module  *ir.GraphModule
	graph   *ir.Graph
	given   map[string]any // the attributes before
	written tensorSet
	rewrite string // the one that is being made
	report  *FreezeReport
	owned   []*torch.Tensor
	regions []*libtorch.Region
}

func (f *freezer) switches(on bool, names []string) {
	for _, name := range names {
		if !slices.ContainsFunc(rewrites, func(r Rewrite) bool { return r.Name == name }) {
			f.unknown = append(f.unknown, name)
		}
		f.on[name] = on
	}
}

func (f *freezer) run(m *ir.GraphModule) error {
	if needsLowering(m) {
		lowered, err := Lower(f.ctx, m, f.args)
		if err != nil {
			return err
		}
		f.module = lowered
	} else {
		f.module = m.Clone()
	}
	f.graph = f.module.Graph()
	f.given = map[string]any{}
	for path, v := range f.module.Attrs() {
		f.given[path] = v
	}
	f.written = writtenTensors(f.module)
	f.report.narrow = narrowest(f.graph)
	if n := modeSetter(f.graph); n != nil {
		// what is dead and what is constant behind it, operators alone do not tell
		f.rewrite = "all"
		f.kept(n, "it sets a mode for the operators behind it")
		return nil
	}
	for _, r := range rewrites {
		if !f.on[r.Name] || r.Device != "" && r.Device != f.deviceKind().String() {
			continue
		}
		if err := f.ctx.Err(); err != nil {
			return ir.Errorf(ir.ErrCancelled, "freeze: stopped before %s: %w", r.Name, err)
		}
		f.rewrite = r.Name
		if err := r.apply(f); err != nil {
			return fmt.Errorf("freeze: %s: %w", r.Name, err)
		}
		if err := f.clean(); err != nil {
			return fmt.Errorf("freeze: %s: %w", r.Name, err)
		}
	}
	return f.graph.Lint()
}

// needsLowering reports whether a graph calls something else than operators by
// overload: torch functions, methods, layers.
func needsLowering(m *ir.GraphModule) bool {
	for n := range m.Graph().Nodes() {
		switch n.Op() {
		case ir.CallMethod:
			return true
		case ir.CallFunction:
			switch n.Func().Kind() {
			case ir.PythonFunc:
				if !plainFunctions[n.Func()] && !setsMode(n.Func()) {
					return true
				}
			case ir.Packet:
				return true
			}
		case ir.CallModule:
			v, _ := m.Attr(n.Target().String())
			if _, class := v.(interface{ Type() string }); class && moduleClass(v) != "" {
				return true
			}
		}
	}
	return false
}

// setsMode reports whether a function is one of those that torch.vmap leaves in saved
// programs.
func setsMode(fn *ir.Func) bool { return strings.HasPrefix(fn.Name(), "torch._functorch.") }

func modeSetter(g *ir.Graph) *ir.Node {
	for n := range g.Nodes() {
		if n.Op() == ir.CallFunction && setsMode(n.Func()) {
			return n
		}
	}
	return nil
}

func (f *freezer) applied(n *ir.Node, format string, args ...any) {
	f.report.Applied = append(f.report.Applied, Applied{f.rewrite, n.Name(), fmt.Sprintf(format, args...)})
}

func (f *freezer) kept(n *ir.Node, format string, args ...any) {
	f.report.Kept = append(f.report.Kept, NotApplied{f.rewrite, n.Name(), fmt.Sprintf(format, args...)})
}
