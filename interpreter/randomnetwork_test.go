package interpreter_test

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// drawNetwork draws a network of the layers that Freeze looks for, on images or on rows,
// with shortcuts between them and activations that are written out or in place.
func drawNetwork(t *rapid.T) *randomProgram {
	p := newProgrammer(t)
	p.sound = true
	defer p.scope.Close()
	in := randomInput{dtype: ir.Float32, shape: oneOf(p, []int{2, 4, 8, 8}, []int{1, 8, 5, 7}, []int{2, 6, 8}, []int{3, 8}, []int{1, 3, 16}), seed: uint64(p.n(1 << 16)), smooth: true}
	in.form = oneOf(p, dense, dense, transposed, sliced)
	p.program.inputs = []randomInput{in}
	for i, v := range makeInputs(p.program.inputs) {
		p.have(p.g.Placeholder(fmt.Sprintf("x%d", i)), v)
	}
	for range 2 + p.n(10) {
		p.layer()
	}
	return p.finish()
}

// weight is a new attribute.
func (p *programmer) weight(shape ...int) reference { return p.weightOver(0, shape...) }

func (p *programmer) weightOver(over float64, shape ...int) reference {
	in := randomInput{dtype: ir.Float32, shape: shape, seed: uint64(p.n(1 << 16)), smooth: true, over: over}
	p.have(p.g.GetAttr(fmt.Sprintf("a%d", len(p.program.attrs))), in.make(nil))
	p.program.attrs = append(p.program.attrs, in)
	return reference(len(p.values) - 1)
}

// bias is a weight or none.
func (p *programmer) bias(n int) any {
	if p.n(3) == 0 {
		return nil
	}
	return p.weight(n)
}

// last is the value that was made last.
func (p *programmer) last() reference { return reference(len(p.values) - 1) }

// chain makes calls each of which takes the result of the one before as its first.
func (p *programmer) chain(x reference, calls ...[]any) bool {
	for _, c := range calls {
		if !p.call(c[0].(string), append([]any{x}, c[1:]...)...) {
			return false
		}
		x = p.last()
	}
	return true
}

func (p *programmer) shape(x reference) []int { return p.values[x].(*torch.Tensor).Shape() }

// layer appends a layer to a late value.
func (p *programmer) layer() {
	x, _ := p.pick(func(v any) bool {
		t, ok := v.(*torch.Tensor)
		return ok && t.Dim() >= 2 && t.Numel() > 0 && !p.isWeight(v)
	})
	s := p.shape(x)
	if len(s) == 4 && p.n(3) > 0 {
		p.imageLayer(x, s)
		return
	}
	width := s[len(s)-1]
	switch p.n(9) {
	case 0, 1, 2:
		out := oneOf(p, width, 8, 5)
		for range oneOf(p, 1, 1, 1, 2, 3) { // of one input
			p.call("torch.nn.functional.linear", x, p.weight(out, width), p.bias(out))
		}
	case 3:
		p.call("torch.layer_norm", x, []any{width}, p.weight(width), p.weight(width))
	case 4: // the same, written out
		before := len(p.values)
		p.call("torch.mean", x, -1, true)
		p.call("torch.sub", x, p.last())
		centred := p.last()
		if p.chain(centred, []any{"torch.pow", 2}, []any{"torch.mean", -1, true}, []any{"torch.add", 1e-5}, []any{"torch.sqrt"}) {
			p.call("torch.div", centred, p.last())
			p.chain(p.last(), []any{"torch.mul", p.weight(width)}, []any{"torch.add", p.weight(width)})
		}
		// what lies between is not for others: the mean of centred values is 0 but for rounding
		p.nodes, p.values = append(p.nodes[:before], p.nodes[p.last()]), append(p.values[:before], p.values[p.last()])
	case 5:
		p.call("torch.softmax", x, -1)
	case 6:
		p.attention(x, s, width)
	case 7:
		p.shortcut(x)
	case 8:
		p.activation(x)
	}
}

func (p *programmer) imageLayer(x reference, s []int) {
	channels := s[1]
	switch p.n(8) {
	case 0, 1, 2:
		groups := 1
		out := oneOf(p, channels, 8, 16)
		if p.n(4) == 3 {
			groups, out = channels, channels
		}
		k := oneOf(p, 1, 3)
		p.call("torch.conv2d", x, p.weight(out, channels/groups, k, k), p.bias(out), oneOf(p, 1, 1, 2), k/2, 1, groups)
		if p.coin() {
			p.norm(p.last(), out)
		}
		if p.coin() {
			p.activation(p.last())
		}
	case 3:
		p.norm(x, channels)
		if p.coin() {
			p.call("torch.conv2d", p.last(), p.weight(8, channels, 1, 1), p.bias(8))
		}
	case 4:
		p.call(oneOf(p, "torch.max_pool2d", "torch.nn.functional.avg_pool2d"), x, 2, oneOf(p, 1, 2))
	case 5:
		p.call("torch.conv_transpose2d", x, p.weight(channels, 4, 2, 2), p.bias(4), oneOf(p, 1, 2))
	case 6:
		if p.call("torch.nn.functional.adaptive_avg_pool2d", x, 1) {
			p.call("torch.flatten", p.last(), 1)
		}
	case 7:
		p.shortcut(x)
	}
}

func (p *programmer) norm(x reference, channels int) {
	if len(p.shape(x)) != 4 || p.shape(x)[1] != channels {
		return
	}
	p.call("torch.batch_norm", x, p.weight(channels), p.weight(channels), p.weight(channels), p.weightOver(0.5, channels), false, 0.1, 1e-5, true)
}

// shortcut joins a value to another of its sizes.
func (p *programmer) shortcut(x reference) {
	same := func(v any) bool {
		t, ok := v.(*torch.Tensor)
		return ok && fmt.Sprint(t.Shape()) == fmt.Sprint(p.shape(x)) && !p.isWeight(v)
	}
	y, _ := p.pick(same)
	if p.n(5) == 4 {
		p.call("torch.cat", []any{x, y}, 1)
		return
	}
	p.call(oneOf(p, "torch.add", "operator.add", ".add_", "torch.mul"), x, y)
}

func (p *programmer) activation(x reference) {
	switch p.n(12) {
	case 0, 1:
		p.call("torch.relu", x)
	case 2:
		p.call(".relu_", x)
	case 3:
		p.call(oneOf(p, "torch.nn.functional.silu", "torch.nn.functional.hardswish", "torch.sigmoid", "torch.tanh", "torch.nn.functional.gelu"), x)
	case 4:
		p.call("torch.nn.functional.hardtanh", x, 0.0, 6.0)
	case 5:
		p.call("torch.nn.functional.leaky_relu", x, 0.2)
	case 6: // gelu, written out
		if p.chain(x, []any{"torch.div", math.Sqrt2}, []any{"torch.erf"}, []any{"torch.add", 1.0}) {
			p.call("torch.mul", p.last(), x)
			p.call("torch.mul", p.last(), 0.5)
		}
	case 7: // silu
		if p.call("torch.sigmoid", x) {
			p.call("torch.mul", x, p.last())
		}
	case 8: // hardswish
		if p.chain(x, []any{"torch.add", 3.0}, []any{"torch.clamp", 0.0, 6.0}) {
			p.call("torch.mul", x, p.last())
			p.call("torch.div", p.last(), 6.0)
		}
	case 9:
		p.call("torch.dropout", x, 0.5, false)
	case 10:
		p.call(oneOf(p, ".contiguous", ".float", ".clone", ".detach"), x)
	case 11:
		p.chain(x, []any{"torch.transpose", -1, -2}, []any{oneOf(p, "torch.relu", ".contiguous", "torch.tanh")})
	}
}

// attention appends attention that is written out.
func (p *programmer) attention(x reference, s []int, width int) {
	if len(s) < 3 {
		return
	}
	var qkv [3]reference
	for i := range qkv {
		if !p.call("torch.nn.functional.linear", x, p.weight(width, width), p.bias(width)) {
			return
		}
		qkv[i] = p.last()
	}
	if !p.call("torch.transpose", qkv[1], -1, -2) || !p.call("torch.matmul", qkv[0], p.last()) {
		return
	}
	if p.chain(p.last(), []any{"torch.div", math.Sqrt(float64(width))}, []any{"torch.softmax", -1}) {
		p.call("torch.matmul", p.last(), qkv[2])
	}
}

func (p *programmer) isWeight(v any) bool {
	for i, w := range p.values {
		if w == v {
			return p.nodes[i].Op().String() == "get_attr"
		}
	}
	return false
}
