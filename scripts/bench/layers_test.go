package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReadKernel(t *testing.T) {
	for _, c := range []struct {
		name, line   string
		what, shapes string
		flop         float64
	}{
		{
			"convolution", "convolution 29 + binary 31 + eltwise 32  brgconv_1x1:avx512_core  x [1, 128, 28, 28] acdb scratch 4816896+401408  " +
				"weight [512, 128, 1, 1] Acdb48a constant 270336  result [1, 512, 28, 28] acdb scratch 3211264+1605632",
			"convolution + binary + eltwise, brgconv_1x1:avx512_core", "1x128x28x28 · 512x128x1x1 · 1x512x28x28", 2 * 512 * 128 * 28 * 28,
		},
		{
			"zeros around", "convolution 107 + eltwise 108  brgconv:avx512_core  x [1, 512, 7, 7] acdb scratch 0+100352  " +
				"weight [512, 512, 3, 3] Acdb32a constant 9437184  result [1, 512, 7, 7] acdb scratch 100352+100352",
			"convolution + eltwise, brgconv:avx512_core", "1x512x7x7 · 512x512x3x3 · 1x512x7x7", 2 * 512 * 512 * 19 * 19,
		},
		{
			"strides", "convolution 0 + eltwise 1  jit:avx512_core  x [2, 3, 224, 224] acdb scratch 3211264+602112  " +
				"weight [64, 3, 7, 7] Acdb16a constant 37632  result [2, 64, 112, 112] acdb scratch 0+3211264",
			// of the first two places of the kernel three and one weights lie before the input, of the last two at most two behind
			"convolution + eltwise, jit:avx512_core", "2x3x224x224 · 64x3x7x7 · 2x64x112x112", 2 * 2 * 64 * 3 * (112*7 - 3 - 1 - 2) * (112*7 - 3 - 1 - 2),
		},
		{
			"groups", "convolution 3  jit_dw:avx512_core  x [1, 32, 8, 8] acdb scratch 0+8192  weight [32, 1, 1, 3, 3] abcde16a constant 1152  result [1, 32, 8, 8] acdb output 0",
			"convolution, jit_dw:avx512_core", "1x32x8x8 · 32x1x1x3x3 · 1x32x8x8", 2 * 32 * 22 * 22,
		},
		{
			"linear", "linear 121  brg:avx512_core  x [1, 2048] ab scratch 0+8192  weight [2048, 1000] BA16a64b constant 8388608  result [1, 1000] ab output 0",
			"linear, brg:avx512_core", "1x2048 · 2048x1000 · 1x1000", 2 * 2048 * 1000,
		},
		{
			"pool", "pool 2  jit:avx512_core  x [1, 64, 112, 112] acdb scratch 0+3211264  result [1, 64, 56, 56] acdb scratch 3211264+802816",
			"pool, jit:avx512_core", "1x64x112x112 · 1x64x56x56", 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := readKernel(c.line)
			assert.Equal(t, c.what, k.what)
			assert.Equal(t, c.shapes, k.shapes)
			assert.InDelta(t, c.flop, k.flop, 0)
		})
	}
}
