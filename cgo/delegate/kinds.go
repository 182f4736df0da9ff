package delegate

import "fmt"

// The numbers below are those of tfx_delegate.h; a test compares them.
const (
	magic   = 0x6e6f696765725854
	version = 1
)

// Layouts say how values between nodes lie.
type Layouts int64

// The layouts.
const (
	Measured           Layouts = iota // the faster of the next two, measured by the first Prepare
	AnyLayout                         // as each kernel likes best, blocked
	ChannelsLastLayout                // channels last wherever there are spatial sizes
	BlockedLayout                     // channels in blocks of a register's size
)

var layoutsNames = [...]string{"measured", "as each kernel likes", "channels last", "blocked"}

// String names layouts: "channels last".
func (l Layouts) String() string {
	if l < 0 || int(l) >= len(layoutsNames) {
		return fmt.Sprintf("layouts %d", int64(l))
	}
	return layoutsNames[l]
}

// A Format says how an output lies.
type Format int64

// The formats.
const (
	Contiguous   Format = iota
	ChannelsLast        // of 4 or 5 dimensions; contiguous where there are fewer
	Fastest             // channels last where the kernels leave it so or blocked, else contiguous
)

// A PoolKind says what is taken of a window.
type PoolKind int64

// The kinds of pooling.
const (
	MaxPool                   PoolKind = iota + 1
	AveragePool                        // divided by the window's size, as count_include_pad=True
	AveragePoolWithoutPadding          // divided by the number of elements of the input in the window
)

// A BinaryKind is an operation of arithmetic.
type BinaryKind int64

// The operations.
const (
	Add BinaryKind = iota + 1
	Sub
	Mul
	Div
	Maximum
	Minimum
)

// An EltwiseKind is a function of one number, with at most two parameters.
type EltwiseKind int64

// The functions.
const (
	ReLU        EltwiseKind = iota + 1
	Clip                    // min(max(x, alpha), beta): relu6, clamp, hardtanh
	HardSwish               // x * min(max(x+3, 0), 6) / 6
	HardSigmoid             // min(max(x+3, 0), 6) / 6
	Sigmoid
	SiLU
	Tanh
	GELU      // by erf
	GELUTanh  // by tanh
	LeakyReLU // alpha * x where x < 0
	ELU       // alpha * (exp(x) - 1) where x < 0
	Affine    // alpha * x + beta
	Abs
	Sqrt
	Square
	Exp
	Log
	Softplus // log(1 + exp(alpha * x)) / alpha
	Mish
)

// An opcode is what a node is.
type opcode int64

const (
	opConvolution opcode = iota + 1
	opTransposed
	opLinear
	opPool
	opAdaptivePool
	opBinary
	opEltwise
	opFlatten
	opReshape
	opConcat
	opMatMul
	opPermute
	opSoftmax
	opLayerNorm
)

var opcodeNames = [...]string{
	"", "convolution", "transposed convolution", "linear", "pool", "adaptive pool", "binary", "eltwise", "flatten", "reshape",
	"concat", "matmul", "permute", "softmax", "layer norm",
}

// String is the name of an opcode in messages.
func (o opcode) String() string { return opcodeNames[o] }
