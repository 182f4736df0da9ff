package nn

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// RNNCell is torch.nn.RNNCell(input_size, hidden_size, bias=True,
// nonlinearity='tanh').
type RNNCell struct {
	leaf
	WeightIh, WeightHh, BiasIh, BiasHh *torch.Tensor
}

// NewRNNCell makes an RNNCell.
func NewRNNCell(inputSize, hiddenSize int, options ...Option) *RNNCell {
	return build(new(RNNCell), []any{inputSize, hiddenSize}, options)
}

// Forward returns the next hidden state, [N, H] or [H]. h may be nil for zeros.
func (m *RNNCell) Forward(input, h *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, withState(input, h)...))
}

// GRUCell is torch.nn.GRUCell(input_size, hidden_size, bias=True).
type GRUCell struct {
	leaf
	WeightIh, WeightHh, BiasIh, BiasHh *torch.Tensor
}

// NewGRUCell makes a GRUCell.
func NewGRUCell(inputSize, hiddenSize int, options ...Option) *GRUCell {
	return build(new(GRUCell), []any{inputSize, hiddenSize}, options)
}

// Forward is [RNNCell.Forward].
func (m *GRUCell) Forward(input, h *torch.Tensor) *torch.Tensor {
	return one(run(m, nil, withState(input, h)...))
}

// LSTMCell is torch.nn.LSTMCell(input_size, hidden_size, bias=True).
type LSTMCell struct {
	leaf
	WeightIh, WeightHh, BiasIh, BiasHh *torch.Tensor
}

// NewLSTMCell makes an LSTMCell.
func NewLSTMCell(inputSize, hiddenSize int, options ...Option) *LSTMCell {
	return build(new(LSTMCell), []any{inputSize, hiddenSize}, options)
}

// Forward returns the next hidden and cell states. h and c may both be nil for
// zeros.
func (m *LSTMCell) Forward(input, h, c *torch.Tensor) (hidden, cell *torch.Tensor) {
	return two(run(m, nil, withStates(input, h, c)...))
}

func initCell(b *builder) {
	in, hidden := b.int("input_size"), b.int("hidden_size")
	rows := gates(b.c.Name) * hidden
	b.set("weight_ih", b.empty(rows, in))
	b.set("weight_hh", b.empty(rows, hidden))
	if b.bool("bias") {
		b.set("bias_ih", b.empty(rows))
		b.set("bias_hh", b.empty(rows))
	}
	bound := 0.0
	if hidden > 0 {
		bound = 1 / math.Sqrt(float64(hidden))
	}
	for _, name := range []string{"weight_ih", "weight_hh", "bias_ih", "bias_hh"} {
		uniform(b.tensor(name), bound)
	}
}

func runCell(f *frame) any {
	x := f.in("input")
	n := x.Dim()
	if n != 1 && n != 2 {
		f.fail(ir.ErrValue, "%s: Expected input to be 1D or 2D, got %dD instead", f.c.Name, n)
	}
	count := 1
	if f.c.Name == "LSTMCell" {
		count = 2
	}
	var made temporaries
	defer made.close()
	states := f.tensors("hx", count)
	for i, s := range states {
		if k := s.Dim(); k != 1 && k != 2 {
			what := "hidden"
			if count == 2 {
				what = []string{"hx[0]", "hx[1]"}[i]
			}
			f.fail(ir.ErrValue, "%s: Expected %s to be 1D or 2D, got %dD instead", f.c.Name, what, k)
		}
	}
	alone, stacked := n == 1, false
	if alone {
		x = x.Unsqueeze(0)
		made.add(x)
	}
	if states == nil { // one tensor for all, as in PyTorch
		zeros := torch.Zeros(x.Shape()[0], f.int("hidden_size"), torch.Kw("dtype", x.DType()), torch.Kw("device", x.Device()))
		made.add(zeros)
		states, stacked = []*torch.Tensor{zeros, zeros}, true
	}
	hx := make([]any, count)
	for i := range hx {
		switch {
		case alone && !stacked:
			s := states[i].Unsqueeze(0)
			made.add(s)
			hx[i] = s
		default:
			hx[i] = states[i]
		}
	}
	op := map[string]string{"LSTMCell": "lstm_cell", "GRUCell": "gru_cell", "RNNCell": "rnn_" + f.string("nonlinearity") + "_cell"}[f.c.Name]
	state := hx[0]
	if count == 2 {
		state = hx
	}
	result := must(torch.Call("aten::"+op, x, state, f.t("weight_ih"), f.t("weight_hh"), f.t("bias_ih"), f.t("bias_hh")))
	finish := func(v any) any {
		t := v.(*torch.Tensor)
		if alone {
			full := t
			t = full.Squeeze(0)
			_ = full.Close()
		}
		return t
	}
	if pair, ok := result.(ir.PyTuple); ok {
		return ir.PyTuple{finish(pair[0]), finish(pair[1])}
	}
	return finish(result)
}
