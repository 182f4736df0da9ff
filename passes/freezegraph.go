package passes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// plainFunctions are Python functions of numbers that graphs of operators call.
var plainFunctions = funcSet("torch.sym_max torch.sym_min torch.sym_not torch.sym_ite torch.sym_float torch.sym_int torch.sym_sum " +
	"torch._sym_sqrt torch._sym_cos torch._sym_cosh torch._sym_sin torch._sym_sinh torch._sym_tan torch._sym_tanh torch._sym_asin torch._sym_acos torch._sym_atan torch._sym_log2 " +
	"math.trunc math.ceil math.floor math.sqrt math.pow math.log math.exp builtins.round builtins.max builtins.min builtins.int builtins.float builtins.bool builtins.abs builtins.sum")

func funcSet(names string) map[*ir.Func]bool {
	set := map[*ir.Func]bool{}
	for _, name := range strings.Fields(names) {
		set[ir.FuncOf(name)] = true
	}
	return set
}

// overloads makes a set of operators of dispatcher names.
func overloads(names string) map[*ir.Func]bool {
	set := map[*ir.Func]bool{}
	for _, name := range strings.Fields(names) {
		set[ir.OverloadOf(name)] = true
	}
	return set
}

// valueOf returns what is noted of a node's value, which is one tensor.
func valueOf(n *ir.Node) (ir.TensorMeta, bool) {
	m, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta)
	return m, ok
}

// constant returns the attribute that a stands for: a tensor that nothing writes.
func (f *freezer) constant(a ir.Arg) (*torch.Tensor, bool) {
	n, ok := a.(*ir.Node)
	if !ok || n.Op() != ir.GetAttr {
		return nil, false
	}
	v, _ := f.module.Attr(n.Target().String())
	t, ok := v.(*torch.Tensor)
	if !ok || t == nil {
		return nil, false
	}
	shares, err := f.written.shares(t)
	return t, ok && err == nil && !shares
}

// constantOrNone is constant for an argument that may be None.
func (f *freezer) constantOrNone(a ir.Arg) (*torch.Tensor, bool) {
	if a == nil || a == (ir.None{}) {
		return nil, true
	}
	return f.constant(a)
}

// attribute makes t, which f owns from here on, an attribute like the one at path and
// returns a read of it, before the node at.
func (f *freezer) attribute(at *ir.Node, path string, t *torch.Tensor) (*ir.Node, error) {
	f.owned = append(f.owned, t)
	free := path
	for i := 1; ; i++ {
		if _, taken := f.module.Attr(free); !taken {
			break
		}
		free = fmt.Sprintf("%s_%d", path, i)
	}
	f.module.SetAttr(free, t)
	return f.readOf(at, free, t)
}

// dense is an attribute, or None, for an operator that takes its elements to lie one
// behind the other: where they do not, a copy becomes an attribute of its own.
func (f *freezer) dense(at *ir.Node, a ir.Arg) (ir.Arg, error) {
	t, ok := f.constant(a)
	if !ok {
		return a, nil
	}
	copied, err := tensor("aten::contiguous", t)
	if err != nil {
		return nil, err
	}
	if slices.Equal(copied.Strides(), t.Strides()) {
		return a, copied.Close()
	}
	return f.attribute(at, pathOf(a)+"_dense", copied)
}

func (f *freezer) readOf(at *ir.Node, path string, t *torch.Tensor) (*ir.Node, error) {
	restore, err := f.graph.InsertBefore(at)
	if err != nil {
		return nil, err
	}
	defer restore()
	n := f.graph.GetAttr(path)
	meta, err := metaOf(t)
	n.Meta().Set(ir.MetaVal, meta)
	return n, err
}

// pathOf returns the path that a read of an attribute has.
func pathOf(a ir.Arg) string { return a.(*ir.Node).Target().String() }

// call puts a call of an operator before the node at. Its meta are those of like.
func (f *freezer) call(at, like *ir.Node, op string, args ...ir.Arg) (*ir.Node, error) {
	restore, err := f.graph.InsertBefore(at)
	if err != nil {
		return nil, err
	}
	defer restore()
	fn := ir.OverloadOf(op)
	n := f.graph.CallFunction(fn, args, ir.Name(strings.Trim(fn.Packet(), "_")))
	n.Meta().CopyFrom(like.Meta())
	return n, nil
}

// replace makes what reads old read new, and takes out old and what only it read.
func (f *freezer) replace(old, new *ir.Node) error {
	old.ReplaceAllUsesWith(new)
	return f.erase(old)
}

// erase takes out nodes without users and effects, and what only they read.
func (f *freezer) erase(nodes ...*ir.Node) error {
	for len(nodes) > 0 {
		n := nodes[0]
		nodes = nodes[1:]
		if n.Graph() == nil || n.NumUsers() > 0 || n.Op() == ir.Placeholder || n.Op() == ir.Output {
			continue
		}
		inputs := n.Inputs()
		if err := f.graph.Erase(n); err != nil {
			return err
		}
		if n.Op() == ir.GetAttr {
			f.forget(n.Target().String())
		}
		for _, in := range inputs {
			if in.NumUsers() == 0 && !in.IsImpure() {
				nodes = append(nodes, in)
			}
		}
	}
	return nil
}

// clean takes out what nothing uses: nodes without effects, and attributes.
func (f *freezer) clean() error {
	if _, err := f.graph.EliminateDeadCode(); err != nil {
		return err
	}
	var paths []string
	for path, v := range f.module.Attrs() {
		if _, ok := v.(*torch.Tensor); ok {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		f.forget(path)
	}
	return nil
}

// forget takes the tensor at path out of the module unless a node reads it, and
// closes it where that is for f to do.
func (f *freezer) forget(path string) {
	for _, n := range f.graph.Find(ir.GetAttr, ir.Path(path)) {
		if n.Graph() != nil {
			return
		}
	}
	v, _ := f.module.Attr(path)
	t, ok := v.(*torch.Tensor)
	if !ok {
		return
	}
	f.module.DeleteAttr(path)
	given := false
	if v, was := f.given[path]; was && v == any(t) {
		f.report.Dropped = append(f.report.Dropped, path)
		given = true
	}
	if holds(f.module, t) || given && !f.release {
		if f.idle != nil {
			f.idle(t)
		}
		return
	}
	if !given {
		for i, mine := range f.owned {
			if mine == t {
				f.owned = append(f.owned[:i], f.owned[i+1:]...)
				break
			}
		}
	}
	t.Close()
}

// holds reports whether an attribute of m, or of a graph module in it, is t.
func holds(m *ir.GraphModule, t *torch.Tensor) bool {
	for _, v := range m.Attrs() {
		switch v := v.(type) {
		case *torch.Tensor:
			if v == t {
				return true
			}
		case *ir.GraphModule:
			if v != m && holds(v, t) {
				return true
			}
		case *interpreter.Delegated:
			if holds(v.Twin(), t) {
				return true
			}
		}
	}
	return false
}

// tensor calls an operator that returns one tensor, which becomes the caller's.
func tensor(op string, args ...any) (*torch.Tensor, error) {
	v, err := torch.Call(op, args...)
	if err != nil {
		return nil, err
	}
	t, ok := v.(*torch.Tensor)
	if !ok {
		return nil, ir.Errorf(ir.ErrType, "%s: expected a tensor, got %T", op, v)
	}
	return t, nil
}

// numbers returns the integers of a literal list of n, in which one stands for all.
func numbers(a ir.Arg, n int) ([]int64, bool) {
	var items []ir.Arg
	switch a := a.(type) {
	case ir.Int:
		items = []ir.Arg{a}
	case ir.List:
		for _, item := range a.All() {
			items = append(items, item)
		}
	case ir.Tuple:
		for _, item := range a.All() {
			items = append(items, item)
		}
	}
	if len(items) != 1 && len(items) != n {
		return nil, false
	}
	out := make([]int64, n)
	for i := range out {
		v, ok := items[min(i, len(items)-1)].(ir.Int)
		if !ok {
			return nil, false
		}
		out[i] = int64(v)
	}
	return out, true
}

func sameSizes(a, b []ir.Size) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameSize(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameSize(a, b ir.Size) bool {
	x, known := a.Known()
	y, knownToo := b.Known()
	if known && knownToo {
		return x == y
	}
	return !known && !knownToo && a.Expr().Equal(b.Expr())
}
