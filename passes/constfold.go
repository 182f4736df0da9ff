package passes

import (
	"context"
	"reflect"
	"regexp"
	"strconv"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A FoldOption changes what [ConstFold] takes for constant.
type FoldOption func(*constFolder)

// SkipFolding leaves the nodes that skip accepts in the main graph. A called
// graph module stays there, too, when skip accepts a node inside it, however deep.
// Default: none.
func SkipFolding(skip func(*ir.Node) bool) FoldOption { return func(f *constFolder) { f.skip = skip } }

// DeadCode says which nodes without users must stay, see
// [ir.Graph.EliminateDeadCode]. Default: those with an effect.
func DeadCode(opts ...ir.PurityOption) FoldOption { return func(f *constFolder) { f.purity = opts } }

// A Folding is a module without the steps that depend on attributes alone.
type Folding struct {
	// Module computes what the module given did, once Run has been called. It
	// shares the attributes.
	Module *ir.GraphModule
	// Const computes what Module reads from the attribute Attr: one value or a
	// tuple. It is also Module's submodule const_subgraph_module. nil where nothing
	// was constant; Module is then the module given.
	Const *ir.GraphModule
	Attr  string

	owned []*torch.Tensor
}

// Unfolded stands for the attribute of a [Folding] that was not run yet.
type Unfolded string

// ConstFold takes the steps of m that depend on tensors of m alone out of its
// graph, to be computed once, by [Folding.Run], rather than at each call. m stays
// as it is.
//
// A step is constant when all of its operands are, it has no effect and draws no
// random number; reads of modules are not. The attribute _FX_CONST_FOLDED_ATTRS, or
// the first free one of that name with a number, holds the results. Submodules
// that the graph calls move to a flat path, as [Split] has them. The code generator
// is kept. Follows torch.fx.experimental.const_fold.split_const_subgraphs.
func ConstFold(m *ir.GraphModule, opts ...FoldOption) (*Folding, error) {
	if err := given("fold constants", m, opts); err != nil {
		return nil, err
	}
	f := &constFolder{attributes: attributes{module: m}, constant: map[*ir.Node]bool{}}
	for _, o := range opts {
		o(f)
	}
	if !f.find() {
		return &Folding{Module: m}, nil
	}
	s, err := Split(m, func(n *ir.Node) int {
		if f.constant[n] {
			return 0
		}
		return 1
	})
	if err != nil {
		return nil, err
	}
	return f.assemble(s)
}

type constFolder struct {
	attributes
	skip     func(*ir.Node) bool
	purity   []ir.PurityOption
	constant map[*ir.Node]bool
}

// find marks the constant nodes and reports whether one of them is a call.
func (f *constFolder) find() (found bool) {
	for n := range f.module.Graph().Nodes() {
		switch n.Op() {
		case ir.Placeholder, ir.Output:
			continue
		case ir.GetAttr:
			path := n.Target().String()
			if _, there := f.module.Attr(path); !there || f.isModuleAt(path) {
				continue
			}
		default:
			constant := true
			n.Operands(func(m *ir.Node) { constant = constant && f.constant[m] })
			if !constant {
				continue
			}
		}
		if f.skips(f.module, n) || n.Op() != ir.GetAttr && n.IsImpure() || symbolicFill(n) {
			continue
		}
		f.constant[n] = true
		found = found || n.Op() != ir.GetAttr
	}
	return found
}

// skips reports whether the caller wants n, or a node of the graph module that it
// calls, to stay.
func (f *constFolder) skips(m *ir.GraphModule, n *ir.Node) bool {
	if f.skip == nil {
		return false
	}
	if f.skip(n) {
		return true
	}
	if n.Op() != ir.CallModule {
		return false
	}
	v, _ := m.Attr(n.Target().String())
	sub, ok := v.(*ir.GraphModule)
	if !ok {
		return false
	}
	for inner := range sub.Graph().Nodes() {
		if inner.Op() != ir.Placeholder && inner.Op() != ir.Output && f.skips(sub, inner) {
			return true
		}
	}
	return false
}

// symbolicFill reports whether a call fills with a symbolic number.
func symbolicFill(n *ir.Node) bool {
	v, _ := n.Kwarg("fill_value")
	o, ok := v.(ir.Opaque)
	if !ok {
		return false
	}
	switch o.Value.(type) {
	case *ir.Expr, ir.SymScalar:
		return true
	}
	return false
}

// assemble makes a folding of the main graph, which calls submod_0, the constant
// part, and submod_1, the rest.
func (f *constFolder) assemble(s *Splitting) (*Folding, error) {
	main := s.Module.Graph()
	calls := map[string]*ir.Node{}
	for _, n := range main.Find(ir.CallModule, nil) {
		calls[n.Target().String()] = n
	}
	parts := map[string]Part{}
	for _, p := range s.Parts {
		parts[p.Name] = p
	}
	folding := &Folding{Attr: f.freeName("_FX_CONST_FOLDED_ATTRS")}
	constant := parts["submod_0"]
	if err := readInputs(constant.Module.Graph(), calls["submod_0"]); err != nil {
		return nil, err
	}
	attrs := map[string]any{folding.Attr: Unfolded(folding.Attr)}
	for path, v := range s.Module.Attrs() {
		if _, isPart := parts[path]; !isPart {
			attrs[path] = v
		}
	}
	f.adopt(attrs, constant.Module)

	call := calls["submod_0"]
	restore, err := main.InsertBefore(call)
	if err != nil {
		return nil, err
	}
	folded := copyMeta(main.GetAttr(folding.Attr), call)
	restore()
	call.ReplaceAllUsesWith(folded)
	if err := main.Erase(call); err != nil {
		return nil, err
	}
	if rest, ok := parts["submod_1"]; ok {
		f.adopt(attrs, rest.Module)
		if err := inline(main, calls["submod_1"], rest.Module.Graph()); err != nil {
			return nil, err
		}
	}
	for path := range parts {
		s.Module.DeleteAttr(path)
	}
	for path, v := range attrs {
		s.Module.SetAttr(path, v)
	}
	if _, err := main.EliminateDeadCode(f.purity...); err != nil {
		return nil, err
	}
	main.TakeCodeGen(f.module.Graph())

	root := attributes{module: s.Module}
	if folding.Const, err = root.carry(constant.Module.Graph(), "GraphModule"); err != nil {
		return nil, err
	}
	if folding.Module, err = root.carry(main, "GraphModule"); err != nil {
		return nil, err
	}
	folding.Module.SetAttr("const_subgraph_module", folding.Const)
	return folding, nil
}

var numbered = regexp.MustCompile(`^(.*)_(\d+)$`)

// freeName returns name, or the first of the names numbered behind it that no
// attribute has.
func (f *constFolder) freeName(name string) string {
	for {
		_, taken := f.module.Attr(name)
		if !taken {
			return name
		}
		if m := numbered.FindStringSubmatch(name); m != nil {
			n, _ := strconv.Atoi(m[2])
			name = m[1] + "_" + strconv.Itoa(n+1)
		} else {
			name += "_1"
		}
	}
}

// readInputs makes the arguments of a graph reads of the attributes that its call
// is given.
func readInputs(g *ir.Graph, call *ir.Node) error {
	for i, p := range g.Find(ir.Placeholder, nil) {
		attr, ok := call.Arg(i).(*ir.Node)
		if !ok || attr.Op() != ir.GetAttr {
			return ir.Errorf(ir.ErrAssertion, "const fold: Expected get_attr, got %s", ir.Repr(call.Arg(i)))
		}
		restore, err := g.InsertBefore(p)
		if err != nil {
			return err
		}
		read := copyMeta(g.GetAttr(attr.Target().String()), p)
		restore()
		p.ReplaceAllUsesWith(read)
		if err := g.Erase(p); err != nil {
			return err
		}
	}
	return nil
}

// adopt adds the submodules that a part calls to the attributes. Where the other
// part has another one under that path, the part's calls get a free path.
func (f *constFolder) adopt(attrs map[string]any, part *ir.GraphModule) {
	moved := map[string]string{}
	for _, n := range part.Graph().Find(ir.CallModule, nil) {
		path := n.Target().String()
		v, _ := part.Attr(path)
		to, done := moved[path]
		if !done {
			to = path
			for i := 1; ; i++ {
				if other, taken := attrs[to]; !taken || sameAttr(other, v) {
					break
				}
				to = path + "_" + strconv.Itoa(i)
			}
			moved[path] = to
			attrs[to] = v
			for p, below := range part.Attrs() {
				if len(p) > len(path) && p[:len(path)+1] == path+"." {
					attrs[to+p[len(path):]] = below
				}
			}
		}
		if to != path {
			_ = n.SetTarget(ir.Path(to)) // a path fits
		}
	}
}

// sameAttr compares attributes, of any type, by identity.
func sameAttr(a, b any) bool {
	return a != nil && reflect.TypeOf(a).Comparable() && a == b
}

// inline puts the graph that a node calls in its place. Users of several results
// are getitems, as Split makes them.
func inline(g *ir.Graph, call *ir.Node, body *ir.Graph) error {
	mapping := map[*ir.Node]ir.Arg{}
	for i, p := range body.Find(ir.Placeholder, nil) {
		mapping[p] = call.Arg(i)
		if n, ok := call.Arg(i).(*ir.Node); ok && p.NumUsers() > 0 {
			copyMeta(n, p) // what was folded is known by what was there before
		}
	}
	restore, err := g.InsertBefore(call)
	if err != nil {
		return err
	}
	defer restore()
	out, _, err := g.CopyFrom(body, mapping)
	if err != nil {
		return err
	}
	switch out := out.(type) {
	case *ir.Node:
		call.ReplaceAllUsesWith(out)
	case ir.Tuple:
		for u := range call.Users() {
			i, ok := u.Arg(1).(ir.Int)
			if u.Func() != getitem || !ok || int(i) >= out.Len() {
				return ir.Errorf(ir.ErrAssertion, "inline %s: expected an item of its results to be taken, got %s", call, u.Format())
			}
			u.ReplaceAllUsesWith(out.At(int(i)).(*ir.Node))
			if err := g.Erase(u); err != nil {
				return err
			}
		}
	}
	return g.Erase(call)
}

// Run computes the constant part and sets the attribute of Module. What depends on
// a tensor that requires a gradient requires one, as a parameter. The new tensors
// belong to f, see Close. It fails with class ir.ErrAssertion when it has
// been run before, and does nothing where there is no constant part.
func (f *Folding) Run(ctx context.Context) error {
	if f.Const == nil {
		return nil
	}
	if f.owned != nil {
		return ir.Errorf(ir.ErrAssertion, "const fold: Folding has already been run")
	}
	// with gradients, as in Python: what trained parameters make is trained, too
	out, err := interpreter.New(f.Const, interpreter.WithMode(libtorch.Mode{Grad: true, Threads: 1})).Run(ctx)
	if err != nil {
		return err
	}
	items, several := out.(ir.PyTuple)
	if !several {
		items = ir.PyTuple{out}
	}
	c := calculator{}
	defer c.close()
	var owned []*torch.Tensor
	var trained []bool
	for _, item := range items {
		t, ok := item.(*torch.Tensor)
		if ok {
			c.temporaries = append(c.temporaries, t)
			trained = append(trained, t.RequiresGrad())
			// memory of its own: the result may be a view of a parameter
			t = c.keep("aten::clone", t)
		} else {
			trained = append(trained, false)
			t, err = number(item)
		}
		if err != nil {
			c.err = err
		}
		if t != nil {
			owned = append(owned, t)
		}
	}
	if c.err != nil {
		for _, t := range owned {
			t.Close()
		}
		return c.err
	}
	f.owned = owned
	if several {
		f.Module.SetAttr(f.Attr, nn.NewParameterList(owned...)) // which marks all as trained
	} else {
		f.Module.SetAttr(f.Attr, owned[0])
	}
	for i, t := range owned {
		if err := setTrained(t, trained[i]); err != nil {
			return err
		}
	}
	return nil
}

// setTrained says whether a tensor requires a gradient.
func setTrained(t *torch.Tensor, trained bool) error {
	if t.RequiresGrad() == trained {
		return nil
	}
	same, err := torch.Call("aten::requires_grad_", t, trained)
	if out, ok := same.(*torch.Tensor); ok && out != t {
		out.Close()
	}
	return err
}

// number makes a tensor of a size that was computed, a vector of one float as
// torch.fx has it.
func number(v any) (*torch.Tensor, error) {
	n, ok := v.(int64)
	if !ok {
		return nil, ir.Errorf(ir.ErrUnsupported, "const fold: expected tensors or integers as results, got %T", v)
	}
	return torch.From([]float32{float32(n)}, 1)
}

// Close frees the tensors that Run made; Module must not be used any more.
func (f *Folding) Close() error {
	for _, t := range f.owned {
		if err := t.Close(); err != nil {
			return err
		}
	}
	return nil
}
