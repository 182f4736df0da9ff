package gosource

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// literal writes an argument as an expression for a parameter of type any.
func (u *unit) literal(n *ir.Node, a ir.Arg) string {
	switch a := a.(type) {
	case *ir.Node:
		return u.value(a).code
	case nil, ir.None:
		return "nil"
	case ir.Bool:
		return strconv.FormatBool(bool(a))
	case ir.Int:
		if n.Op() == ir.Output || int64(a) != int64(int32(a)) {
			return fmt.Sprintf("int64(%d)", int64(a)) // what a run has; and an int may have 32 bits
		}
		return strconv.FormatInt(int64(a), 10)
	case ir.Float:
		return u.float(float64(a))
	case ir.Complex:
		return "complex(" + u.float(real(complex128(a))) + ", " + u.float(imag(complex128(a))) + ")"
	case ir.Str:
		return strconv.Quote(string(a))
	case ir.List:
		return "[]any{" + u.items(n, a.All) + "}"
	case ir.Tuple:
		return u.file.use(pathIR) + ".PyTuple{" + u.items(n, a.All) + "}"
	case ir.Dict:
		var keys, values []string
		for k, v := range a.All() {
			keys, values = append(keys, u.literal(n, k)), append(values, u.literal(n, v))
		}
		return fmt.Sprintf("%s.NewPyDict([]any{%s}, []any{%s})", u.file.use(pathIR), strings.Join(keys, ", "), strings.Join(values, ", "))
	case ir.NamedTuple:
		fields := make([]string, len(a.Fields))
		for i, f := range a.Fields {
			fields[i] = strconv.Quote(f)
		}
		return fmt.Sprintf("&%s.PyObject{Type: %q, Fields: []string{%s}, Values: []any{%s}}", u.file.use(pathIR), a.Type.Name(), strings.Join(fields, ", "), u.items(n, a.All))
	case ir.Slice:
		return fmt.Sprintf("%s.Slice(%s, %s, %s)", u.file.use(pathTorch), u.literal(n, a.Start), u.literal(n, a.Stop), u.literal(n, a.Step))
	case ir.Ellipsis:
		return u.file.use(pathTorch) + ".Ellipsis"
	case ir.DType:
		if name, ok := dtypes[a]; ok {
			return u.file.use(pathIR) + "." + name
		}
	case ir.Layout:
		if name, ok := layouts[a]; ok {
			return u.file.use(pathIR) + "." + name
		}
	case ir.MemoryFormat:
		if name, ok := memoryFormats[a]; ok {
			return u.file.use(pathIR) + "." + name
		}
	case ir.Device:
		if name, ok := deviceKinds[a.Kind()]; ok {
			return fmt.Sprintf("%[1]s.NewDevice(%[1]s.%[2]s, %[3]d)", u.file.use(pathIR), name, a.Index())
		}
	case *ir.Func:
		return u.file.function(a)
	}
	u.file.fault(n, "argument %s: expected a value that Go can write, got a %T", ir.Repr(a), a)
	return "nil"
}

func (u *unit) items(n *ir.Node, all func() iter.Seq2[int, ir.Arg]) string {
	var texts []string
	for _, item := range all() {
		texts = append(texts, u.literal(n, item))
	}
	return strings.Join(texts, ", ")
}

// float writes a number that is a float64 as it stands.
func (u *unit) float(v float64) string {
	switch {
	case math.IsNaN(v):
		return u.file.use("math") + ".NaN()"
	case math.IsInf(v, 1):
		return u.file.use("math") + ".Inf(1)"
	case math.IsInf(v, -1):
		return u.file.use("math") + ".Inf(-1)"
	case v == 0 && math.Signbit(v):
		return u.file.use("math") + ".Copysign(0, -1)"
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// The names of package ir for the constants of PyTorch.
var (
	dtypes = map[ir.DType]string{
		ir.UInt8: "UInt8", ir.Int8: "Int8", ir.Int16: "Int16", ir.Int32: "Int32", ir.Int64: "Int64", ir.Float16: "Float16",
		ir.Float32: "Float32", ir.Float64: "Float64", ir.Complex32: "Complex32", ir.Complex64: "Complex64", ir.Complex128: "Complex128",
		ir.Bool8: "Bool8", ir.QInt8: "QInt8", ir.QUInt8: "QUInt8", ir.QInt32: "QInt32", ir.BFloat16: "BFloat16", ir.Float8E5M2: "Float8E5M2",
		ir.Float8E4M3FN: "Float8E4M3FN", ir.Float8E5M2FNUZ: "Float8E5M2FNUZ", ir.Float8E4M3FNUZ: "Float8E4M3FNUZ",
		ir.UInt16: "UInt16", ir.UInt32: "UInt32", ir.UInt64: "UInt64", ir.Float8E8M0FNU: "Float8E8M0FNU", ir.Float4E2M1FNX2: "Float4E2M1FNX2",
	}
	layouts = map[ir.Layout]string{
		ir.Strided: "Strided", ir.Sparse: "Sparse", ir.SparseCSR: "SparseCSR", ir.Mkldnn: "Mkldnn", ir.SparseCSC: "SparseCSC",
		ir.SparseBSR: "SparseBSR", ir.SparseBSC: "SparseBSC", ir.Jagged: "Jagged",
	}
	memoryFormats = map[ir.MemoryFormat]string{
		ir.ContiguousFormat: "ContiguousFormat", ir.PreserveFormat: "PreserveFormat", ir.ChannelsLast: "ChannelsLast", ir.ChannelsLast3D: "ChannelsLast3D",
	}
	deviceKinds = map[ir.DeviceKind]string{
		ir.DeviceCPU: "DeviceCPU", ir.DeviceCUDA: "DeviceCUDA", ir.DeviceMeta: "DeviceMeta", ir.DeviceMPS: "DeviceMPS", ir.DeviceXPU: "DeviceXPU",
	}
)
