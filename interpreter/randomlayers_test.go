package interpreter_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A layerer draws programs of ATen operators as they are saved: layers of one to three
// dimensions in odd orders and with odd arguments, weights that lie in odd ways and are
// read twice, norms that train, values and state that are written.
type layerer struct {
	*programmer
	dtype   ir.DType
	weights []reference
}

func drawLayers(t *rapid.T) *randomProgram {
	p := &layerer{programmer: newProgrammer(t)}
	p.sound = true
	defer p.scope.Close()
	p.dtype = oneOf(p.programmer, ir.Float32, ir.Float32, ir.Float32, ir.Float32, ir.Float32, ir.Float64, ir.BFloat16, ir.Float16)
	shape := oneOf(p.programmer, []int{2, 4, 8, 8}, []int{2, 4, 8, 8}, []int{3, 4, 9}, []int{2, 4, 5, 4, 6}, []int{2, 6, 8}, []int{3, 8})
	in := randomInput{dtype: p.dtype, shape: shape, seed: uint64(p.n(1 << 16)), smooth: true, form: oneOf(p.programmer, dense, dense, dense, transposed, sliced)}
	p.program.inputs = []randomInput{in}
	if p.n(4) == 0 {
		in.seed++
		in.form = oneOf(p.programmer, dense, aliasing)
		p.program.inputs = append(p.program.inputs, in)
	}
	for i, v := range makeInputs(p.program.inputs) {
		p.have(p.g.Placeholder(fmt.Sprintf("x%d", i)), v)
	}
	for range 2 + p.n(9) {
		p.layer()
	}
	return p.finish()
}

// parameter is a weight of sizes: a new one, one that was read before, or the same read
// again.
func (p *layerer) parameter(over float64, shape ...int) reference {
	if over == 0 && p.n(4) == 0 {
		for _, w := range p.weights {
			if slices.Equal(p.shape(w), shape) {
				if p.coin() {
					return w
				}
				p.have(p.g.GetAttr(p.nodes[w].Target().String()), p.values[w])
				return p.last()
			}
		}
	}
	in := randomInput{dtype: p.dtype, shape: shape, seed: uint64(p.n(1 << 16)), smooth: true, over: over, form: oneOf(p.programmer, dense, dense, dense, dense, transposed, sliced)}
	p.have(p.g.GetAttr(fmt.Sprintf("a%d", len(p.program.attrs))), in.make(nil))
	p.program.attrs = append(p.program.attrs, in)
	if over == 0 {
		p.weights = append(p.weights, p.last())
	}
	return p.last()
}

func (p *layerer) maybe(shape ...int) any {
	if p.n(3) == 0 {
		return nil
	}
	return p.parameter(0, shape...)
}

func (p *layerer) layer() {
	x, _ := p.pick(func(v any) bool {
		t, ok := v.(*torch.Tensor)
		return ok && t.Dim() >= 2 && t.Numel() > 0 && t.DType() == p.dtype && !p.isWeight(v)
	})
	s := p.shape(x)
	if k := p.n(20); len(s) >= 3 && k < 9 {
		p.spatial(x, s)
		return
	}
	width := s[len(s)-1]
	switch p.n(17) {
	case 0, 1, 2:
		out := oneOf(p.programmer, width, 8, 5, 1)
		for range oneOf(p.programmer, 1, 1, 2, 3) {
			switch p.n(4) {
			case 0:
				if len(s) == 2 {
					p.call("aten::t", p.parameter(0, out, width))
					p.call("aten::addmm", p.parameter(0, out), x, reference(len(p.values)-1-1))
					continue
				}
				fallthrough
			default:
				p.call("aten::linear", x, p.parameter(0, out, width), p.maybe(out))
			}
			if p.coin() {
				p.activate(p.last())
			}
		}
	case 3:
		p.call("aten::layer_norm", x, []any{width}, p.maybe(width), p.maybe(width), 0.1)
	case 4:
		if len(s) >= 3 {
			p.call("aten::layer_norm", x, []any{s[len(s)-2], width}, p.maybe(s[len(s)-2], width), 0.1)
		}
	case 5:
		p.call(oneOf(p.programmer, "aten::softmax.int", "aten::log_softmax.int"), x, oneOf(p.programmer, -1, 1, 0))
	case 6:
		p.attend(x, s, width)
	case 7, 8:
		p.join(x)
	case 9, 10:
		p.activate(x)
	case 11:
		p.write(x, width)
	case 12:
		p.norm(x, s)
	case 13:
		p.call(oneOf(p.programmer, "aten::contiguous", "aten::clone", "aten::alias", "aten::detach"), x)
	case 14:
		p.call("aten::dropout", x, 0.5, false)
	case 15:
		p.recur(x, s)
	case 16:
		switch p.n(4) {
		case 0:
			p.call("aten::transpose.int", x, -1, -2)
		case 1:
			p.call("aten::flatten.using_ints", x, 1, -1)
		case 2:
			p.call("aten::slice.Tensor", x, -1, 0, max(width-1, 1))
		case 3:
			p.call("aten::mean.dim", x, []any{-1}, true)
		}
	}
}

func (p *layerer) each(dims int, choices ...int) []any {
	list := make([]any, dims)
	for i := range list {
		list[i] = oneOf(p.programmer, choices...)
	}
	return list
}

func (p *layerer) spatial(x reference, s []int) {
	dims, channels := len(s)-2, s[1]
	if dims > 3 {
		return
	}
	k := make([]int, dims)
	for i := range k {
		k[i] = oneOf(p.programmer, 1, 2, 3)
	}
	groups := 1
	if p.n(3) == 0 && channels > 1 {
		groups = oneOf(p.programmer, channels, channels, 2)
		if channels%groups != 0 {
			groups = 1
		}
	}
	out := groups * oneOf(p.programmer, 1, 1, 2, 3)
	if groups == 1 {
		out = oneOf(p.programmer, channels, 8, 1, 16)
	}
	switch p.n(8) {
	case 0, 1, 2, 3:
		weight, bias := p.parameter(0, append([]int{out, channels / groups}, k...)...), p.maybe(out)
		name := fmt.Sprintf("aten::conv%dd", dims)
		var ok bool
		switch p.n(4) {
		case 0:
			ok = p.call(name+".padding", x, weight, bias, p.each(dims, 1), oneOf(p.programmer, "same", "valid"), p.each(dims, 1, 1, 2), groups)
		case 1:
			ok = p.call("aten::convolution", x, weight, bias, p.each(dims, 1, 2), p.each(dims, 0, 1), p.each(dims, 1, 2), false, p.each(dims, 0), groups)
		default:
			ok = p.call(name, x, weight, bias, p.each(dims, 1, 1, 2), p.each(dims, 0, 1, 2), p.each(dims, 1, 1, 2), groups)
		}
		if ok && p.coin() {
			p.norm(p.last(), p.shape(p.last()))
		}
		if ok && p.coin() {
			p.activate(p.last())
		}
	case 4:
		name := fmt.Sprintf("aten::conv_transpose%dd.input", dims)
		if dims == 1 {
			name = "aten::conv_transpose1d"
		}
		strides := p.each(dims, 1, 2, 3)
		more := p.each(dims, 0, 0, 1)
		p.call(name, x, p.parameter(0, append([]int{channels, out / groups}, k...)...), p.maybe(out/groups*groups), strides, p.each(dims, 0, 1), more, groups, p.each(dims, 1, 1, 2))
	case 5:
		name := oneOf(p.programmer, "max_pool", "avg_pool", "adaptive_avg_pool")
		args := []any{x, p.each(dims, 1, 2, 3)}
		if name != "adaptive_avg_pool" {
			args = append(args, p.each(dims, 1, 2), p.each(dims, 0, 0, 1))
			if name == "max_pool" {
				args = append(args, p.each(dims, 1, 2), p.coin())
			} else {
				args = append(args, p.coin(), p.coin())
			}
		}
		p.call(fmt.Sprintf("aten::%s%dd", name, dims), args...)
	case 6:
		pads := make([]any, 2*dims)
		for i := range pads {
			pads[i] = p.n(3)
		}
		p.call("aten::pad", x, pads, oneOf(p.programmer, "constant", "reflect", "replicate", "circular"))
	case 7:
		p.norm(x, s)
		if p.coin() {
			p.call(fmt.Sprintf("aten::conv%dd", dims), p.last(), p.parameter(0, append([]int{out, channels / groups}, k...)...), p.maybe(out), p.each(dims, 1), p.each(dims, 0, 0, 1), p.each(dims, 1), groups)
		}
	}
}

func (p *layerer) norm(x reference, s []int) {
	if len(s) < 2 {
		return
	}
	c := s[1]
	switch p.n(7) {
	case 0: // trains, with statistics and without
		mean, variance := p.parameter(0, c), p.parameter(0.5, c)
		if p.coin() {
			p.call("aten::batch_norm", x, p.maybe(c), p.maybe(c), mean, variance, true, 0.1, 0.1, true)
		} else {
			p.call("aten::batch_norm", x, p.maybe(c), p.maybe(c), nil, nil, true, 0.1, 0.1, true)
		}
	case 1:
		p.call("aten::group_norm", x, oneOf(p.programmer, 1, c), p.maybe(c), p.maybe(c), 0.1)
	case 2:
		p.call("aten::instance_norm", x, p.maybe(c), p.maybe(c), nil, nil, true, 0.1, 0.1, true)
	case 3:
		if p.call("aten::_native_batch_norm_legit_no_training", x, p.parameter(0, c), p.parameter(0, c), p.parameter(0, c), p.parameter(0.5, c), 0.1, 1e-5) {
			p.call("operator.getitem", p.last(), 0)
		}
	default:
		p.call("aten::batch_norm", x, p.maybe(c), p.maybe(c), p.parameter(0, c), p.parameter(0.5, c), false, 0.1, 1e-5, true)
	}
}

func (p *layerer) activate(x reference) {
	switch p.n(16) {
	case 0, 1:
		p.call("aten::relu", x)
	case 2, 3:
		p.call("aten::relu_", x)
	case 4:
		p.call(oneOf(p.programmer, "aten::silu", "aten::hardswish", "aten::sigmoid", "aten::tanh", "aten::hardsigmoid", "aten::mish", "aten::relu6"), x)
	case 5:
		p.call("aten::gelu", x)
	case 6:
		p.call(oneOf(p.programmer, "aten::hardtanh", "aten::hardtanh_"), x, -0.5, oneOf(p.programmer, 0.5, 6.0))
	case 7:
		p.call(oneOf(p.programmer, "aten::leaky_relu", "aten::leaky_relu_"), x, oneOf(p.programmer, 0.2, -0.5, 1.5))
	case 8:
		p.call("aten::clamp", x, oneOf[any](p.programmer, nil, 0.0, 1), oneOf[any](p.programmer, 0.5, 6, 1e-3))
	case 9:
		p.call("aten::elu", x, oneOf(p.programmer, 1.0, 0.3), 1, oneOf(p.programmer, 1, 2))
	case 10:
		if p.call("aten::sigmoid", x) {
			p.call("aten::mul.Tensor", x, p.last())
		}
	case 11:
		if p.call("aten::add.Tensor", x, 3) && p.call("aten::hardtanh", p.last(), 0, 6) {
			p.call("aten::mul.Tensor", x, p.last())
			p.call("aten::div.Tensor", p.last(), 6)
		}
	case 12:
		if p.chain(x, []any{"aten::div.Tensor", 1.4142135623730951}, []any{"aten::erf"}, []any{"aten::add.Tensor", 1}) {
			erf := p.last()
			p.call("aten::mul.Tensor", x, 0.5)
			p.call("aten::mul.Tensor", p.last(), erf)
		}
	case 13:
		p.call(oneOf(p.programmer, "aten::abs", "aten::square", "aten::exp", "aten::neg"), x)
		p.call("aten::tanh", p.last())
	case 14:
		p.call(oneOf(p.programmer, "aten::clamp_min", "aten::clamp_max"), x, 0.25)
	case 15:
		p.call(oneOf(p.programmer, "aten::mul.Tensor", "aten::add.Tensor", "aten::sub.Tensor", "aten::div.Tensor"), x, oneOf[any](p.programmer, 2, 0.5))
	}
}

// write writes a value, a view of one, or state.
func (p *layerer) write(x reference, width int) {
	switch p.n(7) {
	case 0:
		p.call("aten::mul_.Tensor", x, 0.5)
	case 1:
		if p.call("aten::slice.Tensor", x, -1, 0, max(width-1, 1)) {
			p.call(oneOf(p.programmer, "aten::relu_", "aten::tanh_", "aten::zero_", "aten::neg_"), p.last())
		}
	case 2:
		if p.call("aten::transpose.int", x, 0, -1) {
			p.call(oneOf(p.programmer, "aten::relu_", "aten::sigmoid_", "aten::abs_"), p.last())
		}
	case 3:
		if len(p.weights) > 0 {
			p.call(oneOf(p.programmer, "aten::mul_.Tensor", "aten::add_.Tensor"), oneOf(p.programmer, p.weights...), 0.5)
		}
	case 4:
		p.call(oneOf(p.programmer, "aten::gt_.Scalar", "aten::cumsum_", "aten::fill_.Scalar"), x, oneOf(p.programmer, 0, -1))
	case 5:
		y, ok := p.pick(func(v any) bool {
			t, ok := v.(*torch.Tensor)
			return ok && slices.Equal(t.Shape(), p.shape(x))
		})
		if ok {
			p.call(oneOf(p.programmer, "aten::copy_", "aten::add_.Tensor", "aten::mul_.Tensor"), x, y)
		}
	case 6:
		p.call("aten::masked_fill_.Scalar", x, p.madeMask(x), 0.5)
	}
}

func (p *layerer) madeMask(x reference) reference {
	p.call("aten::gt.Scalar", x, 0.25)
	return p.last()
}

// join joins a value to another of its sizes, or that broadcasts.
func (p *layerer) join(x reference) {
	y, _ := p.pick(func(v any) bool {
		t, ok := v.(*torch.Tensor)
		return ok && fmt.Sprint(t.Shape()) == fmt.Sprint(p.shape(x)) && t.DType() == p.dtype
	})
	switch p.n(8) {
	case 0:
		p.call("aten::cat", []any{x, y}, oneOf(p.programmer, 1, -1, 0))
	case 1:
		p.call("aten::add_.Tensor", x, y)
	case 2:
		p.call("aten::mul.Tensor", y, x)
	case 3:
		s := slices.Clone(p.shape(x))
		for i := range s {
			if p.coin() {
				s[i] = 1
			}
		}
		p.call(oneOf(p.programmer, "aten::add.Tensor", "aten::mul.Tensor", "aten::sub.Tensor"), x, p.parameter(0, s...))
	default:
		p.call("aten::add.Tensor", x, y)
	}
	if p.n(3) == 0 {
		p.call("aten::relu", p.last())
	}
}

func (p *layerer) attend(x reference, s []int, width int) {
	if len(s) < 3 || len(s) > 4 {
		return
	}
	var qkv [3]reference
	for i := range qkv {
		if !p.call("aten::linear", x, p.parameter(0, width, width), p.maybe(width)) {
			return
		}
		qkv[i] = p.last()
	}
	if p.n(4) == 0 {
		p.call("aten::scaled_dot_product_attention", qkv[0], qkv[1], qkv[2], nil, 0.0, p.coin())
		return
	}
	if !p.call("aten::transpose.int", qkv[1], -1, -2) || !p.call("aten::matmul", qkv[0], p.last()) {
		return
	}
	scores := p.last()
	if p.coin() {
		p.call(oneOf(p.programmer, "aten::div.Tensor", "aten::mul.Tensor"), scores, 0.35)
		scores = p.last()
	}
	rows := s[len(s)-2]
	if p.n(3) == 0 && p.call("aten::add.Tensor", scores, p.parameter(0, oneOf(p.programmer, []int{rows, rows}, []int{1, rows}, []int{rows})...)) {
		scores = p.last()
	}
	if p.n(4) == 0 {
		p.write(qkv[2], width)
	}
	if p.call("aten::softmax.int", scores, -1) {
		p.call("aten::matmul", p.last(), qkv[2])
	}
}

func (p *layerer) recur(x reference, s []int) {
	if len(s) != 3 || s[2] < 4 {
		return
	}
	batchFirst := p.coin()
	hidden, directions, layers := oneOf(p.programmer, 4, 3), oneOf(p.programmer, 1, 1, 2), oneOf(p.programmer, 1, 2)
	biases := p.coin()
	var params []any
	width := s[2]
	for range layers {
		for range directions {
			params = append(params, p.parameter(0, 4*hidden, width), p.parameter(0, 4*hidden, hidden))
			if biases {
				params = append(params, p.parameter(0, 4*hidden), p.parameter(0, 4*hidden))
			}
		}
		width = hidden * directions
	}
	// of the batch that the input has in each run: the operator believes that it is
	time := 0
	if batchFirst {
		time = 1
	}
	if !p.chain(x, []any{"aten::select.int", time, 0}, []any{"aten::slice.Tensor", 1, 0, hidden}, []any{"aten::unsqueeze", 0}, []any{"aten::repeat", []any{layers * directions, 1, 1}}) {
		return
	}
	state := p.last()
	if p.call("aten::lstm.input", x, []any{state, state}, params, biases, layers, 0.0, false, directions == 2, batchFirst) {
		p.call("operator.getitem", p.last(), 0)
	}
}

// Plans of random layers that Freeze has rewritten, by all that it knows, by one rewrite or by
// two, give what the Interpreter does of the program as it was within the tolerance of the
// report: results and their strides, what is written, and who shares memory with whom. Batches
// are of any size where the program lets them.
//
// A long run: go test ./interpreter -run FrozenPlansOfRandomLayers -rapid.checks 5000
func TestFrozenPlansOfRandomLayers(t *testing.T) {
	needLibtorch(t)
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, torch.ManualSeed(0))
		p := drawLayers(t)
		draw := &programmer{t: t}
		model, ours := p.module(), p.module()
		anyBatch := draw.coin()
		noteValues(t, ours, p.inputs, anyBatch)
		frozen, err := passes.Freeze(t.Context(), ours, drawRewrites(draw)...)
		if err != nil {
			_, failed := interpreter.New(model).Run(t.Context(), makeInputs(p.inputs)...)
			require.Error(t, failed, "freeze fails: %v\n%s", err, p.graph)
			return
		}
		defer frozen.Close()
		plan, err := interpreter.Compile(frozen.Module)
		require.NoError(t, err, "%s", frozen.Module.Graph())
		defer plan.Close()
		// of weights that lie otherwise results may, other than a run without elements tells
		dense := !slices.ContainsFunc(p.attrs, func(in randomInput) bool { return in.form != dense })
		for run := range 5 {
			inputs := slices.Clone(p.inputs)
			if anyBatch && run > 2 {
				for i := range inputs {
					inputs[i].shape = slices.Clone(inputs[i].shape)
					inputs[i].shape[0] = []int{1, 5}[run-3]
				}
			}
			for i := range inputs {
				inputs[i].seed += uint64(run)
				if run == 2 && inputs[i].form == 0 {
					inputs[i].form = transposed
				}
			}
			a, b := makeInputs(inputs), makeInputs(inputs)
			want, err := interpreter.New(model).Run(t.Context(), a...)
			if err != nil {
				return
			}
			got, err := plan.Run(t.Context(), b...)
			said := fmt.Sprintf("run %d of %+v, attributes %+v\n%s\n%s\n%s", run, inputs, p.attrs, p.graph, frozen.Report, frozen.Module.Graph())
			require.NoError(t, err, said)
			everything := func(gm *ir.GraphModule, out any, in []any) (all []any) {
				all = append(append(all, out), in...)
				for i := range p.attrs {
					if v, ok := gm.Attr(fmt.Sprintf("a%d", i)); ok {
						all = append(all, v)
					}
				}
				return all
			}
			w, g := everything(model, want, a), everything(ours, got, b)
			within(t, w, g, frozen.Report.Tolerance(), 0.1, run != 2 && dense, said)
			require.Equal(t, sharing(w), sharing(g), said)
			closeResult(want)
			closeResult(got)
		}
	})
}

// drawRewrites draws which rewrites Freeze makes.
func drawRewrites(p *programmer) []passes.FreezeOption {
	opts := []passes.FreezeOption{passes.WithChoices(passes.Unmeasured())}
	if p.n(3) > 0 {
		opts = append(opts, passes.FreezeDelegate(nil))
	}
	var names []string
	for _, r := range passes.Rewrites() {
		if r.Device != "cuda" && !r.Off {
			names = append(names, r.Name)
		}
	}
	switch p.n(4) {
	case 0:
		opts = append(opts, passes.OnlyRewrites(oneOf(p, names...)))
	case 1:
		opts = append(opts, passes.OnlyRewrites(oneOf(p, names...), oneOf(p, names...)))
	case 2:
		opts = append(opts, passes.WithoutRewrites(oneOf(p, names...)))
	}
	return opts
}

// noteValues notes what a program's values are, where the first dimension of its inputs has
// any size if that is said.
func noteValues(t *rapid.T, gm *ir.GraphModule, inputs []randomInput, anyBatch bool) {
	args := makeInputs(inputs)
	for i, n := range gm.Graph().Find(ir.Placeholder, nil) {
		x := args[i].(*torch.Tensor)
		meta := ir.TensorMeta{DType: x.DType(), Device: x.Device(), Layout: x.Layout(), StorageOffset: ir.SizeOf(int64(x.StorageOffset()))}
		for d, s := range x.Shape() {
			size := ir.SizeOf(int64(s))
			if d == 0 && anyBatch {
				size = ir.SymbolicSize(ir.SymbolExpr("s0"), int64(s))
			}
			meta.Sizes = append(meta.Sizes, size)
			meta.Strides = append(meta.Strides, ir.SizeOf(int64(x.Strides()[d])))
		}
		n.Meta().Set(ir.MetaVal, meta)
	}
	passes.RefreshValues(t.Context(), gm, nil)
}

// sharing tells which tensors share memory.
func sharing(v any) (pairs [][2]int) {
	var tensors []*torch.Tensor
	eachLeaf(v, func(leaf any) {
		if x, ok := leaf.(*torch.Tensor); ok && x.Numel() > 0 {
			tensors = append(tensors, x)
		}
	})
	for i := range tensors {
		for k := range i {
			if shares(tensors[i], tensors[k]) {
				pairs = append(pairs, [2]int{k, i})
			}
		}
	}
	return pairs
}
