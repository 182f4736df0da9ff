package operator_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestOperators(t *testing.T) {
	testenv.Libtorch(t)
	s := torch.NewScope()
	defer s.Close()
	x := torch.Arange(1, 5, 1, torch.In(s)).Reshape(2, 2) // 1 2, 3 4
	b := x.Gt(2)
	tests := []struct {
		name string
		got  *torch.Tensor
		want string
	}{
		{"add", operator.Add(x, 1), "[2 3 4 5]"},
		{"number first", operator.Sub(10, x), "[9 8 7 6]"},
		{"mul", operator.Mul(x, x), "[1 4 9 16]"},
		{"truediv", operator.TrueDiv(x, 2), "[0.5 1 1.5 2]"},
		{"number by tensor", operator.TrueDiv(12, x), "[12 6 4 3]"},
		{"floordiv", operator.FloorDiv(x, -2), "[-1 -1 -2 -2]"},
		{"mod", operator.Mod(x, -3), "[-2 -1 0 -2]"},
		{"pow", operator.Pow(x, 2), "[1 4 9 16]"},
		{"number to tensor", operator.Pow(2, x), "[2 4 8 16]"},
		{"matmul", operator.MatMul(x, x), "[7 10 15 22]"},
		{"neg", operator.Neg(x), "[-1 -2 -3 -4]"},
		{"pos", operator.Pos(x), "[1 2 3 4]"},
		{"abs", operator.Abs(operator.Neg(x)), "[1 2 3 4]"},
		{"invert", operator.Invert(x), "[-2 -3 -4 -5]"},
		{"and", operator.And(b, x.Lt(4)), "[false false true false]"},
		{"or", operator.Or(b, x.Lt(2)), "[true false true true]"},
		{"xor", operator.Xor(x, 1), "[0 3 2 5]"},
		{"lshift", operator.LShift(x, 1), "[2 4 6 8]"},
		{"rshift", operator.RShift(x, 1), "[0 1 1 2]"},
		{"eq", operator.Eq(x, 2), "[false true false false]"},
		{"ne", operator.Ne(x, 2), "[true false true true]"},
		{"lt", operator.Lt(x, 2), "[true false false false]"},
		{"le", operator.Le(2, x), "[false true true true]"},
		{"gt", operator.Gt(2, x), "[true false false false]"},
		{"ge", operator.Ge(x, 2), "[false true true true]"},
		{"getitem", operator.GetItem(x, ir.PyTuple{torch.Slice(nil, nil, nil), 1}), "[2 4]"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { assert.Equal(t, tc.want, elements(t, tc.got)) })
	}
	_, err := torch.Try(func() *torch.Tensor { return operator.Add(x, "a") })
	require.ErrorIs(t, err, ir.ErrType)
	assert.ErrorContains(t, err, "unsupported operand type(s) for +: 'Tensor' and 'str'")
}

// elements writes the elements of a tensor as Go prints them.
func elements(t *testing.T, x *torch.Tensor) string {
	t.Helper()
	var data any
	var err error
	switch x.DType() {
	case torch.Int64:
		data, err = torch.Data[int64](x)
	case torch.Float32:
		data, err = torch.Data[float32](x)
	default:
		data, err = torch.Data[bool](x)
	}
	require.NoError(t, err)
	return fmt.Sprint(data)
}

func TestCallOnNumbers(t *testing.T) {
	assert.Equal(t, int64(-4), operator.Call("floordiv", -7, 2))
	assert.Equal(t, "b", operator.Call("getitem", "abc", 1))
	_, err := torch.Try(func() any { return operator.Call("mod", 1, 0) })
	assert.ErrorIs(t, err, ir.ErrZeroDivision)
}
