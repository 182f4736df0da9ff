package passes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A RunFunc runs a part of a module on arguments. The tensors of the result belong
// to the caller.
type RunFunc func(ctx context.Context, part *ir.GraphModule, args []any) (any, error)

// A CompareFunc says how far the results of two runs of a part are apart, in a unit
// of its own, and whether they are the same; names are those of the nodes compared.
// It must not keep the results.
type CompareFunc func(a, b any, names []string) (distance float64, same bool, err error)

// The errors of a [Minimizer].
var (
	ErrPartRun      = errors.New("part could not be run")
	ErrPartMismatch = errors.New("results of a part differ")
)

// A Traversal is the order in which a [Minimizer] looks for culprits.
type Traversal string

// The orders.
const (
	// Sequential tries every call alone.
	Sequential Traversal = "sequential"
	// Binary tries all calls, and as long as something is wrong each half.
	Binary Traversal = "binary"
	// Accumulate tries the first call, the first two, and so on.
	Accumulate Traversal = "accumulate"
	// Skip tries the runs of calls between those to skip, see SkipNodes.
	Skip Traversal = "skip"
	// Defined tries all calls together.
	Defined Traversal = "defined"
	// Block finds the shortest run of calls that is wrong as a whole: its last call
	// by bisection from the front, then its first from the end.
	Block Traversal = "block"
)

// A MinimizeOption changes how a [Minimizer] works.
type MinimizeOption func(*Minimizer)

// Traverse sets the order. Default: Sequential.
func Traverse(t Traversal) MinimizeOption { return func(m *Minimizer) { m.traversal = t } }

// FindAll goes on after the first culprit. Default: it ends the search.
func FindAll() MinimizeOption { return func(m *Minimizer) { m.findAll = true } }

// AccumulateError feeds the second run what earlier second runs gave. Default: both
// get what the first gave.
func AccumulateError() MinimizeOption { return func(m *Minimizer) { m.accumulate = true } }

// AllOutputs compares all that a part returns. Default: the node looked for.
func AllOutputs() MinimizeOption { return func(m *Minimizer) { m.allOutputs = true } }

// Exclude takes calls out of those that are about to be tried. Default: none.
func Exclude(f func([]*ir.Node) []*ir.Node) MinimizeOption {
	return func(m *Minimizer) { m.exclude = f }
}

// ExportParts has f called with each part whose results differ, and the arguments of
// the first run. Default: nothing is done with them.
func ExportParts(f func(part *ir.GraphModule, args []any, name string)) MinimizeOption {
	return func(m *Minimizer) { m.export = f }
}

// Between looks from one call to another, by name; "" is the first or the last.
func Between(start, end string) MinimizeOption {
	return func(m *Minimizer) { m.start, m.end = start, end }
}

// SkipNodes names the calls that [Skip] leaves out.
func SkipNodes(names ...string) MinimizeOption { return func(m *Minimizer) { m.skip = names } }

// BlockEnds looks, in [Block], for the last call of the block alone, or for the first
// alone. Default: for both.
func BlockEnds(last bool) MinimizeOption {
	return func(m *Minimizer) { m.oneEnd, m.lastEnd = true, last }
}

// A Minimizer finds the calls of a module that give something else when they are run
// another way: it cuts parts out of the module, runs each both ways and compares. Use
// [NewMinimizer]. It must not be used by several goroutines at once. Follows
// torch.fx.passes.net_min_base._MinimizerBase.
type Minimizer struct {
	module     *ir.GraphModule
	sample     []any
	runA, runB RunFunc
	compare    CompareFunc
	traversal  Traversal
	findAll    bool
	accumulate bool
	allOutputs bool
	exclude    func([]*ir.Node) []*ir.Node
	export     func(part *ir.GraphModule, args []any, name string)
	start, end string
	skip       []string
	oneEnd     bool
	lastEnd    bool
	groups     map[*ir.Node]*fusionGroup
	aOut, bOut map[string]any // by name of the node; arguments are the caller's
	given      map[string]bool
	results    map[string]float64
	reports    [][]string
}

// NewMinimizer runs m on sample, to learn what its nodes yield. It fails with class
// ir.ErrAssertion when sample has not one value for each argument of m. sample stays
// the caller's, and is needed until [Minimizer.Close].
func NewMinimizer(ctx context.Context, m *ir.GraphModule, sample []any, runA, runB RunFunc, compare CompareFunc, opts ...MinimizeOption) (*Minimizer, error) {
	if err := given("minimize", m, opts); err != nil {
		return nil, err
	}
	z := &Minimizer{module: m, sample: sample, runA: runA, runB: runB, compare: compare, traversal: Sequential,
		aOut: map[string]any{}, bOut: map[string]any{}, given: map[string]bool{}, results: map[string]float64{}}
	for _, o := range opts {
		o(z)
	}
	arguments := m.Graph().Find(ir.Placeholder, nil)
	if len(arguments) != len(sample) {
		return nil, ir.Errorf(ir.ErrAssertion, "minimize: Placeholder count (%d) does not match sample_input count (%d)", len(arguments), len(sample))
	}
	out, err := ShapeProp(ctx, m, sample)
	if err != nil {
		return nil, err
	}
	discard(out, sample)
	calls := nodeMarks{}
	for n := range m.Graph().Nodes() {
		if isCall(n) {
			calls[n] = true
		}
	}
	z.groups = fusionGroups(m, calls)
	for i, n := range arguments {
		z.aOut[n.Name()], z.bOut[n.Name()] = sample[i], sample[i]
		z.given[n.Name()] = true
	}
	return z, nil
}

// Close frees the results that were kept.
func (z *Minimizer) Close() error {
	for name := range z.aOut {
		z.store(name, nil, nil)
	}
	return nil
}

// store keeps the results for a node.
func (z *Minimizer) store(name string, a, b any) {
	if z.given[name] {
		return
	}
	discard(z.aOut[name], nil)
	discard(z.bOut[name], nil)
	z.aOut[name], z.bOut[name] = a, b
}

// Results are the distances by the names of the nodes compared.
func (z *Minimizer) Results() map[string]float64 { return z.results }

// Report tells what was tried, and what came of it.
func (z *Minimizer) Report() string {
	var b strings.Builder
	for _, r := range z.reports {
		for i, line := range r {
			if i > 0 {
				b.WriteString(" . ")
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// report starts the lines about one attempt.
func (z *Minimizer) report(format string, args ...any) int {
	z.reports = append(z.reports, []string{fmt.Sprintf(format, args...)})
	return len(z.reports) - 1
}

func (z *Minimizer) note(i int, format string, args ...any) {
	z.reports[i] = append(z.reports[i], fmt.Sprintf(format, args...))
}

// cut splits the module so that one part has just these calls.
func (z *Minimizer) cut(nodes nodeMarks) (*Splitting, Part, error) {
	tags := map[*ir.Node]string{}
	for n := range z.module.Graph().Nodes() {
		if !isCall(n) {
			continue
		}
		tags[n] = "main_0"
		if nodes[n] {
			tags[n] = "minimize"
			continue
		}
		for _, in := range n.Inputs() {
			if tags[in] == "minimize" || tags[in] == "main_1" {
				tags[n] = "main_1"
			}
		}
	}
	s, err := SplitByTags(z.module, []string{"main_0", "minimize", "main_1"}, func(n *ir.Node) string { return tags[n] })
	if err != nil {
		return nil, Part{}, err
	}
	return s, s.Parts[slices.IndexFunc(s.Parts, func(p Part) bool { return p.Name == "minimize" })], nil
}

// inputs returns what the part is run on.
func (z *Minimizer) inputs(ctx context.Context, s *Splitting, p Part) (a, b []any, free func(), err error) {
	known := true
	for _, n := range p.Inputs {
		_, ok := z.aOut[n.Name()]
		known = known && ok
		a, b = append(a, z.aOut[n.Name()]), append(b, z.bOut[n.Name()])
	}
	free = func() {}
	if !known {
		all, err := SubmoduleInputs(ctx, s.Module, z.sample, p.Name)
		if err != nil {
			return nil, nil, nil, err
		}
		a, b = all[p.Name], all[p.Name]
		free = func() { discard(a, nil) }
	}
	if !z.accumulate {
		b = a
	}
	return a, b, free, nil
}

// try runs the part of these calls both ways and compares what the nodes of these
// names yield, all results where there are none. The error is or wraps ErrPartRun or
// ErrPartMismatch when the part is at fault.
func (z *Minimizer) try(ctx context.Context, nodes nodeMarks, names []string, report int) error {
	s, p, err := z.cut(nodes)
	if err != nil {
		return err
	}
	z.note(report, "Run and compare ...")
	g := p.Module.Graph()
	if len(names) > 0 && !z.allOutputs {
		out, err := g.OutputNode()
		if err != nil {
			return err
		}
		var results []ir.Arg
		for n := range g.Nodes() {
			if slices.Contains(names, n.Name()) {
				results = append(results, n)
			}
		}
		if out.SetArgs(ir.TupleOf(results...)); len(results) == 1 {
			out.SetArgs(results[0])
		}
	}
	var compared []string
	for _, n := range g.Last().Inputs() {
		compared = append(compared, n.Name())
	}
	a, b, free, err := z.inputs(ctx, s, p)
	if err != nil {
		return err
	}
	defer free()
	ra, err := z.runA(ctx, p.Module, a)
	var rb any
	if err == nil {
		if rb, err = z.runB(ctx, p.Module, b); err != nil {
			discard(ra, a)
		}
	}
	if err != nil {
		z.note(report, "Exception raised when running minimize: %v", err)
		return fmt.Errorf("%w: %w", ErrPartRun, err)
	}
	if len(names) == 0 {
		names = compared
	}
	distance, same, err := z.compare(ra, rb, names)
	z.keep(compared, ra, rb, a, b)
	if err != nil {
		return err
	}
	key := strings.Join(compared, ", ")
	z.results[key] = distance
	z.note(report, "Numerical accuracy = %v", distance)
	if same {
		return nil
	}
	z.note(report, "Result mismatch for %s", key)
	if z.export != nil {
		z.export(p.Module, a, compared[len(compared)-1])
	}
	return fmt.Errorf("%w: %s", ErrPartMismatch, key)
}

// keep stores the results of a part for the parts that read them.
func (z *Minimizer) keep(names []string, ra, rb any, a, b []any) {
	own := func(v any, args []any) any {
		// a result that is an argument is kept as a value of its own
		given := map[*torch.Tensor]bool{}
		_, _ = mapTensors(args, func(t *torch.Tensor) (*torch.Tensor, error) { given[t] = true; return t, nil })
		kept, err := mapTensors(v, func(t *torch.Tensor) (*torch.Tensor, error) {
			if given[t] {
				return t.Ref()
			}
			return t, nil
		})
		if err != nil {
			return nil
		}
		return kept
	}
	ra, rb = own(ra, a), own(rb, b)
	if len(names) == 1 {
		if t, ok := ra.(ir.PyTuple); ok && len(t) == 1 {
			ra = t[0]
			if u, ok := rb.(ir.PyTuple); ok && len(u) == 1 {
				rb = u[0]
			}
		}
		z.store(names[0], ra, rb)
		return
	}
	as, _ := ra.(ir.PyTuple)
	bs, _ := rb.(ir.PyTuple)
	if len(as) != len(names) || len(bs) != len(names) {
		discard(ra, nil)
		discard(rb, nil)
		return
	}
	for i, name := range names {
		z.store(name, as[i], bs[i])
	}
}
