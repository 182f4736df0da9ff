package passes

import (
	"fmt"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

var lstmOp = ir.OverloadOf("aten::lstm.input")

// packLSTMs gives the layers of an LSTM to oneDNN with their weights packed, which
// aten::lstm packs again in each call.
func (f *freezer) packLSTMs() error {
	for _, n := range f.graph.Find(ir.CallFunction, lstmOp) {
		l, why := f.lstm(n)
		if why != "" {
			f.kept(n, "%s", why)
			continue
		}
		if err := f.packLSTM(l); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	return nil
}

// An lstmCall is an LSTM that can run on packed weights.
type lstmCall struct {
	node               *ir.Node
	input, hidden, mem ir.Arg
	params             []ir.Arg
	tensors            []*torch.Tensor
	biases             bool
	layers, directions int
	batchFirst         bool
	size               int64   // of the hidden state
	sizes              []int64 // time, batch and features of the input, as noted
	anyTime, anyBatch  bool    // a size of any value, zero too
}

func (f *freezer) lstm(n *ir.Node) (l *lstmCall, why string) {
	args, err := bind(n)
	if err != nil {
		return nil, err.Error()
	}
	l = &lstmCall{node: n, input: args["input"], biases: args["has_biases"] == ir.Bool(true), batchFirst: args["batch_first"] == ir.Bool(true), directions: 1}
	if args["bidirectional"] == ir.Bool(true) {
		l.directions = 2
	}
	if args["train"] != ir.Bool(false) {
		return nil, "it trains"
	}
	layers, ok := args["num_layers"].(ir.Int)
	states, ok2 := args["hx"].(ir.List)
	params, ok3 := args["params"].(ir.List)
	input, ok4 := args["input"].(*ir.Node)
	if !ok || !ok2 || !ok3 || !ok4 || states.Len() != 2 {
		return nil, "its arguments are computed"
	}
	l.layers, l.hidden, l.mem = int(layers), states.At(0), states.At(1)
	each := 2
	if l.biases {
		each = 4
	}
	if params.Len() != l.layers*l.directions*each {
		return nil, "its hidden state is projected"
	}
	for _, p := range params.All() {
		t, ok := f.constant(p)
		if !ok {
			return nil, "a weight is no constant"
		}
		if t.DType() != ir.Float32 || t.Device().Kind() != ir.DeviceCPU {
			return nil, fmt.Sprintf("expected weights of float32 on the CPU, got %s", torch.Describe(t))
		}
		l.params, l.tensors = append(l.params, p), append(l.tensors, t)
	}
	l.size = int64(l.tensors[0].Shape()[0] / 4)
	meta, known := valueOf(input)
	if !known || len(meta.Sizes) != 3 || meta.DType != ir.Float32 {
		return nil, "its input is not noted, or not of float32 and three dimensions"
	}
	dims := slices.Clone(meta.Sizes)
	if l.batchFirst {
		dims[0], dims[1] = dims[1], dims[0]
	}
	for i, s := range dims {
		if s.Hint() == 0 {
			return nil, "its input is empty"
		}
		_, known := s.Known()
		l.anyTime, l.anyBatch = l.anyTime || i == 0 && !known, l.anyBatch || i == 1 && !known
		l.sizes = append(l.sizes, s.Hint())
	}
	for u := range n.Users() {
		if i, ok := u.Arg(1).(ir.Int); u.Func() != getitem || !ok || i < 0 || i > 2 {
			return nil, "its results are not taken one by one"
		}
	}
	return l, ""
}

// packLSTM puts a call for each layer and direction in the place of an LSTM. The
// operator on packed weights takes no empty input. Where the batch has any size it is
// given a row when there is none, which its results are then without; where the
// sequence has any length, that there is one is checked as aten::lstm does.
func (f *freezer) packLSTM(l *lstmCall) error {
	at := l.node
	blank := f.graph.Lookup(at.Name()) // the new nodes' meta: where it came from, not what it is
	var failed error
	call := func(op string, args ...ir.Arg) *ir.Node {
		if failed != nil {
			return at
		}
		n, err := f.call(at, blank, op, args...)
		if failed = err; err != nil {
			return at
		}
		n.Meta().Delete(ir.MetaVal)
		return n
	}
	value := l.input
	plain := func(fn *ir.Func, args ...ir.Arg) ir.Arg {
		restore, err := f.graph.InsertBefore(at)
		if err != nil {
			failed = err
			return at
		}
		defer restore()
		return f.graph.CallFunction(fn, args)
	}
	timeDim, batchDim := ir.Int(0), ir.Int(1)
	if l.batchFirst {
		timeDim, batchDim = 1, 0
	}
	if l.anyTime {
		some := plain(ir.FuncOf("operator.gt"), call("aten::sym_size.int", value, timeDim), ir.Int(0))
		call("aten::_assert_scalar", some, ir.Str("Expected sequence length to be larger than 0 in RNN"))
	}
	var rows, missing ir.Arg
	if l.anyBatch {
		rows = call("aten::sym_size.int", value, batchDim)
		missing = plain(ir.FuncOf("torch.sym_max"), plain(ir.FuncOf("operator.sub"), ir.Int(1), rows), ir.Int(0))
	}
	if l.batchFirst {
		value = call("aten::transpose.int", value, ir.Int(0), ir.Int(1))
	}
	// the operator reads memory as it lies, and arguments need not lie as is noted
	dense := func(v ir.Arg) *ir.Node {
		if l.anyBatch {
			v = call("aten::constant_pad_nd", v, ir.ListOf(ir.Int(0), ir.Int(0), ir.Int(0), missing))
		}
		return call("aten::contiguous", v)
	}
	whole := func(v ir.Arg) ir.Arg {
		if l.anyBatch {
			return call("aten::slice.Tensor", v, ir.Int(1), ir.Int(0), rows)
		}
		return v
	}
	value = dense(value)
	state := func(of ir.Arg, k int) *ir.Node {
		return dense(call("aten::select.int", of, ir.Int(0), ir.Int(k)))
	}
	var hidden, memory []ir.Arg
	for layer := range l.layers {
		var results []ir.Arg
		for direction := range l.directions {
			k := layer*l.directions + direction
			weights, err := f.packedLayer(l, k, direction == 1)
			if err != nil {
				return err
			}
			out := call("aten::mkldnn_rnn_layer", append(append([]ir.Arg{value}, weights...),
				state(l.hidden, k), state(l.mem, k),
				ir.Bool(direction == 1), ir.ListOf(), ir.Int(2), ir.Int(l.size), ir.Int(l.layers), ir.Bool(true), ir.Bool(l.directions == 2), ir.Bool(false), ir.Bool(false))...)
			item := func(i int) ir.Arg { return plain(getitem, out, ir.Int(i)) }
			results, hidden, memory = append(results, item(0)), append(hidden, item(1)), append(memory, item(2))
		}
		value = results[0]
		if l.directions == 2 {
			value = call("aten::cat", ir.ListOf(results...), ir.Int(-1))
		}
	}
	value = whole(value)
	if l.batchFirst {
		value = call("aten::transpose.int", value, ir.Int(0), ir.Int(1))
	}
	states := []ir.Arg{value, whole(call("aten::stack", ir.ListOf(hidden...))), whole(call("aten::stack", ir.ListOf(memory...)))}
	if failed != nil {
		return failed
	}
	for u := range at.Users() {
		made := states[u.Arg(1).(ir.Int)].(*ir.Node)
		made.Meta().CopyFrom(u.Meta())
		if err := f.replace(u, made); err != nil {
			return err
		}
	}
	f.applied(value.(*ir.Node), "%s of %d layers, %d features to %d", l.node, l.layers, l.sizes[2], l.size)
	return f.erase(at)
}

// packedLayer returns reads of the packed weights and of the biases of one layer and
// direction, which oneDNN wants even where there are none.
func (f *freezer) packedLayer(l *lstmCall, k int, reverse bool) ([]ir.Arg, error) {
	each := len(l.params) / (l.layers * l.directions)
	own, names := l.tensors[k*each:], l.params[k*each:]
	sizes := []int64{l.sizes[0], l.sizes[1], int64(own[0].Shape()[1])}
	c := calculator{}
	defer c.close()
	// the operator takes elements to lie one behind the other
	input, hidden := c.call("aten::contiguous", own[0]), c.call("aten::contiguous", own[1])
	if c.err != nil {
		return nil, c.err
	}
	v, err := torch.Call("mkldnn::_reorder_mkldnn_rnn_layer_weight", input, hidden, l.size, reverse, true, false, sizes)
	if err != nil {
		return nil, err
	}
	packed, _ := v.([]any)
	if len(packed) != 2 {
		return nil, ir.Errorf(ir.ErrType, "expected two packed weights, got %T", v)
	}
	var reads []ir.Arg
	for i := range 4 {
		switch {
		case i < 2:
			read, err := f.attribute(l.node, pathOf(names[i])+"_packed", packed[i].(*torch.Tensor))
			if err != nil {
				return nil, err
			}
			reads = append(reads, read)
		case l.biases:
			bias, err := f.dense(l.node, names[i])
			if err != nil {
				return nil, err
			}
			reads = append(reads, bias)
		default:
			zeros, err := tensor("aten::zeros", []int64{4 * l.size})
			if err != nil {
				return nil, err
			}
			read, err := f.attribute(l.node, pathOf(names[0])+"_bias", zeros)
			if err != nil {
				return nil, err
			}
			reads = append(reads, read)
		}
	}
	return reads, nil
}
