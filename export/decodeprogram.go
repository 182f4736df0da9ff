package export

import (
	"strconv"

	"github.com/torchfx-go/torchfx/ir"
)

var (
	programFields   = fieldsOf("ExportedProgram", "graph_module opset_version range_constraints schema_version", "verifiers torch_version guards_code")
	versionFields   = fieldsOf("SchemaVersion", "major minor", "")
	rangeFields     = fieldsOf("RangeConstraint", "min_val max_val", "")
	moduleFields    = fieldsOf("GraphModule", "graph signature module_call_graph", "metadata treespec_namedtuple_fields")
	graphFields     = fieldsOf("Graph", "inputs outputs nodes tensor_values sym_int_values sym_bool_values", "is_single_tensor_return custom_obj_values sym_float_values")
	nodeFields      = fieldsOf("Node", "target inputs outputs metadata", "is_hop_single_tensor_return name")
	argFields       = fieldsOf("NamedArgument", "name arg", "kind")
	signatureFields = fieldsOf("GraphSignature", "input_specs output_specs", "")
	tupleFields     = fieldsOf("NamedTupleDef", "field_names", "")
	callFields      = fieldsOf("ModuleCallEntry", "fqn", "signature")
	callSignature   = fieldsOf("ModuleCallSignature", "inputs outputs in_spec out_spec", "forward_arg_names")
)

// program decodes the JSON of a program. Faults are noted, not returned; nil
// comes back when there is no use in going on.
func (d *decoder) program(v jsonValue) *programJSON {
	var vals [7]jsonValue
	if !d.object(v, programFields, vals[:]) {
		return nil
	}
	p := &programJSON{}
	if !d.version(vals[3], p) {
		return nil
	}
	p.verifiers = d.strings(vals[4], "verifiers")
	p.torch = d.str(vals[5], "torch_version")
	p.guards = d.strings(vals[6], "guards_code")
	p.ranges = d.ranges(vals[2])
	d.table(vals[1], "opset_version", func(key string, item jsonValue) {
		if p.opset == nil {
			p.opset = map[string]int64{}
		}
		p.opset[key] = d.int(item, "a version")
	})
	if vals[0].is() {
		d.module(vals[0], &p.module)
	}
	return p
}

// version reads schema_version and decides whether the file is of a kind that
// is read.
func (d *decoder) version(v jsonValue, p *programJSON) bool {
	var f [2]jsonValue
	switch {
	case !v.is():
		return false
	case v.lead() != '{':
		d.fault(ir.ErrVersion, "schema version %s is not supported (%d is); it is of torch 2.1 or older", v.number(), schemaMajor)
		return false
	case !d.object(v, versionFields, f[:]):
		return false
	}
	p.major, p.minor = d.int(f[0], "major"), d.int(f[1], "minor")
	if p.major == schemaMajor-1 && d.old {
		return true
	}
	if p.major != schemaMajor {
		d.fault(ir.ErrVersion, "schema version %d is not supported (%d is); export the model again with torch 2.9 or newer", p.major, schemaMajor)
		return false
	}
	if d.newer = p.minor > schemaMinor; d.newer {
		d.faults.warn("%s: schema version %d.%d is newer than %d.%d, the newest one known: what it added means nothing here",
			d.record, p.major, p.minor, schemaMajor, schemaMinor)
	}
	return true
}

func (d *decoder) ranges(v jsonValue) []rangeJSON {
	var out []rangeJSON
	d.table(v, "range_constraints", func(key string, item jsonValue) {
		defer d.in("range_constraints of " + clip(key))()
		var f [2]jsonValue
		if !d.object(item, rangeFields, f[:]) {
			return
		}
		out = append(out, rangeJSON{key, d.bound(f[0]), d.bound(f[1])})
	})
	return out
}

func (d *decoder) bound(v jsonValue) *int64 {
	if !v.is() || v.null() || v.infinite() {
		return nil
	}
	n := d.int(v, "a bound")
	return &n
}

func (d *decoder) module(v jsonValue, m *graphModuleJSON) {
	var f [5]jsonValue
	if !d.object(v, moduleFields, f[:]) {
		return
	}
	if f[0].is() {
		m.graph = d.graph(f[0])
	}
	if f[1].is() {
		d.signature(f[1], m)
	}
	d.list(f[2], "module_call_graph", func(_ int, item jsonValue) { m.calls = append(m.calls, d.moduleCall(item)) })
	d.table(f[3], "metadata", func(key string, item jsonValue) {
		if key == "custom" {
			m.custom = d.str(item, "custom")
		} else {
			d.foreign = true
		}
	})
	d.table(f[4], "treespec_namedtuple_fields", func(key string, item jsonValue) {
		var f [1]jsonValue
		if d.object(item, tupleFields, f[:]) {
			if m.namedtuples == nil {
				m.namedtuples = map[string][]string{}
			}
			m.namedtuples[key] = d.strings(f[0], "field_names")
		}
	})
}

func (d *decoder) graph(v jsonValue) *graphJSON {
	var f [9]jsonValue
	if !d.object(v, graphFields, f[:]) {
		return nil
	}
	entries := 0
	for _, i := range []int{3, 4, 5, 7, 8} {
		if f[i].is() {
			entries += f[i].len()
		}
	}
	g := &graphJSON{single: d.bool(f[6], "is_single_tensor_return"), values: make(map[string]tableEntry, entries)}
	for _, t := range []struct {
		v    jsonValue
		kind entryKind
	}{{f[3], tensorEntry}, {f[4], symIntEntry}, {f[5], symBoolEntry}, {f[7], objectEntry}, {f[8], symFloatEntry}} {
		d.table(t.v, t.kind.tableName(), func(key string, item jsonValue) {
			if old, dup := g.values[key]; dup {
				d.fault(ir.ErrFormat, "value %s is in %s twice or also in %s", clip(key), old.kind.tableName(), t.kind.tableName())
			}
			g.values[key] = tableEntry{t.kind, item}
		})
	}
	d.list(f[0], "inputs", func(i int, item jsonValue) {
		defer d.in("graph input " + strconv.Itoa(i))()
		g.inputs = append(g.inputs, d.argument(item))
	})
	if d.signatureOnly {
		f[2] = jsonValue{}
	}
	d.list(f[2], "nodes", func(i int, item jsonValue) { g.nodes = append(g.nodes, d.node(i, item)) })
	d.list(f[1], "outputs", func(i int, item jsonValue) {
		defer d.in("graph output " + strconv.Itoa(i))()
		g.outputs = append(g.outputs, d.argument(item))
	})
	return g
}

func (d *decoder) node(i int, v jsonValue) nodeJSON {
	var f [6]jsonValue
	if !d.scan(v, nodeFields, f[:]) {
		return nodeJSON{}
	}
	// name and outputs come first, because they name the node in messages about the rest
	n := nodeJSON{}
	if f[5].is() && !f[5].null() {
		n.name = d.str(f[5], "name")
	}
	d.list(f[2], "outputs", func(_ int, item jsonValue) { n.outputs = append(n.outputs, d.argument(item)) })
	defer d.in("node " + n.label(i))()
	d.require(nodeFields, f[:])
	n.target = d.str(f[0], "target")
	if f[4].is() {
		n.single = hopTuple
		if d.bool(f[4], "is_hop_single_tensor_return") {
			n.single = hopSingle
		}
	}
	d.list(f[1], "inputs", func(_ int, item jsonValue) { n.inputs = append(n.inputs, d.namedArgument(item)) })
	d.table(f[3], "metadata", func(key string, item jsonValue) {
		if s, ok := item.str(); ok {
			n.meta = append(n.meta, stringPair{key, s})
		} else {
			d.foreign = true // loads in Python too; nothing here needs it
		}
	})
	return n
}

// label is what messages call a node: its name, or that of its first output, or
// its place.
func (n *nodeJSON) label(i int) string {
	if n.name != "" {
		return clip(n.name)
	}
	if len(n.outputs) > 0 && n.outputs[0].ref != "" {
		return clip(n.outputs[0].ref)
	}
	return "#" + strconv.Itoa(i)
}

func (d *decoder) namedArgument(v jsonValue) namedArgument {
	var f [3]jsonValue
	if !d.object(v, argFields, f[:]) {
		return namedArgument{}
	}
	a := namedArgument{name: d.str(f[0], "name")}
	if a.name != "" {
		defer d.in("argument " + clip(a.name))()
	}
	if f[2].is() {
		switch n := d.int(f[2], "kind"); n {
		case 0, 1, 2:
			a.kind = argKind(n)
		default:
			d.fault(ir.ErrUnsupported, "unknown kind %d: expected 0, 1 (positional) or 2 (keyword)", n)
		}
	}
	if f[1].is() {
		a.arg = d.argument(f[1])
	}
	return a
}

func (d *decoder) signature(v jsonValue, m *graphModuleJSON) {
	var f [2]jsonValue
	if !d.object(v, signatureFields, f[:]) {
		return
	}
	d.list(f[0], "input_specs", func(i int, item jsonValue) {
		defer d.in("input spec " + strconv.Itoa(i))()
		m.inputs = append(m.inputs, d.inputSpec(item))
	})
	d.list(f[1], "output_specs", func(i int, item jsonValue) {
		defer d.in("output spec " + strconv.Itoa(i))()
		m.outputs = append(m.outputs, d.outputSpec(item))
	})
}

func (d *decoder) moduleCall(v jsonValue) moduleCallJSON {
	var f [2]jsonValue
	if !d.object(v, callFields, f[:]) {
		return moduleCallJSON{}
	}
	c := moduleCallJSON{fqn: d.str(f[0], "fqn")}
	if !f[1].is() {
		return c
	}
	defer d.in("module call " + strconv.Quote(clip(c.fqn)))()
	var s [5]jsonValue
	if !d.object(f[1], callSignature, s[:]) {
		return c
	}
	c.signature = &moduleSignatureJSON{inSpec: d.str(s[2], "in_spec"), outSpec: d.str(s[3], "out_spec"), argNames: d.strings(s[4], "forward_arg_names")}
	d.list(s[0], "inputs", func(_ int, item jsonValue) { c.signature.inputs = append(c.signature.inputs, d.argument(item)) })
	d.list(s[1], "outputs", func(_ int, item jsonValue) { c.signature.outputs = append(c.signature.outputs, d.argument(item)) })
	return c
}
