package passes

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Delegate computes parts of graphs by other kernels than libtorch's.
type Delegate interface {
	// Name is a word: the paths of regions begin with it. A method Version() string, where
	// there is one, says more, for what measured times hold.
	Name() string
	// Supported is asked of calls of ATen operators that have no effects, whose operands
	// and results are tensors of which MetaVal is noted, and whose memory nothing writes.
	// A read of an attribute among the operands is a constant.
	OperatorSupport
	// Worth reports whether compiling a region may pay, before any of it is done.
	Worth(region *ir.GraphModule) bool
	// Compile compiles a region: a module of supported calls that takes and returns
	// tensors. An output must lie as its MetaVal says, in rows or channels last; what lies
	// between kernels, as layouts say. An error, unless it is of class ir.ErrOutOfMemory or
	// ir.ErrCancelled, leaves the region to libtorch.
	Compile(ctx context.Context, region *ir.GraphModule, layouts delegate.Layouts) (*libtorch.Region, error)
}

// A DelegateOption changes what [DelegateRegions] does.
type DelegateOption func(*delegation)

// DelegateThreads sets how many threads a run of a region may use when kernels are
// made for it beforehand. Default: 1.
func DelegateThreads(n int) DelegateOption { return func(d *delegation) { d.threads = max(n, 1) } }

// DelegateRegions gives d the largest parts of m's graph that it supports. Each
// becomes a call of an [interpreter.Delegated] that keeps the nodes as its twin. Parts
// are convex, no path leads out of one and back; they are joined along what they read
// alone. What shares memory with a result of m, or is written, stays outside, as does
// whatever would change the strides that are noted of a part's results. No part has
// nodes before and behind one that writes or draws numbers.
//
// The regions belong to the caller, who closes them once m is not run any more; Plans
// have their own references. On an error m is as it was.
func DelegateRegions(ctx context.Context, m *ir.GraphModule, d Delegate, opts ...DelegateOption) ([]Delegation, []*libtorch.Region, error) {
	if err := given("delegate", m, opts); err != nil {
		return nil, nil, err
	}
	w := &delegation{ctx: ctx, module: m, delegate: d, threads: 1}
	for _, o := range opts {
		o(w)
	}
	if err := (&libtorch.Mode{Threads: w.threads}).Check(); err != nil {
		return nil, nil, fmt.Errorf("delegate: %w", err)
	}
	err := w.run()
	return w.report, w.regions, err
}

// A delegation gives regions of one module to one delegate.
type delegation struct {
	ctx      context.Context
	module   *ir.GraphModule
	delegate Delegate
	threads  int
	// choose compiles a region, or leaves it, and says why; nil compiles all.
	choose func(r *delegable) (bool, string, error)
	idle   func(*torch.Tensor) // see [Idle]

	report  []Delegation
	regions []*libtorch.Region
}

func (w *delegation) run() (err error) {
	defer func() {
		if err != nil {
			for _, r := range w.regions {
				_ = r.Close()
			}
			w.regions = nil
		}
	}()
	var taken []*delegable
	for _, part := range w.parts() {
		if err := w.ctx.Err(); err != nil {
			return ir.Errorf(ir.ErrCancelled, "delegate: stopped: %w", err)
		}
		r, err := w.part(part)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		ok, err := w.compile(r)
		if err != nil {
			return err
		}
		if ok {
			taken = append(taken, r)
		}
	}
	return w.replace(taken)
}

// parts proposes what may become regions. None spans a node with effects: the call of a
// region stands where its last node did, and what reads its results follows, behind a
// write of something that it reads, say.
func (w *delegation) parts() (parts [][]*ir.Node) {
	effects, span := 0, map[*ir.Node]int{}
	for n := range w.module.Graph().Nodes() {
		if hasEffects(w.module, n) {
			effects++
		}
		span[n] = effects
	}
	for _, part := range NewPartitioner(w.module, w.support(), AllowSingleNodes(), CountAllCalls(), NoHorizontalFusion()).Propose() {
		at := map[int]int{} // of spans, in parts
		for _, n := range part.Nodes {
			i, there := at[span[n]]
			if !there {
				i = len(parts)
				at[span[n]], parts = i, append(parts, nil)
			}
			parts[i] = append(parts[i], n)
		}
	}
	return parts
}

// hasEffects reports whether a node may write what others read, or draws numbers.
func hasEffects(m *ir.GraphModule, n *ir.Node) bool {
	switch n.Op() {
	case ir.CallFunction:
		if n.Func().Kind() == ir.Operator || plainFunctions[n.Func()] {
			return false
		}
		s := ir.Operators().Lookup(n.Func().Op())
		if s == nil {
			return true
		}
		e := s.Effects().Settle(func(i int) ir.Arg { return operandOrDefault(n, s, i) })
		return len(e.Writes)+len(e.Updates) > 0 || e.Random || e.Opaque
	case ir.CallModule:
		return !onlyReads(m, n)
	}
	return n.Op() == ir.CallMethod
}

// A delegable is a part of the graph that may become a region.
type delegable struct {
	nodes, inputs, outputs []*ir.Node
	twin                   *ir.GraphModule
	region                 *libtorch.Region
	report                 Delegation
}

// support is what the delegate supports where handing it over changes nothing else.
func (w *delegation) support() OperatorSupport {
	memory := mapMemory(w.module)
	written := writtenTensors(w.module)
	return SupportFunc(func(m *ir.GraphModule, n *ir.Node) bool {
		if n.Op() != ir.CallFunction || n.Func().Kind() != ir.Overload || n.IsImpure() || memory.is(memory.written, n) {
			return false
		}
		if _, one := valueOf(n); !one {
			return false
		}
		if len(memory.roots[n]) > 1 && memory.is(memory.returned, n) {
			return false // a view, and a result is to share its memory
		}
		for _, in := range n.Inputs() {
			if _, one := valueOf(in); !one || memory.is(memory.written, in) {
				return false
			}
			if in.Op() == ir.GetAttr {
				v, _ := m.Attr(in.Target().String())
				t, ok := v.(*torch.Tensor)
				if !ok || t == nil {
					return false
				}
				if shares, err := written.shares(t); err != nil || shares {
					return false
				}
			}
		}
		return w.delegate.Supported(m, n)
	})
}

// part makes a region of the nodes of a partition, nil where there is none in it.
func (w *delegation) part(nodes []*ir.Node) (*delegable, error) {
	nodes, err := SortNodes(nodes)
	if err != nil {
		return nil, err
	}
	nodes = trimLayouts(nodes)
	if len(nodes) == 0 {
		return nil, nil
	}
	r := &delegable{nodes: nodes, report: Delegation{Nodes: nodeNames(nodes)}}
	inputs, outputs := border(nodes)
	r.outputs = outputs
	r.inputs = slices.DeleteFunc(inputs, func(n *ir.Node) bool { return n.Op() == ir.GetAttr })
	if len(r.inputs) == 0 || len(outputs) == 0 {
		return nil, nil
	}
	if r.twin, err = w.twin(r); err != nil {
		return nil, err
	}
	if !w.delegate.Worth(r.twin) {
		return nil, nil
	}
	return r, nil
}

// trimLayouts takes out the results of a part that lie otherwise than in rows or
// channels last, a transposed view say, and what is computed of them.
func trimLayouts(nodes []*ir.Node) []*ir.Node {
	for {
		_, outputs := border(nodes)
		gone := map[*ir.Node]bool{}
		for _, n := range outputs {
			if format, dense := notedFormat(n); !dense || format != ir.ContiguousFormat && format != ir.ChannelsLast {
				gone[n] = true
			}
		}
		if len(gone) == 0 {
			return nodes
		}
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *ir.Node) bool {
			gone[n] = gone[n] || slices.ContainsFunc(n.Inputs(), func(in *ir.Node) bool { return gone[in] })
			return gone[n]
		})
	}
}

// twin makes a module that computes a part. What it reads of m's attributes it has
// under the same paths.
func (w *delegation) twin(r *delegable) (*ir.GraphModule, error) {
	sub := ir.NewGraph()
	env := map[*ir.Node]*ir.Node{}
	for _, n := range r.inputs {
		env[n] = copyMeta(sub.Placeholder(n.Name(), ir.WithType(n.Type())), n)
	}
	for _, n := range r.nodes {
		for _, in := range n.Inputs() {
			if in.Op() == ir.GetAttr && env[in] == nil {
				env[in] = copyMeta(sub.GetAttr(in.Target().String()), in)
			}
		}
		c, err := sub.CopyNode(n, lookup(env))
		if err != nil {
			return nil, err
		}
		env[n] = c
	}
	results := make([]ir.Arg, len(r.outputs))
	for i, n := range r.outputs {
		results[i] = env[n]
	}
	if len(results) == 1 {
		sub.Output(results[0])
	} else {
		sub.Output(ir.TupleOf(results...))
	}
	a := attributes{module: w.module}
	m, err := a.carry(sub, w.delegate.Name())
	if err != nil {
		return nil, err
	}
	return m, sub.Lint()
}

// compile compiles a part and reports whether it becomes a region.
func (w *delegation) compile(r *delegable) (ok bool, err error) {
	var why string
	if w.choose != nil {
		ok, why, err = w.choose(r)
	} else {
		ok, why, err = w.made(r, delegate.Measured)
	}
	if r.report.Why = why; err != nil || !ok {
		if r.region != nil {
			_ = r.region.Close()
		}
		w.report = append(w.report, r.report)
		return false, err
	}
	w.regions = append(w.regions, r.region)
	return true, nil
}

// made compiles a part and makes its kernels for the sizes that are noted. It reports
// false, and why, where the delegate has none.
func (w *delegation) made(r *delegable, layouts delegate.Layouts) (ok bool, why string, err error) {
	inputs, err := exampleInputs(r.twin.Graph())
	defer closeTensors(inputs)
	if err != nil {
		return false, "", err
	}
	// batch norms are part of the layers before them for whoever compiles these
	folded, err := Freeze(w.ctx, r.twin, OnlyRewrites("fold-batch-norm"), Idle(w.idle))
	if err != nil {
		return false, "", err
	}
	r.region, err = w.delegate.Compile(w.ctx, folded.Module, layouts)
	// before kernels are made, which want the weights in layouts of their own
	if err := folded.Close(); err != nil {
		return false, "", err
	}
	w.twinIdle(r)
	if err == nil {
		r.report.Kernels, err = prepare(r.region, w.threads, inputs)
	}
	if class := ir.ClassOf(err); class == ir.ErrOutOfMemory || class == ir.ErrCancelled {
		return false, "", err
	} else if err != nil {
		return false, err.Error(), nil
	}
	return true, "", nil
}

// twinIdle says that what the twin of a region keeps is not read for now.
func (w *delegation) twinIdle(r *delegable) {
	if w.idle == nil {
		return
	}
	for _, v := range r.twin.Attrs() {
		if t, ok := v.(*torch.Tensor); ok {
			w.idle(t)
		}
	}
}

func prepare(r *libtorch.Region, threads int, inputs []*torch.Tensor) (string, error) {
	handles := make([]*libtorch.Tensor, len(inputs))
	for i, t := range inputs {
		h, err := t.Handle()
		if err != nil {
			return "", err
		}
		handles[i] = h
	}
	class, err := r.Prepare(handles, threads)
	if err != nil {
		return "", err
	}
	defer class.Close()
	return class.Describe(), nil
}

// exampleInputs makes tensors as the placeholders' meta describes them.
func exampleInputs(g *ir.Graph) (inputs []*torch.Tensor, err error) {
	for _, n := range g.Find(ir.Placeholder, nil) {
		meta, _ := valueOf(n)
		t, err := tensor("aten::rand", hints(meta.Sizes), torch.Kw("dtype", meta.DType))
		if err != nil {
			return inputs, err
		}
		inputs = append(inputs, t)
		if format, _ := notedFormat(n); format == ir.ChannelsLast {
			last, err := tensor("aten::contiguous", t, torch.Kw("memory_format", format))
			if err != nil {
				return inputs, err
			}
			t.Close()
			inputs[len(inputs)-1] = last
		}
	}
	return inputs, nil
}

func closeTensors(tensors []*torch.Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}

// replace puts calls of regions in the places of parts.
func (w *delegation) replace(taken []*delegable) error {
	if len(taken) == 0 {
		return nil
	}
	f := &fuser{attributes: attributes{module: w.module}, prefix: w.delegate.Name() + "_"}
	now := map[*ir.Node]*ir.Node{} // what stands for the results of regions
	for _, r := range taken {
		for i, n := range r.inputs {
			r.inputs[i] = cmp.Or(now[n], n)
		}
		d, err := interpreter.NewDelegated(r.twin, r.region)
		if err != nil {
			return err
		}
		r.report.Path = f.free()
		w.module.SetAttr(r.report.Path, d)
		f.replace(r.report.Path, r.nodes, r.inputs, r.outputs)
		call := w.module.Graph().Find(ir.CallModule, ir.Path(r.report.Path))[0]
		if len(r.outputs) == 1 {
			now[r.outputs[0]] = call
		} else {
			for u := range call.Users() {
				now[r.outputs[u.Arg(1).(ir.Int)]] = u
			}
		}
		for _, n := range slices.Backward(r.nodes) {
			if err := w.module.Graph().Erase(n); err != nil {
				return err
			}
		}
		w.report = append(w.report, r.report)
	}
	if err := Sort(w.module); err != nil {
		return err
	}
	if _, err := w.module.Graph().EliminateDeadCode(); err != nil {
		return err
	}
	return w.module.Graph().Lint()
}
