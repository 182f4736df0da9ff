package export

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A metaEncoder writes what is known of values.
type metaEncoder struct {
	*jsonWriter
	p     *Program
	fault func(class *ir.Class, format string, args ...any)
}

// tensor writes a TensorMeta.
func (e *metaEncoder) tensor(m ir.TensorMeta) {
	if m.DType.Export() == 0 {
		e.fault(ir.ErrUnsupported, "dtype %s has no number in the schema", m.DType)
	}
	if len(m.Sizes) != len(m.Strides) {
		e.fault(ir.ErrUnsupported, "expected as many strides as sizes, got %d and %d", len(m.Strides), len(m.Sizes))
	}
	sizes := func(key string, list []ir.Size) {
		e.key(key)
		e.list(func() {
			for _, s := range list {
				e.size(s)
			}
		})
	}
	e.object(func() {
		e.key("dtype")
		e.int(int64(m.DType.Export()))
		sizes("sizes", m.Sizes)
		e.key("requires_grad")
		e.bool(m.RequiresGrad)
		e.key("device")
		writeDevice(e.jsonWriter, m.Device)
		sizes("strides", m.Strides)
		e.key("storage_offset")
		e.size(m.StorageOffset)
		e.key("layout")
		e.int(int64(m.Layout.Export()))
	})
}

// writeDevice writes a Device.
func writeDevice(w *jsonWriter, d ir.Device) {
	w.object(func() {
		w.key("type")
		w.str(d.Kind().String())
		w.key("index")
		if d.Index() < 0 {
			w.null()
		} else {
			w.int(int64(d.Index()))
		}
	})
}

// size writes a SymInt.
func (e *metaEncoder) size(s ir.Size) {
	if n, known := s.Known(); known {
		e.tagged(asInt.String(), func() { e.int(n) })
		return
	}
	e.expr(s.Expr(), ir.Int(s.Hint()))
}

// scalar writes a SymInt, SymFloat or SymBool.
func (e *metaEncoder) scalar(v ir.SymScalar) {
	if v.Expr != nil {
		e.expr(v.Expr, v.Hint)
		return
	}
	switch n := v.Hint.(type) {
	case ir.Int:
		e.tagged(asInt.String(), func() { e.int(int64(n)) })
	case ir.Float:
		e.tagged(asFloat.String(), func() { e.float(float64(n)) })
	case ir.Bool:
		e.tagged(asBool.String(), func() { e.bool(bool(n)) })
	default:
		e.fault(ir.ErrValue, "expected an expression or a number, got %s", ir.Repr(v.Hint))
	}
}

// expr writes a SymExpr. What depends on data has no hint.
func (e *metaEncoder) expr(x *ir.Expr, hint ir.Arg) {
	text := x.Srepr()
	if s, ok := x.Symbol(); ok && e.p.unparsed[s] != "" {
		text = e.p.unparsed[s] // as the file had it
	}
	for _, s := range x.Symbols() {
		if isUnbacked(s) {
			hint = ir.None{}
		}
	}
	e.tagged("as_expr", func() {
		e.object(func() {
			e.key("expr_str")
			e.str(text)
			e.key("hint")
			switch n := hint.(type) {
			case ir.Int:
				e.tagged(asInt.String(), func() { e.int(int64(n)) })
			case ir.Float:
				e.tagged(asFloat.String(), func() { e.float(float64(n)) })
			case ir.Bool:
				e.tagged(asBool.String(), func() { e.bool(bool(n)) })
			default:
				e.null()
			}
		})
	})
}

// isUnbacked reports whether a symbol stands for a number that depends on data:
// PyTorch calls them u0, zuf0.
func isUnbacked(symbol string) bool {
	rest, ok := strings.CutPrefix(symbol, "zuf")
	if !ok {
		rest, ok = strings.CutPrefix(symbol, "u")
	}
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}
