package export

// A shape says what the schema knows of a JSON value: which fields an object has, and
// where more objects are in a value. Values of no shape hold none.
type shape struct {
	fields  *fields           // of an object; nil for a list, a table or a union
	members map[string]*shape // what is in an object by its fields, in a union by its tags
	each    *shape            // what is in a list, or in a table whose keys are data
	named   bool              // an object that stands for the value that it names
	strings bool              // a table of strings; what is none is not known
}

// of is the shape of a member.
func (s *shape) of(key string) *shape {
	if s.each != nil {
		return s.each
	}
	return s.members[key]
}

// beyond reports whether a member of an object is one that the schema does not have.
func (s *shape) beyond(key, item jsonValue) bool {
	if s.strings {
		_, ok := item.str()
		return !ok
	}
	return s.fields != nil && s.fields.find(key, 0) < 0
}

type shapes map[string]*shape

func objectShape(f *fields, members shapes) *shape { return &shape{fields: f, members: members} }
func eachShape(s *shape) *shape                    { return &shape{each: s} }
func unionShape(tags shapes) *shape                { return &shape{members: tags} }

var metadataFields = fieldsOf("metadata", "", "custom")

// programShape and configShape are those of ExportedProgram and PayloadConfig.
var programShape, configShape = func() (program, config *shape) {
	name := &shape{fields: nameFields, named: true}
	object := &shape{fields: objectFields, named: true}
	device := objectShape(deviceFields, nil)
	sym := unionShape(shapes{"as_expr": objectShape(exprFields, nil)})
	tensor := objectShape(tensorFields, shapes{"sizes": eachShape(sym), "device": device, "strides": eachShape(sym), "storage_offset": sym})
	optional := unionShape(shapes{"as_tensor": name})
	argument, graph := &shape{}, &shape{fields: graphFields}
	argument.members = shapes{
		"as_tensor": name, "as_tensors": eachShape(name), "as_nested_tensors": eachShape(eachShape(name)),
		"as_optional_tensor": optional, "as_optional_tensors": eachShape(optional), "as_custom_obj": object, "as_device": device,
		"as_complex": objectShape(complexPair, nil), "as_string_to_argument": eachShape(argument),
		"as_graph": {fields: graphArg, named: true, members: shapes{"graph": graph}},
	}
	arguments := eachShape(argument)
	node := objectShape(nodeFields, shapes{
		"inputs": eachShape(objectShape(argFields, shapes{"arg": argument})), "outputs": arguments, "metadata": {strings: true},
	})
	graph.members = shapes{
		"inputs": arguments, "outputs": arguments, "nodes": eachShape(node), "tensor_values": eachShape(tensor),
		"sym_int_values": eachShape(sym), "sym_bool_values": eachShape(sym), "sym_float_values": eachShape(sym), "custom_obj_values": eachShape(object),
	}
	specs := func(variants map[string]specVariant) *shape {
		tags := shapes{}
		for tag, v := range variants {
			of := name
			switch tag {
			case "user_input", "user_output", "loss_output":
				of = argument
			case "custom_obj":
				of = object
			}
			tags[tag] = objectShape(v.fields, shapes{"arg": of})
		}
		return eachShape(unionShape(tags))
	}
	call := objectShape(callSignature, shapes{"inputs": arguments, "outputs": arguments})
	module := objectShape(moduleFields, shapes{
		"graph":             graph,
		"signature":         objectShape(signatureFields, shapes{"input_specs": specs(inputVariants), "output_specs": specs(outputVariants)}),
		"module_call_graph": eachShape(objectShape(callFields, shapes{"signature": call})),
		"metadata":          objectShape(metadataFields, nil), "treespec_namedtuple_fields": eachShape(objectShape(tupleFields, nil)),
	})
	program = objectShape(programFields, shapes{
		"graph_module": module, "range_constraints": eachShape(objectShape(rangeFields, nil)), "schema_version": objectShape(versionFields, nil),
	})
	config = objectShape(configFields, shapes{"config": eachShape(objectShape(payloadFields, shapes{"tensor_meta": tensor}))})
	return program, config
}()
