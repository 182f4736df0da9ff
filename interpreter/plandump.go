package interpreter

import (
	"fmt"
	"strings"
	"text/tabwriter"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Dump writes the plan as text: its steps, its regions, and for every shape class that
// runs have met, the most recent first, where intermediate results lie.
//
// The first lines name the inputs with their slots, the slots of the results, and what
// the plan keeps of the module's tensors.
//
// A line of the first table is a step: its number, the node that it comes from
// (outer/inner where a higher-order operator runs the node's graph), what runs it
// (C++, or Go, which ends the crossing), the kernel or function, the slots that it
// reads and writes, the slots that are freed after it, and the attributes that it
// reads. Several kernels are overloads, of which the first is called that takes the
// values of a run; (out) is one that can write its result into planned memory. The
// steps of a run of C++ lines are done in one crossing.
//
// A region is what a delegate computes in one step: the nodes, the packed weights, and
// each of the kernels for the inputs that it was made for, with layouts and memory.
//
// A shape class begins with the inputs that it is of. A line "fused" lists pointwise
// steps that are done together at the last of them: the slots that others read, the
// blocks, and the stages of a block, which are operators whose values stay in
// registers, or a kernel of libtorch.
//
// A line of its table is a result in planned memory: step, slot, dtype and sizes, the
// place in the block and the bytes, the steps between which the place is taken, and who
// writes there: an out variant, a group, a region, or an operator that allocates and is
// granted the place. Places that overlap in memory and touch in time are one result
// written over the other. What is not listed is a view, is written in place, or is
// allocated by its kernel.
func (p *Plan) Dump() (string, error) {
	if p == nil {
		return "", ir.Errorf(ir.ErrInput, "dump: expected a plan, got nil")
	}
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
	p.dumpHead(&b)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "step\tnode\tby\tkernel\treads\twrites\tfrees\tattributes")
	for i := range p.steps {
		s := &p.steps[i]
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", i, s.site.path(), s.by(), s.kernel(), slotsText(s.readSlots()), slotsText(s.Results), slotsText(s.Frees), s.site.attributes())
	}
	_ = w.Flush()
	p.dumpRegions(&b)
	for i := range layouts {
		p.dumpClass(&b, i, &layouts[i])
	}
	return trimLines(b.String()), nil
}

// dumpHead writes what the plan takes, returns and keeps.
func (p *Plan) dumpHead(b *strings.Builder) {
	goes := 0
	for i := range p.steps {
		if p.steps[i].Code == libtorch.PlanGo {
			goes++
		}
	}
	fmt.Fprintf(b, "plan of %s: %d steps, %d of them in Go, %d slots, %d inputs\n", p.module.ClassName(), len(p.steps), goes, len(p.slots), len(p.inputs))
	var inputs []string
	for i, in := range p.inputs {
		inputs = append(inputs, fmt.Sprintf("%s %%%d", in.node.Name(), i))
	}
	fmt.Fprintf(b, "takes %s; returns %s", strings.Join(inputs, ", "), slotsText(p.results))
	if n, bytes, ok := p.kept(); ok && n > 0 {
		fmt.Fprintf(b, "; reads %d tensors of the module, %d bytes", n, bytes)
	}
	b.WriteString("\n")
	if p.device != nil {
		fmt.Fprintln(b, p.device)
	}
}

// kept is how many tensors of the module the plan reads, and their bytes; not known once the
// module's owner has closed one of them.
func (p *Plan) kept() (n int, bytes int64, ok bool) {
	seen := map[*torch.Tensor]bool{}
	for _, v := range p.literal {
		t, isTensor := v.(*torch.Tensor)
		if !isTensor || t == nil || seen[t] {
			continue
		}
		seen[t] = true
		h, err := t.Handle()
		if err != nil {
			return 0, 0, false
		}
		info, err := h.Info()
		if err != nil {
			return 0, 0, false
		}
		bytes += info.Numel * int64(t.DType().Size())
	}
	return len(seen), bytes, true
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

// attributes are the names of those that a node reads.
func (s *site) attributes() string {
	if s == nil {
		return ""
	}
	var names []string
	for _, n := range s.node.Inputs() {
		if n.Op() == ir.GetAttr {
			names = append(names, n.Target().String())
		}
	}
	return strings.Join(names, " ")
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
