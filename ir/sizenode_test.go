package ir

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSizeNodes(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x")
	e, err := ParseExpr("2*s7")
	require.NoError(t, err)
	x.Meta().Set(MetaVal, TensorMeta{Sizes: []Size{SizeOf(3), SymbolicSize(e, 8)}, Strides: []Size{SymbolicSize(e, 8), SizeOf(1)}, StorageOffset: SizeOf(5)})
	unknown := g.Placeholder("y")

	assert.Equal(t, SymScalar{Kind: TypeSymInt, Hint: Int(3)}, g.SizeNode(x, 0).Meta().Get(MetaVal))
	assert.Equal(t, SymScalar{Kind: TypeSymInt, Expr: e, Hint: Int(8)}, g.SizeNode(x, -1).Meta().Get(MetaVal))
	assert.Equal(t, SymScalar{Kind: TypeSymInt, Hint: Int(1)}, g.StrideNode(x, 1).Meta().Get(MetaVal))
	assert.Equal(t, SymScalar{Kind: TypeSymInt, Hint: Int(5)}, g.StorageOffsetNode(x).Meta().Get(MetaVal))
	assert.False(t, g.SizeNode(x, 2).Meta().Has(MetaVal))
	assert.False(t, g.SizeNode(unknown, 0).Meta().Has(MetaVal))
	assert.Equal(t, `graph():
    %x : [num_users=5] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y]
    %sym_size_int : [num_users=0] = call_function[target=torch.ops.aten.sym_size.int](args = (%x, 0), kwargs = {})
    %sym_size_int_1 : [num_users=0] = call_function[target=torch.ops.aten.sym_size.int](args = (%x, -1), kwargs = {})
    %sym_stride_int : [num_users=0] = call_function[target=torch.ops.aten.sym_stride.int](args = (%x, 1), kwargs = {})
    %sym_storage_offset_default : [num_users=0] = call_function[target=torch.ops.aten.sym_storage_offset.default](args = (%x,), kwargs = {})
    %sym_size_int_2 : [num_users=0] = call_function[target=torch.ops.aten.sym_size.int](args = (%x, 2), kwargs = {})
    %sym_size_int_3 : [num_users=0] = call_function[target=torch.ops.aten.sym_size.int](args = (%y, 0), kwargs = {})`, g.String())
}
