package export

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A LiftOption changes what [Lift] does.
type LiftOption func(*lifter)

// LiftFrom names the program that the module is of, changed or not. What a graph
// does not say is taken from it: which attributes are parameters, ranges of dynamic
// sizes, guards, the module tree, sample inputs, extra files. Default: attributes
// that are no parameters are buffers, and there is nothing of the rest.
func LiftFrom(p *Program) LiftOption { return func(l *lifter) { l.from = p } }

// LiftTensors makes tensors of the attributes that are no [*Tensor]. The same value
// is asked for once. Default: such attributes are refused.
func LiftTensors(f func(path string, v any) (*Tensor, error)) LiftOption {
	return func(l *lifter) { l.convert = f }
}

// LiftOperators gives the operators that the graph may call. Default: those of the
// program of [LiftFrom], or the embedded catalogue.
func LiftOperators(c *ir.Catalogue) LiftOption { return func(l *lifter) { l.catalogue = c } }

// Lift makes a program of a module, the inverse of [Program.Module]: attributes that
// the graph reads become inputs, the copy_ calls before the output that give state
// and inputs new values become outputs, and the call of guards goes. The module stays
// as it is.
//
// Attributes are [*Tensor], [*Object], graph modules for subgraphs, or what
// [LiftTensors] makes tensors of. The calling convention is that of the graph's code
// generator; without a pytree one every placeholder is a positional argument. Where
// the inputs differ from those of the program it came from, guards and sample inputs
// are left out, and Warnings says so.
//
// It fails, naming all of them, for attributes that are none of these and for results
// that the convention does not fit. What a file cannot say, [Save] refuses.
func Lift(m *ir.GraphModule, opts ...LiftOption) (*Program, error) {
	if err := ir.CheckOptions("lift", opts); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "lift: expected a graph module, got nil")
	}
	l := &lifter{module: m, graph: ir.NewGraph(), nodes: map[*ir.Node]ir.Arg{}, attrs: map[string]any{}, made: map[any]*Tensor{}}
	for _, o := range opts {
		o(l)
	}
	if l.from == nil {
		l.from = &Program{Name: defaultModel}
	}
	if l.from.outputs != nil {
		return nil, ir.Errorf(ir.ErrUnsupported, "lift: only the signature of program %s was read", l.from.Name)
	}
	if l.catalogue == nil {
		l.catalogue = l.from.catalogue
	}
	if l.catalogue == nil {
		l.catalogue = ir.Operators()
	}
	p := l.program()
	if err := l.faults.join(); err != nil {
		return nil, err
	}
	return p, nil
}

// A lifter turns a graph with attributes into one whose state are inputs.
type lifter struct {
	module    *ir.GraphModule
	from      *Program
	convert   func(path string, v any) (*Tensor, error)
	catalogue *ir.Catalogue
	faults    faults
	graph     *ir.Graph
	nodes     map[*ir.Node]ir.Arg // of the module's graph -> what stands for them
	attrs     map[string]any      // subgraphs
	made      map[any]*Tensor
	state     []liftedState
	notes     []string
}

// A liftedState is an attribute that becomes an input.
type liftedState struct {
	spec   InputSpec
	reads  []*ir.Node
	tensor *Tensor
	object *Object
}

func (l *lifter) program() *Program {
	output, err := l.module.Graph().OutputNode()
	if err != nil {
		l.faults.err(err)
		return nil
	}
	l.collect()
	inputs := l.inputs()
	mutations := l.mutations(output)
	l.copy(mutations)
	outputs := l.outputs(output, mutations)
	gm, err := ir.NewGraphModule(l.attrs, l.graph, ir.ClassName(l.module.ClassName()))
	if err != nil || l.faults.any() {
		l.faults.err(err)
		return nil
	}
	gm.Meta().CopyFrom(l.module.Meta())
	p := *l.from // what the graph does not say
	p.closeContainer = nil
	p.module, p.Graph, p.catalogue = gm, l.graph, l.catalogue
	p.Signature = Signature{inputs, outputs}
	l.convention(&p)
	l.keepState(&p)
	l.ranges(&p)
	p.Warnings = append(slices.Clone(p.Warnings), l.notes...)
	if l.faults.any() {
		return nil
	}
	return &p
}

// ranges gives the symbols of the inputs that have none a range: from 2, as
// torch.export takes sizes that may vary, or from the size that was met, if that is less.
func (l *lifter) ranges(p *Program) {
	has := map[string]bool{}
	for _, r := range p.Ranges {
		has[r.Text] = true
	}
	p.Ranges = slices.Clone(p.Ranges)
	for _, n := range l.graph.Find(ir.Placeholder, nil) {
		meta, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta)
		if !ok {
			continue
		}
		for _, size := range meta.Sizes {
			if size.Expr() == nil {
				continue
			}
			if name, ok := size.Expr().Symbol(); ok && !has[name] {
				has[name] = true
				p.Ranges = append(p.Ranges, Range{Expr: size.Expr(), Text: name, Min: min(2, size.Hint()), Max: math.MaxInt64})
			}
		}
	}
}

// collect finds the attributes that become inputs: those that the graph reads, and
// those that the program has as inputs, read or not. They come in the order of the
// program, parameters before buffers before constants.
func (l *lifter) collect() {
	reads := map[string][]*ir.Node{}
	var order []string
	for _, n := range l.module.Graph().Find(ir.GetAttr, nil) {
		path := n.Target().String()
		if reads[path] == nil {
			order = append(order, path)
		}
		reads[path] = append(reads[path], n)
	}
	specs := map[string]InputSpec{}
	var known []string
	for _, in := range l.from.Signature.Inputs {
		if in.Kind == UserInput || in.Kind == TokenInput {
			continue
		}
		if _, there := l.module.Attr(in.Target); there || reads[in.Target] != nil {
			specs[in.Target] = in
			known = append(known, in.Target)
		}
	}
	for _, path := range order {
		if _, ok := specs[path]; !ok {
			known = append(known, path)
		}
	}
	for _, path := range known {
		spec, ok := specs[path]
		v, _ := l.module.Attr(path)
		if sub, isGraph := v.(*ir.GraphModule); isGraph {
			l.subgraph(path, sub)
			continue
		}
		s := liftedState{spec: spec, reads: reads[path]}
		s.object, _ = v.(*Object)
		if s.object == nil {
			s.tensor = l.tensor(path, v)
		}
		switch {
		case s.object != nil:
			s.spec.Kind, s.spec.Target = CustomObjectInput, path
			if !ok {
				s.spec.Class = s.object.Class
			}
		case s.tensor == nil:
			continue
		case !ok && s.tensor.Parameter:
			s.spec = InputSpec{Kind: ParameterInput, Target: path}
		case !ok:
			s.spec = InputSpec{Kind: BufferInput, Target: path, Persistent: true}
		}
		if s.tensor != nil && s.tensor.Parameter != (s.spec.Kind == ParameterInput) {
			c := *s.tensor
			c.Parameter = s.spec.Kind == ParameterInput
			s.tensor = &c
		}
		l.state = append(l.state, s)
	}
	slices.SortStableFunc(l.state, func(a, b liftedState) int { return int(a.spec.Kind) - int(b.spec.Kind) })
	if len(l.from.Signature.Inputs) > 0 && len(l.state) == len(specs) { // the program's own order
		place := map[string]int{}
		for i, in := range l.from.Signature.Inputs {
			place[in.Target] = i
		}
		slices.SortStableFunc(l.state, func(a, b liftedState) int { return place[a.spec.Target] - place[b.spec.Target] })
	}
}

// tensor returns the tensor of an attribute, and notes a fault where it is none.
func (l *lifter) tensor(path string, v any) *Tensor {
	if t, ok := v.(*Tensor); ok && t != nil {
		return t
	}
	if v == nil {
		l.faults.add(ir.ErrAttribute, "attribute %s: expected it in the module, got none", path)
		return nil
	}
	if l.convert == nil {
		l.faults.add(ir.ErrUnsupported, "attribute %s: expected a tensor or a graph, got %s", path, typeName(v))
		return nil
	}
	if t := l.made[v]; t != nil {
		return t
	}
	t, err := l.convert(path, v)
	if err != nil {
		l.faults.add(ir.ClassOf(err), "attribute %s: %w", path, err)
		return nil
	}
	l.made[v] = t
	return t
}

func (l *lifter) subgraph(path string, sub *ir.GraphModule) {
	c, err := copyAttr(sub)
	if err != nil {
		l.faults.add(ir.ErrValue, "subgraph %s: %w", path, err)
	}
	l.attrs[path] = c
}

// inputs makes the placeholders: state, then what the user gives.
func (l *lifter) inputs() []InputSpec {
	taken := map[string]bool{}
	for n := range l.module.Graph().Nodes() {
		if n.Op() != ir.GetAttr {
			taken[n.Name()] = true
		}
	}
	var specs []InputSpec
	for _, s := range l.state {
		name := s.spec.Name
		if name == "" || taken[name] {
			name = freeName(statePrefix[s.spec.Kind]+s.spec.Target, taken)
		}
		taken[name] = true
		n, err := l.graph.CreateNode(ir.Placeholder, ir.Path(name), nil, ir.ExactName(name))
		if err != nil {
			l.faults.err(err)
			continue
		}
		s.spec.Name = name
		specs = append(specs, s.spec)
		for _, read := range s.reads {
			n.Meta().CopyFrom(read.Meta())
			l.nodes[read] = n
		}
		if s.tensor != nil {
			n.Meta().Set(ir.MetaVal, s.tensor.TensorMeta())
		} else {
			n.Meta().Set(ir.MetaVal, ObjectMeta{s.spec.Class})
		}
	}
	users := l.from.Signature.UserInputs()
	ins := l.module.Graph().Find(ir.Placeholder, nil)
	for i, n := range ins {
		if strings.HasPrefix(n.Target().String(), "*") {
			l.faults.add(ir.ErrUnsupported, "input %s: a program has no starred arguments", n.Target().String())
		}
		name := n.Name()
		if len(users) == len(ins) && !taken[users[i].Name] {
			name = users[i].Name // the module may have renamed what Python reserves
			taken[name] = true
		}
		c, err := l.graph.CreateNode(ir.Placeholder, ir.Path(name), nil, ir.ExactName(name))
		if err != nil {
			l.faults.err(err)
			continue
		}
		c.Meta().CopyFrom(n.Meta())
		l.nodes[n] = c
		spec := InputSpec{Kind: UserInput, Name: name}
		switch v := n.Meta().Get(ir.MetaVal).(type) {
		case ir.None, ir.Int, ir.Float, ir.Bool, ir.Str:
			spec.Constant = v.(ir.Arg)
			if len(users) == len(ins) && users[i].Constant != nil {
				spec.Constant = users[i].Constant
			}
		}
		specs = append(specs, spec)
	}
	return specs
}

// statePrefix is how PyTorch begins the names of placeholders.
var statePrefix = map[InputKind]string{ParameterInput: "p_", BufferInput: "b_", ConstantTensorInput: "c_", CustomObjectInput: "obj_"}

// freeName makes a name of Python of a path that is not taken.
func freeName(path string, taken map[string]bool) string {
	base := strings.Map(func(r rune) rune {
		if r < 0x80 && (isIdentifier(string(r)) || r >= '0' && r <= '9') {
			return r
		}
		return '_'
	}, path)
	name := base
	for i := 1; taken[name]; i++ {
		name = base + "_" + ir.Repr(ir.Int(i))
	}
	return name
}

// A mutation is a call of copy_ that gives state or an input its new value.
type mutation struct {
	call   *ir.Node
	value  *ir.Node
	kind   OutputKind
	target string
}

// mutations finds the calls of copy_ behind which nothing runs. A program in the
// training dialect keeps them: it writes inside.
func (l *lifter) mutations(output *ir.Node) []mutation {
	if l.from.Training() {
		return nil
	}
	kinds := map[*ir.Node]mutation{}
	for _, s := range l.state {
		kind := BufferMutation
		switch s.spec.Kind {
		case ParameterInput:
			kind = ParameterMutation
		case BufferInput:
		default:
			continue
		}
		for _, n := range s.reads {
			kinds[n] = mutation{kind: kind, target: s.spec.Target}
		}
	}
	for _, n := range l.module.Graph().Find(ir.Placeholder, nil) {
		if c, ok := l.nodes[n].(*ir.Node); ok {
			kinds[n] = mutation{kind: UserInputMutation, target: c.Name()}
		}
	}
	var found []mutation
	targets, values := map[string]bool{}, map[*ir.Node]bool{}
	for n := output.Prev(); n != nil; n = n.Prev() {
		if n.Op() == ir.GetAttr {
			continue
		}
		to, _ := n.Arg(0).(*ir.Node)
		value, ok := n.Arg(1).(*ir.Node)
		m, writable := kinds[to]
		if n.Func() != copyInPlace || len(n.Args()) != 2 || len(n.Kwargs()) > 0 || !ok || !writable || targets[m.target] || values[value] || !readBy(n, output) {
			break
		}
		targets[m.target], values[value] = true, true
		m.call, m.value = n, value
		found = append(found, m)
	}
	slices.Reverse(found)
	return found
}

// readBy reports whether nothing but user reads n.
func readBy(n, user *ir.Node) bool {
	for u := range n.Users() {
		if u != user {
			return false
		}
	}
	return true
}

// copy copies the calls of the graph.
func (l *lifter) copy(mutations []mutation) {
	gone := map[*ir.Node]*ir.Node{}
	for _, m := range mutations {
		gone[m.call] = m.value
	}
	find := func(n *ir.Node) ir.Arg { return l.nodes[n] }
	for n := range l.module.Graph().Nodes() {
		switch n.Op() {
		case ir.Placeholder, ir.Output:
			continue
		case ir.GetAttr:
			if l.nodes[n] != nil {
				continue
			}
		case ir.CallModule:
			if v, _ := l.module.Attr(n.Target().String()); isGuards(v) {
				continue
			}
		}
		if value, ok := gone[n]; ok {
			l.nodes[n] = l.nodes[value]
			continue
		}
		args := make([]ir.Arg, len(n.Args()))
		for i, a := range n.Args() {
			args[i] = ir.MapNodes(a, find)
		}
		kwargs := make([]ir.Keyword, len(n.Kwargs()))
		for i, k := range n.Kwargs() {
			kwargs[i] = ir.Kw(k.Name, ir.MapNodes(k.Value, find))
		}
		c, err := l.graph.CreateNode(n.Op(), n.Target(), args, ir.ExactName(n.Name()), ir.Kwargs(kwargs...))
		if err != nil {
			l.faults.err(err)
			return
		}
		if n.Op() == ir.CallModule || n.Op() == ir.GetAttr && l.attrs[n.Target().String()] == nil {
			// a layer, or an attribute that was refused: carried along, so that all is refused together
			v, _ := l.module.Attr(n.Target().String())
			l.attrs[n.Target().String()] = v
		}
		c.Meta().CopyFrom(n.Meta())
		l.nodes[n] = c
	}
}

func isGuards(v any) bool { _, ok := v.(*Guards); return ok }

// outputs makes the output: new values of state and inputs, then the result.
func (l *lifter) outputs(output *ir.Node, mutations []mutation) []OutputSpec {
	var specs []OutputSpec
	var values []ir.Arg
	for _, m := range mutations {
		n, _ := l.nodes[m.value].(*ir.Node)
		if n == nil {
			l.faults.add(ir.ErrValue, "output %s: expected a value of the graph", m.value.Name())
			return nil
		}
		values = append(values, n)
		specs = append(specs, OutputSpec{Kind: m.kind, Name: n.Name(), Target: m.target})
	}
	leaves, _ := resultLeaves(output.Arg(0))
	var old []OutputSpec // kinds of results, as a joint graph has them
	for _, o := range l.from.Signature.Outputs {
		if !o.Kind.mutates() && o.Kind != TokenOutput {
			old = append(old, o)
		}
	}
	for i, a := range leaves {
		spec := OutputSpec{Kind: UserOutput}
		if len(old) == len(leaves) {
			spec.Kind, spec.Target = old[i].Kind, old[i].Target
		}
		a = ir.MapNodes(a, func(n *ir.Node) ir.Arg { return l.nodes[n] })
		if n, ok := a.(*ir.Node); ok {
			spec.Name = n.Name()
		} else {
			spec.Constant = a
		}
		values = append(values, a)
		specs = append(specs, spec)
	}
	out := l.graph.Output(ir.TupleOf(values...))
	out.Meta().CopyFrom(output.Meta())
	vals := make([]any, len(values))
	for i, a := range values {
		vals[i] = a
		if n, ok := a.(*ir.Node); ok {
			vals[i] = n.Meta().Get(ir.MetaVal)
		}
	}
	out.Meta().Set(ir.MetaVal, vals)
	return specs
}

// resultLeaves takes a result apart, and says what its structure is.
func resultLeaves(a ir.Arg) ([]ir.Arg, *ir.TreeSpec) {
	var leaves []ir.Arg
	var walk func(a ir.Arg) *ir.TreeSpec
	list := func(items []ir.Arg) []*ir.TreeSpec {
		specs := make([]*ir.TreeSpec, len(items))
		for i, item := range items {
			specs[i] = walk(item)
		}
		return specs
	}
	walk = func(a ir.Arg) *ir.TreeSpec {
		switch v := a.(type) {
		case ir.Tuple:
			return ir.TupleSpec(list(itemsOf(v.All()))...)
		case ir.List:
			return ir.ListSpec(list(itemsOf(v.All()))...)
		case ir.Dict:
			var keys []string
			var values []ir.Arg
			for key, value := range v.All() {
				name, ok := key.(ir.Str)
				if !ok {
					leaves = append(leaves, a) // refused as a result
					return ir.Leaf()
				}
				keys, values = append(keys, string(name)), append(values, value)
			}
			return ir.DictSpec(keys, list(values)...)
		}
		leaves = append(leaves, a)
		return ir.Leaf()
	}
	spec := walk(a)
	return leaves, spec
}

// convention fills in how the program is called, and leaves out what belongs to
// other inputs.
func (l *lifter) convention(p *Program) {
	users := p.Signature.UserInputs()
	c, ok := l.module.Graph().CodeGen().(ir.PyTreeCodeGen)
	p.InSpec, p.OutSpec = c.In, c.Out
	output, _ := l.module.Graph().OutputNode()
	if !ok || c.Out == nil {
		_, p.OutSpec = resultLeaves(output.Arg(0))
	}
	if !ok || c.In == nil {
		p.ArgNames = nil
		args := make([]*ir.TreeSpec, len(users))
		for i, u := range users {
			args[i] = ir.Leaf()
			p.ArgNames = append(p.ArgNames, u.Name)
		}
		p.InSpec = ir.TupleSpec(ir.TupleSpec(args...), ir.DictSpec(nil))
	} else if len(l.from.ArgNames) > 0 || len(l.from.ModuleCalls) == 0 {
		p.ArgNames = slices.Clone(c.Args)
	}
	if p.InSpec.NumLeaves() != len(users) {
		l.faults.add(ir.ErrValue, "inputs: expected %d, as many as the arguments' structure has places, got %d", p.InSpec.NumLeaves(), len(users))
	}
	if n := len(p.Signature.UserOutputs()); p.OutSpec.NumLeaves() != n {
		l.faults.add(ir.ErrValue, "output: expected %d values, as many as the result's structure has places, got %d", p.OutSpec.NumLeaves(), n)
	}
	if slices.Equal(p.ArgNames, l.from.ArgNames) {
		p.ArgNames = l.from.ArgNames
	}
	root := ModuleCall{Signature: &ModuleSignature{Inputs: []string{}, Outputs: []string{}, InSpec: p.InSpec, OutSpec: p.OutSpec, ArgNames: p.ArgNames}}
	p.ModuleCalls = []ModuleCall{root}
	if len(l.from.ModuleCalls) > 0 {
		p.ModuleCalls = append(p.ModuleCalls, l.from.ModuleCalls[1:]...)
	}
	p.Namedtuples = maps.Clone(p.Namedtuples)
	for _, spec := range []*ir.TreeSpec{p.InSpec, p.OutSpec} {
		addNamedtuples(p, spec)
	}
	if l.from.InSpec == nil || l.sameInputs(p) {
		return
	}
	if len(p.GuardsCode) > 0 || p.Samples {
		l.notes = append(l.notes, "the inputs are not those of the file any more: its guards and sample inputs are left out")
	}
	p.GuardsCode, p.Samples, p.samples = nil, false, nil
	p.Guards = buildGuards(p, p.Graph.Find(ir.Placeholder, nil), nil, "lift", &l.faults)
}

func addNamedtuples(p *Program, t *ir.TreeSpec) {
	if t.Class != "" && t.Fields != nil {
		if p.Namedtuples == nil {
			p.Namedtuples = map[string][]string{}
		}
		p.Namedtuples[t.Class] = t.Fields
	}
	for _, c := range t.Children {
		addNamedtuples(p, c)
	}
}

// sameInputs reports whether a program is called as the one that it came from.
func (l *lifter) sameInputs(p *Program) bool {
	a, err := p.InSpec.JSON()
	b, err2 := l.from.InSpec.JSON()
	return err == nil && err2 == nil && a == b && slices.Equal(p.ArgNames, l.from.ArgNames)
}

// keepState gives the program the tensors that its inputs name, and those of its
// file that no input named before either.
func (l *lifter) keepState(p *Program) {
	st := newState("weights config", "constants config")
	add := func(name string, t *Tensor, o *Object, weight bool) {
		st.names = append(st.names, name)
		st.weights[name] = weight
		if t != nil {
			st.tensors[name] = t
		} else if o != nil {
			st.objects[name] = o
		}
	}
	named := map[string]bool{}
	for _, s := range l.state {
		named[s.spec.Target] = true
		add(s.spec.Target, s.tensor, s.object, s.spec.Kind == ParameterInput || s.spec.Kind == BufferInput && s.spec.Persistent)
	}
	for _, in := range l.from.Signature.Inputs {
		named[in.Target] = true
	}
	if old := l.from.state; old != nil {
		for _, name := range old.names {
			if !named[name] {
				add(name, old.tensors[name], old.objects[name], old.weights[name])
			}
		}
	}
	p.state = st
}
