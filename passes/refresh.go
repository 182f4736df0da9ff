package passes

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A refresher describes the values of a rewritten graph anew. It runs the graph
// without elements, with the sizes that it was exported with, and compares; where
// something is missing or untrue it runs it again with other sizes, and finds the
// expression over the program's symbols that has the size of each run.
type refresher struct {
	module  *ir.GraphModule // a copy, to be run
	nodes   map[*ir.Node]*ir.Node
	symbols []string
	samples []map[string]int64 // values of the symbols; the first is that of the export
	seen    []map[*ir.Node]any // what each run saw, by the nodes of the module proper
	exprs   []candidate
	known   map[string]bool
	device  ir.Device
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
// the node is removed rather than left untrue. What comes behind an operator whose
// result depends on elements keeps its meta. bound says within what a symbol lies; it
// may be nil.
func RefreshValues(ctx context.Context, m *ir.GraphModule, bound func(symbol string) (least, greatest int64)) []*ir.Node {
	r := &refresher{nodes: map[*ir.Node]*ir.Node{}, known: map[string]bool{}, device: ir.NewDevice(ir.DeviceCPU, -1)}
	r.module = m.Clone()
	from, to := m.Graph().First(), r.module.Graph().First()
	for ; from != nil && to != nil; from, to = from.Next(), to.Next() {
		r.nodes[to] = from
	}
	r.module.Graph().SetCodeGen(ir.PlainCodeGen{}) // the inputs are flat
	first := map[string]int64{}
	for n := range m.Graph().Nodes() {
		r.learn(n, n.Meta().Get(ir.MetaVal), first)
	}
	if r.run(ctx, m, first); len(r.seen) == 0 {
		return nil
	}
	var stale []*ir.Node
	for n := range m.Graph().Nodes() {
		v, ok := r.seen[0][n]
		noted := n.Meta().Get(ir.MetaVal)
		if dependsOnData(n) || r.foreign(noted) {
			break // and so does what follows, as far as is known
		}
		if !ok || n.Op() == ir.Output || n.Op() == ir.GetAttr || agrees(noted, v) {
			continue
		}
		if noted != nil && n.Func() != nil && n.Func().Kind() == ir.HigherOrder {
			break // it does otherwise with elements, as autocasting does: what follows says nothing
		}
		stale = append(stale, n)
	}
	if len(stale) == 0 {
		return nil
	}
	for k := 1; k <= maxAttempts && len(r.samples) < wantedSamples && len(r.symbols) > 0; k++ {
		r.run(ctx, m, r.sample(k, first, bound))
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

// foreign reports whether a value mentions a symbol that no input has: one that
// depends on elements.
func (r *refresher) foreign(v any) bool {
	has := func(e *ir.Expr) bool {
		return e != nil && slices.ContainsFunc(e.Symbols(), func(s string) bool { return !slices.Contains(r.symbols, s) })
	}
	switch v := v.(type) {
	case ir.TensorMeta:
		return slices.ContainsFunc(v.Sizes, func(s ir.Size) bool { return has(s.Expr()) })
	case ir.SymScalar:
		return has(v.Expr)
	case []any:
		return slices.ContainsFunc(v, r.foreign)
	}
	return false
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

// learn collects the symbols and expressions of a value.
func (r *refresher) learn(n *ir.Node, v any, first map[string]int64) {
	add := func(e *ir.Expr, hint int64, bare bool) {
		if e == nil {
			return
		}
		if s, ok := e.Symbol(); ok && n.Op() == ir.Placeholder && bare {
			if _, known := first[s]; !known {
				first[s] = hint
				r.symbols = append(r.symbols, s)
			}
		}
		if text := e.String(); !r.known[text] {
			r.known[text] = true
			r.exprs = append(r.exprs, candidate{expr: e})
		}
	}
	switch v := v.(type) {
	case ir.TensorMeta:
		for _, list := range [][]ir.Size{v.Sizes, v.Strides, {v.StorageOffset}} {
			for _, s := range list {
				add(s.Expr(), s.Hint(), true)
			}
		}
	case ir.SymScalar:
		hint, isInt := v.Hint.(ir.Int)
		add(v.Expr, int64(hint), isInt)
	case []any:
		for _, item := range v {
			r.learn(n, item, first)
		}
	}
}

// sample chooses other values of the symbols, within their ranges and different from
// each other.
func (r *refresher) sample(k int, first map[string]int64, bound func(symbol string) (least, greatest int64)) map[string]int64 {
	values := map[string]int64{}
	for i, s := range r.symbols {
		lo, hi := int64(1), int64(math.MaxInt32)
		if bound != nil {
			least, greatest := bound(s)
			lo, hi = max(lo, least), min(hi, greatest)
		}
		step := sampleSteps[(k-1)%len(sampleSteps)]
		if step < 8 {
			step *= int64(1 + i)
		}
		n := first[s] + step
		if n > hi {
			n = max(lo, first[s]-step)
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
	out, _ := ShapeProp(ctx, r.module, args, OnMeta(), EachValue(func(n *ir.Node, v any) { seen[r.nodes[n]] = v }))
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

// argument makes an input of the sizes that a sample gives.
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
		if v.Expr == nil || v.Kind != ir.TypeSymInt {
			return plain(v.Hint)
		}
		hint, _ := v.Hint.(ir.Int)
		return sizeIn(ir.SymbolicSize(v.Expr, int64(hint)), sample)
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
func agrees(val, seen any) bool {
	if _, none := val.(ir.None); none {
		return true // nobody reads it
	}
	switch seen := seen.(type) {
	case ir.TensorMeta:
		v, ok := val.(ir.TensorMeta)
		return ok && v.DType == seen.DType && v.Layout == seen.Layout &&
			slices.EqualFunc(v.Sizes, seen.Sizes, sameHint) && slices.EqualFunc(v.Strides, seen.Strides, sameHint)
	case []any:
		v, ok := val.([]any)
		return ok && slices.EqualFunc(v, seen, agrees)
	case nil:
		return false
	case int64, float64, bool:
		switch v := val.(type) {
		case ir.SymScalar:
			if v.Expr == nil {
				return fmt.Sprint(v.Hint) == fmt.Sprint(seen)
			}
			if hint, ok := v.Hint.(ir.Int); ok {
				return int64(hint) == seen
			}
			return true
		case ir.Int, ir.Float, ir.Bool:
			return fmt.Sprint(v) == fmt.Sprint(seen)
		}
		return false
	}
	return val != nil
}

func sameHint(a, b ir.Size) bool { return a.Hint() == b.Hint() }
