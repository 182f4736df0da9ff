package passes

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// FreezeDelegate sets what regions are given to; nil for nothing. Default: oneDNN,
// where set-up has built the library.
func FreezeDelegate(d Delegate) FreezeOption {
	return func(f *freezer) { f.delegate = func() (Delegate, error) { return d, nil } }
}

// onednnOfSetUp is the delegate on the library that set-up has built.
var onednnOfSetUp = sync.OnceValues(func() (Delegate, error) {
	library, err := libtorch.OpenDelegate()
	if err != nil {
		return nil, err
	}
	return NewOneDNN(library), nil
})

// The ways to compute a region.
const wayLibtorch = "libtorch" // by what the other rewrites make of it

// giveRegions is delegateRegions, which makes use of the list of rewrites that it is in.
var giveRegions func(*freezer) error

func init() { giveRegions = (*freezer).delegateRegions }

// delegateRegions gives parts of the graph to a delegate where that was measured to be
// faster than what the other rewrites make of them.
func (f *freezer) delegateRegions() error {
	d, err := f.delegate()
	switch {
	case err != nil:
		f.keptAll("there is no delegate: %v", err)
		return nil
	case d == nil:
		return nil
	case f.on["bfloat16"]:
		f.keptAll("bfloat16 is asked for, which libtorch computes in")
		return nil
	}
	if err := f.plainNorms(); err != nil {
		return err
	}
	w := &delegation{ctx: f.ctx, module: f.module, delegate: d, threads: f.threads, idle: f.idle}
	w.choose = func(r *delegable) (bool, string, error) { return f.chooseRegion(w, r) }
	if err := w.run(); err != nil {
		return err
	}
	f.graph = f.module.Graph()
	f.regions = append(f.regions, w.regions...)
	for _, r := range w.report {
		if r.Path == "" {
			f.report.Kept = append(f.report.Kept, NotApplied{f.rewrite, r.nodes(), r.Why})
		} else {
			f.report.Applied = append(f.report.Applied, Applied{f.rewrite, r.Path, r.what()})
			f.report.Regions = append(f.report.Regions, r)
		}
	}
	return nil
}

func (f *freezer) keptAll(format string, args ...any) {
	f.report.Kept = append(f.report.Kept, NotApplied{f.rewrite, "all", fmt.Sprintf(format, args...)})
}

// chooseRegion compiles a region where that was measured to pay.
func (f *freezer) chooseRegion(w *delegation, r *delegable) (ok bool, why string, err error) {
	name := w.delegate.Name()
	key := regionKey(w.delegate, r.twin)
	ways := []string{wayLibtorch, name}
	choice, known := f.known(key, ways)
	if known && choice.Way != name {
		return false, choice.String(), nil
	}
	layouts, laid := f.layoutsOf("layouts of " + key)
	if ok, why, err = w.made(r, layouts); err != nil || !ok {
		return false, why, err
	}
	if layouts == delegate.Measured {
		laid = f.noteLayouts("layouts of "+key, r.region.Layouts())
	}
	if !known && f.choices.fixed == "" {
		if choice, err = f.compareRegion(w, r, key, ways); err != nil {
			return false, "", err
		}
	}
	why = choice.String()
	if text := laid.String(); text != "" {
		why += "; layouts: " + text
	}
	return known || f.choices.fixed != "" || choice.Way == name, why, nil
}

// compareRegion measures a region that is compiled against what libtorch computes it by.
func (f *freezer) compareRegion(w *delegation, r *delegable, key string, ways []string) (choice Choice, err error) {
	if err := f.canKeep(); err != nil {
		return choice, err
	}
	inputs, err := exampleInputs(r.twin.Graph())
	defer closeTensors(inputs)
	if err != nil {
		return choice, err
	}
	delegated, err := f.regionPlan(r)
	if err != nil {
		return choice, err
	}
	defer delegated.Close()
	plain, closePlain, err := f.plainPlan(r)
	if err != nil {
		return choice, err
	}
	defer func() {
		closePlain()
		w.twinIdle(r) // what it packed nothing of, it read
	}()
	return f.choose(key, ways, func(m *measured) error {
		m.margin = 0.02 // many kernels: their sum is measured better than one
		for i, plan := range []*interpreter.Plan{plain, delegated} {
			m.ways = append(m.ways, way{name: ways[i], do: runsPlan(f.ctx, plan, inputs)})
		}
		return nil
	})
}

// regionPlan is a plan that runs a region alone.
func (f *freezer) regionPlan(r *delegable) (*interpreter.Plan, error) {
	d, err := interpreter.NewDelegated(r.twin, r.region)
	if err != nil {
		return nil, err
	}
	g := ir.NewGraph()
	var args []ir.Arg
	for _, n := range r.inputs {
		args = append(args, g.Placeholder(n.Name()))
	}
	g.Output(g.CallModule("region", args))
	m, err := ir.NewGraphModule(map[string]any{"region": d}, g)
	if err != nil {
		return nil, err
	}
	return interpreter.Compile(m, interpreter.WithThreads(f.threads))
}

// plainPlan is a plan of what the other rewrites make of a region. Its convolutions are
// packed, which measuring them one by one nearly always comes to: the kernels of the other
// ways would stay in memory, in a cache of libtorch's that nobody can empty. Where the region
// turns out to be slower, they are measured.
func (f *freezer) plainPlan(r *delegable) (*interpreter.Plan, func(), error) {
	on := maps.Clone(f.on)
	on[f.rewrite] = false
	frozen, err := Freeze(f.ctx, r.twin, func(g *freezer) {
		g.on, g.choices, g.threads, g.idle, g.packed = on, f.choices, f.threads, f.idle, true
	})
	if err != nil {
		return nil, nil, err
	}
	f.report.Choices = append(f.report.Choices, frozen.Report.Choices...)
	plan, err := interpreter.Compile(frozen.Module, interpreter.WithThreads(f.threads))
	if err != nil {
		_ = frozen.Close()
		return nil, nil, err
	}
	return plan, func() { _, _ = plan.Close(), frozen.Close() }, nil
}

func runsPlan(ctx context.Context, p *interpreter.Plan, inputs []*torch.Tensor) func() error {
	args := make([]any, len(inputs))
	for i, t := range inputs {
		args[i] = t
	}
	return func() error {
		out, err := p.RunFlat(ctx, args)
		for _, v := range out {
			if t, ok := v.(*torch.Tensor); ok {
				t.Close()
			}
		}
		return err
	}
}

// regionKey describes what a region computes and by what, names of nodes and attributes
// apart, so that layers that are alike are measured once.
func regionKey(d Delegate, twin *ir.GraphModule) string {
	var b strings.Builder
	if v, ok := d.(interface{ Version() string }); ok {
		fmt.Fprintln(&b, v.Version())
	}
	number := map[*ir.Node]int{}
	calls := 0
	for n := range twin.Graph().Nodes() {
		number[n] = len(number)
		meta, _ := valueOf(n)
		fmt.Fprintf(&b, "%s %s%v%v", n.Op(), meta.DType, hints(meta.Sizes), hints(meta.Strides))
		if n.Op() == ir.CallFunction {
			calls++
			b.WriteString(n.Func().Op())
		}
		if n.Op() == ir.CallFunction || n.Op() == ir.Output {
			one := func(a ir.Arg) string {
				return ir.Repr(ir.MapNodes(a, func(m *ir.Node) ir.Arg { return ir.Str(fmt.Sprintf("%%%d", number[m])) }))
			}
			for _, a := range n.Args() {
				b.WriteString(" " + one(a))
			}
			for _, k := range n.Kwargs() {
				b.WriteString(" " + k.Name + "=" + one(k.Value))
			}
		}
		b.WriteByte('\n')
	}
	var inputs []string
	for _, n := range twin.Graph().Find(ir.Placeholder, nil) {
		meta, _ := valueOf(n)
		inputs = append(inputs, fmt.Sprint(hints(meta.Sizes)))
	}
	return fmt.Sprintf("%s region of %d operators, inputs %s, %x", d.Name(), calls, strings.Join(inputs, " "), sha256.Sum256([]byte(b.String())))
}

var severalNormsOp = ir.OverloadOf("aten::_native_batch_norm_legit_no_training")

// plainNorms makes batch norms that return statistics, which evaluating ones have none
// of, such that return their result alone.
func (f *freezer) plainNorms() error {
	for _, n := range nodesOf(f.graph) {
		if n.Graph() == nil || n.Func() != severalNormsOp {
			continue
		}
		users := slices.Collect(n.Users())
		if slices.ContainsFunc(users, func(u *ir.Node) bool { return u.Func() != getitem || u.Arg(1) != ir.Arg(ir.Int(0)) }) {
			continue
		}
		args, err := bind(n)
		if err != nil {
			return err
		}
		for _, u := range users {
			call, err := f.call(u, u, "aten::batch_norm", args["input"], args["weight"], args["bias"], args["running_mean"], args["running_var"],
				ir.Bool(false), args["momentum"], args["eps"], ir.Bool(true))
			if err != nil {
				return err
			}
			if err := f.replace(u, call); err != nil {
				return err
			}
		}
	}
	return nil
}
