package torchops

import "github.com/torchfx-go/torchfx/ir"

// The types that graphs and tensors share live in package ir; these are the
// same types under the names that model code uses.
type (
	DType        = ir.DType
	Device       = ir.Device
	Layout       = ir.Layout
	MemoryFormat = ir.MemoryFormat
)

// The dtypes of PyTorch 2.15; Bool8 is torch.bool. The Go type of an element is
// in [Element]; dtypes without one are read and written as bytes.
const (
	UInt8          = ir.UInt8
	Int8           = ir.Int8
	Int16          = ir.Int16
	Int32          = ir.Int32
	Int64          = ir.Int64
	Float16        = ir.Float16
	Float32        = ir.Float32
	Float64        = ir.Float64
	Complex32      = ir.Complex32
	BComplex32     = ir.BComplex32
	Complex64      = ir.Complex64
	Complex128     = ir.Complex128
	Bool8          = ir.Bool8
	QInt8          = ir.QInt8
	QUInt8         = ir.QUInt8
	QInt32         = ir.QInt32
	BFloat16       = ir.BFloat16
	Float8E5M2     = ir.Float8E5M2
	Float8E4M3FN   = ir.Float8E4M3FN
	Float8E5M2FNUZ = ir.Float8E5M2FNUZ
	Float8E4M3FNUZ = ir.Float8E4M3FNUZ
	UInt16         = ir.UInt16
	UInt32         = ir.UInt32
	UInt64         = ir.UInt64
	Float8E8M0FNU  = ir.Float8E8M0FNU
	Float4E2M1FNX2 = ir.Float4E2M1FNX2
)

// The layouts and memory formats.
const (
	Strided          = ir.Strided
	SparseCOO        = ir.Sparse
	SparseCSR        = ir.SparseCSR
	ContiguousFormat = ir.ContiguousFormat
	PreserveFormat   = ir.PreserveFormat
	ChannelsLast     = ir.ChannelsLast
	ChannelsLast3D   = ir.ChannelsLast3D
)

// CPU is the device that tensors are on unless they were put elsewhere.
var CPU = ir.NewDevice(ir.DeviceCPU, -1)

// CUDA returns the GPU with an index.
func CUDA(index int) Device { return ir.NewDevice(ir.DeviceCUDA, index) }
