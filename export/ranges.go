package export

import (
	"math"
	"strconv"

	"github.com/torchfx-go/torchfx/ir"
)

// A Range bounds a symbol, or an expression that a dimension is, inclusively.
type Range struct {
	Expr *ir.Expr // nil where the text was not understood
	Text string   // as the file has it: "s77", "2*s27"
	Min  int64    // math.MinInt64 is unbounded
	Max  int64    // math.MaxInt64 is unbounded
}

// String returns "2 <= s77 <= 64".
func (r Range) String() string {
	s := r.Text
	if r.Min != math.MinInt64 {
		s = strconv.FormatInt(r.Min, 10) + " <= " + s
	}
	if r.Max != math.MaxInt64 {
		s += " <= " + strconv.FormatInt(r.Max, 10)
	}
	return s
}

// ranges parses the range constraints; a text that is no expression costs its
// check, with a warning.
func (b *builder) ranges(in []rangeJSON) []Range {
	out := make([]Range, 0, len(in))
	for _, r := range in {
		rg := Range{Text: r.symbol, Min: math.MinInt64, Max: math.MaxInt64}
		if r.min != nil {
			rg.Min = *r.min
		}
		if r.max != nil {
			rg.Max = *r.max
		}
		if e, err := ir.ParseExpr(r.symbol); err == nil {
			rg.Expr = e
		} else {
			b.faults.warn("%s: range of %q is not understood and not checked: %v", b.record, clip(r.symbol), err)
		}
		out = append(out, rg)
	}
	return out
}
