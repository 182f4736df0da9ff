package nn

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn/functional"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// AdaptiveLogSoftmaxWithLoss is torch.nn.AdaptiveLogSoftmaxWithLoss(in_features,
// n_classes, cutoffs, div_value=4.0, head_bias=False): a softmax over many
// classes, the rare ones in clusters.
type AdaptiveLogSoftmaxWithLoss struct {
	leaf
	Head *Linear
	Tail *ModuleList
}

// NewAdaptiveLogSoftmaxWithLoss makes the layer.
func NewAdaptiveLogSoftmaxWithLoss(inFeatures, nClasses int, cutoffs []int, options ...Option) *AdaptiveLogSoftmaxWithLoss {
	return build(new(AdaptiveLogSoftmaxWithLoss), []any{inFeatures, nClasses, cutoffs}, options)
}

// Forward returns the log probability of each target, [N] or [], and the loss.
func (m *AdaptiveLogSoftmaxWithLoss) Forward(input, target *torch.Tensor) (output, loss *torch.Tensor) {
	return two(run(m, nil, input, target))
}

func initAdaptive(b *builder) {
	m := b.m.(*AdaptiveLogSoftmaxWithLoss)
	cutoffs, classes := b.ints("cutoffs"), b.int("n_classes")
	if len(cutoffs) == 0 {
		b.fail(ir.ErrValue, "cutoffs should be a sequence of length larger than 0")
	}
	for i, c := range cutoffs {
		if c <= 0 || c > classes-1 || i > 0 && c <= cutoffs[i-1] {
			b.fail(ir.ErrValue, "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and n_classes-1")
		}
	}
	in, clusters := b.int("in_features"), len(cutoffs)
	cutoffs = append(cutoffs, classes)
	m.Head = NewLinear(in, cutoffs[0]+clusters, append(append([]Option(nil), b.factory...), WithBias(b.bool("head_bias")))...)
	m.Tail = NewModuleList()
	options := append(append([]Option(nil), b.factory...), WithBias(false))
	for i := range clusters {
		hidden := int(math.Floor(float64(in) / math.Pow(number(b.attr("div_value")), float64(i+1))))
		m.Tail.Append(NewSequential(NewLinear(in, hidden, options...), NewLinear(hidden, cutoffs[i+1]-cutoffs[i], options...)))
	}
}

func adaptiveLoss(f *frame) any {
	m := f.m.(*AdaptiveLogSoftmaxWithLoss)
	x, y := f.in("input_"), f.in("target_")
	var made temporaries
	defer made.close()
	op := func(name string, args ...any) *torch.Tensor { return made.add(call(name, args...)) }
	switch n := y.Dim(); {
	case n > 1:
		f.fail(ir.ErrRuntime, "0D or 1D target tensor expected, multi-target not supported")
	case n == 1 && x.Dim() != 2:
		f.fail(ir.ErrRuntime, "1D target tensor expects 2D input tensors, but found inputs with size %s", sizes(x))
	case n == 0 && x.Dim() != 1:
		f.fail(ir.ErrRuntime, "0D target tensor expects 1D input tensors, but found inputs with size %s", sizes(x))
	case n == 1 && x.Shape()[0] != y.Shape()[0]:
		f.fail(ir.ErrRuntime, "Input and target should have the same size in the batch dimension.")
	}
	alone := y.Dim() == 0
	if alone {
		x, y = made.add(x.Unsqueeze(0)), made.add(y.Unsqueeze(0))
	}
	batch := y.Shape()[0]
	output := op("aten::zeros", []int{batch}, torch.Kw("dtype", x.DType()), torch.Kw("device", x.Device()))
	gather := op("aten::empty.memory_format", []int{batch}, torch.Kw("dtype", y.DType()), torch.Kw("device", y.Device()))
	cutoffs := append([]int{0}, append(f.ints("cutoffs"), f.int("n_classes"))...)
	used := 0
	for i := range len(cutoffs) - 1 {
		low, high := cutoffs[i], cutoffs[i+1]
		mask := op("aten::__and__.Tensor", op("aten::ge.Scalar", y, low), op("aten::lt.Scalar", y, high))
		rows := op("aten::squeeze", op("aten::nonzero", mask))
		count := rows.Numel()
		if count == 0 {
			continue
		}
		used += count
		mine := op("aten::index.Tensor", y, []any{mask})
		if i == 0 {
			op("aten::index_copy_", gather, 0, rows, mine)
			continue
		}
		relative := op("aten::sub.Tensor", mine, low)
		cluster := op("aten::index_select", x, 0, rows)
		for _, l := range m.Tail.At(i - 1).(*Sequential).All() {
			cluster = made.add(Call(l, cluster))
		}
		op("aten::index_fill_.int_Scalar", gather, 0, rows, cutoffs[1]+i-1)
		log := made.add(one(functional.Call("log_softmax", []any{cluster}, []torch.Kwarg{torch.Kw("dim", 1)})))
		local := op("aten::gather", log, 1, op("aten::unsqueeze", relative, 1))
		op("aten::index_copy_", output, 0, rows, op("aten::squeeze.dim", local, 1))
	}
	if used != batch {
		low, high := must(op("aten::min", y).Item()), must(op("aten::max", y).Item())
		f.fail(ir.ErrRuntime, "Target values should be in [0, %d], but values in range [%v, %v] were found. ", f.int("n_classes")-1, low, high)
	}
	head := made.add(one(functional.Call("log_softmax", []any{made.add(m.Head.Forward(x))}, []torch.Kwarg{torch.Kw("dim", 1)})))
	picked := op("aten::squeeze", op("aten::gather", head, 1, op("aten::unsqueeze", gather, 1)))
	op("aten::add_.Tensor", output, picked)
	loss := call("aten::mean", op("aten::neg", output))
	if alone {
		return ir.PyTuple{call("aten::squeeze.dim", output, 0), loss}
	}
	return ir.PyTuple{made.keep(output), loss}
}

// LinearCrossEntropyLoss is torch.nn.LinearCrossEntropyLoss(in_features,
// num_classes, out_features=(), bias=False, reduction='mean', weight=None,
// ignore_index=None, label_smoothing=0.0): a linear layer and the cross entropy
// of what it returns. The chunked form that PyTorch's options select is not
// there.
type LinearCrossEntropyLoss struct {
	leaf
	Weight *torch.Tensor `nn:",buffer"`
	Linear *Linear
}

// NewLinearCrossEntropyLoss makes the loss.
func NewLinearCrossEntropyLoss(inFeatures, numClasses int, options ...Option) *LinearCrossEntropyLoss {
	return build(new(LinearCrossEntropyLoss), []any{inFeatures, numClasses}, options)
}

// Forward returns the loss of input, [N, in_features] or [in_features].
func (m *LinearCrossEntropyLoss) Forward(input, target *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, input, target))
}

func initLinearLoss(b *builder) {
	m, classes := b.m.(*LinearCrossEntropyLoss), b.int("num_classes")
	if w := m.Weight; w != nil && (w.Dim() != 1 || w.Numel() != classes) {
		b.fail(ir.ErrRuntime, "expected weight shape to be (%d,), got %s", classes, ir.Repr(listOf(w.Shape())))
	}
	if s := number(b.attr("label_smoothing")); s < 0 || s > 1 {
		b.fail(ir.ErrRuntime, "expected label_smoothing to be in range [0, 1], got %s", ir.Repr(b.attr("label_smoothing").(ir.Arg)))
	}
	out := classes * product(b.ints("out_features"))
	m.Linear = NewLinear(b.int("in_features"), out, b.layerOptions("bias")...)
}

func linearLoss(f *frame) any {
	m := f.m.(*LinearCrossEntropyLoss)
	shape := append([]int{f.int("num_classes")}, f.ints("out_features")...)
	reshape := func(t *torch.Tensor, to []int) *torch.Tensor {
		items := make([]ir.Arg, len(to))
		for i, n := range to {
			items[i] = ir.Int(n)
		}
		return one(torch.Dispatch(ir.CallMethod, "reshape", []any{t, ir.TupleOf(items...)}, nil))
	}
	var made temporaries
	defer made.close()
	weight := made.add(reshape(Read(m.Linear.Weight), append(append([]int(nil), shape...), f.int("in_features"))))
	var bias *torch.Tensor
	if m.Linear.Bias != nil {
		bias = made.add(reshape(Read(m.Linear.Bias), shape))
	}
	return functional.Call("linear_cross_entropy", []any{f.in("input"), weight, f.in("target")}, []torch.Kwarg{
		torch.Kw("linear_bias", bias), torch.Kw("weight", f.t("weight")), torch.Kw("reduction", f.self("reduction")),
		torch.Kw("ignore_index", f.self("ignore_index")), torch.Kw("label_smoothing", f.self("label_smoothing")), torch.Kw("options", f.self("options")),
	})
}
