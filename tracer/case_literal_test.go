package tracer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// configValue is what the recorded dataclass is in Go: its fields by name.
func configValue(value any, scale float64, inner any) *ir.PyObject {
	return &ir.PyObject{Type: "program.Config", Fields: []string{"value", "scale", "inner"}, Values: []any{value, scale, inner}}
}

// upstream: test_fx.TestFX.test_trace_return_dataclass
// upstream: test_fx.TestFX.test_trace_return_dataclass_nested
func TestTrace_literal_dataclass(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x V) any { return configValue(op("add", x, 1), 3.0, configValue(x, 2.0, nil)) })
	sameCase(t, gm, err)
}

// intKeys is a dict with a key that Go cannot hash.
type intKeys struct{ x V }

func (d intKeys) CreateArg(t *tracer.Tracer) ir.Arg {
	x, y := t.CreateArg(d.x), t.CreateArg(op("add", d.x, 1))
	return ir.DictOf(ir.Pair{Key: ir.Int(1), Value: x}, ir.Pair{Key: ir.TupleOf(ir.Int(2), ir.Int(3)), Value: y},
		ir.Pair{Key: ir.None{}, Value: ir.Int(4)})
}

// upstream: test_fx.TestFX.test_trace_dict_int_keys
func TestTrace_literal_dict_int_keys(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x V) any { return intKeys{x} })
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_trace_dict_proxy_keys
func TestTrace_literal_dict_proxy_key(t *testing.T) {
	_, err := tracer.SymbolicTrace(func(x V) any { return dict(x, 1) })
	failsAs(t, err, nil)
}

var pick = torch.Wrap("program.pick", func(x V, c any) V { return x })

// upstream: test_fx.TestFX.test_enum
func TestTrace_literal_enum(t *testing.T) {
	color := func(name string, value int) ir.Enum {
		return ir.Enum{Class: ir.FuncOf("program.Color"), Member: name, Value: ir.Int(value)}
	}
	low := ir.Enum{Class: ir.FuncOf("program.Level"), Member: "LOW", Value: ir.Int(1), IsInt: true}
	gm, err := trace(func(x, c V) V {
		sum := op("add", pick(x, color("GREEN", 2)), pick(x, low))
		return op("add", sum, pick(x, []any{color("RED", 1), c}))
	}, "x, c", tracer.OnCreateNode(func(s tracer.NodeSpec, create func(tracer.NodeSpec) (*ir.Node, error)) (*ir.Node, error) {
		if s.Op == ir.Placeholder && s.Target == ir.Target(ir.Path("c")) {
			s.Args = []ir.Arg{color("RED", 1)}
		}
		return create(s)
	}))
	sameCase(t, gm, err)
}

// wrapper makes a node of its class where it is an argument.
type wrapper struct{ v any }

func (w wrapper) CreateArg(t *tracer.Tracer) ir.Arg {
	return t.CreateNode(tracer.NodeSpec{Op: ir.CallFunction, Target: ir.FuncOf("program.Wrapper"), Args: []ir.Arg{t.CreateArg(w.v)}})
}

// upstream: test_fx.TestFX.test_fx_create_arg
func TestCreateArgOfAType(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x V) V { return fn("torch.add", x, wrapper{op("add", x, 1)}) })
	require.Contains(t, code(t, gm, err), "wrapper = program_Wrapper(add);  add = None\n    add_1 = torch.add(x, wrapper)")
}

// upstream: test_fx.TestFX.test_fx_create_arg
func TestTrace_literal_fx_create_arg(t *testing.T) {
	// a function of values that are no arguments of its own runs, wrapped or not
	take := func(a, b wrapper) V { return op("add", a.v, b.v) }
	gm, err := tracer.SymbolicTrace(func(x V) V { return take(wrapper{op("add", x, 1)}, wrapper{2}) })
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_namedtuple_return_qualname
// upstream: test_fx.TestFX.test_namedtuple_return_trace
// upstream: test_fx.TestFX.test_named_tuple_inlined
// upstream: test_fx.TestFX.test_trace_return_namedtuple
func TestTrace_literal_namedtuple(t *testing.T) {
	tuple := func(class string, values ...any) *ir.PyObject { return &ir.PyObject{Type: class, Values: values} }
	gm, err := tracer.SymbolicTrace(func(x V) any {
		a := use(tuple("program.Pair", x, 2))
		b := use(tuple("program.Old", x, 1))
		return ir.PyTuple{tuple("program.Pair", a, 3), tuple("program.Old", b, []any{x})}
	})
	sameCase(t, gm, err)
}

var use = torch.Wrap("program.use", func(p any) V { return V{} })

func TestTrace_literal_unsupported(t *testing.T) {
	_, err := tracer.SymbolicTrace(func(x V) V { return fn("torch.add", x, map[int]struct{}{1: {}, 2: {}}) })
	require.ErrorIs(t, err, ir.ErrNotImplemented)
	require.ErrorContains(t, err, "argument of type: map[int]struct {}")
}
