package initialize

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Mode says which size of a weight its variance is kept for.
type Mode string

// The modes of the Kaiming distributions.
const (
	FanIn  Mode = "fan_in"  // the variance of a forward pass
	FanOut Mode = "fan_out" // of a backward pass
)

// Uniform fills t with numbers drawn evenly from [low, high).
func Uniform(t *torch.Tensor, low, high float64, options ...torch.Kwarg) {
	inplace("aten::uniform_", t, append([]any{low, high}, values(options)...)...)
}

// Normal fills t with numbers drawn from a normal distribution.
func Normal(t *torch.Tensor, mean, std float64, options ...torch.Kwarg) {
	inplace("aten::normal_", t, append([]any{mean, std}, values(options)...)...)
}

// Constant fills t with one number.
func Constant(t *torch.Tensor, value float64) { inplace("aten::fill_.Scalar", t, value) }

// XavierUniform fills t, of two dimensions or more, with numbers drawn evenly
// from [-a, a), where a is gain * sqrt(6 / (fan in + fan out)).
func XavierUniform(t *torch.Tensor, gain float64, options ...torch.Kwarg) {
	bound := math.Sqrt(3) * xavier(t, gain)
	Uniform(t, -bound, bound, options...)
}

// XavierNormal fills t, of two dimensions or more, with numbers drawn from a
// normal distribution with a deviation of gain * sqrt(2 / (fan in + fan out)).
func XavierNormal(t *torch.Tensor, gain float64, options ...torch.Kwarg) {
	Normal(t, 0, xavier(t, gain), options...)
}

func xavier(t *torch.Tensor, gain float64) float64 {
	in, out := fans(t)
	return gain * math.Sqrt(2/float64(in+out))
}

// KaimingUniform fills t, of two dimensions or more, with numbers drawn evenly
// from [-b, b), where b is sqrt(3 / fan) times the [Gain] of the nonlinearity;
// negativeSlope is what "leaky_relu" is called with.
func KaimingUniform(t *torch.Tensor, negativeSlope float64, mode Mode, nonlinearity string, options ...torch.Kwarg) {
	if t.Numel() > 0 {
		bound := math.Sqrt(3) * kaiming(t, negativeSlope, mode, nonlinearity)
		Uniform(t, -bound, bound, options...)
	}
}

// KaimingNormal fills t, of two dimensions or more, with numbers drawn from a
// normal distribution with a deviation of sqrt(1 / fan) times the [Gain] of the
// nonlinearity; negativeSlope is what "leaky_relu" is called with.
func KaimingNormal(t *torch.Tensor, negativeSlope float64, mode Mode, nonlinearity string, options ...torch.Kwarg) {
	if t.Numel() > 0 {
		Normal(t, 0, kaiming(t, negativeSlope, mode, nonlinearity), options...)
	}
}

func kaiming(t *torch.Tensor, slope float64, mode Mode, nonlinearity string) float64 {
	in, out := fans(t)
	fan := in
	switch mode {
	case FanIn:
	case FanOut:
		fan = out
	default:
		fail(ir.ErrValue, "Mode %s not supported, please use one of ['fan_in', 'fan_out']", mode)
	}
	return Gain(nonlinearity, slope) / math.Sqrt(float64(fan))
}

// Gain returns what a nonlinearity does to the deviation of its input, as
// torch.nn.init.calculate_gain recommends: of "linear", "conv1d" and so on,
// "sigmoid", "tanh", "relu", "leaky_relu" and "selu". Only "leaky_relu" looks at
// negativeSlope.
func Gain(nonlinearity string, negativeSlope float64) float64 {
	switch nonlinearity {
	case "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid":
		return 1
	case "tanh":
		return 5.0 / 3
	case "relu":
		return math.Sqrt(2)
	case "leaky_relu":
		return math.Sqrt(2 / (1 + negativeSlope*negativeSlope))
	case "selu":
		return 3.0 / 4
	}
	fail(ir.ErrValue, "Unsupported nonlinearity %s", nonlinearity)
	return 0
}

// Orthogonal fills t, of two dimensions or more, with an orthogonal matrix times
// gain; dimensions behind the second count to the second.
func Orthogonal(t *torch.Tensor, gain float64, options ...torch.Kwarg) {
	if t.Dim() < 2 {
		fail(ir.ErrValue, "Only tensors with 2 or more dimensions are supported")
	}
	if t.Numel() == 0 {
		return
	}
	var made held
	defer made.close()
	rows := t.Shape()[0]
	columns := t.Numel() / rows
	flat := made.call("aten::new_empty", t, []int{rows, columns})
	Normal(flat, 0, 1, options...)
	if rows < columns {
		flat = made.call("aten::t", flat)
	}
	qr, err := torch.Call("aten::linalg_qr", flat)
	check(err)
	pair := qr.(ir.PyTuple)
	q, r := made.keep(pair[0]), made.keep(pair[1])
	sign := made.call("aten::sign", made.call("aten::diag", r, 0))
	inplace("aten::mul_.Tensor", q, sign)
	if rows < columns {
		q = made.call("aten::t", q)
	}
	inplace("aten::copy_", made.call("aten::view_as", t, q), q)
	inplace("aten::mul_.Scalar", t, gain)
}

// fans returns how many inputs and outputs an element of t's layer has.
func fans(t *torch.Tensor) (in, out int) {
	shape := t.Shape()
	if len(shape) < 2 {
		fail(ir.ErrValue, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
	}
	field := 1
	for _, n := range shape[2:] {
		field *= n
	}
	return shape[1] * field, shape[0] * field
}
