package ir

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTensorMetaText(t *testing.T) {
	size, err := ParseExpr("2*s77")
	require.NoError(t, err)
	m := TensorMeta{
		DType: Float32, Sizes: []Size{SymbolicSize(size, 4), SizeOf(3)}, Strides: []Size{SizeOf(3), SizeOf(1)},
		Device: NewDevice(DeviceCUDA, 0),
	}
	assert.Equal(t, "f32[2*s77, 3][3, 1]cuda:0", m.Text(true, true))
	assert.Equal(t, "f32[2*s77, 3]cuda:0", m.Text(false, true))
	assert.Equal(t, "f32[2*s77, 3][3, 1]", m.Text(true, false))
	assert.Equal(t, "f32[2*s77, 3]", m.Text(false, false))
	m.Layout = SparseCSR
	assert.Equal(t, "f32[2*s77, 3]", m.Text(true, false), "compressed layouts have no strides")
	assert.Equal(t, "b8[]cpu", TensorMeta{DType: Bool8}.Text(false, true))

	n, known := m.Sizes[0].Known()
	assert.False(t, known)
	assert.Equal(t, int64(4), n, "the value at export")
	assert.Equal(t, "2*s77", m.Sizes[0].String())
	assert.Equal(t, "3", m.Sizes[1].String())
}

func BenchmarkParseExpr(b *testing.B) {
	for b.Loop() {
		_, _ = ParseExpr("Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))")
	}
}

func BenchmarkEvalExpr(b *testing.B) {
	e, err := ParseExpr("2*s77 + 1")
	require.NoError(b, err)
	env := func(string) (Arg, bool) { return Int(3), true }
	for b.Loop() {
		_, _ = e.Eval(env)
	}
}
