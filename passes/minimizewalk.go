package passes

import (
	"context"
	"errors"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// Minimize looks for culprits: calls whose results differ, or that cannot be run. It
// returns them in graph order; [Minimizer.Report] tells how they were found. An error
// is a part that could not be cut out, or a module that could not be run as a whole;
// class ir.ErrRuntime for an unknown order, or [Skip] without [SkipNodes].
func (z *Minimizer) Minimize(ctx context.Context) ([]*ir.Node, error) {
	nodes := z.collect()
	if len(nodes) == 0 {
		return nil, nil
	}
	var culprits nodeMarks
	var err error
	switch z.traversal {
	case Sequential:
		culprits, err = z.sequential(ctx, nodes)
	case Binary:
		culprits, err = z.binary(ctx, nodes, 0, len(nodes))
	case Accumulate:
		culprits, err = z.accumulated(ctx, nodes)
	case Skip:
		if z.skip == nil {
			return nil, ir.Errorf(ir.ErrRuntime, "minimize: 'skip_nodes' can't be None when 'traverse_method' is 'skip'.")
		}
		culprits, err = z.skipping(ctx, nodes)
	case Defined:
		culprits, err = z.defined(ctx, nodes)
	case Block:
		culprits, err = z.block(ctx, nodes)
	default:
		return nil, ir.Errorf(ir.ErrRuntime, "minimize: Unknown traverse method %s!", z.traversal)
	}
	if err != nil {
		return nil, err
	}
	var out []*ir.Node
	for n := range z.module.Graph().Nodes() {
		if culprits[n] {
			out = append(out, n)
		}
	}
	return out, nil
}

// RunNodes tries the calls of [Between] as one part and returns what is wrong with
// it: an error that is [ErrPartRun] or [ErrPartMismatch].
func (z *Minimizer) RunNodes(ctx context.Context) error {
	nodes := z.collect()
	if len(nodes) == 0 {
		return nil
	}
	return z.try(ctx, z.withGroups(nodes), nil, z.report("Run nodes %s to %s", nodes[0], nodes[len(nodes)-1]))
}

// collect lists the calls from start to end.
func (z *Minimizer) collect() []*ir.Node {
	var nodes []*ir.Node
	on := z.start == ""
	for n := range z.module.Graph().Nodes() {
		if !isCall(n) {
			continue
		}
		if on = on || n.Name() == z.start; on {
			nodes = append(nodes, n)
		}
		if n.Name() == z.end {
			break
		}
	}
	return nodes
}

// withGroups is a set of nodes with the groups that they belong to.
func (z *Minimizer) withGroups(nodes []*ir.Node) nodeMarks {
	set := nodeMarks{}
	for _, n := range nodes {
		set[n] = true
		if g := z.groups[n]; g != nil {
			for _, m := range g.nodes.nodes {
				set[m] = true
			}
		}
	}
	return set
}

// reduced applies the caller's exclusion.
func (z *Minimizer) reduced(nodes []*ir.Node) []*ir.Node {
	if z.exclude == nil {
		return nodes
	}
	return z.exclude(slices.Clone(nodes))
}

func marks(nodes []*ir.Node) nodeMarks {
	set := nodeMarks{}
	for _, n := range nodes {
		set[n] = true
	}
	return set
}

// atFault tells a part that is at fault from an attempt that failed.
func atFault(err error) bool { return errors.Is(err, ErrPartRun) || errors.Is(err, ErrPartMismatch) }

func (z *Minimizer) sequential(ctx context.Context, nodes []*ir.Node) (nodeMarks, error) {
	culprits := nodeMarks{}
	for i, n := range nodes {
		r := z.report("Sequential traverse iteration %d.", i+1)
		z.note(r, "Visit node: %s", n)
		if len(z.reduced([]*ir.Node{n})) == 0 {
			z.note(r, "User exclusion : %s", n)
			if !z.findAll {
				return culprits, nil
			}
			continue
		}
		set := nodeMarks{n: true}
		if z.groups[n] != nil {
			set = z.withGroups([]*ir.Node{n})
		}
		switch err := z.try(ctx, set, []string{n.Name()}, r); {
		case err == nil:
			continue
		case errors.Is(err, ErrPartMismatch):
			culprits[n] = true
			z.note(r, "Found culprit from numeric error: %s", n)
		case errors.Is(err, ErrPartRun):
			for n := range set {
				culprits[n] = true
			}
			z.note(r, "Found culprit from run error: %s", n)
		default:
			return nil, err
		}
		if !z.findAll {
			return culprits, nil
		}
	}
	return culprits, nil
}

func (z *Minimizer) binary(ctx context.Context, all []*ir.Node, start, end int) (nodeMarks, error) {
	nodes := z.reduced(all[start:end])
	if len(nodes) == 0 {
		z.report("All nodes are excluded by user")
		return nodeMarks{}, nil
	}
	first, last := nodes[0], nodes[len(nodes)-1]
	r := z.report("Binary search iteration %d", len(z.reports)+1)
	z.note(r, "From node index %d:%s to %d:%s. Size of the interested node list is %d", start, first, end-1, last, len(nodes))
	err := z.try(ctx, marks(nodes), []string{last.Name()}, r)
	switch {
	case err == nil:
		z.note(r, "No discrepancy found.")
		return nodeMarks{}, nil
	case !atFault(err):
		return nil, err
	case len(nodes) == 1:
		z.note(r, "This is the last node in the sub-module. Search in the current branch is successful with culprit = %s.", first)
		return marks(nodes), nil
	}
	z.note(r, "Proceed to split and lower the halves of the current sub-module individually.")
	mid := start + len(nodes)/2
	front, err := z.binary(ctx, all, start, mid)
	if err != nil || len(front) > 0 && !z.findAll {
		return front, err
	}
	back, err := z.binary(ctx, all, mid, end)
	if err != nil {
		return nil, err
	}
	for n := range front {
		back[n] = true
	}
	if len(back) == 0 {
		z.note(r, "Further split and lowering found no errors. Unable to minimize the submodule.")
	}
	return back, nil
}

func (z *Minimizer) accumulated(ctx context.Context, nodes []*ir.Node) (nodeMarks, error) {
	set := nodeMarks{}
	for i, n := range nodes {
		r := z.report("Accumulate traverse iteration %d.", i+1)
		set[n] = true
		z.note(r, "Add node: %s", n)
		if err := z.try(ctx, set, []string{n.Name()}, r); atFault(err) {
			z.note(r, "Found culprit %s", n)
			return nodeMarks{n: true}, nil
		} else if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// defined tries all nodes together. torch.fx reports the culprits and then returns
// none.
func (z *Minimizer) defined(ctx context.Context, nodes []*ir.Node) (nodeMarks, error) {
	if nodes = z.reduced(nodes); len(nodes) == 0 {
		z.report("All nodes are excluded by user")
		return nil, nil
	}
	last := nodes[len(nodes)-1]
	r := z.report("Defined graph from %s to %s", nodes[0], last)
	err := z.try(ctx, marks(nodes), []string{last.Name()}, r)
	if atFault(err) {
		z.note(r, "Found culprit %v", nodes)
		return marks(nodes), nil
	}
	return nil, err
}

// skipping tries each run of nodes between those to skip. torch.fx returns the
// culprits of the last run alone.
func (z *Minimizer) skipping(ctx context.Context, nodes []*ir.Node) (nodeMarks, error) {
	culprits := nodeMarks{}
	for start := 0; start < len(nodes); {
		end := start
		for end < len(nodes) && !slices.Contains(z.skip, nodes[end].Name()) {
			end++
		}
		if run := z.reduced(nodes[start:end]); len(run) > 0 {
			set := marks(run)
			if z.exclude == nil {
				set = z.withGroups(run)
			}
			r := z.report("Nodes block %d.", len(z.reports)+1)
			z.note(r, "From node index %d to %d. Size of the interested node list is %d", start, end-1, len(run))
			if err := z.try(ctx, set, nil, r); atFault(err) {
				z.note(r, "Found culprit: %v", run)
				for n := range set {
					culprits[n] = true
				}
			} else if err != nil {
				return nil, err
			} else {
				z.note(r, "No discrepancy found.")
			}
		}
		start = end + 1
	}
	return culprits, nil
}

func (z *Minimizer) block(ctx context.Context, nodes []*ir.Node) (nodeMarks, error) {
	first, last := 0, len(nodes)-1
	var err error
	if !z.oneEnd || z.lastEnd {
		z.report("Start searching for last node in culprit")
		if last, err = z.blockEnd(ctx, nodes, 0, last, true); last < 0 || err != nil {
			return nil, err
		}
	}
	if !z.oneEnd || !z.lastEnd {
		z.report("Start searching for first node in culprit")
		if first, err = z.blockEnd(ctx, nodes, 0, last, false); first < 0 || err != nil {
			return nil, err
		}
	}
	z.report("Finish searching, found minimum block (%s,%s)", nodes[first], nodes[last])
	return marks(nodes[first : last+1]), nil
}

// blockEnd finds the last node of the block, such that the nodes up to it are wrong
// and those before it are not; or the first, from the end. -1 stands for none.
func (z *Minimizer) blockEnd(ctx context.Context, nodes []*ir.Node, start, end int, last bool) (int, error) {
	whole := len(nodes) - 1
	for {
		mid := (start + end) / 2
		tried := nodes[mid:]
		if last {
			tried = nodes[:mid+1]
		}
		if tried = z.reduced(tried); len(tried) == 0 {
			return -1, nil
		}
		r := z.report("Block search iteration %d: nodes %s to %s", len(z.reports)+1, tried[0], tried[len(tried)-1])
		err := z.try(ctx, marks(tried), []string{tried[len(tried)-1].Name()}, r)
		if err != nil && !atFault(err) {
			return 0, err
		}
		wrong := err != nil
		if wrong {
			z.note(r, "Culprits found from node %s to %s.", tried[0], tried[len(tried)-1])
		}
		switch {
		case start == end && wrong:
			return start, nil
		case start == end && (last && start == whole || !last && start == 0):
			z.note(r, "No culprits found.")
			return -1, nil
		case start == end && last:
			return start + 1, nil
		case start == end:
			return start - 1, nil
		case wrong == last:
			end = mid
		default:
			start = mid + 1
		}
	}
}
