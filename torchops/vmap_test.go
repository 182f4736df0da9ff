package torchops

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// TestVmap follows torch.vmap(lambda a, b: a @ b) over two dimensions, as an
// exported program calls it.
func TestVmap(t *testing.T) {
	testenv.Libtorch(t)
	var m libtorch.Mode
	call := func(name string, args ...any) any {
		t.Helper()
		v, err := Invoke(&m, ir.FuncOf("torch._functorch.predispatch."+name), args, nil)
		require.NoError(t, err, name)
		return v
	}
	a := open(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	b := open(t, []float32{1, 0, 0, 1, 1, 1}, 3, 2)
	assert.Nil(t, call("lazy_load_decompositions"))
	assert.Equal(t, int64(1), call("_vmap_increment_nesting", 2, "error"))
	row := call("_add_batch_dim", a, 0, 1).(*Tensor)
	assert.Equal(t, []int{3}, row.Shape(), "the batch is hidden")
	assert.Equal(t, int64(2), call("_vmap_increment_nesting", 2, "error"))
	column := call("_add_batch_dim", b, -1, 2).(*Tensor)
	product, err := CallMode(&m, "aten::matmul", []any{row, column}, nil)
	require.NoError(t, err)
	inner := call("_remove_batch_dim", product, 2, 2, 0)
	assert.Equal(t, int64(2), call("_vmap_decrement_nesting"))
	outer := call("_remove_batch_dim", inner, 1, 2, 0)
	assert.Equal(t, int64(1), call("_vmap_decrement_nesting"))
	assert.Equal(t, "tensor([[ 4.,  5.],\n        [10., 11.]])", fmt.Sprint(outer))

	_, err = Invoke(&m, ir.FuncOf("torch._functorch.predispatch._vmap_decrement_nesting"), nil, nil)
	assert.ErrorIs(t, err, ir.ErrRuntime)
	_, err = Invoke(nil, ir.FuncOf("torch._functorch.predispatch._vmap_increment_nesting"), []any{2, "error"}, nil)
	assert.ErrorIs(t, err, ir.ErrRuntime, "levels need the mode of a run")
	_, err = Invoke(&m, ir.FuncOf("torch._functorch.predispatch._vmap_increment_nesting"), []any{2, "sometimes"}, nil)
	assert.ErrorIs(t, err, ir.ErrValue)
}
