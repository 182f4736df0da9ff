package ir

import (
	"strings"
	"sync"
)

// A PurityOption changes what [Node.IsImpure] and [Graph.EliminateDeadCode] take
// for an effect.
type PurityOption func(*purityConfig)

type purityConfig struct {
	upstream     bool
	ignoreRandom bool
	more         map[*Func]bool
	own          func(*Node) bool
	judged       map[*Func]bool // by writes and random numbers of the function as such
}

// UpstreamPurity judges exactly as torch.fx 2.15 does, which takes methods and
// Python functions that write their arguments for pure: x.mul_(2), torch.relu_(x),
// x += y, out=. The default judges these by what they do.
func UpstreamPurity() PurityOption { return func(c *purityConfig) { c.upstream = true } }

// IgnoreRandom takes operators that draw random numbers for pure; dropping one
// changes the numbers that later ones draw.
func IgnoreRandom() PurityOption { return func(c *purityConfig) { c.ignoreRandom = true } }

// AlsoImpure takes calls of these functions for impure, as torch.fx's
// has_side_effect does for a whole process.
func AlsoImpure(funcs ...*Func) PurityOption {
	return func(c *purityConfig) {
		if c.more == nil {
			c.more = map[*Func]bool{}
		}
		for _, f := range funcs {
			c.more[f] = true
		}
	}
}

// ImpureFunc replaces the whole judgement by f, for the graph itself; graphs of
// submodules are judged by default.
func ImpureFunc(f func(*Node) bool) PurityOption { return func(c *purityConfig) { c.own = f } }

// IsImpure reports whether n does more than compute its value, so that it may
// not be dropped when nobody reads that: placeholders and outputs, operators
// whose schema says that they write an argument or draw random numbers, asserts,
// and the like. An operator that the catalogue does not know is impure.
//
// A called module is what its method IsImpure() bool says, pure without one; a
// called or passed [GraphModule] is as impure as the nodes in it.
func (n *Node) IsImpure(opts ...PurityOption) bool {
	var c purityConfig
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	return c.impure(n)
}

func (c *purityConfig) impure(n *Node) bool {
	if c.own != nil {
		return c.own(n)
	}
	switch n.op {
	case Placeholder, Output:
		return true
	case CallModule:
		if n.graph == nil || n.graph.owner == nil {
			return true // nobody can tell
		}
		v, _ := n.graph.owner.Attr(n.target.String())
		return c.impureModule(v)
	case CallMethod:
		return !c.upstream && (writingMethod(n.target.String()) || writesByKeyword(n))
	case CallFunction:
		return c.impureCall(n)
	}
	return false
}

func (c *purityConfig) impureModule(v any) bool {
	switch v := v.(type) {
	case interface{ IsImpure() bool }:
		return v.IsImpure()
	case *GraphModule:
		return !c.upstream && c.impureGraph(v.graph)
	}
	return false
}

// impureGraph reports whether a step of g has an effect.
func (c *purityConfig) impureGraph(g *Graph) bool {
	inner := purityConfig{ignoreRandom: c.ignoreRandom, more: c.more}
	for n := range g.Nodes() {
		if n.op != Placeholder && n.op != Output && inner.impure(n) {
			return true
		}
	}
	return false
}

func (c *purityConfig) impureCall(n *Node) bool {
	f := n.Func()
	if c.more[f] || effectful()[f] {
		return true
	}
	switch f.kind {
	case Overload:
		return c.impureOperator(Operators().Lookup(f.op), n)
	case Packet:
		return c.impurePacket(n)
	case HigherOrder:
		return c.impureHigherOrder(n)
	}
	if randomFunctions()[f] {
		return true
	}
	return !c.upstream && (c.impurePython(f) || writesByKeyword(n))
}

// impurePacket judges a call that leaves the choice of the overload to the
// dispatcher: torch.fx looks at the default one alone, here any counts that
// returns its result.
func (c *purityConfig) impurePacket(n *Node) bool {
	name := strings.Replace(n.Func().name[len("torch.ops."):], ".", "::", 1)
	if c.upstream {
		s := Operators().Lookup(name)
		return s != nil && c.impureOperator(s, n)
	}
	overloads := Operators().Overloads(name)
	for _, s := range overloads {
		if !s.Tags.Has(TagOut) && !s.IsOut() && c.impureOperator(s, n) {
			return true
		}
	}
	return len(overloads) == 0
}

// impureOperator asks the schema, nil for an operator that nobody knows.
func (c *purityConfig) impureOperator(s *Schema, n *Node) bool {
	if s == nil {
		return true
	}
	e := s.Effects()
	if c.ignoreRandom {
		e.Random = false
	}
	if c.upstream {
		return len(e.Writes) > 0 || e.Random
	}
	return !e.Settle(func(i int) Arg { return n.schemaArg(s, i) }).Pure()
}

// schemaArg returns the argument of n at a position of its schema, given or
// default, nil where there is none.
func (n *Node) schemaArg(s *Schema, i int) Arg {
	if i < len(n.args) && !s.Args[i].KeywordOnly {
		return n.args[i]
	}
	if a, ok := n.Kwarg(s.Args[i].Name); ok {
		return a
	}
	return s.Args[i].Default
}

// impureHigherOrder looks at what a higher-order operator runs.
func (c *purityConfig) impureHigherOrder(n *Node) bool {
	if strings.HasPrefix(n.Func().Base(), "auto_functionalized") {
		f, ok := n.Arg(0).(*Func)
		return ok && effectful()[f]
	}
	impure := false
	if !c.upstream {
		n.Operands(func(m *Node) {
			if m.op != GetAttr || m.graph == nil || m.graph.owner == nil {
				return
			}
			if v, ok := m.graph.owner.Attr(m.target.String()); ok {
				if sub, ok := v.(*GraphModule); ok && c.impureGraph(sub.graph) {
					impure = true
				}
			}
		})
	}
	return impure
}

// impurePython judges a function by its Python name: in-place operators, and
// torch's functions by the operators of the same name.
func (c *purityConfig) impurePython(f *Func) bool {
	base := f.Base()
	if f.kind == Operator {
		_, inplace := inplaceForms[base]
		return inplace
	}
	if !strings.HasPrefix(f.name, "torch.") {
		return false
	}
	impure, known := c.judged[f]
	if !known {
		impure = c.impureTorch(base)
		if c.judged == nil {
			c.judged = map[*Func]bool{}
		}
		c.judged[f] = impure
	}
	return impure
}

// impureTorch judges a function of torch.
func (c *purityConfig) impureTorch(base string) bool {
	if strings.HasSuffix(base, "_") && !strings.HasSuffix(base, "__") {
		return true
	}
	for _, s := range Operators().Overloads("aten::" + base) {
		if s.Effects().Random && !c.ignoreRandom {
			return true
		}
	}
	return false
}

// writingMethod reports whether a method changes its receiver by Python's and
// torch's naming: mul_, __setitem__, __iadd__.
func writingMethod(name string) bool {
	if special, ok := strings.CutPrefix(name, "__"); ok && strings.HasSuffix(special, "__") {
		special = strings.TrimSuffix(special, "__")
		_, inplace := inplaceForms[special]
		return inplace || special == "delitem"
	}
	return strings.HasSuffix(name, "_")
}

// writesByKeyword reports whether an argument asks for a result in place.
func writesByKeyword(n *Node) bool {
	if out, ok := n.Kwarg("out"); ok && out != Arg(None{}) {
		return true
	}
	inplace, ok := n.Kwarg("inplace")
	return ok && inplace == Arg(Bool(true))
}

// effectful are the functions that do something which no schema tells. Source:
// torch.fx.node._side_effectful_functions of 2.15.0 after import of
// torch.distributed, and the effects registered in
// torch._higher_order_ops.effects.
var effectful = sync.OnceValue(func() map[*Func]bool {
	return funcSet(`
torch._assert torch._assert_async torch.ops.aten._assert_async.msg torch.ops.aten._assert_scalar.default
torch.ops.aten._assert_tensor_metadata.default torch.ops.aten.sym_constrain_range.default
torch.ops.aten.sym_constrain_range_for_size.default torch.ops.profiler._record_function_enter
torch.ops.profiler._record_function_enter.default torch.ops.profiler._record_function_enter_new
torch.ops.profiler._record_function_enter_new.default torch.ops.profiler._record_function_exit
torch.ops.profiler._record_function_exit._RecordFunction torch.ops.inductor.accumulate_grad_.default
torch.ops.inductor.resize_storage_bytes_.default torch.ops.prims._sink_tokens.default operator.setitem
torch.autograd.grad_mode._enter_inference_mode torch.autograd.grad_mode._exit_inference_mode
torch._C._set_grad_enabled torch.amp.autocast_mode._enter_autocast torch.amp.autocast_mode._exit_autocast
torch._functorch.predispatch._enter_dual_level torch._functorch.predispatch._exit_dual_level
torch._functorch.predispatch._jvp_decrement_nesting torch._functorch.predispatch._jvp_increment_nesting
torch.ops.higher_order.call_torchbind torch.ops.higher_order.print torch.ops.higher_order.invoke_leaf_function
torch.ops.aten._print.default torch.ops.aten._linalg_check_errors.default
torch.ops._c10d_functional.wait_tensor torch.ops._c10d_functional.wait_tensor.default
torch.ops._c10d_functional.wait_tensors torch.ops._c10d_functional.wait_tensors.default
torch.ops._c10d_functional.isend torch.ops._c10d_functional.isend.default
torch.ops._c10d_functional.irecv torch.ops._c10d_functional.irecv.default
torch.ops._c10d_functional.batch_p2p_ops torch.ops._c10d_functional.batch_p2p_ops.default`)
})

// randomFunctions are torch's own that draw random numbers without an operator
// that would say so. Source: torch._library.utils._RANDOM_FUNCTIONS of 2.15.0.
var randomFunctions = sync.OnceValue(func() map[*Func]bool {
	return funcSet(`torch.rand torch.randn torch.randint torch.randperm torch.rand_like torch.randn_like
torch.randint_like torch.normal torch.poisson torch.bernoulli torch.multinomial`)
})

func funcSet(names string) map[*Func]bool {
	set := map[*Func]bool{}
	for _, name := range strings.Fields(names) {
		set[FuncOf(name)] = true
	}
	return set
}
