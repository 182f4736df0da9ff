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
		entries(m, "", map[*Base]bool{}, func(name string, t *torch.Tensor, _ Module) bool { return yield(name, t) })
	}
}

// entries calls f with each entry of the state dict and the module that has it.
// above are the modules on the way from the root: one that holds itself ends.
func entries(m Module, path string, above map[*Base]bool, f func(name string, t *torch.Tensor, of Module) bool) bool {
	if above[m.base()] {
		return true
	}
	above[m.base()] = true
	defer delete(above, m.base())
	for _, kind := range []Kind{Parameter, Buffer} {
		for field, t := range state(m) {
			if field.Kind == kind && t != nil && !f(join(path, field.Name), t, m) {
				return false
			}
		}
	}
	for name, v := range members(m) {
		if child, ok := v.(Module); ok && !entries(child, join(path, name), above, f) {
			return false
		}
	}
	return true
}

// A LoadOption changes how [LoadStateDict] loads.
type LoadOption func(*loading)

// Lenient accepts missing and unexpected keys, as strict=False does. Sizes must
// match all the same.
func Lenient() LoadOption { return func(l *loading) { l.lenient = true } }

type loading struct{ lenient bool }

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
	var l loading
	for _, o := range opts {
		o(&l)
	}
	given := map[string]*torch.Tensor{}
	var order []string
	for name, t := range from {
		if given[name] == nil {
			order = append(order, name)
		}
		given[name] = t
	}
	var inc Incompatible
	var errs []string
	used := map[string]bool{}
	var failure error
	entries(m, "", map[*Base]bool{}, func(name string, t *torch.Tensor, of Module) bool {
		used[name] = true
		source := given[name]
		switch {
		case source == nil:
			if !isCounter(of, name) {
				inc.Missing = append(inc.Missing, name)
			}
			return true
		case !sameSizes(source, t):
			errs = append(errs, "size mismatch for "+name+": copying a param with shape "+sizes(source)+
				" from checkpoint, the shape in current model is "+sizes(t)+".")
			return true
		}
		copied, err := torch.Call("aten::copy_", t, source)
		if err != nil {
			failure = err
			return false
		}
		_ = copied.(*torch.Tensor).Close()
		return true
	})
	if failure != nil {
		return inc, failure
	}
	for _, name := range order {
		if !used[name] {
			inc.Unexpected = append(inc.Unexpected, name)
		}
	}
	if !l.lenient {
		if len(inc.Unexpected) > 0 {
			errs = append([]string{"Unexpected key(s) in state_dict: " + quoted(inc.Unexpected) + ". "}, errs...)
		}
		if len(inc.Missing) > 0 {
			errs = append([]string{"Missing key(s) in state_dict: " + quoted(inc.Missing) + ". "}, errs...)
		}
	}
	if len(errs) > 0 {
		return inc, ir.Errorf(ir.ErrRuntime, "Error(s) in loading state_dict for %s:\n\t%s", typeName(m), strings.Join(errs, "\n\t"))
	}
	return inc, nil
}

// isCounter reports whether an entry is the batch counter of a batch norm.
func isCounter(m Module, name string) bool {
	switch m.(type) {
	case *BatchNorm1d, *BatchNorm2d, *BatchNorm3d, *InstanceNorm1d, *InstanceNorm2d, *InstanceNorm3d:
		return strings.HasSuffix(name, "num_batches_tracked")
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
