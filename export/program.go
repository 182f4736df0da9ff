package export

import (
	"iter"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// A Program is an exported program: a graph of operators whose parameters,
// buffers and constants are placeholders, and what is needed to call it. Same
// as torch.export.ExportedProgram.
//
// A Program may be read by many goroutines. Its tensors are writable memory:
// who writes into one needs the usual care.
type Program struct {
	Name           string       // of the program in its archive, mostly "model"
	Graph          *ir.Graph    // lifted: every input a placeholder, as ep.graph has it
	Signature      Signature    // what placeholders and outputs stand for
	InSpec         *ir.TreeSpec // of (args, kwargs)
	OutSpec        *ir.TreeSpec // of the result
	ArgNames       []string     // of the forward method's arguments; may be empty
	Ranges         []Range      // of dynamic dimensions
	Guards         *Guards      // what the inputs of a call must be
	GuardsCode     []string     // the guards as the file has them, parsed or not
	Verifiers      []string     // dialects: "TRAINING" programs may change state inside operators
	Samples        bool         // the archive holds sample inputs; `.module()` guards its inputs only then
	TorchVersion   string       // of the torch that exported
	SchemaMajor    int
	SchemaMinor    int
	ModuleCalls    []ModuleCall        // the module tree of the model that was exported
	Namedtuples    map[string][]string // field names by registered type
	Custom         string              // JSON text of the graph module's own metadata, "" where there is none
	Extra          map[string][]byte   // files that were saved beside the program
	Writer         string              // who wrote the file, where that was not PyTorch
	Warnings       []string            // what is odd in the file without being wrong
	module         *ir.GraphModule
	outputs        []any // of a program read for its signature only
	state          *state
	catalogue      *ir.Catalogue
	closeContainer func() error

	// what is of no use here and goes into a file that is written of the program
	opset    map[string]int64
	unparsed map[string]string // texts of expressions by the symbols that stand for them
	further  foreign
	samples  func() ([]byte, error) // the record of sample inputs, unopened; nil where there is none
}

// A ModuleCall is one module of the model that was exported.
type ModuleCall struct {
	FQN       string // qualified name, "" for the root; a second call of one module ends in "@1"
	Signature *ModuleSignature
}

// A ModuleSignature is the calling convention that was kept of a module.
type ModuleSignature struct {
	Inputs, Outputs []string     // names of values; "" for constants
	InSpec, OutSpec *ir.TreeSpec // of (args, kwargs), and of the result
	ArgNames        []string

	ins, outs []argument // as in the file, with the constants
}

// GraphModule returns the lifted graph with its subgraphs as attributes, as
// ep.graph_module has it. It is the program's own: a change of it changes the
// program.
func (p *Program) GraphModule() *ir.GraphModule { return p.module }

// State yields the tensors of the program by qualified name: parameters and
// persistent buffers, then constants and other buffers, in the order of the
// file. Some may be in no signature.
func (p *Program) State() iter.Seq2[string, *Tensor] {
	return func(yield func(string, *Tensor) bool) {
		if p.state == nil {
			return
		}
		for _, name := range p.state.names {
			if t := p.state.tensors[name]; t != nil && !yield(name, t) {
				return
			}
		}
	}
}

// Tensor returns the tensor with a qualified name, nil where there is none.
func (p *Program) Tensor(name string) *Tensor {
	if p.state == nil {
		return nil
	}
	return p.state.tensors[name]
}

// Object returns the custom object with a qualified name, nil where there is
// none.
func (p *Program) Object(name string) *Object {
	if p.state == nil {
		return nil
	}
	return p.state.objects[name]
}

// Training reports whether operators may change state and inputs inside, with
// no mutation in the signature.
func (p *Program) Training() bool { return len(p.Verifiers) > 0 && p.Verifiers[0] == "TRAINING" }

// Close gives up the mapped file. Its memory stays until every holder got by
// [Storage.Hold] is released; without one, [Storage.Bytes] returns nil from now
// on. Graphs and heap storages stay usable. A second Close does nothing.
func (p *Program) Close() error {
	if p == nil || p.closeContainer == nil {
		return nil
	}
	f := p.closeContainer
	p.closeContainer = nil
	return f()
}

// assemble makes the program of decoded JSON. It returns nil when faults leave
// nothing to go on with.
func (o *options) assemble(j *programJSON, st *state, d *decoder) *Program {
	if j == nil || j.module.graph == nil {
		return nil
	}
	record, f := d.record, d.faults
	b := &builder{faults: f, decoder: d, catalogue: o.catalogue, record: record, specs: j.module.inputs, release: releaseOf(j.torch)}
	var module *ir.GraphModule
	var outputs []any
	if o.signatureOnly {
		module, outputs = b.signatureModule(j.module.graph)
	} else {
		module = b.graphModule(j.module.graph, "")
	}
	if module == nil {
		return nil
	}
	p := &Program{
		Graph: module.Graph(), GuardsCode: j.guards, Verifiers: j.verifiers, TorchVersion: j.torch,
		SchemaMajor: int(j.major), SchemaMinor: int(j.minor), Namedtuples: j.module.namedtuples, Custom: j.module.custom,
		module: module, outputs: outputs, state: st, catalogue: o.catalogue, opset: j.opset,
	}
	l := &linker{faults: f, record: record, graph: p.Graph, state: st, bare: o.noWeights}
	l.signature(&j.module)
	l.weights()
	p.Signature = l.sig
	for _, v := range j.verifiers {
		if v != "TRAINING" && v != "ATEN" && v != "" {
			f.warn("%s: verifier %q is unknown; its rules are not checked", record, clip(v))
		}
	}
	if here := o.catalogue.Version(); releaseOf(here) > 0 && b.release > releaseOf(here) {
		f.warn("%s: the program is of torch %s, which is newer than libtorch %s: operators may have changed since", record, clip(j.torch), here)
	}
	p.calls(j.module.calls, record, f)
	p.Ranges = b.ranges(j.ranges)
	p.unparsed = b.unparsed
	p.Guards = buildGuards(p, p.Graph.Find(ir.Placeholder, nil), j.guards, record, f)
	return p
}

// calls reads the module tree and, from its root, the calling convention.
func (p *Program) calls(calls []moduleCallJSON, record string, f *faults) {
	nodes := map[string]bool{}
	for n := range p.Graph.Nodes() {
		nodes[n.Name()] = true
	}
	for i, c := range calls {
		m := ModuleCall{FQN: c.fqn}
		if c.signature != nil {
			s := &ModuleSignature{Inputs: refs(c.signature.inputs), Outputs: refs(c.signature.outputs), ArgNames: c.signature.argNames,
				ins: c.signature.inputs, outs: c.signature.outputs}
			var err error
			if s.InSpec, err = ir.ParseTreeSpec(c.signature.inSpec, p.Namedtuples); err != nil {
				f.add(ir.ErrFormat, "%s, module call %q: in_spec: %w", record, clip(c.fqn), err)
			}
			if s.OutSpec, err = ir.ParseTreeSpec(c.signature.outSpec, p.Namedtuples); err != nil {
				f.add(ir.ErrFormat, "%s, module call %q: out_spec: %w", record, clip(c.fqn), err)
			}
			for _, name := range slices.Concat(s.Inputs, s.Outputs) {
				if name != "" && !nodes[name] && p.outputs == nil {
					f.add(ir.ErrFormat, "%s, module call %q: names %s, which is no value of the graph", record, clip(c.fqn), clip(name))
				}
			}
			m.Signature = s
		}
		if i == 0 && c.fqn == "" && m.Signature != nil {
			p.InSpec, p.OutSpec, p.ArgNames = m.Signature.InSpec, m.Signature.OutSpec, m.Signature.ArgNames
		}
		p.ModuleCalls = append(p.ModuleCalls, m)
	}
	if len(calls) == 0 || calls[0].fqn != "" || calls[0].signature == nil {
		f.add(ir.ErrFormat, "%s: module_call_graph: expected the first entry to be the root with a signature", record)
		return
	}
	if len(p.Signature.Inputs) < len(p.Graph.Find(ir.Placeholder, nil)) {
		return // noted: signature and graph disagree
	}
	if n, want := len(p.Signature.UserInputs()), p.InSpec; want != nil && want.NumLeaves() != n {
		f.add(ir.ErrFormat, "%s: in_spec has %d leaves, the signature %d user inputs", record, want.NumLeaves(), n)
	}
	if n, want := len(p.Signature.UserOutputs()), p.OutSpec; want != nil && want.NumLeaves() != n {
		f.add(ir.ErrFormat, "%s: out_spec has %d leaves, the signature %d user outputs", record, want.NumLeaves(), n)
	}
}

func refs(args []argument) []string {
	out := make([]string, len(args))
	for i := range args {
		out[i] = args[i].ref
	}
	return out
}
