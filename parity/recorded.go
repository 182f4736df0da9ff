package parity

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	torchfx "github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// recorded compares what one run left with what was recorded of it.
type recorded struct {
	meta    *caseMeta
	set     int
	tensors *tensorFile
	result  *Result
	differs bool
}

func (r *recorded) diff(d Diff) {
	d.Set = r.set
	r.differs = true
	r.result.Diffs = append(r.result.Diffs, d)
}

func (r *recorded) problem(value, node, format string, args ...any) {
	r.diff(Diff{Value: value, Node: node, Problem: fmt.Sprintf(format, args...)})
}

// outputs compares the flat outputs.
func (r *recorded) outputs(p *torchfx.Program, got []any, want []leaf) {
	if len(got) != len(want) {
		r.problem("outputs", "", "expected %d values, got %d", len(want), len(got))
		return
	}
	makers := outputNodes(p.Module().Graph())
	for i, l := range want {
		node := ""
		if i < len(makers) {
			node = makers[i]
		}
		r.value(fmt.Sprintf("output %d", i), node, got[i], l)
	}
}

func (r *recorded) value(name, node string, got any, want leaf) {
	if want.Kind == "tensor" {
		t, ok := got.(*torch.Tensor)
		if !ok {
			r.problem(name, node, "expected a tensor, got %s", typeName(got))
			return
		}
		r.tensor(name, node, t, want)
		return
	}
	v, err := want.scalar()
	x, isFloat := v.(float64)
	y, gotFloat := got.(float64)
	switch {
	case err != nil:
		r.problem(name, node, "%v", err)
	case isFloat && gotFloat:
		r.elements(name, node, ir.Float64, encodeFloat(y), encodeFloat(x))
	case v != got:
		r.problem(name, node, "expected %s %v, got %s %v", typeName(v), v, typeName(got), got)
	}
}

// tensor compares a tensor with its description and recorded elements.
func (r *recorded) tensor(name, node string, got *torch.Tensor, want leaf) {
	f, err := factsOf(got)
	if err != nil {
		r.problem(name, node, "%v", err)
		return
	}
	if s := f.differ(want, r.meta.Compare != "meta"); s != "" {
		r.problem(name, node, "%s", s)
		return
	}
	r.contents(name, node, got, f.dtype, want.Key)
}

// changed compares a tensor that the run was recorded to change. Of its
// description only the file's is known.
func (r *recorded) changed(name, key string, got *torch.Tensor) {
	f, err := factsOf(got)
	if err != nil {
		r.problem(name, "", "%v", err)
		return
	}
	want, err := r.tensors.file.Tensor(key)
	if err != nil {
		r.problem(name, "", "%v", err)
		return
	}
	l := leaf{DType: want.DType.Name()}
	for _, n := range want.Sizes {
		l.Shape = append(l.Shape, int(n))
	}
	// complex numbers are stored as pairs of real ones
	if s := f.differ(l, false); s != "" && !f.dtype.IsComplex() {
		r.problem(name, "", "%s", s)
		return
	}
	r.contents(name, "", got, f.dtype, key)
}

// contents compares the elements of a tensor with those under key.
func (r *recorded) contents(name, node string, got *torch.Tensor, dt ir.DType, key string) {
	want, err := r.tensors.bytes(key)
	if err != nil {
		r.problem(name, node, "%v", err)
		return
	}
	computed, err := got.Bytes()
	if err != nil {
		r.problem(name, node, "%v", err)
		return
	}
	r.elements(name, node, dt, computed, want)
}

// elements compares contiguous elements, unless they are random.
func (r *recorded) elements(name, node string, dt ir.DType, got, want []byte) {
	if r.meta.Compare == "meta" {
		return
	}
	d, err := Compare(dt, got, want, r.meta.tolerance(dt))
	if err != nil {
		r.problem(name, node, "%v", err)
	} else if d.Outside > 0 {
		r.diff(Diff{Value: name, Node: node, Distance: d})
	}
}

// state compares the changed parameters and buffers, and that all others are
// what they were.
func (r *recorded) state(before fingerprints, changed []string) {
	for _, name := range changed {
		if t, ok := before.state[name]; ok {
			r.changed("state "+name, "state:"+name, t.tensor)
		} else {
			r.problem("state "+name, "", "expected it among the state of the program, found nothing of that name")
		}
	}
	for _, name := range before.names {
		if !slices.Contains(changed, name) {
			r.untouched("state "+name, before.state[name])
		}
	}
}

// inputs does the same for the tensors that were given.
func (r *recorded) inputs(inputs []any, before fingerprints, changed []int) {
	for i, v := range inputs {
		t, ok := v.(*torch.Tensor)
		if !ok {
			continue
		}
		name := fmt.Sprintf("input %d", i)
		if slices.Contains(changed, i) {
			r.changed(name, fmt.Sprintf("input:%d", i), t)
		} else {
			r.untouched(name, before.inputs[i])
		}
	}
}

func (r *recorded) untouched(name string, before fingerprint) {
	after, err := fingerprintOf(before.tensor)
	if err != nil {
		r.problem(name, "", "%v", err)
	} else if after.sum != before.sum {
		r.problem(name, "", "expected no change, got other elements than before the run")
	}
}

// outputNodes names the node behind each flat output of g, with what it calls.
func outputNodes(g *ir.Graph) []string {
	last := g.Last()
	if last == nil || last.Op() != ir.Output {
		return nil
	}
	var makers []string
	ir.Walk(last.Arg(0), func(a ir.Arg) {
		n, ok := a.(*ir.Node)
		switch {
		case !ok:
			makers = append(makers, "")
		case n.Op() == ir.Placeholder:
			makers = append(makers, n.Name()+" (input)")
		default:
			makers = append(makers, fmt.Sprintf("%s (%s)", n.Name(), n.Target()))
		}
	})
	return makers
}

// typeName names a value's type as Python does.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *torch.Tensor:
		return "tensor"
	}
	return fmt.Sprintf("%T", v)
}

// encodeFloat returns the bytes of a float64 element.
func encodeFloat(x float64) []byte {
	return binary.NativeEndian.AppendUint64(nil, math.Float64bits(x))
}
