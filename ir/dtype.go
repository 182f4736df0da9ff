package ir

import (
	"fmt"
	"strings"
)

// A DType is the element type of a tensor. The zero value is invalid, so that
// a forgotten dtype is found instead of being taken for uint8.
type DType uint8

// The dtypes of PyTorch 2.15.
const (
	InvalidDType DType = iota
	UInt8
	Int8
	Int16
	Int32
	Int64
	Float16
	Float32
	Float64
	Complex32
	Complex64
	Complex128
	Bool8
	QInt8
	QUInt8
	QInt32
	BFloat16
	Float8E5M2
	Float8E4M3FN
	Float8E5M2FNUZ
	Float8E4M3FNUZ
	UInt16
	UInt32
	UInt64
	Float8E8M0FNU
	Float4E2M1FNX2
	BComplex32
	QUInt4x2
	QUInt2x4
	Bits1x8
	Bits2x4
	Bits4x2
	Bits8
	Bits16
	UInt1
	UInt2
	UInt3
	UInt4
	UInt5
	UInt6
	UInt7
	Int1
	Int2
	Int3
	Int4
	Int5
	Int6
	Int7
	numDTypes
)

// dtypeInfo is one row of the table that every numbering and spelling of a
// dtype comes from.
type dtypeInfo struct {
	python      string // torch.<python>
	short       string // in fx texts: "f32"
	safetensors string // header code of the safetensors format, or ""
	c10         int8   // c10::ScalarType
	export      int8   // torch.export schema number, 0 where it has none
	size        uint8  // bytes of an element
	class       dtypeClass
}

type dtypeClass uint8

const (
	classInt dtypeClass = 1 + iota
	classUInt
	classBool
	classFloat
	classComplex
	classQuantized
	classShell // of bits without arithmetic: bits8, uint4
)

// Sources: torch/headeronly/core/ScalarType.h and torch/_export/serde/schema.py
// of 2.15.0, torch.utils._dtype_abbrs (scripts/record_numbers.py records them for
// the test), and the safetensors format description.
var dtypes = [numDTypes]dtypeInfo{
	UInt8:          {"uint8", "u8", "U8", 0, 1, 1, classUInt},
	Int8:           {"int8", "i8", "I8", 1, 2, 1, classInt},
	Int16:          {"int16", "i16", "I16", 2, 3, 2, classInt},
	Int32:          {"int32", "i32", "I32", 3, 4, 4, classInt},
	Int64:          {"int64", "i64", "I64", 4, 5, 8, classInt},
	Float16:        {"float16", "f16", "F16", 5, 6, 2, classFloat},
	Float32:        {"float32", "f32", "F32", 6, 7, 4, classFloat},
	Float64:        {"float64", "f64", "F64", 7, 8, 8, classFloat},
	Complex32:      {"complex32", "c32", "", 8, 9, 4, classComplex},
	Complex64:      {"complex64", "c64", "C64", 9, 10, 8, classComplex},
	Complex128:     {"complex128", "c128", "", 10, 11, 16, classComplex},
	Bool8:          {"bool", "b8", "BOOL", 11, 12, 1, classBool},
	QInt8:          {"qint8", "qint8", "", 12, 0, 1, classQuantized},
	QUInt8:         {"quint8", "quint8", "", 13, 0, 1, classQuantized},
	QInt32:         {"qint32", "qint32", "", 14, 0, 4, classQuantized},
	BFloat16:       {"bfloat16", "bf16", "BF16", 15, 13, 2, classFloat},
	Float8E5M2:     {"float8_e5m2", "f8e5m2", "F8_E5M2", 23, 30, 1, classFloat},
	Float8E4M3FN:   {"float8_e4m3fn", "f8e4m3fn", "F8_E4M3", 24, 29, 1, classFloat},
	Float8E5M2FNUZ: {"float8_e5m2fnuz", "f8e5m2fnuz", "F8_E5M2FNUZ", 25, 32, 1, classFloat},
	Float8E4M3FNUZ: {"float8_e4m3fnuz", "f8e4m3fnuz", "F8_E4M3FNUZ", 26, 31, 1, classFloat},
	UInt16:         {"uint16", "u16", "U16", 27, 28, 2, classUInt},
	UInt32:         {"uint32", "u32", "U32", 28, 34, 4, classUInt},
	UInt64:         {"uint64", "u64", "U64", 29, 35, 8, classUInt},
	Float8E8M0FNU:  {"float8_e8m0fnu", "f8e8m0fnu", "F8_E8M0", 44, 33, 1, classFloat},
	Float4E2M1FNX2: {"float4_e2m1fn_x2", "f4e2m1fnx2", "F4", 45, 0, 1, classFloat},
	BComplex32:     {"bcomplex32", "bc32", "", 46, 0, 4, classComplex},
	QUInt4x2:       {"quint4x2", "quint4x2", "", 16, 0, 1, classQuantized},
	QUInt2x4:       {"quint2x4", "quint2x4", "", 17, 0, 1, classQuantized},
	Bits1x8:        {"bits1x8", "b1x8", "", 18, 0, 1, classShell},
	Bits2x4:        {"bits2x4", "b2x4", "", 19, 0, 1, classShell},
	Bits4x2:        {"bits4x2", "b4x2", "", 20, 0, 1, classShell},
	Bits8:          {"bits8", "b8x1", "", 21, 0, 1, classShell},
	Bits16:         {"bits16", "b16x1", "", 22, 0, 2, classShell},
	UInt1:          {"uint1", "uint1", "", 30, 0, 1, classShell},
	UInt2:          {"uint2", "uint2", "", 31, 0, 1, classShell},
	UInt3:          {"uint3", "uint3", "", 32, 0, 1, classShell},
	UInt4:          {"uint4", "uint4", "", 33, 0, 1, classShell},
	UInt5:          {"uint5", "uint5", "", 34, 0, 1, classShell},
	UInt6:          {"uint6", "uint6", "", 35, 0, 1, classShell},
	UInt7:          {"uint7", "uint7", "", 36, 0, 1, classShell},
	Int1:           {"int1", "int1", "", 37, 0, 1, classShell},
	Int2:           {"int2", "int2", "", 38, 0, 1, classShell},
	Int3:           {"int3", "int3", "", 39, 0, 1, classShell},
	Int4:           {"int4", "int4", "", 40, 0, 1, classShell},
	Int5:           {"int5", "int5", "", 41, 0, 1, classShell},
	Int6:           {"int6", "int6", "", 42, 0, 1, classShell},
	Int7:           {"int7", "int7", "", 43, 0, 1, classShell},
}

// DTypes lists every dtype, in the order of the constants.
func DTypes() []DType {
	all := make([]DType, 0, numDTypes-1)
	for d := UInt8; d < numDTypes; d++ {
		all = append(all, d)
	}
	return all
}

func (d DType) info() dtypeInfo {
	if d < numDTypes {
		return dtypes[d]
	}
	return dtypeInfo{}
}

// Valid reports whether d is one of the constants.
func (d DType) Valid() bool { return d > InvalidDType && d < numDTypes }

// String returns Python's spelling, "torch.float32".
func (d DType) String() string {
	if !d.Valid() {
		return fmt.Sprintf("invalid dtype %d", uint8(d))
	}
	return "torch." + dtypes[d].python
}

// Name returns the spelling without the module, "float32".
func (d DType) Name() string { return d.info().python }

// Short returns the abbreviation that torch.fx prints, "f32"; the name where
// torch.fx has none.
func (d DType) Short() string { return d.info().short }

// Safetensors returns the code of the safetensors format, or "" where the
// format has none.
func (d DType) Safetensors() string { return d.info().safetensors }

// Size returns the bytes of one element.
func (d DType) Size() int { return int(d.info().size) }

// C10 returns the number of c10::ScalarType, or -1 for an invalid dtype.
func (d DType) C10() int {
	if !d.Valid() {
		return -1
	}
	return int(dtypes[d].c10)
}

// Export returns the number that torch.export's schema writes, or 0 where the
// schema has none.
func (d DType) Export() int { return int(d.info().export) }

// IsFloat reports whether d is a real floating point type.
func (d DType) IsFloat() bool { return d.info().class == classFloat }

// IsComplex reports whether d is a complex type.
func (d DType) IsComplex() bool { return d.info().class == classComplex }

// IsInt reports whether d is an integer type, signed or not; bool is none.
func (d DType) IsInt() bool { c := d.info().class; return c == classInt || c == classUInt }

// IsUnsigned reports whether d is an unsigned integer type.
func (d DType) IsUnsigned() bool { return d.info().class == classUInt }

// IsQuantized reports whether d needs a scale beside its elements.
func (d DType) IsQuantized() bool { return d.info().class == classQuantized }

// DTypeFromC10 returns the dtype with a c10::ScalarType number.
func DTypeFromC10(n int) (DType, error) {
	for d := UInt8; d < numDTypes; d++ {
		if int(dtypes[d].c10) == n {
			return d, nil
		}
	}
	return InvalidDType, Errorf(ErrUnsupported, "dtype: c10 number %d is unknown", n)
}

// DTypeFromExport returns the dtype with a torch.export schema number.
func DTypeFromExport(n int) (DType, error) {
	for d := UInt8; d < numDTypes; d++ {
		if n > 0 && int(dtypes[d].export) == n {
			return d, nil
		}
	}
	return InvalidDType, Errorf(ErrUnsupported, "dtype: export schema number %d is unknown", n)
}

// ParseDType reads Python's spelling, with or without "torch.", or the
// safetensors code.
func ParseDType(s string) (DType, error) {
	name := strings.TrimPrefix(s, "torch.")
	if alias, ok := dtypeAliases[name]; ok {
		name = alias
	}
	for d := UInt8; d < numDTypes; d++ {
		if dtypes[d].python == name || dtypes[d].safetensors != "" && dtypes[d].safetensors == s {
			return d, nil
		}
	}
	return InvalidDType, Errorf(ErrUnsupported, "dtype: %q is unknown", s)
}

// dtypeAliases are the second names that the torch module has.
var dtypeAliases = map[string]string{
	"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64",
	"short": "int16", "cfloat": "complex64", "cdouble": "complex128", "chalf": "complex32",
}
