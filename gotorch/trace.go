//go:build gotorch

package gotorch

import (
	"fmt"
	"maps"
	"reflect"

	gotorch "github.com/wangkuiyi/gotorch"
	gnn "github.com/wangkuiyi/gotorch/nn"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// Trace runs the Forward of m, a module of gotorch, on inputs and returns the
// operators that libtorch was called for, as a graph of ATen overloads. The module's
// parameters and buffers are attributes of it, under the paths of [StateDict], and
// share the module's memory: training m further changes the graph's numbers.
//
// An input is passed on as it is, except that a *torch.Tensor and a []*torch.Tensor
// become gotorch's. Forward may have several results; tensors, and lists and maps
// of them, are the graph's outputs. A batch norm or dropout does in the trace what
// it does in m now: call m.Train(false) for a graph that infers, and note that a
// batch norm in training mode writes its statistics, in the trace also.
//
// Errors of gotorch, which are panics, come back as errors; what else [Do] says
// holds too. See [tracer.Recording.Record] for what a recording sees.
func Trace(m gnn.IModule, inputs ...any) (*ir.GraphModule, error) {
	return TraceBy(tracer.Recording{}, m, inputs...)
}

// TraceBy is [Trace] with a choice of how: whether operators are noted as they
// were called or in their parts, which sizes stay symbols, names of the inputs.
// Tensors of r.State are named beside the module's.
func TraceBy(r tracer.Recording, m gnn.IModule, inputs ...any) (*ir.GraphModule, error) {
	state, err := StateDict(m)
	if err != nil {
		return nil, err
	}
	forward := reflect.ValueOf(m).MethodByName("Forward")
	if !forward.IsValid() {
		closeAll(state)
		return nil, ir.Errorf(ir.ErrType, "trace %s: expected a method Forward, found none", m.Name())
	}
	r.State = union(state, r.State)
	var gm *ir.GraphModule
	var outs exchanged
	defer outs.close()
	failed := Do(func() {
		gm, err = r.Record(func(inputs ...any) (any, error) { return outs.call(forward, inputs) }, inputs...)
	})
	if failed != nil {
		err = failed
	}
	if err != nil {
		closeAll(state)
		return nil, fmt.Errorf("trace %s: %w", m.Name(), err)
	}
	attrs := maps.Collect(gm.Attrs())
	for path, t := range state {
		if attrs[path] != t {
			_ = t.Close() // not in the graph
		}
	}
	return ir.NewGraphModule(attrs, gm.Graph(), ir.ClassName(className(m)))
}

func union(a, b map[string]*torch.Tensor) map[string]*torch.Tensor {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// exchanged are the tensors that were made of gotorch's results.
type exchanged []*torch.Tensor

func (x *exchanged) close() {
	for _, t := range *x {
		_ = t.Close()
	}
}

// call calls a Forward of gotorch.
func (x *exchanged) call(forward reflect.Value, inputs []any) (out any, err error) {
	defer caught(&err)
	in, err := arguments(forward.Type(), inputs)
	if err != nil {
		return nil, err
	}
	results := forward.Call(in)
	if len(results) == 1 {
		return x.result(results[0])
	}
	all := make(ir.PyTuple, len(results))
	for i, v := range results {
		if all[i], err = x.result(v); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// arguments makes inputs values of a Forward's parameters.
func arguments(f reflect.Type, inputs []any) ([]reflect.Value, error) {
	fixed := f.NumIn()
	if f.IsVariadic() {
		fixed--
	}
	if len(inputs) < fixed || len(inputs) > fixed && !f.IsVariadic() {
		return nil, ir.Errorf(ir.ErrType, "expected %d inputs, which Forward takes, got %d", fixed, len(inputs))
	}
	in := make([]reflect.Value, len(inputs))
	for i, v := range inputs {
		var want reflect.Type
		if i < fixed {
			want = f.In(i)
		} else {
			want = f.In(fixed).Elem()
		}
		v, err := argument(v)
		if err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		switch in[i] = reflect.ValueOf(v); {
		case v == nil:
			in[i] = reflect.Zero(want)
		case !in[i].Type().AssignableTo(want):
			return nil, ir.Errorf(ir.ErrType, "input %d: expected a %s, got a %T", i, want, inputs[i])
		}
	}
	return in, nil
}

// argument makes an input gotorch's.
func argument(v any) (any, error) {
	switch v := v.(type) {
	case *torch.Tensor:
		if v == nil {
			return gotorch.Tensor{}, nil
		}
		return ToGotorch(v)
	case []*torch.Tensor:
		all := make([]gotorch.Tensor, len(v))
		for i, t := range v {
			var err error
			if all[i], err = ToGotorch(t); err != nil {
				return nil, fmt.Errorf("item %d: %w", i, err)
			}
		}
		return all, nil
	}
	return v, nil
}

var tensorType = reflect.TypeFor[gotorch.Tensor]()

// result makes a result of gotorch ours.
func (x *exchanged) result(v reflect.Value) (any, error) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return nil, nil
	case v.Type() == tensorType:
		t, err := FromGotorch(v.Interface().(gotorch.Tensor))
		if err == nil {
			*x = append(*x, t)
		}
		return t, err
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		all := make([]any, v.Len())
		for i := range all {
			var err error
			if all[i], err = x.result(v.Index(i)); err != nil {
				return nil, fmt.Errorf("item %d: %w", i, err)
			}
		}
		return all, nil
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		all := make(map[string]any, v.Len())
		for _, key := range v.MapKeys() {
			item, err := x.result(v.MapIndex(key))
			if err != nil {
				return nil, fmt.Errorf("item %q: %w", key.String(), err)
			}
			all[key.String()] = item
		}
		return all, nil
	}
	return v.Interface(), nil
}
