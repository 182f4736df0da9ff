package interpreter

import (
	"fmt"
	"strings"
	"text/tabwriter"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Dump writes the plan as text: its steps, and for every shape class that runs have
// met, the most recent first, where intermediate results lie.
//
// A line of the first table is a step: its number, the node that it comes from
// (outer/inner where a higher-order operator runs the node's graph), what runs it
// (C++, or Go, which ends the crossing), the kernel or function, the slots that it
// reads and writes, and the slots that are freed after it. The steps of a run of
// C++ lines are done in one crossing.
//
// A line "fused" lists pointwise steps that are done together at the last of them:
// the slots that others read, the blocks, and the stages of a block, which are
// operators whose values stay in registers, or a kernel of libtorch.
//
// A line of a second table is a result in planned memory: step, slot, dtype and
// sizes, the place in the block and the bytes, and the steps between which the
// place is taken. Places that overlap in memory and touch in time are one result
// written over the other. What is not listed is allocated by its kernel.
func (p *Plan) Dump() (string, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return "", ir.Errorf(ir.ErrClosed, "dump: expected an open plan, got one that is closed")
	}
	layouts, err := p.native.Layouts()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	goes := 0
	for i := range p.steps {
		if p.steps[i].Code == libtorch.PlanGo {
			goes++
		}
	}
	fmt.Fprintf(&b, "plan of %s: %d steps, %d of them in Go, %d slots, %d inputs\n", p.module.ClassName(), len(p.steps), goes, len(p.slots), len(p.inputs))
	if p.device != nil {
		fmt.Fprintln(&b, p.device)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "step\tnode\tby\tkernel\treads\twrites\tfrees")
	for i := range p.steps {
		s := &p.steps[i]
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", i, s.site.path(), s.by(), s.kernel(), slotsText(s.readSlots()), slotsText(s.Results), slotsText(s.Frees))
	}
	_ = w.Flush()
	for i := range layouts {
		l := &layouts[i]
		fmt.Fprintf(&b, "\nshape class %d: %d results in a block of %d bytes\n", i, len(l.Places), l.Bytes)
		p.dumpGroups(&b, l.Groups)
		if len(l.Places) == 0 {
			continue
		}
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "step\tnode\tslot\tvalue\toffset\tbytes\ttaken")
		for _, at := range l.Places {
			sizes := strings.ReplaceAll(strings.Trim(fmt.Sprint(at.Sizes), "[]"), " ", ", ")
			fmt.Fprintf(w, "%d\t%s\t%%%d\t%s[%s]\t%d\t%d\t%d–%d\n", at.Step, p.steps[at.Step].site.path(), at.Slot, at.DType.Short(), sizes, at.Offset, at.Bytes, at.First, at.Last)
		}
		_ = w.Flush()
	}
	return trimLines(b.String()), nil
}

// dumpGroups lists the steps that are done together.
func (p *Plan) dumpGroups(b *strings.Builder, groups []libtorch.PlanGroup) {
	for _, g := range groups {
		var names, stages []string
		for _, s := range g.Steps {
			names = append(names, fmt.Sprintf("%d:%s", s, p.steps[s].site.path()))
		}
		for _, s := range g.Stages {
			if s.Kernel {
				stages = append(stages, "kernel")
			} else {
				stages = append(stages, fmt.Sprintf("%d in registers", s.Ops))
			}
		}
		fmt.Fprintf(b, "fused at step %d: %s; gives %s; %d × %d elements, %d of scratch; %s\n", g.Steps[len(g.Steps)-1],
			strings.Join(names, " "), slotsText(g.Results), g.Blocks, g.Block, g.Scratch, strings.Join(stages, ", "))
	}
}

// path names a node by the nodes that run its graph.
func (s *site) path() string {
	if s == nil {
		return "output"
	}
	name := s.node.Name()
	for up := s.parent; up != nil; up = up.parent {
		name = up.node.Name() + "/" + name
	}
	return name
}

func (s *planStep) by() string {
	if s.Code == libtorch.PlanGo {
		return "Go"
	}
	return "C++"
}

// kernel says what a step does.
func (s *planStep) kernel() string {
	switch s.Code {
	case libtorch.PlanGo:
		if s.fn != nil {
			return s.fn.Name()
		}
		return s.site.node.Target().String()
	case libtorch.PlanCallStep:
		var names []string
		if s.Number != 0 {
			names = append(names, "number")
		}
		for i := range s.Calls {
			name := s.Calls[i].Op.Schema().Op
			if s.Calls[i].Out != nil {
				name += " (out)"
			}
			names = append(names, name)
		}
		return strings.Join(names, " | ")
	case libtorch.PlanDelegate:
		return s.Region.Delegate().Name + " region"
	case libtorch.PlanMove:
		if len(s.Results) == 0 {
			return "join"
		}
		return "move"
	case libtorch.PlanJump:
		return fmt.Sprintf("jump to %d", s.Target)
	case libtorch.PlanUnless:
		return fmt.Sprintf("unless, jump to %d", s.Target)
	case libtorch.PlanSize:
		return "fact"
	case libtorch.PlanItem:
		return "item"
	case libtorch.PlanEnter:
		return "enter mode " + fmt.Sprint(s.Target)
	case libtorch.PlanLeave:
		return "leave mode"
	}
	return "done"
}

// readSlots are the slots that a step reads, each once.
func (s *planStep) readSlots() []int {
	var list []int
	seen := map[int]bool{}
	for _, c := range s.Results {
		seen[c] = true
	}
	add := func(c int) {
		if !seen[c] {
			seen[c] = true
			list = append(list, c)
		}
	}
	for _, a := range s.args {
		eachCell(a, add)
	}
	for _, kw := range s.kwargs {
		eachCell(kw.value, add)
	}
	eachSlot(&s.PlanStep, add)
	return list
}

func slotsText(slots []int) string {
	names := make([]string, len(slots))
	for i, s := range slots {
		names[i] = fmt.Sprintf("%%%d", s)
	}
	return strings.Join(names, " ")
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
