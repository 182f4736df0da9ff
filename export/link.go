package export

import (
	"strconv"

	"github.com/torchfx-go/torchfx/ir"
)

// A linker brings graph, signature and state together and reports where they
// disagree.
type linker struct {
	faults *faults
	record string
	graph  *ir.Graph
	sig    Signature
	state  *state // nil when only the graph is read
	bare   bool   // the elements were not read
}

// signature makes the signature of the program; its specs pair with the inputs
// and outputs of the graph.
func (l *linker) signature(m *graphModuleJSON) {
	ins := l.graph.Find(ir.Placeholder, nil)
	if len(m.graph.inputs) != len(m.inputs) {
		l.faults.add(ir.ErrFormat, "%s: signature and graph disagree: %d inputs, %d input specs", l.record, len(m.graph.inputs), len(m.inputs))
	}
	if len(m.graph.outputs) != len(m.outputs) {
		l.faults.add(ir.ErrFormat, "%s: signature and graph disagree: %d outputs, %d output specs", l.record, len(m.graph.outputs), len(m.outputs))
	}
	if m.graph.single {
		l.faults.add(ir.ErrFormat, "%s: expected a tuple as the graph's output, got a single tensor, as in a subgraph", l.record)
	}
	for i := range min(len(m.graph.inputs), len(m.inputs), len(ins)) {
		l.input(i, &m.inputs[i], &m.graph.inputs[i], ins[i])
	}
	for i := range min(len(m.graph.outputs), len(m.outputs)) {
		l.output(i, &m.outputs[i], &m.graph.outputs[i])
	}
	l.mutations()
}

func (l *linker) input(i int, spec *inputSpecJSON, in *argument, n *ir.Node) {
	s := InputSpec{Kind: spec.kind, Name: n.Name(), Target: spec.target, Persistent: spec.persistent}
	if spec.arg.more != nil {
		s.Class = spec.arg.more.class
	}
	constant := !in.isValue()
	switch {
	case constant && spec.kind != UserInput:
		l.faults.add(ir.ErrFormat, "%s: input %d: signature and graph disagree: the graph has a constant, the signature a %s", l.record, i, spec.kind)
	case constant:
		if s.Constant = spec.arg.lit; s.Constant == nil {
			s.Constant = in.lit
		}
		if in.lit != nil && !ir.EqualArgs(s.Constant, in.lit) {
			l.faults.warn("%s: input %s: signature says %s, graph says %s; the signature counts", l.record, s.Name, ir.Repr(s.Constant), ir.Repr(in.lit))
		}
	case spec.arg.lit != nil:
		l.faults.add(ir.ErrFormat, "%s: input %d: signature and graph disagree: %s in the graph, a constant in the signature", l.record, i, clip(in.ref))
	case spec.arg.ref != in.ref:
		l.faults.add(ir.ErrFormat, "%s: input %d: signature and graph disagree: %s in the graph, %s in the signature", l.record, i, clip(in.ref), clip(spec.arg.ref))
	}
	l.sig.Inputs = append(l.sig.Inputs, s)
}

func (l *linker) output(i int, spec *outputSpecJSON, out *argument) {
	s := OutputSpec{Kind: spec.kind, Name: spec.arg.ref, Target: spec.target}
	switch {
	case spec.arg.ref == "" && out.ref == "":
		s.Constant = out.lit
		if s.Constant == nil {
			s.Constant = ir.None{}
		}
	case spec.arg.ref != out.ref:
		l.faults.add(ir.ErrFormat, "%s: output %d: signature and graph disagree: %s in the graph, %s in the signature", l.record, i, clip(out.ref), clip(spec.arg.ref))
	}
	l.sig.Outputs = append(l.sig.Outputs, s)
}

// mutations checks that what the program changes is there.
func (l *linker) mutations() {
	type input struct {
		kind InputKind
		name string
	}
	has := make(map[input]bool, len(l.sig.Inputs))
	for _, in := range l.sig.Inputs {
		if in.Kind == UserInput {
			has[input{UserInput, in.Name}] = true
		} else {
			has[input{in.Kind, in.Target}] = true
		}
	}
	for _, out := range l.sig.Outputs {
		kind := UserInput
		switch out.Kind {
		case BufferMutation:
			kind = BufferInput
		case ParameterMutation, GradientToParameter:
			kind = ParameterInput
		case UserInputMutation, GradientToUserInput:
		default:
			continue
		}
		if !has[input{kind, out.Target}] {
			l.faults.add(ir.ErrFormat, "%s: output %s is a %s of %s, which is no %s", l.record, clip(out.Name), out.Kind, clip(out.Target), kind)
		}
	}
}

// weights checks that every parameter, buffer and constant of the signature has
// a tensor that fits the graph.
func (l *linker) weights() {
	if l.state == nil {
		return
	}
	ins := l.graph.Find(ir.Placeholder, nil)
	for i := range l.sig.Inputs {
		in := &l.sig.Inputs[i]
		t := l.state.tensors[in.Target]
		switch in.Kind {
		case UserInput, TokenInput:
			continue
		case CustomObjectInput:
			o := l.state.objects[in.Target]
			if o == nil && !l.excused(in.Target) {
				l.faults.add(ir.ErrFormat, "custom object %s is in the signature but not in the %s", clip(in.Target), l.state.in[1])
			}
			if o != nil {
				o.Class = in.Class
			}
			continue
		}
		switch {
		case t == nil && l.state.fake[in.Target] && !l.bare:
			l.faults.add(ir.ErrFormat, "weight %s: it has no elements: the program was saved without real weights; it can be shown but not run", clip(in.Target))
			continue
		case t == nil && l.excused(in.Target):
			continue
		case t == nil && in.Kind == ConstantTensorInput, t == nil && in.Kind == BufferInput && !in.Persistent:
			l.faults.add(ir.ErrFormat, "constant %s is in the signature but not in the %s", clip(in.Target), l.state.in[1])
			continue
		case t == nil:
			l.faults.add(ir.ErrFormat, "weight %s is in the signature but not in the %s", clip(in.Target), l.state.in[0])
			continue
		case in.Kind == ParameterInput && !t.Parameter && l.state.pickled:
			t.Parameter = true
		case in.Kind == ParameterInput && !t.Parameter:
			l.faults.add(ir.ErrFormat, "weight %s is a parameter in the signature but not in the %s", clip(in.Target), l.state.in[0])
		case in.Kind == BufferInput && !in.Persistent && l.state.weights[in.Target]:
			l.faults.add(ir.ErrFormat, "buffer %s is not persistent but stands in the %s", clip(in.Target), l.state.in[0])
		case l.state.fake[in.Target] && !l.bare:
			l.faults.add(ir.ErrFormat, "weight %s: its record is empty: the program was saved without real weights; it can be shown but not run", clip(in.Target))
		}
		if in.Kind != ParameterInput {
			t.Parameter = false
		}
		if val, ok := ins[i].Meta().Get(ir.MetaVal).(ir.TensorMeta); ok {
			l.compare(in.Target, t, val)
		}
	}
}

// excused reports whether something else was said already about a tensor that
// is not there.
func (l *linker) excused(name string) bool { return l.state.partial || l.state.claimed[name] }

// compare checks a tensor against what the graph's value table says of it.
func (l *linker) compare(name string, t *Tensor, val ir.TensorMeta) {
	if t.DType != val.DType && val.DType.Valid() {
		l.faults.add(ir.ErrFormat, "weight %s: graph and %s disagree: %s in the graph, %s in the %s", clip(name), l.state.kind, val.DType, t.DType, l.state.kind)
	}
	same := len(t.Sizes) == len(val.Sizes)
	for i := 0; same && i < len(t.Sizes); i++ {
		n, known := val.Sizes[i].Known()
		same = !known || n == t.Sizes[i]
	}
	if !same {
		l.faults.add(ir.ErrFormat, "weight %s: graph and %s disagree: sizes %s in the graph, %v in the %s", clip(name), l.state.kind, sizesText(val.Sizes), t.Sizes, l.state.kind)
	}
}

func sizesText(sizes []ir.Size) string {
	s := "["
	for i, d := range sizes {
		if i > 0 {
			s += " "
		}
		if n, known := d.Known(); known {
			s += strconv.FormatInt(n, 10)
		} else {
			s += d.Expr().String()
		}
	}
	return s + "]"
}
