//go:build gotorch

package gotorch

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"

	gotorch "github.com/wangkuiyi/gotorch"
	gnn "github.com/wangkuiyi/gotorch/nn"

	"github.com/torchfx-go/torchfx/internal/snake"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// StateDict returns the parameters and buffers of m by the paths that a trace gives
// them: the fields in snake case, and the items of a list, also of a Sequential, by
// their number, as in Python. gotorch's "Net.L1.Modules[0].BN1.RunningMean" is
// "l1.0.bn1.running_mean". The tensors are those of m, not copies, and the caller's
// to close.
//
// Fields that hold no tensor are left out. maps.All of it is what [nn.LoadStateDict]
// takes.
//
// [nn.LoadStateDict]: https://pkg.go.dev/github.com/torchfx-go/torchfx/nn#LoadStateDict
func StateDict(m gnn.IModule) (_ map[string]*torch.Tensor, err error) {
	defer runtime.KeepAlive(m)
	named, err := named(m)
	if err != nil {
		return nil, err
	}
	state := make(map[string]*torch.Tensor, len(named))
	for path, t := range named {
		if state[path], err = FromGotorch(t); err != nil {
			closeAll(state)
			return nil, fmt.Errorf("state of %s: %s: %w", m.Name(), path, err)
		}
	}
	return state, nil
}

// LoadStateDict copies tensors into those of m, by the names of [StateDict]. Dtypes
// and devices may differ, shapes may not, and every tensor of m must be given. m
// keeps its tensors, so an optimizer that has them stays right; those given stay
// the caller's. num_batches_tracked, which a batch norm of gotorch does not have,
// is passed over.
//
// All that does not fit is reported at once, as one error of class [ir.ErrRuntime],
// and then nothing is copied.
func LoadStateDict(m gnn.IModule, from iter.Seq2[string, *torch.Tensor]) error {
	state, err := StateDict(m)
	if err != nil {
		return err
	}
	defer closeAll(state)
	given := maps.Collect(from)
	var faults []error
	for _, path := range slices.Sorted(maps.Keys(state)) {
		switch source := given[path]; {
		case source == nil:
			faults = append(faults, ir.Errorf(ir.ErrRuntime, "%s: expected a tensor, got none", path))
		case !slices.Equal(source.Shape(), state[path].Shape()):
			faults = append(faults, ir.Errorf(ir.ErrRuntime, "%s: expected shape %v, got %v", path, state[path].Shape(), source.Shape()))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(given)) {
		counter := path == "num_batches_tracked" || strings.HasSuffix(path, ".num_batches_tracked")
		if state[path] == nil && !counter {
			faults = append(faults, ir.Errorf(ir.ErrRuntime, "%s: expected none, got a tensor", path))
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("load the state of %s: %w", m.Name(), errors.Join(faults...))
	}
	for path, t := range state {
		copied, err := torch.Call("aten::copy_", t, given[path])
		if err != nil {
			return fmt.Errorf("load the state of %s: %s: %w", m.Name(), path, err)
		}
		_ = copied.(*torch.Tensor).Close()
	}
	return nil
}

// named returns the tensors of m by path.
func named(m gnn.IModule) (state map[string]gotorch.Tensor, err error) {
	defer caught(&err) // an exported module in a field that is not, a module without Init
	if v := reflect.ValueOf(m); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, ir.Errorf(ir.ErrType, "gotorch: expected a module, got none")
	}
	root := m
	if inner, ok := m.(interface{ Outer() gnn.IModule }); ok && inner.Outer() != nil {
		root = inner.Outer()
	}
	prefix := className(root) + "."
	state, from := map[string]gotorch.Tensor{}, map[string]string{}
	for name, t := range m.StateDict() {
		path := pathOf(strings.TrimPrefix(name, prefix))
		if other, twice := from[path]; twice {
			return nil, ir.Errorf(ir.ErrValue, "gotorch: expected names that differ by more than case, got %s and %s", min(name, other), max(name, other))
		}
		state[path], from[path] = t, name
	}
	return state, nil
}

// pathOf turns gotorch's name of a tensor, without that of the root, into a path.
func pathOf(name string) string {
	var path []string
	for part := range strings.SplitSeq(name, ".") {
		field, index, isItem := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		if !isItem || field != "Modules" { // the list that a Sequential is
			path = append(path, snake.Case(field))
		}
		if isItem {
			path = append(path, index)
		}
	}
	return strings.Join(path, ".")
}

// className is the name of the type of a module.
func className(m gnn.IModule) string { return reflect.Indirect(reflect.ValueOf(m)).Type().Name() }

func closeAll(state map[string]*torch.Tensor) {
	for _, t := range state {
		_ = t.Close()
	}
}
