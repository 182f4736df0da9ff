package interpreter

import (
	"sync"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A schedule is what a graph, as it was at one time, needs to be run: its nodes
// in order with their operands ready, and after each the cells that nobody reads
// any more. It is immutable and shared by all runs.
type schedule struct {
	steps    []*step
	cells    map[*ir.Node]int // the cell of a node is its place in steps
	takes    leafCount
	literals []any     // of the graph that may hold resources
	frames   sync.Pool // *frame

	// The stretches of steps that can be made in one crossing, by their first steps.
	// They are looked for in the first run that nobody watches.
	once      sync.Once
	stretches map[int]*stretch
}

// A step is one node of a schedule.
type step struct {
	node   *ir.Node
	args   []operand
	kwargs []keyword
	reads  []int // the cells of the nodes that it reads
	free   []int // cells to empty after this step

	// The call of a function whose arguments are cells, if they hold tensors; nil
	// where there is no such call. It is looked for in the first run.
	once    sync.Once
	tensors *torch.TensorCall
	last    uint // a bit for each argument that nobody reads after the step, nor by another argument

	seenArgs   []ir.Arg     // of the node when the schedule was made
	seenKwargs []ir.Keyword // likewise
}

type keyword struct {
	name  string
	value operand
}

// A frame is the memory of one run: one cell a node. It is reused.
type frame struct {
	cells  []cell
	owners owners
	inputs []*torch.Tensor // of a stretch
	own    []bool          // likewise, those to be closed by it
}

// A cell holds the value of a node from its computation to its last use.
type cell struct {
	value any
	held  []resource // in value when it was stored: a list may have changed since
	one   [1]resource
	set   bool
	fresh bool // value is a tensor that stands nowhere else, and that owners do not count
}

func newSchedule(g *ir.Graph) *schedule {
	s := &schedule{cells: make(map[*ir.Node]int, g.Len()), takes: leafCountOf(g)}
	for n := range g.Nodes() {
		s.cells[n] = len(s.cells)
	}
	last := make([]int, 0, g.Len()) // the last step that reads a cell, at first the one that fills it
	for n := range g.Nodes() {
		i := len(s.steps)
		st := &step{node: n, args: make([]operand, len(n.Args())), seenArgs: n.Args(), seenKwargs: n.Kwargs()}
		for k, a := range n.Args() {
			st.args[k] = s.operand(a)
		}
		for _, kw := range n.Kwargs() {
			st.kwargs = append(st.kwargs, keyword{kw.Name, s.operand(kw.Value)})
		}
		last = append(last, i)
		n.Operands(func(m *ir.Node) {
			if c, ok := s.cells[m]; ok && c < i {
				last[c] = i
				st.reads = append(st.reads, c)
			}
		})
		s.steps = append(s.steps, st)
	}
	for c, i := range last {
		s.steps[i].free = append(s.steps[i].free, c)
	}
	s.frames.New = func() any {
		return &frame{cells: make([]cell, len(s.steps)), owners: owners{}}
	}
	return s
}

// operand makes an argument ready and notes the literals in it.
func (s *schedule) operand(a ir.Arg) operand {
	ir.Walk(a, func(leaf ir.Arg) {
		if o, ok := leaf.(ir.Opaque); ok {
			s.literals = append(s.literals, o.Value)
		}
	})
	return compile(a, s.cells)
}

// fits reports whether g is still as it was. Operands are replaced as whole
// slices, so that comparing places, a few nanoseconds a node, tells all.
func (s *schedule) fits(g *ir.Graph) bool {
	if g.Len() != len(s.steps) {
		return false
	}
	i := 0
	for n := g.First(); n != nil; n = n.Next() {
		st := s.steps[i]
		if st.node != n || !sameSlice(st.seenArgs, n.Args()) || !sameSlice(st.seenKwargs, n.Kwargs()) {
			return false
		}
		i++
	}
	return true
}

func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// store puts v into cell i.
func (f *frame) store(i int, v any) {
	c := &f.cells[i]
	c.value, c.set = v, true
	if t, ok := v.(*torch.Tensor); ok && t != nil { // the usual case, without an allocation
		f.owners[t]++
		c.one[0] = t
		c.held = c.one[:]
		return
	}
	c.held = f.owners.retain(v)
}

// storeFresh puts a tensor that nobody else has into cell i.
func (f *frame) storeFresh(i int, t *torch.Tensor) {
	c := &f.cells[i]
	c.value, c.set, c.fresh = t, true, true
}

// share has the owners count what is fresh in cell i, since it may soon stand
// elsewhere, too.
func (f *frame) share(i int) {
	if c := &f.cells[i]; c.fresh {
		c.fresh = false
		f.store(i, c.value)
	}
}

// empty forgets the value of cell i and closes what was only there.
func (f *frame) empty(i int) {
	c := &f.cells[i]
	if c.fresh {
		_ = c.value.(*torch.Tensor).Close()
	}
	for _, x := range c.held {
		f.owners.release(x)
	}
	*c = cell{}
}

// reset closes what the frame still owns and empties it.
func (f *frame) reset() {
	for i := range f.cells {
		f.share(i)
	}
	f.owners.close()
	clear(f.cells)
}
