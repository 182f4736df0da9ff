package tracer

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// refuseMutable panics where a function writes to an argument, by the one
// overload that its arguments fit; same rule as
// torch.fx.operator_schemas.check_for_mutable_operation.
func refuseMutable(s NodeSpec) {
	f, ok := s.Target.(*ir.Func)
	if !ok || s.Op != ir.CallFunction {
		return
	}
	var candidates []*ir.Schema
	if f.Op() != "" {
		if schema := ir.Operators().Lookup(f.Op()); schema != nil {
			candidates = append(candidates, schema)
		}
	} else if name, ok := strings.CutPrefix(f.Name(), "torch."); ok && !strings.Contains(name, ".") {
		candidates = ir.Operators().Overloads("aten::" + name)
	}
	var fits *ir.Schema
	for _, schema := range candidates {
		if !takes(schema, s) {
			continue
		}
		if fits != nil {
			return
		}
		fits = schema
	}
	if fits != nil && len(fits.Effects().Writes) > 0 {
		panic(&torch.Error{Op: f.Name(), Err: ir.Errorf(ir.ErrRuntime, "Tried to trace mutable operation %s. FX only supports functional code, "+
			"so operations that mutate operands in-place (e.g. via `out` arguments) are not supported", fits)})
	}
}

// takes reports whether the arguments have places in the schema.
func takes(schema *ir.Schema, s NodeSpec) bool {
	if len(s.Args) > schema.Positional() {
		return false
	}
	given := make([]bool, len(schema.Args))
	for i := range s.Args {
		given[i] = true
	}
	for _, k := range s.Kwargs {
		i, ok := schema.Arg(k.Name)
		if !ok || given[i] {
			return false
		}
		given[i] = true
	}
	for i, a := range schema.Args {
		if !given[i] && a.Default == nil {
			return false
		}
	}
	return true
}
