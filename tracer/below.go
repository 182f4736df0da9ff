package tracer

import (
	"fmt"
	"reflect"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Recording is how [Recording.Record] runs code and what it keeps of it. The
// zero value keeps the operators as they were called.
type Recording struct {
	// Leaf keeps what the operators bottom out in, as make_fx and export's
	// run_decompositions({}) do: addmm for linear. Without it the composite ones that
	// libtorch knows stay whole, as torch.export keeps them.
	Leaf bool

	// Functional, with Leaf, makes operators that write into those that do not: y.add_(1)
	// is a new value, of y and of all that views it. What the code writes into its inputs
	// and into the tensors of a module that is recorded is copied into them at the end,
	// by aten.copy_; while recording nothing is written. Writes into other tensors, those
	// of State also, stay. Follows torch.func.functionalize.
	Functional bool

	// GuardReads allows code that reads a value, by item or a condition on a tensor.
	// The value becomes a constant of the graph, and the graph checks, by
	// aten._assert_scalar, that it is the same. Without it such a read is an error.
	GuardReads bool

	// Names are the names of the inputs. Without them an input is arg0_1, arg1_1 …
	Names []string

	// Dynamic are the dimensions whose sizes stay symbols. The code is run once more
	// for each of several sizes, on zeros or without elements, and what changes from run
	// to run is put in terms of the symbols: numbers among the arguments, by nodes of
	// aten.sym_size and arithmetic, and sizes in the meta. Sizes may come to the operators
	// in any way, also through Go's own arithmetic. It is an error where the operators
	// differ from run to run, or a number is no line, square or rounded line of a symbol,
	// nor a product or sum of such: the message says where the size was fixed.
	Dynamic []Dim

	// State names tensors that the code uses and that are no inputs, by their path in
	// the graph module. Those of a module that is recorded are known without it; what
	// has no name is _tensor_constant0 and so on.
	State map[string]*torch.Tensor

	// Device is what a graph names that was recorded on inputs without elements: they
	// stand for tensors there. The tensors of a module that is recorded say it themselves.
	// Default: the CPU.
	Device ir.Device

	// OnOperator is called with each node that was made of an operator, and with those
	// that take its results apart. index counts the operators from 0.
	OnOperator func(n *ir.Node, index int)
}

// Record is [Recording.Record] of the zero value.
func Record(root any, inputs ...any) (*ir.GraphModule, error) {
	return Recording{}.Record(root, inputs...)
}

// Record runs root, an nn.Module or a Go function, on inputs and returns the
// operators that libtorch was called for, as a graph of ATen overloads. It is
// make_fx for Go: what is seen is what was computed, by whatever code, and not
// how it was written. Inputs may be tensors without elements, on the device meta:
// then nothing is computed, and all sizes are known. They stand for tensors of r.Device,
// as fake tensors do in Python: on the CPU the operators are those of tensors with
// elements; of other devices libtorch chooses as it does on meta. The tensors of a
// module are taken without elements, too, and those of State on meta are not to be
// used elsewhere meanwhile; the graph holds those of the module. What code makes beside
// is made without elements, and other tensors that have some are constants. Operators
// whose result depends on elements fail.
//
// Each leaf of the inputs is a placeholder, also where it is no tensor; numbers
// among them are constants of the graph, and so is every size that was read. The
// inputs keep their memory, and code that writes into one does so. Tensors that
// are no inputs become attributes.
//
// An error of the code is an [*Error] with the source line; panics that are no
// *torch.Error pass, and leave nothing switched on.
func (r Recording) Record(root any, inputs ...any) (*ir.GraphModule, error) {
	var leaves []any
	if err := new(Tracer).protect(func() { _, leaves = flattenAll(inputs, 0) }); err != nil {
		return nil, err
	}
	b := &below{recording: r, graph: ir.NewGraph(), attrs: map[string]any{}, values: map[uintptr]ir.Arg{}, state: map[uintptr]stated{}}
	defer b.close()
	root, inputs, leaves, err := b.withoutElements(root, inputs, leaves)
	if err != nil {
		return nil, err
	}
	call, err := callable(root)
	if err != nil {
		return nil, err
	}
	if b.symbols, err = r.symbols(leaves); err != nil {
		return nil, err
	}
	b.sizes = sizesOfRuns(b.symbols)
	if r.Functional && !r.Leaf {
		return nil, ir.Errorf(ir.ErrValue, "record: expected Leaf with Functional, got it alone: composite operators write inside")
	}
	for i := range b.sizes {
		if err := b.run(i, root, call, inputs, leaves); err != nil {
			return nil, err
		}
	}
	if err := b.inputs(inputs); err != nil {
		return nil, err
	}
	if err := b.name(root); err != nil {
		return nil, err
	}
	if err := b.operators(); err != nil {
		return nil, err
	}
	if err := b.output(); err != nil {
		return nil, err
	}
	if b.onMeta {
		leaveMeta(b.graph, b.device)
	}
	return ir.NewGraphModule(b.attrs, b.graph, ir.ClassName(className(root)))
}

// callable returns root as a function of any arguments.
func callable(root any) (func(args []any) (any, error), error) {
	if m, ok := root.(nn.Module); ok {
		return func(args []any) (any, error) { return nn.Invoke(m, args, nil) }, nil
	}
	f := reflect.ValueOf(root)
	if f.Kind() != reflect.Func || f.IsNil() {
		return nil, ir.Errorf(ir.ErrType, "record: expected an nn.Module or a function, got %T", root)
	}
	return func(args []any) (any, error) {
		in, err := arguments(f.Type(), args)
		if err != nil {
			return nil, err
		}
		return nn.Results(f.Call(in))
	}, nil
}

// arguments makes args values of a function's parameters.
func arguments(f reflect.Type, args []any) ([]reflect.Value, error) {
	if n := f.NumIn(); len(args) != n && !(f.IsVariadic() && len(args) >= n-1) {
		return nil, ir.Errorf(ir.ErrType, "record: expected %d inputs, which the function takes, got %d", n, len(args))
	}
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		want := f.In(min(i, f.NumIn()-1))
		if f.IsVariadic() && i >= f.NumIn()-1 {
			want = want.Elem()
		}
		v := reflect.ValueOf(a)
		switch {
		case !v.IsValid():
			v = reflect.Zero(want)
		case !v.Type().AssignableTo(want):
			return nil, ir.Errorf(ir.ErrType, "record: input %d: expected a %s, got a %T", i, want, a)
		}
		in[i] = v
	}
	return in, nil
}

// run records one run of the code.
func (b *below) run(i int, root any, call func(args []any) (any, error), inputs, leaves []any) (err error) {
	r := &recorded{leaves: leaves, numbers: map[uintptr]int{}}
	b.runs = append(b.runs, r)
	if i > 0 {
		if r.leaves, err = resized(leaves, b.symbols, b.sizes[i]); err != nil {
			return err
		}
		if inputs, err = unflattenAs(inputs, r.leaves); err != nil {
			return err
		}
	}
	var varying []*libtorch.Tensor
	for _, v := range r.leaves {
		if t, ok := v.(*torch.Tensor); ok && t != nil {
			h, err := t.Handle()
			if err != nil {
				return err
			}
			varying = append(varying, h)
		}
	}
	var failed error
	bare, err := b.claimed(r)
	if err != nil {
		return err
	}
	mode := libtorch.Recording{Leaf: b.recording.Leaf, Reads: b.recording.GuardReads, Functional: b.recording.Functional, Bare: bare}
	r.events, err = libtorch.Record(mode, varying, func() {
		if b.recording.Functional { // here, where tensors without elements say where they are
			if call, inputs, failed = r.wrap(root, call, inputs); failed != nil {
				return
			}
		}
		var out any
		if e := new(Tracer).protect(func() { out, failed = call(inputs) }); e != nil {
			failed = e
		}
		if r.spec, r.outs = flatten(out); failed == nil && b.recording.Functional {
			failed = r.unwrap()
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil && i > 0 {
		err = fmt.Errorf("record with %s: %w", sizesText(b.symbols, b.sizes[i]), err)
	}
	return err
}

// unflattenAs puts leaves where those of inputs are.
func unflattenAs(inputs, leaves []any) ([]any, error) {
	specs, _ := flattenAll(inputs, 0)
	out := make([]any, len(inputs))
	for i, s := range specs {
		n := s.NumLeaves()
		if s.IsLeaf() {
			out[i] = leaves[0]
		} else {
			v, err := s.Unflatten(leaves[:n])
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		leaves = leaves[n:]
	}
	return out, nil
}
