package torchops

import (
	"math"

	"github.com/x448/float16"
)

// F16 is one torch.float16 element, an IEEE half.
type F16 = float16.Float16

// BF16 is one torch.bfloat16 element: the upper half of a float32.
type BF16 uint16

// NewBF16 rounds x to the nearest bfloat16, ties to even; every NaN becomes the
// one that c10::BFloat16 makes.
func NewBF16(x float32) BF16 {
	if x != x {
		return 0x7fc0
	}
	bits := math.Float32bits(x)
	return BF16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 returns the value, which float32 holds exactly.
func (b BF16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }
