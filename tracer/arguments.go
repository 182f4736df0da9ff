package tracer

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// PH in [Concrete] leaves an argument symbolic, as torch.fx.PH does.
var PH = placeholderMark{}

type placeholderMark struct{}

// PHWithMeta is a [PH] whose facts are noted in the placeholder's meta.
type PHWithMeta map[string]any

var (
	fnEq           = ir.FuncOf("operator.eq")
	fnAssert       = ir.FuncOf("torch._assert")
	fnAssertIsNone = ir.FuncOf("torch.fx._symbolic_trace._assert_is_none")
)

// arguments makes the placeholders and what the traced function gets for them,
// and the code generator where an argument is a container. Options behind the
// arguments, as the functions of package torchops have them, are none unless
// they have a name.
func (t *Tracer) arguments(ft reflect.Type, params []nn.Param, method bool) ([]reflect.Value, *ir.PyTreeCodeGen, error) {
	types := make([]reflect.Type, ft.NumIn())
	for i := range types {
		types[i] = ft.In(i)
	}
	last := len(types) - 1
	hasOptions := last > 0 && ft.IsVariadic() && types[last] == reflect.TypeFor[[]any]() && (params == nil || len(params) == last)
	if hasOptions {
		types = types[:last]
	}
	if params == nil {
		params = defaultParams(len(types))
	}
	if len(params) != len(types) {
		return nil, nil, ir.Errorf(ir.ErrTrace, "trace: expected a name for each of %d parameters, got %d: %v", len(types), len(params), params)
	}
	values, tree, err := t.placeholders(types, params, method)
	if err != nil {
		return nil, nil, err
	}
	in := make([]reflect.Value, len(values))
	err = t.protect(func() {
		for i, v := range values {
			in[i] = fit(v, types[i], params[i].Name)
		}
	})
	if hasOptions {
		in = append(in, reflect.Zero(ft.In(last)))
	}
	return in, tree, err
}

// defaultParams names parameters that nobody named: x, or arg0, arg1 and so on.
func defaultParams(n int) []nn.Param {
	if n == 1 {
		return []nn.Param{{Name: "x"}}
	}
	params := make([]nn.Param, n)
	for i := range params {
		params[i].Name = fmt.Sprintf("arg%d", i)
	}
	return params
}

// placeholders makes the graph's parameters, in Python's order: a starred one
// stands last. types tells of each parameter what Go type it has.
func (t *Tracer) placeholders(types []reflect.Type, params []nn.Param, method bool) ([]any, *ir.PyTreeCodeGen, error) {
	concrete, variadic, err := t.concrete(params)
	if err != nil {
		return nil, nil, err
	}
	values, specs, isTree := make([]any, len(params)), make([]*ir.TreeSpec, len(params)), false
	err = t.protect(func() {
		if variadic != nil {
			values[0] = t.variadic(variadic)
			return
		}
		for _, stars := range []string{"", "*", "**"} {
			for i, p := range params {
				if starsOf(p.Name) != stars {
					continue
				}
				if stars != "" {
					p.Type = "" // torch.fx looks the annotation up under the name with its stars
				}
				pattern, given := concrete[p.Name]
				if !given && stars == "" {
					pattern, given = structPattern(types[i])
				}
				if !given {
					values[i], specs[i] = t.placeholder(p.Name, p), ir.Leaf()
					continue
				}
				values[i], specs[i] = t.specialise(p, pattern)
				isTree = isTree || !specs[i].IsLeaf()
			}
		}
	})
	if err != nil || !isTree {
		return values, nil, err
	}
	tree := &ir.PyTreeCodeGen{}
	if method { // Python's code flattens self too, as a leaf
		tree.Args, specs = append(tree.Args, "self"), append([]*ir.TreeSpec{ir.Leaf()}, specs...)
	}
	tree.In = ir.TupleSpec(specs...)
	for _, p := range params {
		tree.Args = append(tree.Args, p.Name)
	}
	return values, tree, nil
}

func starsOf(name string) string { return name[:len(name)-len(strings.TrimLeft(name, "*"))] }

// concrete returns the concrete arguments by name, or the items of the one
// variadic parameter.
func (t *Tracer) concrete(params []nn.Param) (byName map[string]any, variadic []any, err error) {
	given := t.config.positional
	if given == nil {
		for name := range t.config.concrete {
			if !hasParam(params, name) {
				return nil, nil, ir.Errorf(ir.ErrTrace, "trace: concrete argument %q is no parameter; they are %v", name, params)
			}
		}
		return t.config.concrete, nil, nil
	}
	if len(params) == 1 && starsOf(params[0].Name) == "*" {
		return nil, given, nil
	}
	if len(given) != len(params) {
		return nil, nil, ir.Errorf(ir.ErrRuntime, "Tracing expected %d arguments but got %d concrete arguments", len(params), len(given))
	}
	byName = map[string]any{}
	for i, p := range params {
		byName[p.Name] = given[i]
	}
	return byName, nil, nil
}

func hasParam(params []nn.Param, name string) bool {
	for _, p := range params {
		if p.Name == name {
			return true
		}
	}
	return false
}

// variadic makes one placeholder for each item of a variadic parameter.
func (t *Tracer) variadic(items []any) any {
	values := make(ir.PyTuple, len(items))
	for i, item := range items {
		p := nn.Param{Name: fmt.Sprintf("input_%d", i)}
		values[i] = t.leaf(p, p.Name, item)
	}
	return values
}

// placeholder makes a parameter of the graph.
func (t *Tracer) placeholder(name string, p nn.Param) torch.Value {
	spec := NodeSpec{Op: ir.Placeholder, Target: ir.Path(name), Type: p.Type}
	if p.Default != nil {
		spec.Args = []ir.Arg{p.Default}
	}
	return torch.NewValue(t, t.create(spec))
}

// specialise makes one placeholder for each leaf of a concrete argument, and
// returns the argument with what stands for them.
func (t *Tracer) specialise(p nn.Param, pattern any) (any, *ir.TreeSpec) {
	spec, leaves := flatten(pattern)
	p.Type = ""
	for i, leaf := range leaves {
		leaves[i] = t.leaf(p, fmt.Sprintf("%s_%d", strings.TrimLeft(p.Name, "*"), i+1), leaf)
	}
	value, err := spec.Unflatten(leaves)
	if err != nil {
		panic(&torch.Error{Op: "trace", Err: err})
	}
	return value, spec
}

// leaf makes one placeholder of a concrete argument. Unless it stays symbolic,
// the graph checks that a caller gives what was fixed.
func (t *Tracer) leaf(p nn.Param, name string, value any) any {
	v := t.placeholder(name, p)
	n := v.Ref().(*ir.Node)
	switch value := value.(type) {
	case placeholderMark:
		return v
	case PHWithMeta:
		for key, fact := range value {
			n.Meta().Set(key, fact)
		}
		return v
	case nil:
		t.call(fnAssertIsNone, n, ir.Str(p.Name+" has been specialized to have value None but got another value"))
		return nil
	}
	if a, ok := literal(value); ok {
		eq := t.call(fnEq, n, a)
		t.call(fnAssert, eq, ir.Str(fmt.Sprintf("%s has been specialized to have value %s but got another value", p.Name, pyText(a))))
	}
	return value
}

func (t *Tracer) call(f *ir.Func, args ...ir.Arg) *ir.Node {
	return t.create(NodeSpec{Op: ir.CallFunction, Target: f, Args: args})
}

// literal returns a scalar as an argument.
func literal(v any) (ir.Arg, bool) {
	switch v := v.(type) {
	case ir.Bool, ir.Int, ir.Float, ir.Complex, ir.Str:
		return v.(ir.Arg), true
	case torch.SymInt:
		return ir.Int(v.Int()), true
	case *torch.Tensor, nn.Module, torch.Value:
		return nil, false
	}
	return number(v)
}

// pyText is Python's str of a literal.
func pyText(a ir.Arg) string {
	if s, ok := a.(ir.Str); ok {
		return string(s)
	}
	return ir.Repr(a)
}
