package nn

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// RNN is torch.nn.RNN(input_size, hidden_size, num_layers=1, nonlinearity='tanh',
// bias=True, batch_first=False, dropout=0.0, bidirectional=False).
type RNN struct {
	leaf
	weights held
}

// NewRNN makes an RNN.
func NewRNN(inputSize, hiddenSize int, options ...Option) *RNN {
	return build(new(RNN), []any{inputSize, hiddenSize}, options)
}

// Forward returns the outputs [L, N, D·H] (or [N, L, D·H], or [L, D·H]) and the
// last hidden state. h0 may be nil for zeros.
func (m *RNN) Forward(input, h0 *torch.Tensor) (output, hidden *torch.Tensor) {
	return two(run(m, nil, withState(input, h0)...))
}

// Held yields the parameters with their names.
func (m *RNN) Held() iter.Seq2[string, *torch.Tensor] { return m.weights.all() }

// ExchangeTensors is for tracers; see [Holder].
func (m *RNN) ExchangeTensors(value func(name string, t *torch.Tensor) *torch.Tensor) {
	m.weights.exchange(value)
}

// GRU is torch.nn.GRU; see [RNN] for its arguments.
type GRU struct {
	leaf
	weights held
}

// NewGRU makes a GRU.
func NewGRU(inputSize, hiddenSize int, options ...Option) *GRU {
	return build(new(GRU), []any{inputSize, hiddenSize}, options)
}

// Forward is [RNN.Forward].
func (m *GRU) Forward(input, h0 *torch.Tensor) (output, hidden *torch.Tensor) {
	return two(run(m, nil, withState(input, h0)...))
}

// Held yields the parameters with their names.
func (m *GRU) Held() iter.Seq2[string, *torch.Tensor] { return m.weights.all() }

// ExchangeTensors is for tracers; see [Holder].
func (m *GRU) ExchangeTensors(value func(name string, t *torch.Tensor) *torch.Tensor) {
	m.weights.exchange(value)
}

// LSTM is torch.nn.LSTM; see [RNN] for its arguments, to which proj_size comes.
type LSTM struct {
	leaf
	weights held
}

// NewLSTM makes an LSTM.
func NewLSTM(inputSize, hiddenSize int, options ...Option) *LSTM {
	return build(new(LSTM), []any{inputSize, hiddenSize}, options)
}

// Forward returns the outputs and the last hidden and cell states. h0 and c0 may
// both be nil for zeros.
func (m *LSTM) Forward(input, h0, c0 *torch.Tensor) (output, hidden, cell *torch.Tensor) {
	return unpackLSTM(run(m, nil, withStates(input, h0, c0)...))
}

// Held yields the parameters with their names.
func (m *LSTM) Held() iter.Seq2[string, *torch.Tensor] { return m.weights.all() }

// ExchangeTensors is for tracers; see [Holder].
func (m *LSTM) ExchangeTensors(value func(name string, t *torch.Tensor) *torch.Tensor) {
	m.weights.exchange(value)
}

// unpackLSTM is output, (hidden, cell) = result.
func unpackLSTM(v any) (output, hidden, cell *torch.Tensor) {
	if traced, ok := torch.ValueOf(v); ok {
		output = traced.Index(int64(0)).Tensor()
		hidden, cell = two(traced.Index(int64(1)))
		return output, hidden, cell
	}
	pair, ok := v.(ir.PyTuple)
	if !ok || len(pair) != 2 {
		panic(&torch.Error{Op: "LSTM", Err: ir.Errorf(ir.ErrType, "expected an output and states, got %s", torch.Describe(v))})
	}
	hidden, cell = two(pair[1])
	return one(pair[0]), hidden, cell
}

func withState(input, h *torch.Tensor) []any {
	if h == nil {
		return []any{input}
	}
	return []any{input, h}
}

func withStates(input, h, c *torch.Tensor) []any {
	if h == nil && c == nil {
		return []any{input}
	}
	return []any{input, ir.PyTuple{h, c}}
}

// gates is how many times the hidden size a cell's weights have.
func gates(class string) int {
	switch class[:3] {
	case "LST":
		return 4
	case "GRU":
		return 3
	}
	return 1
}

// initRecurrent makes the weights layer by layer, both directions of each, and
// draws them in that order.
func initRecurrent(b *builder) {
	hidden, count, proj := b.int("hidden_size"), b.int("num_layers"), b.int("proj_size")
	switch {
	case hidden <= 0:
		b.fail(ir.ErrValue, "hidden_size must be greater than zero")
	case count <= 0:
		b.fail(ir.ErrValue, "num_layers must be greater than zero")
	case proj < 0:
		b.fail(ir.ErrValue, "proj_size should be a positive integer or zero to disable projections")
	case proj >= hidden:
		b.fail(ir.ErrValue, "proj_size has to be smaller than hidden_size")
	case proj > 0 && b.c.Name != "LSTM":
		b.fail(ir.ErrValue, "proj_size argument is only supported for LSTM, not RNN or GRU")
	}
	if p := number(b.attr("dropout")); p < 0 || p > 1 {
		b.fail(ir.ErrValue, "dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
	}
	if b.c.Name == "RNN" {
		if n := b.string("nonlinearity"); n != "tanh" && n != "relu" {
			b.fail(ir.ErrValue, "Unknown nonlinearity '%s'. Select from 'tanh' or 'relu'.", n)
		}
	}
	out := hidden
	if proj > 0 {
		out = proj
	}
	directions := []string{""}
	if b.bool("bidirectional") {
		directions = append(directions, "_reverse")
	}
	var weights held
	rows, bound := gates(b.c.Name)*hidden, 1/math.Sqrt(float64(hidden))
	for layer := range count {
		in := b.int("input_size")
		if layer > 0 {
			in = out * len(directions)
		}
		for _, direction := range directions {
			add := func(name string, shape ...int) {
				weights = append(weights, named{fmt.Sprintf("%s_l%d%s", name, layer, direction), b.empty(shape...)})
			}
			add("weight_ih", rows, in)
			add("weight_hh", rows, out)
			if b.bool("bias") {
				add("bias_ih", rows)
				add("bias_hh", rows)
			}
			if proj > 0 {
				add("weight_hr", proj, hidden)
			}
		}
	}
	for _, w := range weights {
		uniform(w.tensor, bound)
	}
	switch m := b.m.(type) {
	case *RNN:
		m.weights = weights
	case *GRU:
		m.weights = weights
	case *LSTM:
		m.weights = weights
	}
}

// recurrent adds the forward methods of the recurrent layers.
func recurrent(bodies map[string]func(f *frame) any) {
	for _, name := range []string{"RNN", "GRU", "LSTM"} {
		bodies[name] = runRecurrent
	}
	for _, name := range []string{"RNNCell", "GRUCell", "LSTMCell"} {
		bodies[name] = runCell
	}
}

func runRecurrent(f *frame) any {
	x := f.in("input")
	n := x.Dim()
	if n != 2 && n != 3 {
		f.fail(ir.ErrValue, "%s: Expected input to be 2D or 3D, got %dD instead", f.c.Name, n)
	}
	batchFirst, batched := f.bool("batch_first"), n == 3
	batchDim := 1
	if batchFirst {
		batchDim = 0
	}
	var made temporaries
	defer made.close()
	if !batched {
		x = x.Unsqueeze(batchDim)
		made.add(x)
	}
	shape := x.Shape()
	if want := f.int("input_size"); shape[2] != want {
		f.fail(ir.ErrRuntime, "input.size(-1) must be equal to input_size. Expected %d, got %d", want, shape[2])
	}
	states := f.states(x, shape[batchDim], batched, &made)
	var weights held
	op := "aten::" + map[string]string{"GRU": "gru", "LSTM": "lstm"}[f.c.Name] + ".input"
	switch m := f.m.(type) {
	case *RNN:
		weights, op = m.weights, "aten::rnn_"+f.string("nonlinearity")+".input"
	case *GRU:
		weights = m.weights
	case *LSTM:
		weights = m.weights
	}
	flat := make([]any, len(weights))
	for i, w := range weights {
		flat[i] = w.tensor
	}
	var hx any = states[0]
	if len(states) > 1 {
		hx = []any{states[0], states[1]}
	}
	results := must(torch.Call(op, x, hx, flat, f.bool("bias"), f.int("num_layers"), f.float("dropout"), f.bool("training"), f.bool("bidirectional"), batchFirst)).(ir.PyTuple)
	if !batched {
		for i, dim := range []int{batchDim, 1, 1}[:len(results)] {
			t := results[i].(*torch.Tensor)
			results[i] = t.Squeeze(dim)
			_ = t.Close()
		}
	}
	if f.c.Name == "LSTM" {
		return ir.PyTuple{results[0], ir.PyTuple{results[1], results[2]}}
	}
	return results
}

// states returns the hidden state, and the cell state of an LSTM, that a run
// starts from, checked.
func (f *frame) states(x *torch.Tensor, batch int, batched bool, made *temporaries) []*torch.Tensor {
	hidden, proj, rows := f.int("hidden_size"), f.int("proj_size"), f.int("num_layers")
	if f.bool("bidirectional") {
		rows *= 2
	}
	widths := []int{hidden}
	if proj > 0 {
		widths[0] = proj
	}
	what := []string{"hidden"}
	if f.c.Name == "LSTM" {
		widths, what = append(widths, hidden), []string{"hidden[0]", "hidden[1]"}
	}
	given := f.tensors("hx", len(widths))
	states := make([]*torch.Tensor, len(widths))
	for i, width := range widths {
		if given == nil {
			states[i] = torch.Zeros(rows, batch, width, torch.Kw("dtype", x.DType()), torch.Kw("device", x.Device()))
			made.add(states[i])
			continue
		}
		states[i] = given[i]
		if want := map[bool]int{true: 3, false: 2}[batched]; given[i].Dim() != want {
			kind := map[bool]string{true: "For batched 3-D input, hx should", false: "For unbatched 2-D input, hx should"}[batched]
			f.fail(ir.ErrRuntime, "%s also be %d-D but got %d-D tensor", kind, want, given[i].Dim())
		}
		if !batched {
			states[i] = given[i].Unsqueeze(1)
			made.add(states[i])
		}
		if s := states[i].Shape(); s[0] != rows || s[1] != batch || s[2] != width {
			f.fail(ir.ErrRuntime, "Expected %s size (%d, %d, %d), got %v", what[i], rows, batch, width, ir.Repr(listOf(s)))
		}
	}
	return states
}

func listOf(shape []int) ir.List {
	items := make([]ir.Arg, len(shape))
	for i, n := range shape {
		items[i] = ir.Int(n)
	}
	return ir.ListOf(items...)
}

// tensors returns an argument that is one tensor or a tuple of n; nil for None.
func (f *frame) tensors(name string, n int) []*torch.Tensor {
	v := f.arg(name)
	if v == nil {
		return nil
	}
	if n == 1 {
		return []*torch.Tensor{one(v)}
	}
	items, _ := v.(ir.PyTuple)
	if list, ok := v.([]any); ok {
		items = list
	}
	if len(items) != n {
		f.fail(ir.ErrType, "%s: expected a tuple of %d tensors as %s, got %s", f.c.Name, n, name, torch.Describe(v))
	}
	out := make([]*torch.Tensor, n)
	for i, item := range items {
		out[i] = one(item)
	}
	return out
}

// temporaries are tensors that a forward made for itself.
type temporaries []*torch.Tensor

func (t *temporaries) add(x *torch.Tensor) *torch.Tensor {
	*t = append(*t, x)
	return x
}

// keep takes the result of the forward out of t and returns it.
func (t *temporaries) keep(x *torch.Tensor) *torch.Tensor {
	*t = slices.DeleteFunc(*t, func(y *torch.Tensor) bool { return y == x })
	return x
}

func (t *temporaries) close() {
	for _, x := range *t {
		_ = x.Close()
	}
}
