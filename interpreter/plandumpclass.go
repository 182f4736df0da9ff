package interpreter

import (
	"fmt"
	"strings"
	"text/tabwriter"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// dumpRegions lists what delegates compute. Regions that are alike have one list of
// kernels.
func (p *Plan) dumpRegions(b *strings.Builder) {
	seen := map[string]string{}
	for i := range p.steps {
		s := &p.steps[i]
		if s.delegated == nil {
			continue
		}
		var nodes []string
		for n := range s.delegated.twin.Graph().Nodes() {
			if n.Op() == ir.CallFunction {
				nodes = append(nodes, n.Name())
			}
		}
		fmt.Fprintf(b, "\nregion %s, step %d: %d operators by %s, %d bytes of packed weights: %s\n", s.site.path(), i, len(nodes),
			s.Region.Delegate().Name, s.Region.Bytes(), strings.Join(nodes, " "))
		kernels := s.delegated.kernels(max(p.mode.Threads, 1))
		if kernels == "" {
			continue
		}
		if alike, ok := seen[kernels]; ok {
			fmt.Fprintf(b, "kernels as those of %s\n", alike)
			continue
		}
		seen[kernels] = s.site.path()
		b.WriteString(kernels)
	}
}

// kernels describes those for the inputs that the twin was noted with; "" where nothing
// is noted, or there are none for them.
func (d *Delegated) kernels(threads int) string {
	var inputs []*libtorch.Tensor
	defer func() {
		for _, t := range inputs {
			_ = t.Close()
		}
	}()
	for _, n := range d.twin.Graph().Find(ir.Placeholder, nil) {
		meta, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta)
		if !ok {
			return ""
		}
		numbers := func(sizes []ir.Size) []int64 {
			list := make([]int64, len(sizes))
			for i, s := range sizes {
				list[i] = s.Hint()
			}
			return list
		}
		v, err := torch.Call("aten::empty_strided", numbers(meta.Sizes), numbers(meta.Strides), torch.Kw("dtype", meta.DType))
		if err != nil {
			return ""
		}
		t := v.(*torch.Tensor)
		defer t.Close()
		h, err := t.Handle()
		if err != nil {
			return ""
		}
		inputs = append(inputs, h)
	}
	class, err := d.region.Prepare(inputs, threads)
	if err != nil {
		return ""
	}
	defer class.Close()
	return class.Describe()
}

// dumpClass writes what a shape class does otherwise than its first run, and where.
func (p *Plan) dumpClass(b *strings.Builder, number int, l *libtorch.PlanLayout) {
	inputs, threads := l.Class()
	fmt.Fprintf(b, "\nshape class %d: %s; threads %d\n", number, strings.Join(inputs, ", "), threads)
	grouped := map[int]bool{}
	for _, g := range l.Groups {
		p.dumpGroup(b, g)
		for _, r := range g.Results {
			grouped[r] = true
		}
	}
	var sum int64
	for _, at := range l.Places {
		sum += at.Bytes
	}
	fmt.Fprintf(b, "%d results of %d bytes in a block of %d bytes\n", len(l.Places), sum, l.Bytes)
	if len(l.Places) == 0 {
		return
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "step\tnode\tslot\tvalue\toffset\tbytes\ttaken\twritten by")
	for _, at := range l.Places {
		s := &p.steps[at.Step]
		writer := "out variant"
		switch {
		case grouped[at.Slot]:
			writer = "group"
		case s.Code == libtorch.PlanDelegate:
			writer = "region"
		case at.Granted:
			writer = "granted"
		}
		sizes := strings.ReplaceAll(strings.Trim(fmt.Sprint(at.Sizes), "[]"), " ", ", ")
		fmt.Fprintf(w, "%d\t%s\t%%%d\t%s[%s]\t%d\t%d\t%d–%d\t%s\n", at.Step, s.site.path(), at.Slot, at.DType.Short(), sizes, at.Offset, at.Bytes, at.First, at.Last, writer)
	}
	_ = w.Flush()
}

// dumpGroup is the line of steps that are done together.
func (p *Plan) dumpGroup(b *strings.Builder, g libtorch.PlanGroup) {
	var names, stages []string
	for _, s := range g.Steps {
		names = append(names, fmt.Sprintf("%d:%s", s, p.steps[s].site.path()))
	}
	for _, s := range g.Stages {
		switch s.Kind {
		case libtorch.PlanKernel:
			stages = append(stages, "kernel")
		case libtorch.PlanNearest:
			stages = append(stages, "nearest float, kernel where in doubt")
		default:
			stages = append(stages, fmt.Sprintf("%d in registers", s.Ops))
		}
	}
	threads := ""
	if g.Threads > 1 {
		threads = fmt.Sprintf(" on %d threads", g.Threads)
	}
	fmt.Fprintf(b, "fused at step %d: %s; gives %s; %d × %d elements%s, %d of scratch; %s\n", g.Steps[len(g.Steps)-1],
		strings.Join(names, " "), slotsText(g.Results), g.Blocks, g.Block, threads, g.Scratch, strings.Join(stages, ", "))
}
