package libtorch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

func TestSmoke(t *testing.T) {
	a, err := NewTensor(ir.Float32, []int64{2}, make([]byte, 8))
	require.NoError(t, err)
	op, err := Find("aten::add.Tensor")
	require.NoError(t, err)
	res, err := op.Call(nil, []any{a, a, int64(1)})
	require.NoError(t, err)
	info, err := res[0].(*Tensor).Info()
	t.Logf("%+v %v %s", info, err, op.Schema())
	_, err = op.Call(nil, []any{a, "x", int64(1)})
	t.Log(err)
	mm, err := Find("aten::mm")
	require.NoError(t, err)
	_, err = mm.Call(nil, []any{a, a})
	t.Log(err)
	all, err := Schemas()
	require.NoError(t, err)
	t.Log(len(all))
	tags := map[string]int{}
	for _, s := range all {
		for _, n := range s.Tags.Names() {
			tags[n]++
		}
	}
	t.Log(tags)
	_, err = Find("aten::nope")
	t.Log(err)
}

func BenchmarkAdd(b *testing.B) {
	x, err := NewTensor(ir.Float32, []int64{64}, make([]byte, 256))
	require.NoError(b, err)
	op, err := Find("aten::add.Tensor")
	require.NoError(b, err)
	args := []any{x, x, int64(1)}
	b.ReportAllocs()
	for b.Loop() {
		res, err := op.Call(nil, args)
		if err != nil {
			b.Fatal(err)
		}
		res[0].(*Tensor).Close()
	}
}
