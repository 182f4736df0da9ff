package export

import (
	"github.com/torchfx-go/torchfx/ir"
)

var (
	nameFields   = fieldsOf("a name", "name", "")
	objectFields = fieldsOf("CustomObjArgument", "name class_fqn", "")
	graphArg     = fieldsOf("GraphArgument", "name graph", "")
	deviceFields = fieldsOf("Device", "type", "index")
	complexPair  = fieldsOf("ComplexValue", "real imag", "")
)

// argument decodes one value of the union Argument.
func (d *decoder) argument(v jsonValue) argument {
	name, value, ok := d.union(v, "an argument")
	if !ok {
		return argument{}
	}
	tag := argTags[name]
	a := argument{tag: tag}
	switch tag {
	case asInvalid:
		d.fault(ir.ErrUnsupported, "unknown argument kind %s", clip(name))
	case asNone:
		a.lit = ir.None{}
	case asTensor:
		a.ref = d.name(value)
	case asCustomObj:
		var f [2]jsonValue
		if d.object(value, objectFields, f[:]) {
			a.ref = d.str(f[0], "name")
			a.more = &argumentMore{class: d.str(f[1], "class_fqn")}
		}
	case asSymInt, asSymFloat, asSymBool:
		a = d.symArgument(value, tag)
	case asGraph:
		d.graphArgument(value, &a)
	case asOptionalTensor:
		a = d.optionalTensor(value)
	case asStringToArgument:
		a.more = &argumentMore{}
		d.table(value, name, func(key string, item jsonValue) {
			a.more.keys = append(a.more.keys, key)
			a.list = append(a.list, d.argument(item))
		})
	case asTensors, asNestedTensors, asOptionalTensors, asSymInts, asSymFloats, asSymBools,
		asInts, asFloats, asStrings, asBools, asIntLists, asFloatLists:
		a.list = d.items(value, tag)
	default:
		a.lit = d.literal(value, tag)
	}
	return a
}

// elementTag is the tag that each item of a list has.
var elementTag = [numArgTags]argTag{
	asTensors: asTensor, asNestedTensors: asTensors, asOptionalTensors: asOptionalTensor,
	asSymInts: asSymInt, asSymFloats: asSymFloat, asSymBools: asSymBool,
	asInts: asInt, asFloats: asFloat, asStrings: asString, asBools: asBool,
	asIntLists: asInts, asFloatLists: asFloats,
}

func (d *decoder) items(v jsonValue, tag argTag) []argument {
	element := elementTag[tag]
	var list []argument
	d.list(v, tag.String(), func(_ int, item jsonValue) {
		a := argument{tag: element}
		switch element {
		case asTensor:
			a.ref = d.name(item)
		case asOptionalTensor:
			a = d.optionalTensor(item)
		case asSymInt, asSymFloat, asSymBool:
			a = d.symArgument(item, element)
		case asTensors, asInts, asFloats:
			a.list = d.items(item, element)
		default:
			a.lit = d.literal(item, element)
		}
		list = append(list, a)
	})
	return list
}

// literal decodes a value that needs no names.
func (d *decoder) literal(v jsonValue, tag argTag) ir.Arg {
	what := tag.String()
	switch tag {
	case asInt:
		return ir.Int(d.int(v, what))
	case asFloat:
		return ir.Float(d.float(v, what))
	case asString:
		return ir.Str(d.str(v, what))
	case asBool:
		return ir.Bool(d.bool(v, what))
	case asScalarType:
		return d.dtype(v)
	case asMemoryFormat:
		m, err := ir.MemoryFormatFromExport(int(d.int(v, what)))
		d.note(err)
		return m
	case asLayout:
		return d.layout(v)
	case asDevice:
		return d.device(v)
	case asOperator:
		return ir.Str(d.str(v, what)) // resolved with the targets of nodes
	case asComplex:
		var f [2]jsonValue
		d.object(v, complexPair, f[:])
		return ir.Complex(complex(d.float(f[0], "real"), d.float(f[1], "imag")))
	}
	return ir.None{}
}

// note notes the error of a lookup at the present place.
func (d *decoder) note(err error) {
	if err != nil {
		d.fault(ir.ClassOf(err), "%v", err)
	}
}

func (d *decoder) name(v jsonValue) string {
	var f [1]jsonValue
	d.object(v, nameFields, f[:])
	return d.str(f[0], "name")
}

func (d *decoder) dtype(v jsonValue) ir.DType {
	n := d.int(v, "dtype")
	if n < 0 || n > 1000 {
		n = 0
	}
	t, err := ir.DTypeFromExport(int(n))
	if v.is() {
		d.note(err)
	}
	return t
}

func (d *decoder) layout(v jsonValue) ir.Layout {
	n := d.int(v, "layout")
	if n < 0 || n > 1000 {
		n = 0
	}
	l, err := ir.LayoutFromExport(int(n))
	if v.is() {
		d.note(err)
	}
	return l
}

func (d *decoder) device(v jsonValue) ir.Device {
	if !v.is() {
		return ir.Device{}
	}
	var f [2]jsonValue
	if !d.object(v, deviceFields, f[:]) {
		return ir.Device{}
	}
	dev, err := ir.ParseDevice(d.str(f[0], "type"))
	d.note(err)
	if f[1].is() {
		n := d.int(f[1], "index")
		if n < -1 || n > 127 {
			d.fault(ir.ErrFormat, "device index: expected -1 to 127, got %d", n)
			n = -1
		}
		dev = ir.NewDevice(dev.Kind(), int(n))
	}
	return dev
}

func (d *decoder) optionalTensor(v jsonValue) argument {
	tag, value, ok := d.union(v, "an optional tensor")
	switch {
	case ok && tag == "as_tensor":
		return argument{tag: asTensor, ref: d.name(value)}
	case ok && tag != "as_none":
		d.fault(ir.ErrUnsupported, "unknown kind %s of an optional tensor", clip(tag))
	}
	return argument{tag: asNone, lit: ir.None{}}
}

// symArgument decodes a SymIntArgument, SymFloatArgument or SymBoolArgument: the
// name of a value, or a plain one.
func (d *decoder) symArgument(v jsonValue, tag argTag) argument {
	a := argument{tag: tag}
	kind, value, ok := d.union(v, tag.String())
	switch {
	case !ok:
	case kind == "as_name":
		a.ref = d.str(value, "as_name")
	case tag == asSymInt && kind == "as_int", tag == asSymFloat && kind == "as_float", tag == asSymBool && kind == "as_bool":
		a.lit = d.literal(value, argTags[kind])
	default:
		d.fault(ir.ErrUnsupported, "unknown kind %s of %s", clip(kind), tag)
	}
	return a
}

// maxGraphs bounds how deep subgraphs nest.
const maxGraphs = 32

func (d *decoder) graphArgument(v jsonValue, a *argument) {
	var f [2]jsonValue
	if !d.object(v, graphArg, f[:]) {
		return
	}
	a.ref = d.str(f[0], "name")
	if !f[1].is() {
		return
	}
	if d.graphs == maxGraphs {
		d.fault(ir.ErrFormat, "expected at most %d nested graphs", maxGraphs)
		return
	}
	defer d.in("subgraph " + a.ref)()
	d.graphs++
	a.more = &argumentMore{graph: d.graph(f[1])}
	d.graphs--
}

// subPath is the path of a subgraph: the names of those around it, joined.
func subPath(outer, name string) string {
	if outer == "" {
		return name
	}
	return outer + "." + name
}
