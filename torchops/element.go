package torchops

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// An Element is a Go type that holds one element of a tensor: each has one
// dtype, and int is Int64. The 8-bit floats, the quantized dtypes and Complex32
// have none; see [FromBytes] and [Tensor.Bytes].
type Element interface {
	bool | int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 |
		F16 | BF16 | float32 | float64 | complex64 | complex128
}

// DTypeOf returns the dtype whose elements are Ts.
func DTypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case bool:
		return ir.Bool8
	case int8:
		return ir.Int8
	case int16:
		return ir.Int16
	case int32:
		return ir.Int32
	case int64, int:
		return ir.Int64
	case uint8:
		return ir.UInt8
	case uint16:
		return ir.UInt16
	case uint32:
		return ir.UInt32
	case uint64:
		return ir.UInt64
	case F16:
		return ir.Float16
	case BF16:
		return ir.BFloat16
	case float32:
		return ir.Float32
	case float64:
		return ir.Float64
	case complex64:
		return ir.Complex64
	default:
		return ir.Complex128
	}
}

// An int holds an Int64 only where it has 64 bits.
const _ = uint(unsafe.Sizeof(int(0)) - 8)

// bytesOf returns the memory of data, which must outlive the result.
func bytesOf[T Element](data []T) []byte {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(data[0])))
}

// numelOf returns the product of shape, or an error where a size is negative or
// the elements would not fit in memory.
func numelOf(shape []int, dt DType) (int, error) {
	n, limit := 1, math.MaxInt/max(1, dt.Size())
	for i, s := range shape {
		if s < 0 {
			return 0, ir.Errorf(ir.ErrValue, "shape: expected sizes of at least 0, got %d in dimension %d", s, i)
		}
		if s > 0 && n > limit/s {
			return 0, ir.Errorf(ir.ErrValue, "shape: %v of %s does not fit in memory", shape, dt)
		}
		n *= s
	}
	return n, nil
}

// decodeElements reads contiguous elements in this machine's byte order: real
// and imaginary parts of floating and complex dtypes, texts of all others.
func decodeElements(dt DType, data []byte) (re, im []float64, text []string) {
	n := len(data) / max(1, dt.Size())
	order := binary.NativeEndian
	u16 := func(i int) uint16 { return order.Uint16(data[2*i:]) }
	u32 := func(i int) uint32 { return order.Uint32(data[4*i:]) }
	u64 := func(i int) uint64 { return order.Uint64(data[8*i:]) }
	half := func(i int) float64 { return float64(F16(u16(i)).Float32()) }
	single := func(i int) float64 { return float64(math.Float32frombits(u32(i))) }
	double := func(i int) float64 { return math.Float64frombits(u64(i)) }

	reals := func(at func(i int) float64) {
		re = make([]float64, n)
		for i := range re {
			re[i] = at(i)
		}
	}
	pairs := func(at func(i int) float64) {
		re, im = make([]float64, n), make([]float64, n)
		for i := range re {
			re[i], im[i] = at(2*i), at(2*i+1)
		}
	}
	texts := func(at func(i int) any) {
		text = make([]string, n)
		for i := range text {
			text[i] = fmt.Sprint(at(i))
		}
	}

	switch dt {
	case ir.Float32:
		reals(single)
	case ir.Float64:
		reals(double)
	case ir.Float16:
		reals(half)
	case ir.BFloat16:
		reals(func(i int) float64 { return float64(BF16(u16(i)).Float32()) })
	case ir.Float4E2M1FNX2:
		// two numbers to a byte, which Python prints as that byte
		reals(func(i int) float64 { return float64(data[i]) })
	case ir.Float8E5M2, ir.Float8E4M3FN, ir.Float8E5M2FNUZ, ir.Float8E4M3FNUZ, ir.Float8E8M0FNU:
		reals(func(i int) float64 { return float8(dt, data[i]) })
	case ir.Complex32:
		pairs(half)
	case ir.BComplex32:
		pairs(func(i int) float64 { return float64(BF16(u16(i)).Float32()) })
	case ir.Complex64:
		pairs(single)
	case ir.Complex128:
		pairs(double)
	case ir.Bool8:
		texts(func(i int) any {
			if data[i] != 0 {
				return "True"
			}
			return "False"
		})
	case ir.Int8, ir.QInt8:
		texts(func(i int) any { return int8(data[i]) })
	case ir.UInt8, ir.QUInt8:
		texts(func(i int) any { return data[i] })
	case ir.Int16:
		texts(func(i int) any { return int16(u16(i)) })
	case ir.UInt16:
		texts(func(i int) any { return u16(i) })
	case ir.Int32, ir.QInt32:
		texts(func(i int) any { return int32(u32(i)) })
	case ir.UInt32:
		texts(func(i int) any { return u32(i) })
	case ir.Int64:
		texts(func(i int) any { return int64(u64(i)) })
	case ir.UInt64:
		texts(func(i int) any { return u64(i) })
	default:
		// dtypes of so many bits, which Python cannot print: what they lie in
		if dt.Size() == 2 {
			texts(func(i int) any { return u16(i) })
		} else {
			texts(func(i int) any { return data[i] })
		}
	}
	return re, im, text
}

// float8 returns the value of an 8-bit float. The formats are those of
// "FP8 Formats for Deep Learning" (e5m2, e4m3fn), their variants without
// infinities and negative zero (fnuz), and OCP MX scales (e8m0fnu).
func float8(dt DType, b byte) float64 {
	mantissa, bias := 3, 7
	switch dt {
	case ir.Float8E8M0FNU:
		if b == 0xff {
			return math.NaN()
		}
		return math.Ldexp(1, int(b)-127)
	case ir.Float8E5M2:
		return float64(F16(uint16(b) << 8).Float32())
	case ir.Float8E4M3FN:
		if b&0x7f == 0x7f {
			return math.NaN()
		}
	case ir.Float8E5M2FNUZ:
		mantissa, bias = 2, 16
	case ir.Float8E4M3FNUZ:
		bias = 8
	}
	if b == 0x80 && dt != ir.Float8E4M3FN {
		return math.NaN()
	}
	fraction, exponent := int(b)&(1<<mantissa-1), int(b&0x7f)>>mantissa
	if exponent == 0 {
		exponent = 1
	} else {
		fraction |= 1 << mantissa
	}
	x := math.Ldexp(float64(fraction), exponent-bias-mantissa)
	if b&0x80 != 0 {
		return -x
	}
	return x
}
