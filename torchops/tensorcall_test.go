package torchops

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// The way for tensors alone ends as the way through the parser does: in results,
// errors and scopes.
func TestTensorsAloneAreCalledAsThroughTheParser(t *testing.T) {
	testenv.Libtorch(t)
	s := NewScope()
	defer s.Close()
	x, closed := Ones(2, 2, In(s)), Ones(2, 2)
	y := Ones(3)
	require.NoError(t, closed.Close())
	for _, c := range []struct {
		name string
		args []any
	}{
		{"torch.add", []any{x, x}},
		{"torch.Tensor.add", []any{x, x}},
		{"torch.mm", []any{x, y}},
		{"torch.neg", []any{closed}},
		{"torch.mm", []any{x}},
		{"torch.neg", []any{x, x}},
		{"torch.Tensor.neg_", []any{x}},
		{"torch.max", []any{x}},
		{"torch.max", []any{x, x}},
		{"torch.aminmax", []any{x}},
		{"torch.cat", []any{x}},
		{"torch.is_floating_point", []any{x}},
		{"torch.result_type", []any{x, y}},
		{"torch.layer_norm", []any{x, x}},
		{"torch.unbind", []any{x}},
	} {
		f := ir.FuncOf(c.name)
		want, wantErr := implementationOf(f).public.parse(nil, c.args, nil, nil)
		wantErr = failedIn(f, c.args, nil, wantErr)
		got, err := Try(func() any { return CallAny(c.name, nil, c.args...) })
		assert.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), c.name)
		assert.Equal(t, Describe(want), Describe(got), c.name)
		if result, ok := got.(*Tensor); ok && c.args[0] == any(x) {
			assert.Same(t, s, result.scope.Load(), c.name)
		}
	}
}

// What is made ready for tensors does what Invoke does.
func TestCallsForTensorsAreThoseOfInvoke(t *testing.T) {
	testenv.Libtorch(t)
	s := NewScope()
	defer s.Close()
	x, y, closed := Ones(2, 2, In(s)), Full([]int{2, 2}, 3.0), Ones(2, 2)
	v, w := Ones(3), Ones(3)
	require.NoError(t, closed.Close())
	for _, c := range []struct {
		name  string
		args  []*Tensor
		ready bool
	}{
		{"torch.sub", []*Tensor{x, y}, true},
		{"torch.Tensor.sub", []*Tensor{x, y}, true},
		{"torch.ops.aten.sub.Tensor", []*Tensor{x, y}, true},
		{"torch.ops.aten.mm.default", []*Tensor{x, v}, true},
		{"torch.ops.aten.add_.Tensor", []*Tensor{w, w}, true},
		{"torch.ops.aten.where.self", []*Tensor{x, x, y}, true},
		{"torch.ops.aten.neg.default", []*Tensor{closed}, true},
		{"torch.mm", []*Tensor{x, v}, true},
		{"operator.sub", []*Tensor{x, y}, true},
		{"operator.truediv", []*Tensor{x, y}, true},
		{"operator.matmul", []*Tensor{v, w}, true},
		{"operator.matmul", []*Tensor{x, v}, true},
		{"operator.lt", []*Tensor{x, y}, true},
		{"operator.neg", []*Tensor{x}, true},
		{"operator.and_", []*Tensor{x, y}, true},
		{"operator.iadd", []*Tensor{w, v}, false},
		{"operator.invert", []*Tensor{x}, false},
		{"operator.getitem", []*Tensor{x, y}, false},
		{"torch.max", []*Tensor{x}, true},
		{"torch.aminmax", []*Tensor{x}, false},
		{"torch.ops.aten.dropout.default", []*Tensor{x}, false},
		{"torch.ops.aten.equal.default", []*Tensor{x, y}, false},
		{"torch.ops.aten.add", []*Tensor{x, y}, false},
	} {
		f := ir.FuncOf(c.name)
		ready := ForTensors(f, len(c.args))
		if !assert.Equal(t, c.ready, ready != nil, c.name) || ready == nil {
			continue
		}
		args := make([]any, len(c.args))
		for i, a := range c.args {
			args[i] = a
		}
		want, wantErr := Invoke(nil, f, args, nil)
		got, err := ready.Call(nil, 0, (*[MaxTensors]*Tensor)(append(c.args, make([]*Tensor, MaxTensors)...)))
		assert.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), c.name)
		if wantErr != nil {
			continue
		}
		assert.Equal(t, Describe(want), Describe(got), c.name)
		same, err := Equal(want.(*Tensor), got)
		require.NoError(t, err)
		assert.True(t, same, c.name)
		assert.Same(t, want.(*Tensor).scope.Load(), got.scope.Load(), c.name)
	}
	last := Ones(2, 2, In(s))
	n := s.Len()
	got, err := ForTensors(FnNeg, 1).Call(nil, 1, &[MaxTensors]*Tensor{last})
	require.NoError(t, err)
	assert.Equal(t, n, s.Len(), "one left the scope and one joined")
	assert.Same(t, s, got.scope.Load())
	_, err = last.Handle()
	require.NoError(t, err)
	_, err = Try(func() []int { return last.Shape() })
	require.ErrorIs(t, err, ir.ErrClosed)
}
