package export

import (
	"bytes"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// Programs of torch 2.5 to 2.8 keep their weights in files of torch.save inside
// the archive: one for the state dict, one for constants and other buffers.

// flatSource finds the parts of a flat archive, as torch 2.5 to 2.7 wrote it.
func (o *options) flatSource(a *archive, f *faults) (*source, error) {
	if err := checkFlat(a); err != nil {
		return nil, err
	}
	if o.model != "" && o.model != defaultModel {
		return nil, ir.Errorf(ir.ErrKey, "model %q: this archive holds one program only, %q", clip(o.model), defaultModel)
	}
	src := &source{name: defaultModel, record: flatProgram, old: true, extra: map[string]string{}}
	var err error
	if src.text, err = a.text(flatProgram, maxText); err != nil {
		f.err(err)
	}
	o.warnSums(a, f)
	src.sample(a, flatSamples)
	for _, record := range a.below(flatExtraDir) {
		src.extra[strings.TrimPrefix(record, flatExtraDir)] = record
	}
	src.state = func() *state { return o.pickledState(a, flatWeights, flatConstants, f) }
	return src, nil
}

func (o *options) warnSums(a *archive, f *faults) {
	if !a.sums && !o.skipSums {
		f.warn("all checksums are zero, so none was verified")
	}
}

// reconstructFake rebuilds a tensor without elements, as programs have that were
// exported without real weights.
const reconstructFake = "torch._export.serde.serialize._reconstruct_fake_tensor"

// pickledState reads the state of a program from two records of torch.save.
func (o *options) pickledState(a *archive, weights, constants string, f *faults) *state {
	st := newState(weights, constants)
	st.pickled, st.kind = true, "state dict"
	for _, record := range []string{weights, constants} {
		saved, err := o.inner(a, record)
		if err != nil {
			st.partial = true
			f.add(ir.ClassOf(err), "record %s: %w", record, err)
			continue
		}
		for _, text := range saved.Warnings {
			f.warn("record %s: %s", record, text)
		}
		d, ok := saved.Value.(*ir.PyDict)
		if !ok {
			st.partial = true
			f.add(ir.ErrFormat, "record %s: expected a dict of tensors, got %s", record, pyTypeName(saved.Value))
			continue
		}
		for key, v := range d.All() {
			st.entry(key, v, record, record == weights, f)
		}
	}
	return st
}

// entry adds one entry of a pickled dict.
func (st *state) entry(key, v any, record string, weight bool, f *faults) {
	name, ok := key.(string)
	if !ok {
		f.add(ir.ErrFormat, "record %s: expected names as the keys, got %s", record, pyTypeName(key))
		return
	}
	st.claimed[name] = true
	if _, both := st.tensors[name]; both {
		f.warn("%s: is among the weights and among the constants; the weight counts", name)
		return
	}
	switch v := v.(type) {
	case *Tensor:
		t := *v // two names may share a tensor, and only one of them be a parameter
		st.names = append(st.names, name)
		st.tensors[name], st.weights[name] = &t, weight
	case *Instance:
		if v.Class == reconstructFake {
			st.fake[name] = true
			return
		}
		f.add(ir.ErrUnsupported, "record %s: %s is an object of class %s, which is not supported in programs of torch 2.8 and older", record, name, clip(v.Class))
	default:
		f.add(ir.ErrUnsupported, "record %s: expected a tensor under %s, got %s", record, name, pyTypeName(v))
	}
}

// inner opens a torch.save file that is a record of an archive. An empty record
// is an empty dict.
func (o *options) inner(a *archive, name string) (*Saved, error) {
	r, err := a.find(name)
	if err != nil {
		return nil, err
	}
	if r.size == 0 {
		return &Saved{Value: &ir.PyDict{}}, nil
	}
	io := options{skipSums: o.skipSums, noWeights: o.noWeights, classes: func(string) bool { return true }}
	var s *span
	switch {
	case r.deflated:
		data, err := a.content(r)
		if err != nil {
			return nil, err
		}
		s, io.stored = &span{r: bytes.NewReader(data), size: r.size}, true
	case o.noWeights:
		s = a.span.part(r.off, r.size) // the records inside have checksums too
	default:
		// one checksum of the whole is enough
		if a.sums {
			if _, err := a.content(r); err != nil {
				return nil, err
			}
			io.skipSums = true
		}
		s = a.span.part(r.off, r.size)
	}
	return io.readSaved(s)
}
