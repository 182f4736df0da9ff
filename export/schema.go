package export

import "github.com/torchfx-go/torchfx/ir"

// The highest schema version that this package knows. Minor versions only add
// fields and tags.
const (
	schemaMajor   = 8
	schemaMinor   = 20
	schemaRelease = "2.15.0" // of torch, whose schema this is
	atenOpset     = 10       // that it writes
)

// The types of this file mirror torch/_export/serde/schema.py of 2.15.0, in
// the form that building a graph needs: unions are decoded, names are not yet
// resolved, and the value tables stay in the text until somebody asks.

type programJSON struct {
	module       graphModuleJSON
	ranges       []rangeJSON
	major, minor int64
	verifiers    []string
	torch        string
	guards       []string
	opset        map[string]int64
}

type rangeJSON struct {
	symbol   string
	min, max *int64 // nil is unbounded
}

type graphModuleJSON struct {
	graph       *graphJSON
	inputs      []inputSpecJSON
	outputs     []outputSpecJSON
	calls       []moduleCallJSON
	custom      string
	namedtuples map[string][]string
}

type graphJSON struct {
	inputs, outputs []argument
	nodes           []nodeJSON
	single          bool // is_single_tensor_return
	values          map[string]tableEntry
}

// A tableEntry is one entry of a graph's value tables, not decoded yet.
type tableEntry struct {
	kind  entryKind
	value jsonValue
}

type entryKind uint8

const (
	tensorEntry entryKind = iota
	symIntEntry
	symFloatEntry
	symBoolEntry
	objectEntry
)

// tableName is the name of the table that entries of a kind stand in.
func (k entryKind) tableName() string {
	return [...]string{"tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values", "custom_obj_values"}[k]
}

type nodeJSON struct {
	name    string // "" where the file has none
	target  string
	inputs  []namedArgument
	outputs []argument
	meta    []stringPair
	single  hopReturn
}

type stringPair struct{ key, value string }

// hopReturn is is_hop_single_tensor_return.
type hopReturn uint8

const (
	hopUnknown hopReturn = iota // null or absent
	hopTuple
	hopSingle
)

// argKind is how an argument was passed.
type argKind uint8

const (
	kindUnknown argKind = iota
	kindPositional
	kindKeyword
)

type namedArgument struct {
	name string
	arg  argument
	kind argKind
}

// An argument is one value of the 31-fold union Argument.
type argument struct {
	tag  argTag
	ref  string     // a value's name: as_tensor, as_custom_obj, sym arguments by name
	lit  ir.Arg     // a literal; nil where ref or list counts
	list []argument // the items of all lists; the values of as_string_to_argument
	more *argumentMore
}

// argumentMore holds what few arguments have.
type argumentMore struct {
	graph *graphJSON // as_graph
	keys  []string   // as_string_to_argument
	class string     // as_custom_obj
}

type argTag uint8

const (
	asInvalid argTag = iota
	asNone
	asTensor
	asTensors
	asInt
	asInts
	asFloat
	asFloats
	asString
	asStrings
	asSymInt
	asSymInts
	asScalarType
	asMemoryFormat
	asLayout
	asDevice
	asBool
	asBools
	asSymBool
	asSymBools
	asGraph
	asOptionalTensors
	asCustomObj
	asOperator
	asSymFloat
	asSymFloats
	asOptionalTensor
	asComplex
	asNestedTensors
	asIntLists
	asStringToArgument
	asFloatLists
	numArgTags
)

var argTagNames = [numArgTags]string{
	asInvalid: "invalid",
	asNone:    "as_none", asTensor: "as_tensor", asTensors: "as_tensors", asInt: "as_int", asInts: "as_ints",
	asFloat: "as_float", asFloats: "as_floats", asString: "as_string", asStrings: "as_strings",
	asSymInt: "as_sym_int", asSymInts: "as_sym_ints", asScalarType: "as_scalar_type",
	asMemoryFormat: "as_memory_format", asLayout: "as_layout", asDevice: "as_device", asBool: "as_bool",
	asBools: "as_bools", asSymBool: "as_sym_bool", asSymBools: "as_sym_bools", asGraph: "as_graph",
	asOptionalTensors: "as_optional_tensors", asCustomObj: "as_custom_obj", asOperator: "as_operator",
	asSymFloat: "as_sym_float", asSymFloats: "as_sym_floats", asOptionalTensor: "as_optional_tensor",
	asComplex: "as_complex", asNestedTensors: "as_nested_tensors", asIntLists: "as_int_lists",
	asStringToArgument: "as_string_to_argument", asFloatLists: "as_float_lists",
}

func (t argTag) String() string { return argTagNames[t] }

var argTags = func() map[string]argTag {
	tags := make(map[string]argTag, numArgTags)
	for t := asNone; t < numArgTags; t++ {
		tags[argTagNames[t]] = t
	}
	return tags
}()

type inputSpecJSON struct {
	kind       InputKind
	arg        argument // as_tensor with the name where the file has a bare {name}
	target     string
	persistent bool
}

type outputSpecJSON struct {
	kind   OutputKind
	arg    argument
	target string
}

type moduleCallJSON struct {
	fqn       string
	signature *moduleSignatureJSON
}

type moduleSignatureJSON struct {
	inputs, outputs []argument
	inSpec, outSpec string
	argNames        []string
}

// payloadJSON is one entry of a payload config.
type payloadJSON struct {
	name   string // fully qualified
	path   string
	param  bool
	pickle bool
	tensor *tensorMetaJSON // nil for objects
}

type tensorMetaJSON struct {
	dtype          ir.DType
	sizes, strides []symJSON
	offset         symJSON
	requiresGrad   bool
	device         ir.Device
	layout         ir.Layout
}

// A symJSON is a SymInt, SymFloat or SymBool: a value, or an expression with
// the value it had at export.
type symJSON struct {
	expr string // "" for a plain value
	lit  ir.Arg // Int, Float or Bool; for an expression the hint, nil where there is none
}

// int returns a plain integer.
func (s symJSON) int() (int64, bool) {
	n, ok := s.lit.(ir.Int)
	return int64(n), ok && s.expr == ""
}
