package tracer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

type withMaps struct {
	nn.Base `forward:"x"`
	Tensors map[int]*torch.Tensor
	Numbers map[int]int
}

func (m *withMaps) Forward(x *torch.Tensor) *torch.Tensor {
	return operator.Mul(operator.Add(x, m.Tensors[1]), m.Numbers[2])
}

// Maps of Go are dicts wherever torch.fx takes a dict, keys of any type: what
// Python's torch.fx makes of {10: ..., 2: ...} but for the order, which a map does
// not have.
func TestMapsAreDicts(t *testing.T) {
	identity := torch.Wrap("program.identity", func(d any) any { return d })
	one := tensor(t, []float32{1}, 1)
	tests := []struct {
		name string
		root any
		opts []tracer.Option
		want string
	}{
		{"result", func(x *torch.Tensor) any { return map[int]any{10: x, 2: operator.Add(x, 1)} }, nil, `def forward(self, x):
    add = x + 1
    return {2: add, 10: x}`},
		{"nested", func(x *torch.Tensor) any { return map[any]any{1: []any{x, map[int]*torch.Tensor{2: x}}, "a": x} }, nil, `def forward(self, x):
    return {1: [x, {2: x}], 'a': x}`},
		{"keys", func(x V) any { return []any{map[bool]V{true: x}, map[float64]V{2.5: x}} }, nil, `def forward(self, x):
    return [{True: x}, {2.5: x}]`},
		{"argument of a method", func(x V) any { return x.Method("foo", []any{map[int]any{1: x, 2: 3}}) }, nil, `def forward(self, x):
    foo = x.foo({1: x, 2: 3});  x = None
    return foo`},
		{"argument of a function", func(x *torch.Tensor) any { return identity(map[int]*torch.Tensor{1: x}) }, nil, `torch.fx._symbolic_trace.wrap("program_identity")

def forward(self, x):
    identity = program_identity({1: x});  x = None
    return identity`},
		{"concrete", func(x map[int]*torch.Tensor) any { return operator.Add(x[1], x[2]) },
			[]tracer.Option{concrete("x", map[int]any{1: tracer.PH, 2: tracer.PH})}, `def forward(self, x):
    x_1, x_2, = fx_pytree.tree_flatten_spec([x], self._in_spec)
    add = x_1 + x_2;  x_1 = x_2 = None
    return pytree.tree_unflatten([add], self._out_spec)`},
		{"concrete value", func(x map[int]any) any { return op("add", x[1], x[2]) },
			[]tracer.Option{concrete("x", map[int]any{1: tracer.PH, 2: 5})}, `def forward(self, x):
    x_1, x_2, = fx_pytree.tree_flatten_spec([x], self._in_spec)
    eq = x_2 == 5;  x_2 = None
    _assert = torch._assert(eq, 'x has been specialized to have value 5 but got another value');  eq = _assert = None
    add = x_1 + 5;  x_1 = None
    return pytree.tree_unflatten([add], self._out_spec)`},
		{"attribute", &withMaps{Tensors: map[int]*torch.Tensor{1: one}, Numbers: map[int]int{2: 7}}, nil, `def forward(self, x):
    _tensor_constant0 = self._tensor_constant0
    add = x + _tensor_constant0;  x = _tensor_constant0 = None
    mul = add * 7;  add = None
    return mul`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			gm, err := tracer.SymbolicTrace(tc.root, tc.opts...)
			require.NoError(t, err)
			code, err := gm.Code()
			require.NoError(t, err)
			assert.Equal(t, tc.want, strings.TrimSpace(code))
		})
	}
}

// Graphs run on maps, and what they return is a dict.
func TestGraphsRunOnMaps(t *testing.T) {
	x, y := tensor(t, []float32{1}, 1), tensor(t, []float32{2}, 1)
	gm, err := tracer.SymbolicTrace(func(d V) any { return ir.PyTuple{d.Index(1), d} })
	require.NoError(t, err)
	plan, err := interpreter.Compile(gm)
	require.NoError(t, err)
	for name, run := range map[string]func(ctx context.Context, args ...any) (any, error){"interpreter": interpreter.New(gm).Run, "plan": plan.Run} {
		for _, given := range []any{map[int]*torch.Tensor{1: x, 2: y}, map[any]any{1: x, 2: y}, dict(1, x, 2, y)} {
			out, err := run(t.Context(), given)
			require.NoError(t, err, "%s %T", name, given)
			items := out.(ir.PyTuple)
			require.IsType(t, &ir.PyDict{}, items[1], name)
			second, ok := items[1].(*ir.PyDict).Get(2)
			require.True(t, ok)
			require.NoError(t, second.(*torch.Tensor).Close(), "a handle of its own")
			item, err := items[0].(*torch.Tensor).Item()
			require.NoError(t, err)
			assert.EqualValues(t, 1, item)
		}
	}
	_, err = y.Item()
	require.NoError(t, err, "the arguments are the caller's")

	gm, err = tracer.SymbolicTrace(func(d map[int]V) any { return op("add", d[1], d[2]) }, tracer.Signature("d"),
		concrete("d", map[int]any{1: tracer.PH, 2: tracer.PH}))
	require.NoError(t, err)
	out, err := interpreter.New(gm).Run(t.Context(), map[int]*torch.Tensor{1: x, 2: y})
	require.NoError(t, err)
	item, err := out.(*torch.Tensor).Item()
	require.NoError(t, err)
	assert.EqualValues(t, 3, item)
}
