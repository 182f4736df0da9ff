package parity

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/ir"
)

// raw encodes numbers as elements.
func raw[T any](t require.TestingT, values ...T) []byte {
	b, err := binary.Append(nil, binary.NativeEndian, values)
	require.NoError(t, err)
	return b
}

func TestCompare(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	negativeZero := math.Copysign(0, -1)
	tol := Tolerance{Rel: 1e-3, Abs: 1e-3}
	otherNaN := math.Float64frombits(math.Float64bits(nan) ^ 1<<63)
	tests := []struct {
		name      string
		dt        ir.DType
		got, want []byte
		tol       Tolerance
		distance  Distance
	}{
		{"equal", ir.Float32, raw(t, float32(1), float32(-2)), raw(t, float32(1), float32(-2)), tol, Distance{Total: 2}},
		{"inside", ir.Float64, raw(t, 2+0x1p-12), raw(t, 2.0), Tolerance{Rel: 1e-3}, Distance{MaxAbs: 0x1p-12, MaxRel: 0x1p-13, ULPs: 1 << 39, Total: 1}},
		{"outside, second", ir.Float64, raw(t, 0.0, 1.5), raw(t, 0.0, 1.0), tol, Distance{MaxAbs: .5, MaxRel: .5, ULPs: 1 << 51, Outside: 1, First: 1, Total: 2}},
		{"one step up", ir.Float32, raw(t, math.Nextafter32(1, 2)), raw(t, float32(1)), tol, Distance{MaxAbs: 0x1p-23, MaxRel: 0x1p-23, ULPs: 1, Total: 1}},
		{"across zero", ir.Float32, raw(t, math.Float32frombits(1)), raw(t, math.Float32frombits(1|1<<31)), tol, Distance{MaxAbs: 0x1p-148, MaxRel: 2, ULPs: 2, Total: 1}},
		{"want zero", ir.Float64, raw(t, 1e-4), raw(t, 0.0), tol, Distance{MaxAbs: 1e-4, MaxRel: inf, ULPs: math.Float64bits(1e-4), Total: 1}},
		{"zeros of both signs are close", ir.Float64, raw(t, 0.0), raw(t, negativeZero), tol, Distance{Total: 1}},
		{"but not the same bits", ir.Float64, raw(t, 0.0), raw(t, negativeZero), Tolerance{Bits: true}, Distance{Outside: 1, Total: 1}},
		{"NaNs are close", ir.Float64, raw(t, nan), raw(t, otherNaN), tol, Distance{Total: 1}},
		{"but not the same bits either", ir.Float64, raw(t, nan), raw(t, otherNaN), Tolerance{Bits: true}, Distance{Outside: 1, Total: 1}},
		{"NaN for a number", ir.Float64, raw(t, nan), raw(t, 1.0), Tolerance{Rel: inf, Abs: inf}, Distance{MaxAbs: inf, MaxRel: inf, ULPs: math.Float64bits(nan) - math.Float64bits(1), Outside: 1, Total: 1}},
		{"infinity is only close to itself", ir.Float32, raw(t, float32(math.MaxFloat32)), raw(t, float32(inf)), tol, Distance{MaxAbs: inf, MaxRel: inf, ULPs: 1, Outside: 1, Total: 1}},
		{"complex by modulus", ir.Complex128, raw(t, 3.0, 4+0x1p-12), raw(t, 3.0, 4.0), Tolerance{Rel: 0x1p-14}, Distance{MaxAbs: 0x1p-12, MaxRel: 0x1p-12 / 5, ULPs: 1 << 38, Total: 1}},
		{"integers exactly", ir.Int64, raw(t, int64(1e15+1)), raw(t, int64(1e15)), tol, Distance{MaxAbs: 1, MaxRel: 1e-15, Outside: 1, Total: 1}},
		{"booleans exactly", ir.Bool8, []byte{1, 0}, []byte{1, 1}, tol, Distance{MaxAbs: 1, MaxRel: 1, Outside: 1, First: 1, Total: 2}},
		{"small floats exactly", ir.Float8E5M2, []byte{0x3c}, []byte{0x3d}, tol, Distance{Outside: 1, Total: 1}},
		{"half", ir.Float16, raw(t, uint16(0x3c01)), raw(t, uint16(0x3c00)), Tolerance{Rel: 1e-3}, Distance{MaxAbs: 0x1p-10, MaxRel: 0x1p-10, ULPs: 1, Total: 1}},
		{"bfloat16", ir.BFloat16, raw(t, uint16(0x3f82)), raw(t, uint16(0x3f80)), Tolerance{Rel: 1e-3}, Distance{MaxAbs: 0x1p-6, MaxRel: 0x1p-6, ULPs: 2, Outside: 1, Total: 1}},
		{"nothing", ir.Float32, nil, nil, tol, Distance{}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			d, err := Compare(tc.dt, tc.got, tc.want, tc.tol)
			require.NoError(t, err)
			assert.Equal(t, tc.distance, d)
		})
	}

	_, err := Compare(ir.Float32, make([]byte, 4), make([]byte, 8), tol)
	assert.EqualError(t, err, "compare torch.float32: expected 8 bytes, got 4")
}

// A float32 that was moved by n steps is n steps away.
func TestStepsCountNextafter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float32Range(-1e30, 1e30).Draw(t, "x")
		n := rapid.IntRange(0, 50).Draw(t, "steps")
		y, distance := x, uint64(0)
		for range n {
			next := math.Nextafter32(y, float32(math.Inf(1)))
			if next != y {
				y, distance = next, distance+1
			}
		}
		d, err := Compare(ir.Float32, raw(t, y), raw(t, x), Tolerance{})
		require.NoError(t, err)
		require.Equal(t, distance, d.ULPs)
		require.Equal(t, distance > 0, d.Outside == 1)
	})
}
