package parity

import (
	"encoding/binary"
	"math"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Tolerance says how far a floating point value may be from the recorded one.
// Integers, booleans and everything else that is not a float of at least 16
// bits is compared exactly whatever the tolerance.
type Tolerance struct {
	Rel, Abs float64 // |got - want| <= Abs + Rel·|want|, as torch.allclose has it; NaN equals NaN
	Bits     bool    // every bit must agree, signs of zero and NaN payloads included
}

// DefaultTolerance returns the tolerance for values recorded on another
// processor, where a case states none; the README of the recorded cases has
// the same table.
func DefaultTolerance(dt ir.DType) Tolerance {
	switch dt {
	case ir.Float64, ir.Complex128:
		return Tolerance{Rel: 1e-7, Abs: 1e-9}
	case ir.Float16, ir.Complex32:
		return Tolerance{Rel: 1e-3, Abs: 1e-3}
	case ir.BFloat16:
		return Tolerance{Rel: 1.6e-2, Abs: 1e-2}
	}
	return Tolerance{Rel: 1e-4, Abs: 1e-5}
}

// A Distance is how far computed elements are from recorded ones.
type Distance struct {
	MaxAbs  float64 // largest |got - want|; +Inf where only one of them is NaN
	MaxRel  float64 // largest |got - want| / |want|; +Inf where want is 0 and got is not
	ULPs    uint64  // largest distance in steps of the dtype; of complex numbers by part, 0 for integers
	Outside int     // elements that the tolerance does not allow
	First   int     // position of the first of these, in order of the contiguous elements
	Total   int     // elements compared
}

// Compare measures two lists of contiguous elements in this machine's byte
// order. It fails when they are not of one length.
func Compare(dt ir.DType, got, want []byte, tol Tolerance) (Distance, error) {
	size := max(1, dt.Size())
	if len(got) != len(want) || len(got)%size != 0 {
		return Distance{}, ir.Errorf(ir.ErrValue, "compare %s: expected %d bytes, got %d", dt, len(want), len(got))
	}
	d := Distance{Total: len(want) / size}
	f := formatOf(dt)
	for i := range d.Total {
		g, w := got[i*size:(i+1)*size], want[i*size:(i+1)*size]
		if string(g) == string(w) {
			continue
		}
		if f.outside(&d, g, w, tol) {
			if d.Outside == 0 {
				d.First = i
			}
			d.Outside++
		}
	}
	return d, nil
}

// A format is how the elements of a dtype are measured.
type format struct {
	width int                   // bytes of one part
	value func([]byte) float64  // of one part
	steps func(b []byte) uint64 // one part as an integer that grows with the value; nil: none
	exact bool
}

func formatOf(dt ir.DType) format {
	order := binary.NativeEndian
	signed := func(bits uint64, width int) uint64 {
		sign := uint64(1) << (width - 1)
		if bits&sign != 0 {
			return sign - (bits &^ sign) // below the middle, where both zeros lie
		}
		return sign + bits
	}
	half := func(b []byte) uint64 { return signed(uint64(order.Uint16(b)), 16) }
	switch dt {
	case ir.Float64, ir.Complex128:
		return format{width: 8, value: func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) },
			steps: func(b []byte) uint64 { return signed(order.Uint64(b), 64) }}
	case ir.Float32, ir.Complex64:
		return format{width: 4, value: func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) },
			steps: func(b []byte) uint64 { return signed(uint64(order.Uint32(b)), 32) }}
	case ir.Float16, ir.Complex32:
		return format{width: 2, value: func(b []byte) float64 { return float64(torch.F16(order.Uint16(b)).Float32()) }, steps: half}
	case ir.BFloat16:
		return format{width: 2, value: func(b []byte) float64 { return float64(torch.BF16(order.Uint16(b)).Float32()) }, steps: half}
	}
	return format{width: max(1, dt.Size()), value: integer(dt), exact: true}
}

// integer returns how the elements of an exact dtype are read; those without a
// plain value as 0, so that a difference in them has no size.
func integer(dt ir.DType) func([]byte) float64 {
	order := binary.NativeEndian
	switch dt {
	case ir.Int8:
		return func(b []byte) float64 { return float64(int8(b[0])) }
	case ir.UInt8, ir.Bool8:
		return func(b []byte) float64 { return float64(b[0]) }
	case ir.Int16:
		return func(b []byte) float64 { return float64(int16(order.Uint16(b))) }
	case ir.UInt16:
		return func(b []byte) float64 { return float64(order.Uint16(b)) }
	case ir.Int32:
		return func(b []byte) float64 { return float64(int32(order.Uint32(b))) }
	case ir.UInt32:
		return func(b []byte) float64 { return float64(order.Uint32(b)) }
	case ir.Int64:
		return func(b []byte) float64 { return float64(int64(order.Uint64(b))) }
	case ir.UInt64:
		return func(b []byte) float64 { return float64(order.Uint64(b)) }
	}
	return func([]byte) float64 { return 0 }
}

// outside takes one element whose bits differ into d, and reports whether the
// tolerance refuses it.
func (f format) outside(d *Distance, got, want []byte, tol Tolerance) bool {
	var diff, size float64 // of complex numbers the modulus, as torch.allclose takes it
	same := true
	for at := 0; at < len(want); at += f.width {
		g, w := got[at:at+f.width], want[at:at+f.width]
		x, y := f.value(g), f.value(w)
		size = math.Hypot(size, y)
		if x == y || x != x && y != y {
			continue
		}
		same = false
		if part := math.Abs(x - y); part != part {
			diff = math.Inf(1) // one of them is NaN, or infinities of both signs
		} else {
			diff = math.Hypot(diff, part)
		}
		if f.steps != nil {
			a, b := f.steps(g), f.steps(w)
			d.ULPs = max(d.ULPs, max(a, b)-min(a, b))
		}
	}
	d.MaxAbs = max(d.MaxAbs, diff)
	switch {
	case diff == 0:
	case math.IsInf(diff, 1) || size != size || size == 0:
		d.MaxRel = math.Inf(1)
	default:
		d.MaxRel = max(d.MaxRel, diff/size)
	}
	switch {
	case f.exact || tol.Bits:
		return true
	case same:
		return false
	case math.IsInf(diff, 1) || math.IsInf(size, 1):
		return true // an infinity is only close to itself
	}
	return !(diff <= tol.Abs+tol.Rel*size)
}
