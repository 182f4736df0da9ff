package export

import "github.com/torchfx-go/torchfx/ir"

var (
	tensorFields  = fieldsOf("TensorMeta", "dtype sizes requires_grad device strides storage_offset layout", "")
	exprFields    = fieldsOf("SymExpr", "expr_str", "hint")
	configFields  = fieldsOf("PayloadConfig", "config", "")
	payloadFields = fieldsOf("PayloadMeta", "path_name is_param use_pickle tensor_meta", "")
)

func (d *decoder) tensorMeta(v jsonValue) tensorMetaJSON {
	var f [7]jsonValue
	if !d.object(v, tensorFields, f[:]) {
		return tensorMetaJSON{}
	}
	m := tensorMetaJSON{dtype: d.dtype(f[0]), requiresGrad: d.bool(f[2], "requires_grad"), device: d.device(f[3]), layout: d.layout(f[6])}
	m.sizes, m.strides = d.syms(f[1], "sizes"), d.syms(f[4], "strides")
	if f[5].is() {
		m.offset = d.sym(f[5], asInt)
	}
	if len(m.sizes) != len(m.strides) {
		d.fault(ir.ErrFormat, "expected as many strides as sizes, got %d and %d", len(m.strides), len(m.sizes))
	}
	return m
}

// maxDims bounds the dimensions of a tensor; PyTorch's own limit is 64 for most
// operators.
const maxDims = 256

func (d *decoder) syms(v jsonValue, what string) []symJSON {
	var out []symJSON
	d.list(v, what, func(i int, item jsonValue) {
		if i < maxDims {
			out = append(out, d.sym(item, asInt))
		} else if i == maxDims {
			d.fault(ir.ErrFormat, "%s: expected at most %d dimensions", what, maxDims)
		}
	})
	return out
}

// sym decodes a SymInt, SymFloat or SymBool; tag is the one of its plain value.
func (d *decoder) sym(v jsonValue, tag argTag) symJSON {
	kind, value, ok := d.union(v, "a symbolic value")
	switch {
	case !ok:
		return symJSON{lit: ir.Int(0)}
	case kind == tag.String():
		return symJSON{lit: d.literal(value, tag)}
	case kind != "as_expr":
		d.fault(ir.ErrUnsupported, "unknown kind %s of a symbolic value", clip(kind))
		return symJSON{lit: ir.Int(0)}
	}
	var f [2]jsonValue
	if !d.object(value, exprFields, f[:]) {
		return symJSON{lit: ir.Int(0)}
	}
	s := symJSON{expr: d.str(f[0], "expr_str")}
	if f[1].is() {
		hint, value, ok := d.union(f[1], "a hint")
		switch t := argTags[hint]; {
		case !ok:
		case t == asInt || t == asBool || t == asFloat:
			s.lit = d.literal(value, t)
		default:
			d.fault(ir.ErrUnsupported, "unknown kind %s of a hint", clip(hint))
		}
	}
	if s.expr == "" {
		d.fault(ir.ErrFormat, "expr_str is empty")
	}
	return s
}

// payloadConfig decodes a weights or constants config.
func (d *decoder) payloadConfig(v jsonValue) []payloadJSON {
	var f [1]jsonValue
	var out []payloadJSON
	if !d.object(v, configFields, f[:]) {
		return nil
	}
	seen := map[string]bool{}
	d.table(f[0], "config", func(key string, item jsonValue) {
		defer d.in(clip(key))()
		var p [4]jsonValue
		if !d.object(item, payloadFields, p[:]) {
			return
		}
		if seen[key] {
			d.fault(ir.ErrFormat, "is there twice")
			return
		}
		seen[key] = true
		e := payloadJSON{name: key, path: d.str(p[0], "path_name"), param: d.bool(p[1], "is_param"), pickle: d.bool(p[2], "use_pickle")}
		if p[3].is() && !p[3].null() {
			m := d.tensorMeta(p[3])
			e.tensor = &m
		}
		out = append(out, e)
	})
	return out
}
