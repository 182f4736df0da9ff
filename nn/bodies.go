package nn

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn/functional"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// bodies are the forward methods that are more than one call.
var bodies map[string]func(f *frame) any

func init() {
	bodies = map[string]func(f *frame) any{
		"Softmax2d": func(f *frame) any {
			if n := f.in("input").Dim(); n != 3 && n != 4 {
				f.fail(ir.ErrValue, "Softmax2d: expected input to be 3D or 4D, got %dD instead", n)
			}
			return functional.Call("softmax", []any{f.in("input"), -3}, []torch.Kwarg{torch.Kw("_stacklevel", 5)})
		},
	}
	for n := 1; n <= 3; n++ {
		bodies[fmt.Sprintf("Conv%dd", n)] = func(f *frame) any { return convolve(f, n) }
		bodies[fmt.Sprintf("ConvTranspose%dd", n)] = func(f *frame) any { return convolveTransposed(f, n) }
		bodies[fmt.Sprintf("CircularPad%dd", n)] = func(f *frame) any {
			checkDim(f, n+1, n+2)
			return functional.Call("pad", []any{f.in("input"), f.self("padding"), "circular"}, nil)
		}
		bodies[fmt.Sprintf("BatchNorm%dd", n)] = func(f *frame) any { return batchNorm(f, n) }
		bodies[fmt.Sprintf("InstanceNorm%dd", n)] = func(f *frame) any { return instanceNorm(f, n) }
	}
	bodies["TripletMarginWithDistanceLoss"] = tripletWithDistance
	bodies["AdaptiveLogSoftmaxWithLoss"] = adaptiveLoss
	bodies["LinearCrossEntropyLoss"] = linearLoss
	recurrent(bodies)
	attentions(bodies)
}

func convolve(f *frame, n int) any {
	weight, bias := f.t("weight"), f.t("bias") // read before anything is called
	x, padding := f.in("input"), f.self("padding")
	if mode := f.string("padding_mode"); mode != "zeros" {
		x = one(functional.Call("pad", []any{x, reversedPadding(f)}, []torch.Kwarg{torch.Kw("mode", mode)}))
		defer func() { _ = x.Close() }()
		padding = tuple(ir.Int(0), n)
	}
	return functional.Call(fmt.Sprintf("conv%dd", n), []any{x, weight, bias, f.self("stride"), padding, f.self("dilation"), f.self("groups")}, nil)
}

// reversedPadding is the padding from the last dimension backwards, as F.pad
// takes it.
func reversedPadding(f *frame) any {
	kernel, dilation := f.ints("kernel_size"), f.ints("dilation")
	items := make([]ir.Arg, 2*len(kernel))
	named, isNamed := f.self("padding").(ir.Str)
	for i := range kernel {
		at := 2 * (len(kernel) - 1 - i)
		switch {
		case !isNamed:
			p := ir.Int(f.ints("padding")[i])
			items[at], items[at+1] = p, p
		case named == "same":
			total := dilation[i] * (kernel[i] - 1)
			items[at], items[at+1] = ir.Int(total/2), ir.Int(total-total/2)
		default:
			items[at], items[at+1] = ir.Int(0), ir.Int(0)
		}
	}
	if isNamed {
		return ir.ListOf(items...)
	}
	return ir.TupleOf(items...)
}

func convolveTransposed(f *frame, n int) any {
	padding := f.self("output_padding")
	if size := functional.Plain(f.arg("output_size")); size != nil {
		padding = outputPadding(f, n, size)
	}
	return functional.Call(fmt.Sprintf("conv_transpose%dd", n),
		[]any{f.in("input"), f.t("weight"), f.t("bias"), f.self("stride"), f.self("padding"), padding, f.self("groups"), f.self("dilation")}, nil)
}

// outputPadding is what makes the output of the size that is asked for.
func outputPadding(f *frame, n int, size any) any {
	var want []int
	switch s := size.(type) {
	case []any:
		for _, v := range s {
			k, _ := v.(int64)
			want = append(want, int(k))
		}
	case ir.PyTuple:
		for _, v := range s {
			k, _ := v.(int64)
			want = append(want, int(k))
		}
	}
	shape := f.in("input").Shape()
	before := len(shape) - n
	if len(want) == before+n {
		want = want[before:]
	}
	if len(want) != n {
		f.fail(ir.ErrValue, "%s: for %dD input, output_size must have %d or %d elements (got %d)", f.c.Name, len(shape), n, before+n, len(want))
	}
	kernel, stride, padding, dilation := f.ints("kernel_size"), f.ints("stride"), f.ints("padding"), f.ints("dilation")
	out := make([]int, n)
	for i := range out {
		low := (shape[before+i]-1)*stride[i] - 2*padding[i] + dilation[i]*(kernel[i]-1) + 1
		if want[i] < low || want[i] > low+stride[i]-1 {
			f.fail(ir.ErrValue, "requested an output size of %v, but dimension %d must be from %d to %d (for an input of %v)", want, i, low, low+stride[i]-1, shape[before:])
		}
		out[i] = want[i] - low
	}
	return out
}

// checkDim is the _check_input_dim of the normalisations.
func checkDim(f *frame, allowed ...int) int {
	have := f.in("input").Dim()
	text := ""
	for i, n := range allowed {
		if n == have {
			return have
		}
		if i > 0 {
			text += " or "
		}
		text += fmt.Sprintf("%dD", n)
	}
	f.fail(ir.ErrValue, "expected %s input (got %dD input)", text, have)
	return 0
}

func batchNorm(f *frame, n int) any {
	if n == 1 {
		checkDim(f, 2, 3)
	} else {
		checkDim(f, n+2)
	}
	training, track := f.bool("training"), f.bool("track_running_stats")
	momentum, fixed := f.self("momentum").(ir.Arg)
	_, none := momentum.(ir.None)
	if !fixed || none {
		momentum, none = ir.Float(0), true
	}
	if seen := f.t("num_batches_tracked"); training && track && seen != nil {
		inplace("aten::add_.Tensor", seen, 1)
		if none {
			momentum = ir.Float(1 / float64(must(seen.Item()).(int64)))
		}
	}
	mean, variance := f.t("running_mean"), f.t("running_var")
	batch := training || mean == nil && variance == nil
	if training && !track {
		mean, variance = nil, nil
	}
	return functional.Call("batch_norm", []any{f.in("input"), mean, variance, f.t("weight"), f.t("bias"), batch, momentum, f.self("eps")}, nil)
}

func instanceNorm(f *frame, n int) any {
	dim := checkDim(f, n+1, n+2)
	x := f.in("input")
	if got, want := x.Shape()[dim-n-1], f.int("num_features"); got != want && f.bool("affine") {
		f.fail(ir.ErrValue, "expected input's size at dim=%d to match num_features (%d), but got: %d.", dim-n-1, want, got)
	}
	momentum, ok := f.self("momentum").(ir.Arg)
	if _, none := momentum.(ir.None); !ok || none {
		momentum = ir.Float(0)
	}
	apply := func(x *torch.Tensor) *torch.Tensor {
		stats := f.bool("training") || !f.bool("track_running_stats")
		return one(functional.Call("instance_norm", []any{x, f.t("running_mean"), f.t("running_var"), f.t("weight"), f.t("bias"), stats, momentum, f.self("eps")}, nil))
	}
	if dim == n+1 {
		var made temporaries
		defer made.close()
		return made.add(apply(made.add(x.Unsqueeze(0)))).Squeeze(0)
	}
	return apply(x)
}
