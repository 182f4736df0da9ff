package export

import "github.com/torchfx-go/torchfx/ir"

// signature writes what the inputs and outputs of the outermost graph are. Names
// come from the graph, so that they cannot disagree.
func (e *encoder) signature(g *graphEncoder) {
	sig := &e.p.Signature
	ins := g.module.Graph().Find(ir.Placeholder, nil)
	if len(ins) != len(sig.Inputs) {
		e.faults.add(ir.ErrValue, "signature: expected an entry for each of %d inputs of the graph, got %d", len(ins), len(sig.Inputs))
		return
	}
	if len(g.outputs) != len(sig.Outputs) {
		e.faults.add(ir.ErrValue, "signature: expected an entry for each of %d outputs of the graph, got %d", len(g.outputs), len(sig.Outputs))
		return
	}
	e.key("input_specs")
	e.list(func() {
		for i := range sig.Inputs {
			e.inputSpec(&sig.Inputs[i], ins[i], g)
		}
	})
	e.key("output_specs")
	e.list(func() {
		for i := range sig.Outputs {
			e.outputSpec(&sig.Outputs[i], g.outputs[i], g)
		}
	})
}

// specTags are the tags of specs by kind, and the field that holds the target.
var (
	inputTags = [...][2]string{
		UserInput: {"user_input"}, ParameterInput: {"parameter", "parameter_name"}, BufferInput: {"buffer", "buffer_name"},
		ConstantTensorInput: {"tensor_constant", "tensor_constant_name"}, CustomObjectInput: {"custom_obj", "custom_obj_name"}, TokenInput: {"token"},
	}
	outputTags = [...][2]string{
		UserOutput: {"user_output"}, LossOutput: {"loss_output"}, BufferMutation: {"buffer_mutation", "buffer_name"},
		ParameterMutation: {"parameter_mutation", "parameter_name"}, GradientToParameter: {"gradient_to_parameter", "parameter_name"},
		GradientToUserInput: {"gradient_to_user_input", "user_input_name"}, UserInputMutation: {"user_input_mutation", "user_input_name"},
		TokenOutput: {"token"},
	}
)

func (e *encoder) inputSpec(s *InputSpec, n *ir.Node, g *graphEncoder) {
	if s.Kind == UserInput && s.Constant != nil {
		e.tagged("constant_input", func() {
			e.object(func() {
				e.key("name")
				e.str(s.Name)
				e.key("value")
				g.literal(s.Constant)
			})
		})
		return
	}
	e.tagged(inputTags[s.Kind][0], func() {
		e.object(func() {
			e.key("arg")
			switch s.Kind {
			case UserInput:
				g.reference(n)
			case CustomObjectInput:
				g.object(func() { g.objectFields(n.Name(), g.value(n)) })
			default:
				e.name(n.Name())
			}
			if field := inputTags[s.Kind][1]; field != "" {
				e.key(field)
				e.str(s.Target)
			}
			if s.Kind == BufferInput {
				e.key("persistent")
				e.bool(s.Persistent)
			}
		})
	})
}

func (e *encoder) outputSpec(s *OutputSpec, value ir.Arg, g *graphEncoder) {
	n, isNode := value.(*ir.Node)
	if !isNode && s.Kind != UserOutput {
		e.faults.add(ir.ErrValue, "output: expected a value of the graph for a %s of %s, got %s", s.Kind, s.Target, ir.Repr(value))
		return
	}
	e.tagged(outputTags[s.Kind][0], func() {
		e.object(func() {
			e.key("arg")
			if s.Kind == UserOutput {
				g.result(value)
			} else {
				e.name(g.nameOf(n))
			}
			if field := outputTags[s.Kind][1]; field != "" {
				e.key(field)
				e.str(s.Target)
			}
		})
	})
}

// name writes a TensorArgument, which is a name and nothing more.
func (e *encoder) name(name string) {
	e.object(func() {
		e.key("name")
		e.str(name)
	})
}
