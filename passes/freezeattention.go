package passes

import (
	"fmt"
	"math"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/rewriter"
)

// An attention is a spelling of softmax(q·kᵀ·scale + mask)·v.
type attention struct {
	scale string // what scores become, "" for no scaling
	mask  string // what scaled scores become, "" for no mask
}

// The spellings: scores divided by a number, multiplied by one, or scaled before; a
// mask that is added, one of places to leave out, none.
var (
	scalings = []string{"torch.ops.aten.div.Tensor(scores, scale)", "torch.ops.aten.mul.Tensor(scores, scale)", ""}
	maskings = []string{"torch.ops.aten.add.Tensor(scores, mask)", "torch.ops.aten.masked_fill.Scalar(scores, mask, hidden)", ""}
)

// fuseAttention replaces attention that is written out by libtorch's operator, which
// never holds all scores at once.
func (f *freezer) fuseAttention() error {
	for _, scale := range scalings {
		for _, mask := range maskings {
			if err := f.attention(attention{scale, mask}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *freezer) attention(a attention) error {
	inputs := "q, k, v"
	body := "scores = torch.ops.aten.matmul.default(q, k)\n"
	scores := "scores"
	if a.scale != "" {
		inputs += ", scale"
		body += "scaled = " + strings.ReplaceAll(a.scale, "scores", scores) + "\n"
		scores = "scaled"
	}
	if a.mask != "" {
		inputs += ", mask"
		if strings.Contains(a.mask, "hidden") {
			inputs += ", hidden"
		}
		body += "masked = " + strings.ReplaceAll(a.mask, "scores", scores) + "\n"
		scores = "masked"
	}
	body += "weights = torch.ops.aten.softmax.int(" + scores + ", -1)\nreturn torch.ops.aten.matmul.default(weights, v)"
	pattern, err := function(inputs, body)
	if err != nil {
		return err
	}
	at := map[string]int{}
	for i, name := range strings.Split(inputs, ", ") {
		at[name] = i
	}
	// by result, since in a match that is replaced an input may be new, from one before,
	// and nothing be noted of it
	texts := map[*ir.Node]string{}
	fits := func(m *rewriter.Match, _, _ *ir.Graph) bool {
		mask, scale, ok := a.operator(m, at)
		if !ok {
			return false
		}
		text := "keys = torch.ops.aten.transpose.int(k, -2, -1)\n"
		if mask == "inverted" {
			text += "inverted = torch.ops.aten.logical_not.default(mask)\n"
		}
		texts[m.Result[0]] = text + fmt.Sprintf("return torch.ops.aten.scaled_dot_product_attention.default(q, keys, v, %s, 0.0, False, scale=%s)", mask, ir.Repr(ir.Float(scale)))
		return true
	}
	make := func(m *rewriter.Match, _, _ *ir.Graph) (*ir.Graph, error) {
		return function(inputs, texts[m.Result[0]])
	}
	replaced, err := rewriter.Replace(f.module, pattern, rewriter.Commutative(), rewriter.LooseArguments(), rewriter.FilterBy(fits), rewriter.WithFunc(make))
	return f.fused("attention", replaced, err)
}

// operator returns the mask that the operator takes for a match, by name, and its
// scale. It is for values of four dimensions [batch, head, place, feature]; ok is
// false where the match does not fit.
func (a attention) operator(m *rewriter.Match, at map[string]int) (mask string, scale float64, ok bool) {
	var q ir.TensorMeta
	for _, name := range []string{"q", "k", "v"} {
		n, isNode := m.Inputs[at[name]].(*ir.Node)
		if !isNode {
			return "", 0, false
		}
		v, known := valueOf(n)
		if !known || len(v.Sizes) != 4 || !v.DType.IsFloat() {
			return "", 0, false
		}
		if name == "q" {
			q = v
		} else if v.DType != q.DType || !sameSizes(v.Sizes[:2], q.Sizes[:2]) {
			return "", 0, false // broadcast, or of grouped heads
		}
	}
	scale = 1
	if a.scale != "" {
		if scale, ok = literal(m.Inputs[at["scale"]]); !ok || scale == 0 {
			return "", 0, false
		}
		if a.scale == scalings[0] {
			scale = 1 / scale
		}
	}
	if a.mask == "" {
		return "None", scale, true
	}
	n, isNode := m.Inputs[at["mask"]].(*ir.Node)
	if !isNode {
		return "", 0, false
	}
	v, known := valueOf(n)
	if !known || len(v.Sizes) != 2 && len(v.Sizes) != 4 {
		return "", 0, false
	}
	if a.mask == maskings[0] {
		return "mask", scale, v.DType == q.DType
	}
	hidden, isNumber := literal(m.Inputs[at["hidden"]])
	return "inverted", scale, isNumber && math.IsInf(hidden, -1) && v.DType == ir.Bool8
}
