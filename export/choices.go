package export

import (
	"errors"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// SignatureOnly reads what goes in and out and no operator: the program's Graph
// has its placeholders alone, [Program.OutputValues] says what comes out, and
// [Program.Module] fails. Weights are not read. Default: the whole graph.
func SignatureOnly() Option {
	return func(o *options) { o.signatureOnly, o.graphOnly = true, true }
}

// WeightsFrom takes parameters and persistent buffers from another file, by their
// qualified names: safetensors, one file or the index of a sharded set, or a state dict
// of torch.save, to which keys lead
// where it lies deeper. Names that the program has and the file does not, and the
// other way round, are faults, as are other shapes and dtypes. A name that is
// missing is excused where the program ties it to one that is there: safetensors
// keeps one of such names. Constants are the archive's own. Default: all weights
// are the archive's.
func WeightsFrom(path string, keys ...string) Option {
	return func(o *options) { o.weightsFrom, o.weightsKeys = path, keys }
}

// Models lists the programs in a .pt2 file, in the order of the file; see [Model].
func Models(path string) ([]string, error) {
	s, close, err := openSpan(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = close() }()
	a, err := openArchive(s)
	if err != nil {
		return nil, err
	}
	a.findRoot()
	gen, err := detect(a)
	if err != nil {
		return nil, err
	}
	if gen == flat {
		return []string{defaultModel}, checkFlat(a)
	}
	return modelNames(a), nil
}

// OutputValues says what is known of each output, in the order of
// Signature.Outputs: an [ir.TensorMeta], an [ir.SymScalar], an [ObjectMeta], or the
// constant itself.
func (p *Program) OutputValues() []any {
	if p.outputs != nil {
		return slices.Clone(p.outputs)
	}
	n, err := p.Graph.OutputNode()
	if err != nil {
		return nil
	}
	vals, _ := n.Meta().Get(ir.MetaVal).([]any)
	return slices.Clone(vals)
}

// signatureModule builds the placeholders of a graph, and says what its outputs
// are.
func (b *builder) signatureModule(g *graphJSON) (*ir.GraphModule, []any) {
	s := &scope{builder: b, json: g, graph: ir.NewGraph(), values: make(map[string]*ir.Node, len(g.inputs)), attrs: map[string]any{}}
	for i := range g.inputs {
		s.input(i, &g.inputs[i])
	}
	vals := make([]any, len(g.outputs))
	for i := range g.outputs {
		out := &g.outputs[i]
		vals[i] = any(ir.None{})
		switch entry, ok := g.values[out.ref]; {
		case ok:
			vals[i] = s.value(out.ref, entry)
		case out.ref != "":
			s.fault(ir.ErrFormat, "value %s has no entry in the value tables", clip(out.ref))
		case out.lit != nil:
			vals[i] = out.lit
		}
	}
	m, err := ir.NewGraphModule(s.attrs, s.graph)
	if err != nil {
		s.fault(ir.ErrFormat, "%v", err)
		return nil, nil
	}
	return m, vals
}

// openWeights reads the file that [WeightsFrom] names.
func (o *options) openWeights() (tensors map[string]*Tensor, err error) {
	safe, safeErr := OpenSafetensors(o.weightsFrom)
	if safeErr == nil {
		o.opened = append(o.opened, safe.Close)
		tensors = map[string]*Tensor{}
		for _, name := range safe.Names() {
			if tensors[name], err = safe.Tensor(name); err != nil {
				return nil, err
			}
		}
		return tensors, nil
	}
	if strings.HasSuffix(o.weightsFrom, ".json") {
		return nil, safeErr
	}
	var opts []Option
	if o.skipSums {
		opts = append(opts, SkipChecksums())
	}
	saved, err := OpenTorchSave(o.weightsFrom, opts...)
	switch {
	case err == nil:
		o.opened = append(o.opened, saved.Close)
		_, tensors, err = saved.StateDict(o.weightsKeys...)
		return tensors, err
	case isSafetensors(o.weightsFrom):
		return nil, safeErr
	}
	return nil, err
}

// isSafetensors reports whether a file begins as safetensors files do.
func isSafetensors(path string) bool {
	s, close, err := openSpan(path)
	if err != nil {
		return false
	}
	defer func() { _ = close() }()
	if s.size < 16 {
		return false
	}
	head, err := s.slice(0, 16)
	return err == nil && head[8] == '{' && head[5]|head[6]|head[7] == 0
}

// replaceWeights puts the tensors of another file in the place of the weights.
func (o *options) replaceWeights(st *state, inputs []inputSpecJSON, f *faults) {
	from, err := o.openWeights()
	if err != nil {
		st.partial = true
		f.add(ir.ClassOf(err), "weights from %s: %w", o.weightsFrom, err)
		return
	}
	st.kind = "state dict"
	wanted := map[string]bool{}
	fresh := map[string]*Tensor{}
	for i := range inputs {
		in := &inputs[i]
		if in.kind != ParameterInput && (in.kind != BufferInput || !in.persistent) {
			continue
		}
		wanted[in.target] = true
		t := from[in.target]
		if t == nil {
			t = tied(st, in.target, from)
		}
		if t == nil {
			f.add(ir.ErrKey, "weights from %s: missing key in state_dict: %q", o.weightsFrom, clip(in.target))
			st.claimed[in.target] = true
			delete(st.tensors, in.target)
			continue
		}
		c := *t
		c.Parameter, c.RequiresGrad = in.kind == ParameterInput, false
		if old := st.tensors[in.target]; old != nil {
			c.RequiresGrad, c.Device = old.RequiresGrad, old.Device
		}
		fresh[in.target] = &c
	}
	for _, name := range sortedKeys(from) {
		if !wanted[name] {
			f.add(ir.ErrKey, "weights from %s: unexpected key in state_dict: %q", o.weightsFrom, clip(name))
		}
	}
	for _, name := range sortedKeys(fresh) {
		if st.tensors[name] == nil {
			st.names = append(st.names, name)
		}
		st.tensors[name], st.weights[name] = fresh[name], true
		delete(st.fake, name)
	}
}

// tied returns the tensor of another name that the program has the same tensor
// under.
func tied(st *state, name string, from map[string]*Tensor) *Tensor {
	old := st.tensors[name]
	if old == nil || old.Storage == nil {
		return nil
	}
	for _, other := range st.names {
		t := st.tensors[other]
		if t != nil && from[other] != nil && t.Storage == old.Storage && t.DType == old.DType && t.Offset == old.Offset &&
			slices.Equal(t.Sizes, old.Sizes) && slices.Equal(t.Strides, old.Strides) {
			return from[other]
		}
	}
	return nil
}

// closeOpened closes the files that options opened, and then the archive.
func (o *options) closeOpened(last func() error) func() error {
	return func() error {
		var errs []error
		for _, c := range o.opened {
			errs = append(errs, c())
		}
		if last != nil {
			errs = append(errs, last())
		}
		return errors.Join(errs...)
	}
}
