package passes

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A refresher describes the values of a rewritten graph anew. It runs the graph
// without elements, with the sizes that it was exported with, and compares; where
// something is missing or untrue it runs it again with other sizes, and finds the
// expression over the program's symbols that has the size of each run.
type refresher struct {
	module  *ir.GraphModule // a copy, to be run
	graph   *ir.Graph       // the module proper's
	nodes   map[*ir.Node]*ir.Node
	symbols []string
	first   map[string]int64   // values of the symbols at the export, or what stands for them
	loose   map[string]bool    // symbols of numbers that depend on elements
	sources map[*ir.Node]bool  // nodes whose values bring such symbols
	samples []map[string]int64 // values of the symbols; the first is that of the export
	seen    []map[*ir.Node]any // what each run saw, by the nodes of the module proper
	exprs   []candidate
	known   map[string]bool
	bound   func(symbol string) (least, greatest int64)
	device  ir.Device
	region  *libtorch.Autocast // of autocast, in which the graph is; nil for none
}

// A candidate is an expression with its value in each sample.
type candidate struct {
	expr   *ir.Expr
	values []int64
}

// RefreshValues notes under [ir.MetaVal] what the values of m's graph are, where that
// is not noted or not true any more, as after a rewrite, and returns the nodes about
// which it changed something. Nothing is computed: m runs without elements, on inputs
// as their placeholders' meta says, see [OnMeta].
//
// Sizes stay symbolic: the graph runs at several sizes of its inputs, and a size that
// changes becomes the expression over the program's symbols that has its value in all
// runs. Where there is none, or where the program runs at one size only, the meta of
// the node is removed rather than left untrue.
//
// An operator whose result depends on elements, a higher-order one, and one that does
// not work at these sizes stands as it is noted: the symbols that it brings are as good as those of the inputs for what comes
// behind. The graphs of a higher-order operator are refreshed in turn; those that get its
// operands as they are take what is known of these, and what they return is the
// result, of a condition that of its first branch. One in a region of autocast runs in it,
// where that is the CPU's; what is noted in regions of other devices stays. bound says
// within what a symbol lies; it may be nil.
func RefreshValues(ctx context.Context, m *ir.GraphModule, bound func(symbol string) (least, greatest int64)) []*ir.Node {
	if bound == nil {
		bound = func(string) (least, greatest int64) { return math.MinInt64, math.MaxInt64 }
	}
	return refresh(ctx, m, bound, nil, nil)
}

// maxRounds bounds how often a graph is refreshed because a result of one of its
// higher-order operators became another.
const maxRounds = 8

// refresh is RefreshValues for a graph among others, whose symbols have the values
// around, and which is in a region of autocast or in none.
func refresh(ctx context.Context, m *ir.GraphModule, bound func(string) (int64, int64), around map[string]int64, region *libtorch.Autocast) []*ir.Node {
	var all []*ir.Node
	for range maxRounds {
		r := &refresher{graph: m.Graph(), nodes: map[*ir.Node]*ir.Node{}, first: map[string]int64{}, loose: map[string]bool{},
			sources: map[*ir.Node]bool{}, known: map[string]bool{}, bound: bound, device: ir.NewDevice(ir.DeviceCPU, -1), region: region}
		for _, s := range slices.Sorted(maps.Keys(around)) {
			r.first[s], r.symbols = around[s], append(r.symbols, s)
		}
		all = append(all, r.refresh(ctx, m)...)
		again := false
		for n := range m.Graph().Nodes() {
			if n.Func() != nil && n.Func().Kind() == ir.HigherOrder {
				inner, changed := r.subgraphs(ctx, m, n)
				all, again = append(all, inner...), again || changed
			}
		}
		if !again {
			break
		}
	}
	return unique(all)
}

func unique(nodes []*ir.Node) (out []*ir.Node) {
	seen := map[*ir.Node]bool{}
	for _, n := range nodes {
		if !seen[n] {
			seen[n], out = true, append(out, n)
		}
	}
	return out
}

// refresh notes what is untrue of one graph.
func (r *refresher) refresh(ctx context.Context, m *ir.GraphModule) []*ir.Node {
	r.module = m.Clone()
	from, to := m.Graph().First(), r.module.Graph().First()
	for ; from != nil && to != nil; from, to = from.Next(), to.Next() {
		r.nodes[to] = from
	}
	r.module.Graph().SetCodeGen(ir.PlainCodeGen{}) // the inputs are flat
	r.learnAll()
	if r.run(ctx, m, maps.Clone(r.first)); len(r.seen) == 0 {
		return nil
	}
	var stale []*ir.Node
	for n := range m.Graph().Nodes() {
		v, ok := r.seen[0][n]
		if !ok || n.Op() == ir.Output || n.Op() == ir.GetAttr || r.stands(n) || r.agrees(n.Meta().Get(ir.MetaVal), v) {
			continue
		}
		stale = append(stale, n)
	}
	if len(stale) == 0 {
		return nil
	}
	for k := 1; k <= maxAttempts && len(r.samples) < wantedSamples && len(r.symbols) > 0; k++ {
		r.run(ctx, m, r.sample(k))
	}
	r.evaluate()
	for _, n := range stale {
		if n.Op() == ir.Placeholder {
			continue
		}
		if v, ok := r.describe(n); ok {
			n.Meta().Set(ir.MetaVal, v)
		} else {
			n.Meta().Delete(ir.MetaVal) // better none than an untrue one
			n.Meta().Delete(ir.MetaTensorMeta)
		}
	}
	return stale
}

// sampleSteps are how far other sizes are from those of the export: symbols move
// apart by the small ones, so that products and sums can be told from each other, and
// together by the large ones, for sizes that must be multiples of something or equal.
var sampleSteps = []int64{1, 2, 8, 3, 16, 5, 7, 32}

// stands reports whether the value of a node is what is noted of it: nothing can be
// learned by a run without elements.
func (r *refresher) stands(n *ir.Node) bool {
	if n.Func() == nil || n.Meta().Get(ir.MetaVal) == nil {
		return false
	}
	return r.sources[n] || dependsOnData(n) || n.Func().Kind() == ir.HigherOrder
}

// dependsOnData reports whether what a node yields, or its shape, depends on
// elements: a run without them tells nothing.
func dependsOnData(n *ir.Node) bool {
	if n.Func() == nil {
		return false
	}
	s := ir.Operators().Lookup(n.Func().Op())
	return s != nil && (s.Tags.Has(ir.TagDataDependentOutput) || s.Tags.Has(ir.TagDynamicOutputShape))
}

const (
	wantedSamples = 4 // runs, so that two expressions that agree in all of them are one
	maxAttempts   = 8 // at other sizes; guards may refuse some
)

// learnAll collects the symbols and expressions of the graph.
func (r *refresher) learnAll() {
	inputs := map[string]bool{} // whatever the inputs mention
	for n := range r.graph.Nodes() {
		eachExpr(n.Meta().Get(ir.MetaVal), func(e *ir.Expr, hint int64) {
			if n.Op() == ir.Placeholder {
				for _, s := range e.Symbols() {
					inputs[s] = true
				}
			}
			s, bare := e.Symbol()
			if _, known := r.first[s]; bare && !known && (n.Op() == ir.Placeholder || !inputs[s]) {
				if n.Op() != ir.Placeholder {
					hint = looseSize + 5*int64(len(r.loose))
					r.loose[s], r.sources[n] = true, true
				}
				r.first[s] = hint
				r.symbols = append(r.symbols, s)
			}
			if text := e.String(); !r.known[text] {
				r.known[text] = true
				r.exprs = append(r.exprs, candidate{expr: e})
			}
		})
	}
}

// looseSize is what the first size is that depends on elements. No other one would be
// truer, few kernels have a case of their own for it, and different ones can be told
// apart; what the program asserts of them is not heeded.
const looseSize = 6

// eachExpr calls f with the expressions of a value and their hints.
func eachExpr(val any, f func(e *ir.Expr, hint int64)) {
	switch v := val.(type) {
	case ir.TensorMeta:
		for _, list := range [][]ir.Size{v.Sizes, v.Strides, {v.StorageOffset}} {
			for _, s := range list {
				if s.Expr() != nil {
					f(s.Expr(), s.Hint())
				}
			}
		}
	case ir.SymScalar:
		if hint, isInt := v.Hint.(ir.Int); v.Expr != nil && (isInt || v.Kind == ir.TypeSymInt) {
			f(v.Expr, int64(hint))
		}
	case []any:
		for _, item := range v {
			eachExpr(item, f)
		}
	}
}

// sample chooses other values of the symbols, within their ranges and different from
// each other.
func (r *refresher) sample(k int) map[string]int64 {
	values := map[string]int64{}
	for i, s := range r.symbols {
		least, greatest := r.bound(s)
		lo, hi := max(1, least), min(math.MaxInt32, greatest)
		if r.loose[s] {
			lo, hi = 1, math.MaxInt32
		}
		step := sampleSteps[(k-1)%len(sampleSteps)]
		if step < 8 {
			step *= int64(1 + i)
		}
		n := r.first[s] + step
		if n > hi {
			n = max(lo, r.first[s]-step)
		}
		values[s] = min(max(n, lo), hi)
	}
	return values
}

// run runs the graph with the sizes that a sample gives, as far as it goes, and
// keeps what it saw. A run that saw less than the first counts for nothing.
func (r *refresher) run(ctx context.Context, m *ir.GraphModule, sample map[string]int64) {
	for _, old := range r.samples {
		if same(old, sample) {
			return
		}
	}
	if r.region == nil {
		r.runHere(ctx, m, sample)
		return
	}
	underAutocast(func() { r.runHere(ctx, m, sample) })
}

func (r *refresher) runHere(ctx context.Context, m *ir.GraphModule, sample map[string]int64) {
	var args []any
	var made []*torch.Tensor
	defer func() {
		for _, t := range made {
			t.Close()
		}
	}()
	for _, n := range m.Graph().Find(ir.Placeholder, nil) {
		v, err := argument(n.Meta().Get(ir.MetaVal), sample)
		if err != nil {
			return
		}
		if t, ok := v.(*torch.Tensor); ok {
			made = append(made, t)
		}
		args = append(args, v)
	}
	seen := map[*ir.Node]any{}
	noted := func(p *shapeProp) {
		p.instead = func(n *ir.Node, failed bool) (any, bool) {
			n = r.nodes[n]
			if n == nil || n.Op() != ir.CallFunction || !failed && !r.stands(n) {
				return nil, false
			}
			if s := ir.Operators().Lookup(n.Func().Op()); s != nil && len(s.Returns) == 0 {
				return nil, true // an assertion about sizes that are made up
			}
			v, err := argument(n.Meta().Get(ir.MetaVal), sample)
			return v, err == nil
		}
	}
	out, _ := ShapeProp(ctx, r.module, args, OnMeta(), inRegion(r.region), noted, EachValue(func(n *ir.Node, v any) { seen[r.nodes[n]] = v }))
	closeAll(out)
	if len(r.seen) > 0 && len(seen) < len(r.seen[0]) || len(seen) <= len(args) {
		return
	}
	r.samples, r.seen = append(r.samples, sample), append(r.seen, seen)
}

func same(a, b map[string]int64) bool {
	for s, n := range a {
		if b[s] != n {
			return false
		}
	}
	return true
}

// closeAll closes the tensors of a result.
func closeAll(v any) {
	switch v := v.(type) {
	case *torch.Tensor:
		v.Close()
	case []any:
		for _, item := range v {
			closeAll(item)
		}
	case ir.PyTuple:
		closeAll([]any(v))
	}
}

// argument makes a value of the sizes that a sample gives, of what is noted of it.
func argument(val any, sample map[string]int64) (any, error) {
	switch v := val.(type) {
	case ir.TensorMeta:
		numbers := func(sizes []ir.Size) ([]int64, error) {
			out := make([]int64, len(sizes))
			for i, s := range sizes {
				var err error
				if out[i], err = sizeIn(s, sample); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
		sizes, err := numbers(v.Sizes)
		if err != nil {
			return nil, err
		}
		strides, err := numbers(v.Strides)
		if err != nil {
			return nil, err
		}
		return torch.Call("aten::empty_strided", sizes, strides, torch.Kw("dtype", v.DType), torch.Kw("device", ir.NewDevice(ir.DeviceMeta, -1)))
	case ir.SymScalar:
		hint, isInt := v.Hint.(ir.Int)
		_, none := v.Hint.(ir.None)
		switch {
		case none && v.Kind == ir.TypeSymFloat:
			return 1.5, nil
		case none && v.Kind == ir.TypeSymBool:
			return true, nil
		case v.Expr == nil || v.Kind != ir.TypeSymInt && !isInt:
			return plain(v.Hint)
		}
		return sizeIn(ir.SymbolicSize(v.Expr, int64(hint)), sample)
	case []any:
		items := make(ir.PyTuple, len(v))
		for i := range v {
			var err error
			if items[i], err = argument(v[i], sample); err != nil {
				closeAll(items)
				return nil, err
			}
		}
		return items, nil
	case ir.Arg:
		return plain(v)
	}
	return nil, ir.Errorf(ir.ErrValue, "nothing is known of an input")
}

func plain(a ir.Arg) (any, error) {
	switch v := a.(type) {
	case ir.None:
		return nil, nil
	case ir.Int:
		return int64(v), nil
	case ir.Float:
		return float64(v), nil
	case ir.Bool:
		return bool(v), nil
	case ir.Str:
		return string(v), nil
	}
	return nil, ir.Errorf(ir.ErrValue, "nothing is known of an input")
}

// sizeIn returns what a size is in a sample.
func sizeIn(s ir.Size, sample map[string]int64) (int64, error) {
	if n, known := s.Known(); known {
		return n, nil
	}
	return eval(s.Expr(), sample)
}

func eval(e *ir.Expr, sample map[string]int64) (int64, error) {
	v, err := e.Eval(func(symbol string) (ir.Arg, bool) {
		n, ok := sample[symbol]
		return ir.Int(n), ok
	})
	if err != nil {
		return 0, err
	}
	n, ok := v.(ir.Int)
	if !ok {
		return 0, ir.Errorf(ir.ErrValue, "expected a whole number, got %s", ir.Repr(v))
	}
	return int64(n), nil
}

// agrees reports whether what is noted of a value is what a run with the exported
// sizes saw. Where a view begins in its storage is not asked: PyTorch's own kernels
// without elements and ours differ in it.
func (r *refresher) agrees(val, seen any) bool {
	if _, none := val.(ir.None); none {
		return true // nobody reads it
	}
	switch seen := seen.(type) {
	case ir.TensorMeta:
		v, ok := val.(ir.TensorMeta)
		return ok && v.DType == seen.DType && v.Layout == seen.Layout &&
			slices.EqualFunc(v.Sizes, seen.Sizes, r.same) && slices.EqualFunc(v.Strides, seen.Strides, r.same)
	case []any:
		v, ok := val.([]any)
		return ok && slices.EqualFunc(v, seen, r.agrees)
	case nil:
		return false
	case int64, float64, bool:
		switch v := val.(type) {
		case ir.SymScalar:
			if v.Expr == nil {
				return fmt.Sprint(v.Hint) == fmt.Sprint(seen)
			}
			hint, ok := v.Hint.(ir.Int)
			if r.isLoose(v.Expr) {
				n, err := eval(v.Expr, r.first)
				hint, ok = ir.Int(n), err == nil
			}
			return !ok || int64(hint) == seen
		case ir.Int, ir.Float, ir.Bool:
			return fmt.Sprint(v) == fmt.Sprint(seen)
		}
		return false
	}
	return val != nil
}

// same reports whether a size that is noted is one that a run with the first sizes
// saw.
func (r *refresher) same(noted, seen ir.Size) bool {
	if r.isLoose(noted.Expr()) {
		n, err := eval(noted.Expr(), r.first)
		return err == nil && n == seen.Hint()
	}
	return noted.Hint() == seen.Hint()
}

// isLoose reports whether an expression depends on elements, and has no hint.
func (r *refresher) isLoose(e *ir.Expr) bool {
	return e != nil && slices.ContainsFunc(e.Symbols(), func(s string) bool { return r.loose[s] })
}
