package export

import "github.com/torchfx-go/torchfx/ir"

// A Signature says what the inputs and outputs of a lifted graph are. Inputs
// pair with the placeholders in order, outputs with the values of the output
// node. Same as torch.export.graph_signature.ExportGraphSignature.
type Signature struct {
	Inputs  []InputSpec
	Outputs []OutputSpec
}

// An InputSpec says what one placeholder stands for.
type InputSpec struct {
	Kind       InputKind
	Name       string // of the placeholder
	Target     string // qualified name of the parameter, buffer, constant or object; "" for inputs of the user
	Persistent bool   // of a buffer: whether it belongs to the state dict
	Constant   ir.Arg // the fixed value of a constant input; nil for all others
	Class      string // of a custom object
}

// An OutputSpec says what one output stands for.
type OutputSpec struct {
	Kind     OutputKind
	Name     string // of the value; "" for a constant
	Target   string // qualified name of the buffer or parameter that changes, or the name of the user's input
	Constant ir.Arg // the fixed value of a constant output; nil for all others
}

// An InputKind is the kind of an input.
type InputKind uint8

// The kinds of inputs.
const (
	UserInput InputKind = iota
	ParameterInput
	BufferInput
	ConstantTensorInput
	CustomObjectInput
	TokenInput
)

var inputKindNames = [...]string{"user_input", "parameter", "buffer", "constant_tensor", "custom_obj", "token"}

// String returns the name that Python prints, in lower case.
func (k InputKind) String() string { return inputKindNames[k] }

// An OutputKind is the kind of an output.
type OutputKind uint8

// The kinds of outputs.
const (
	UserOutput OutputKind = iota
	LossOutput
	BufferMutation
	ParameterMutation
	GradientToParameter
	GradientToUserInput
	UserInputMutation
	TokenOutput
)

var outputKindNames = [...]string{
	"user_output", "loss_output", "buffer_mutation", "parameter_mutation",
	"gradient_to_parameter", "gradient_to_user_input", "user_input_mutation", "token",
}

// String returns the name that Python prints, in lower case.
func (k OutputKind) String() string { return outputKindNames[k] }

// mutates reports whether an output is copied back instead of returned.
func (k OutputKind) mutates() bool {
	return k == BufferMutation || k == ParameterMutation || k == UserInputMutation
}

// UserInputs returns the specs of what the caller gives, in order.
func (s *Signature) UserInputs() []InputSpec {
	var specs []InputSpec
	for _, in := range s.Inputs {
		if in.Kind == UserInput {
			specs = append(specs, in)
		}
	}
	return specs
}

// UserOutputs returns the specs of what the caller gets, in order.
func (s *Signature) UserOutputs() []OutputSpec {
	var specs []OutputSpec
	for _, out := range s.Outputs {
		if out.Kind == UserOutput || out.Kind == LossOutput {
			specs = append(specs, out)
		}
	}
	return specs
}
