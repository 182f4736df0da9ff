package interpreter

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// wrap_with_set_grad_enabled(enabled, graph, *operands)
func wrapWithSetGradEnabled(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "wrap_with_set_grad_enabled", args: args}
	enabled, g := o.flag(0), o.graph(1)
	if o.err != nil {
		return nil, o.err
	}
	mode := r.mode
	mode.Grad = enabled
	return r.call(mode, g, o.rest(2))
}

// wrap(graph, *operands), and what else only marks a region
func wrap(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "wrap", args: args}
	g := o.graph(0)
	if o.err != nil {
		return nil, o.err
	}
	return r.Call(g, o.rest(1)...)
}

// invoke_subgraph(graph, identifier, *operands)
func invokeSubgraph(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "invoke_subgraph", args: args}
	g := o.graph(0)
	if o.err != nil {
		return nil, o.err
	}
	return r.Call(g, o.rest(2)...)
}

// run_const_graph(graph, operands), strict_mode(graph, operands)
func callOnList(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: r.node.Name(), args: args}
	g, values := o.graph(0), o.list(1)
	if o.err != nil {
		return nil, o.err
	}
	return r.Call(g, values...)
}

// hints_wrapper(graph, operands, {}, hints=...)
func hintsWrapper(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	o := operands{name: "hints_wrapper", args: args}
	g, values := o.graph(0), o.list(1)
	if d, ok := o.at(2).(*ir.PyDict); ok && d.Len() > 0 {
		o.fail(2, "no keyword arguments")
	}
	if o.err != nil {
		return nil, o.err
	}
	return r.Call(g, values...)
}

// wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, *operands)
func wrapWithAutocast(r *Run, args []any, _ []torch.Kwarg) (any, error) {
	a, err := autocastOf(args)
	if err != nil {
		return nil, err
	}
	mode := r.mode
	mode.Autocast = a
	return r.call(mode, args[4].(*ir.GraphModule), args[5:])
}

// autocastOf reads the region that a wrap_with_autocast describes.
func autocastOf(args []any) (*libtorch.Autocast, error) {
	o := operands{name: "wrap_with_autocast", args: args}
	enabled := o.flag(2)
	o.graph(4)
	name, ok := o.at(0).(string)
	if !ok {
		o.fail(0, "a device type")
	}
	if o.err != nil {
		return nil, o.err
	}
	device, err := ir.ParseDevice(name)
	if err != nil {
		return nil, err
	}
	a := &libtorch.Autocast{Device: device.Kind(), Disabled: !enabled}
	a.DType, _ = o.at(1).(ir.DType) // None is the device's own
	if cache, ok := o.at(3).(bool); ok {
		a.NoCache = !cache
	}
	return a, nil
}
