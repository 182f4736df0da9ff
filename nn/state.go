package nn

import (
	"iter"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// StateDict yields what Python's state_dict of m holds, in its order: the
// parameters of a module, then its persistent buffers, then its children. A
// module or tensor that stands in several places comes under each name.
func StateDict(m Module) iter.Seq2[string, *torch.Tensor] {
	return func(yield func(string, *torch.Tensor) bool) {
		places(m, "", map[*Base]bool{}, func(path string, m Module) bool {
			for name, t := range persistent(m) {
				if !yield(join(path, name), t) {
					return false
				}
			}
			return true
		})
	}
}

// places calls f with each module and each of its places, parents first. above
// are the modules on the way from the root: one that holds itself ends there.
func places(m Module, path string, above map[*Base]bool, f func(path string, m Module) bool) bool {
	if above[m.base()] {
		return true
	}
	above[m.base()] = true
	defer delete(above, m.base())
	if !f(path, m) {
		return false
	}
	for name, child := range members(m) {
		if !places(child, join(path, name), above, f) {
			return false
		}
	}
	return true
}

// persistent yields the tensors of m itself that its state dict has.
func persistent(m Module) iter.Seq2[string, *torch.Tensor] {
	return func(yield func(string, *torch.Tensor) bool) {
		for _, kind := range []Kind{Parameter, Buffer} {
			for field, t := range state(m) {
				if field.Kind == kind && t != nil && !yield(field.Name, t) {
					return
				}
			}
		}
	}
}

// A LoadOption changes how [LoadStateDict] loads.
type LoadOption func(*loading)

// Lenient accepts missing and unexpected keys, as strict=False does. Sizes must
// match all the same.
func Lenient() LoadOption { return func(l *loading) { l.lenient = true } }

// Incompatible lists the keys that a state dict and a module do not share.
type Incompatible struct{ Missing, Unexpected []string }

// LoadStateDict copies tensors into the parameters and buffers of m, by Python's
// names. Dtypes and devices may differ, shapes may not. m keeps its tensors; the
// ones given stay the caller's.
//
// What is missing, unexpected or of another size is one error of class
// ir.ErrRuntime with Python's text; what does match is loaded even then, as in
// Python. num_batches_tracked of a batch norm may be missing, as files from
// before PyTorch 0.4.1 have none.
func LoadStateDict(m Module, from iter.Seq2[string, *torch.Tensor], opts ...LoadOption) (Incompatible, error) {
	if err := ir.CheckOptions("load state dict", opts); err != nil {
		return Incompatible{}, err
	}
	var l loading
	for _, o := range opts {
		o(&l)
	}
	l.given = map[string]*torch.Tensor{}
	for name, t := range from {
		if l.given[name] == nil {
			l.order = append(l.order, name)
		}
		l.given[name] = t
	}
	places(m, "", map[*Base]bool{}, l.module)
	if l.failure != nil {
		return l.Incompatible, l.failure
	}
	if !l.lenient {
		if len(l.Unexpected) > 0 {
			l.errs = append([]string{"Unexpected key(s) in state_dict: " + quoted(l.Unexpected) + ". "}, l.errs...)
		}
		if len(l.Missing) > 0 {
			l.errs = append([]string{"Missing key(s) in state_dict: " + quoted(l.Missing) + ". "}, l.errs...)
		}
	}
	if len(l.errs) > 0 {
		return l.Incompatible, ir.Errorf(ir.ErrRuntime, "Error(s) in loading state_dict for %s:\n\t%s", typeName(m), strings.Join(l.errs, "\n\t"))
	}
	return l.Incompatible, nil
}

// module loads the tensors of one module, and looks for keys that are neither
// these nor its children's: Python's _load_from_state_dict.
func (l *loading) module(path string, m Module) bool {
	known := map[string]bool{}
	for name, t := range persistent(m) {
		known[name] = true
		key := join(path, name)
		source := l.given[key]
		switch {
		case source == nil:
			if !isCounter(m, name) {
				l.Missing = append(l.Missing, key)
			}
			continue
		case t.Dim() == 0 && source.Dim() == 1 && source.Numel() == 1: // files from before tensors without dimensions
			source = source.Select(0, 0)
			defer func() { _ = source.Close() }()
		case !sameSizes(source, t):
			l.errs = append(l.errs, "size mismatch for "+key+": copying a param with shape "+sizes(source)+
				" from checkpoint, the shape in current model is "+sizes(t)+".")
			continue
		}
		copied, err := torch.Call("aten::copy_", t, source)
		if err != nil {
			l.failure = err
			return false
		}
		_ = copied.(*torch.Tensor).Close()
	}
	children := map[string]bool{}
	for name := range members(m) {
		children[name] = true
	}
	for _, key := range l.order {
		rest := key
		if path != "" {
			var below bool
			if rest, below = strings.CutPrefix(key, path+"."); !below {
				continue
			}
		}
		first, _, deeper := strings.Cut(rest, ".")
		if deeper && !children[first] || !deeper && !known[first] {
			l.Unexpected = append(l.Unexpected, key)
		}
	}
	return true
}

type loading struct {
	lenient bool
	given   map[string]*torch.Tensor
	order   []string // of the keys
	errs    []string
	failure error
	Incompatible
}

// isCounter reports whether an entry is the batch counter of a batch norm.
func isCounter(m Module, name string) bool {
	switch m.(type) {
	case *BatchNorm1d, *BatchNorm2d, *BatchNorm3d, *InstanceNorm1d, *InstanceNorm2d, *InstanceNorm3d:
		return name == "num_batches_tracked"
	}
	return false
}

func quoted(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }

func sameSizes(a, b *torch.Tensor) bool {
	x, y := a.Shape(), b.Shape()
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

// sizes writes a shape as Python prints torch.Size.
func sizes(t *torch.Tensor) string {
	items := make([]ir.Arg, 0, 4)
	for _, n := range t.Shape() {
		items = append(items, ir.Int(n))
	}
	return "torch.Size(" + ir.Repr(ir.ListOf(items...)) + ")"
}
