package export

import "github.com/torchfx-go/torchfx/ir"

// A specVariant is one variant of the unions InputSpec and OutputSpec: the kind
// it is, its fields, and the place of the target among them.
type specVariant struct {
	kind   uint8
	fields *fields
	target int // 0 where there is none
}

var (
	userFields     = fieldsOf("a spec", "arg", "")
	constantFields = fieldsOf("InputToConstantInputSpec", "name value", "")

	inputVariants = map[string]specVariant{
		"user_input":      {uint8(UserInput), userFields, 0},
		"parameter":       {uint8(ParameterInput), fieldsOf("InputToParameterSpec", "arg parameter_name", ""), 1},
		"buffer":          {uint8(BufferInput), fieldsOf("InputToBufferSpec", "arg buffer_name persistent", ""), 1},
		"tensor_constant": {uint8(ConstantTensorInput), fieldsOf("InputToTensorConstantSpec", "arg tensor_constant_name", ""), 1},
		"custom_obj":      {uint8(CustomObjectInput), fieldsOf("InputToCustomObjSpec", "arg custom_obj_name", ""), 1},
		"token":           {uint8(TokenInput), userFields, 0},
		"constant_input":  {uint8(UserInput), constantFields, 0},
	}
	outputVariants = map[string]specVariant{
		"user_output":            {uint8(UserOutput), userFields, 0},
		"loss_output":            {uint8(LossOutput), userFields, 0},
		"buffer_mutation":        {uint8(BufferMutation), fieldsOf("BufferMutationSpec", "arg buffer_name", ""), 1},
		"parameter_mutation":     {uint8(ParameterMutation), fieldsOf("ParameterMutationSpec", "arg parameter_name", ""), 1},
		"gradient_to_parameter":  {uint8(GradientToParameter), fieldsOf("GradientToParameterSpec", "arg parameter_name", ""), 1},
		"gradient_to_user_input": {uint8(GradientToUserInput), fieldsOf("GradientToUserInputSpec", "arg user_input_name", ""), 1},
		"user_input_mutation":    {uint8(UserInputMutation), fieldsOf("UserInputMutationSpec", "arg user_input_name", ""), 1},
		"token":                  {uint8(TokenOutput), userFields, 0},
	}
)

func (d *decoder) inputSpec(v jsonValue) inputSpecJSON {
	tag, value, ok := d.union(v, "an input spec")
	if !ok {
		return inputSpecJSON{}
	}
	variant, known := inputVariants[tag]
	if !known {
		d.fault(ir.ErrUnsupported, "unknown kind %s of an input", clip(tag))
		return inputSpecJSON{}
	}
	spec := inputSpecJSON{kind: InputKind(variant.kind)}
	var f [3]jsonValue
	if !d.object(value, variant.fields, f[:len(variant.fields.names)]) {
		return spec
	}
	switch {
	case tag == "user_input":
		if f[0].is() {
			spec.arg = d.argument(f[0])
		}
		return spec
	case tag == "constant_input":
		spec.arg = argument{tag: asInvalid, ref: d.str(f[0], "name")}
		if f[1].is() {
			spec.arg.tag, spec.arg.lit = d.constantValue(f[1])
		}
		return spec
	case spec.kind == CustomObjectInput:
		spec.arg.tag = asCustomObj
		var o [2]jsonValue
		if f[0].is() && d.object(f[0], objectFields, o[:]) {
			spec.arg.ref = d.str(o[0], "name")
			spec.arg.more = &argumentMore{class: d.str(o[1], "class_fqn")}
		}
	case f[0].is():
		spec.arg = argument{tag: asTensor, ref: d.name(f[0])}
	}
	if variant.target > 0 {
		spec.target = d.str(f[variant.target], "the qualified name")
	}
	if spec.kind == BufferInput {
		spec.persistent = d.bool(f[2], "persistent")
	}
	return spec
}

// constantValue decodes the union ConstantValue.
func (d *decoder) constantValue(v jsonValue) (argTag, ir.Arg) {
	tag, value, ok := d.union(v, "a constant")
	if !ok {
		return asInvalid, nil
	}
	switch t := argTags[tag]; t {
	case asNone:
		return t, ir.None{}
	case asInt, asFloat, asString, asBool:
		if _, isBool := value.bool(); isBool && t == asInt && d.old {
			t = asBool // torch 2.5 writes True that way
		}
		return t, d.literal(value, t)
	}
	d.fault(ir.ErrUnsupported, "unknown kind %s of a constant", clip(tag))
	return asInvalid, nil
}

func (d *decoder) outputSpec(v jsonValue) outputSpecJSON {
	tag, value, ok := d.union(v, "an output spec")
	if !ok {
		return outputSpecJSON{}
	}
	variant, known := outputVariants[tag]
	if !known {
		d.fault(ir.ErrUnsupported, "unknown kind %s of an output", clip(tag))
		return outputSpecJSON{}
	}
	spec := outputSpecJSON{kind: OutputKind(variant.kind)}
	var f [2]jsonValue
	if !d.object(value, variant.fields, f[:len(variant.fields.names)]) {
		return spec
	}
	switch {
	case !f[0].is():
	case spec.kind == UserOutput:
		spec.arg = d.argument(f[0])
	default:
		spec.arg = argument{tag: asTensor, ref: d.name(f[0])}
	}
	if variant.target > 0 {
		spec.target = d.str(f[variant.target], "the qualified name")
	}
	return spec
}
