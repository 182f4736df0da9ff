package export

import (
	"math"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// An encoder writes the JSON of one program. Like the decoder it notes what is
// wrong and goes on, so that a refusal lists all that cannot be written.
type encoder struct {
	jsonWriter
	p      *Program
	faults *faults
	blank  []string // nodes about whose value nothing is known
}

// encodeProgram returns the JSON of a program in the schema of torch 2.15. What
// it cannot say goes to f.
func encodeProgram(p *Program, f *faults) []byte {
	e := &encoder{p: p, faults: f}
	e.object(func() {
		e.key("graph_module")
		e.object(e.graphModule)
		e.key("opset_version")
		e.opset()
		e.key("range_constraints")
		e.ranges()
		e.key("schema_version")
		e.object(func() {
			e.key("major")
			e.int(schemaMajor)
			e.key("minor")
			e.int(schemaMinor)
		})
		e.key("verifiers")
		e.strings(e.verifiers())
		e.key("torch_version")
		if p.TorchVersion == "" {
			e.str(schemaRelease)
		} else {
			e.str(p.TorchVersion)
		}
		e.key("guards_code")
		e.strings(p.GuardsCode)
	})
	if len(e.blank) > 0 {
		f.add(ir.ErrValue, "nothing is known of the values of %d nodes: %s; expected the meta %q of each, as shape propagation notes it",
			len(e.blank), listNames(e.blank), ir.MetaVal)
	}
	return e.b
}

// listNames lists the first names of many.
func listNames(names []string) string {
	const most = 20
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "...")
	}
	return strings.Join(names, ", ")
}

func (e *encoder) opset() {
	e.object(func() {
		if _, ok := e.p.opset["aten"]; !ok {
			e.key("aten")
			e.int(atenOpset)
		}
		for _, ns := range sortedKeys(e.p.opset) {
			e.key(ns)
			e.int(e.p.opset[ns])
		}
	})
}

func (e *encoder) ranges() {
	bound := func(n, none int64) {
		if n == none {
			e.null()
		} else {
			e.int(n)
		}
	}
	e.object(func() {
		for _, r := range e.p.Ranges {
			e.key(r.Text)
			e.object(func() {
				e.key("min_val")
				bound(r.Min, math.MinInt64)
				e.key("max_val")
				bound(r.Max, math.MaxInt64)
			})
		}
	})
}

// verifiers names the dialect: operators that write their arguments make it the
// training one, whatever the program was before.
func (e *encoder) verifiers() []string {
	if !e.p.Training() && e.writes(e.p.module) {
		return []string{trainingDialect}
	}
	return e.p.Verifiers
}

// writes reports whether an operator of a module writes one of its arguments.
func (e *encoder) writes(m *ir.GraphModule) bool {
	for n := range m.Graph().Nodes() {
		s := e.p.catalogue.Lookup(opOf(n.Func()))
		if s != nil && slices.ContainsFunc(s.Args, func(a ir.Param) bool { return a.Alias != nil && a.Alias.Write }) {
			return true
		}
	}
	for _, v := range m.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok && e.writes(sub) {
			return true
		}
	}
	return false
}

func (e *encoder) graphModule() {
	g := &graphEncoder{encoder: e, module: e.p.module}
	e.key("graph")
	e.object(g.graph)
	e.key("signature")
	e.object(func() { e.signature(g) })
	e.key("module_call_graph")
	e.list(func() {
		for i := range e.p.ModuleCalls {
			e.moduleCall(&e.p.ModuleCalls[i], g, i == 0)
		}
	})
	if len(e.p.ModuleCalls) == 0 || e.p.ModuleCalls[0].FQN != "" || e.p.ModuleCalls[0].Signature == nil {
		e.faults.add(ir.ErrValue, "module calls: expected the first one to be the root with a signature")
	}
	e.key("metadata")
	e.object(func() {
		if e.p.Custom != "" {
			e.key("custom")
			e.str(e.p.Custom)
		}
	})
	e.key("treespec_namedtuple_fields")
	e.object(func() {
		for _, class := range sortedKeys(e.p.Namedtuples) {
			e.key(class)
			e.object(func() {
				e.key("field_names")
				e.strings(e.p.Namedtuples[class])
			})
		}
	})
}

// moduleCall writes an entry of the module tree. A kept signature of a module
// below the root must name values that are there; without one the module is
// listed all the same.
func (e *encoder) moduleCall(c *ModuleCall, g *graphEncoder, root bool) {
	s := c.Signature
	if s != nil && !root {
		for _, name := range slices.Concat(s.Inputs, s.Outputs) {
			if name != "" && g.named[name] == nil {
				s = nil
				break
			}
		}
	}
	e.object(func() {
		e.key("fqn")
		e.str(c.FQN)
		e.key("signature")
		if s == nil {
			e.null()
			return
		}
		e.object(func() {
			e.key("inputs")
			e.list(func() { e.moduleArgs(s.Inputs, s.ins, g) })
			e.key("outputs")
			e.list(func() { e.moduleArgs(s.Outputs, s.outs, g) })
			e.treeSpec("in_spec", s.InSpec)
			e.treeSpec("out_spec", s.OutSpec)
			e.key("forward_arg_names")
			if len(s.ArgNames) == 0 {
				e.null()
			} else {
				e.strings(s.ArgNames)
			}
		})
	})
}

// moduleArgs writes arguments of a module call: values by name, and constants as
// the file had them.
func (e *encoder) moduleArgs(names []string, from []argument, g *graphEncoder) {
	for i, name := range names {
		switch {
		case name != "" && g.named[name] != nil:
			g.reference(g.named[name])
		case i < len(from) && from[i].lit != nil:
			g.literal(from[i].lit)
		default:
			g.literal(ir.None{})
		}
	}
}

func (e *encoder) treeSpec(key string, t *ir.TreeSpec) {
	e.key(key)
	if t == nil {
		t = ir.TupleSpec()
	}
	text, err := t.JSON()
	if err != nil {
		e.faults.add(ir.ErrUnsupported, "%s: %w", key, err)
	}
	e.str(text)
}
