package passes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A writtenAttention is a random program of attention: scales, masks, views and casts of scores in
// any order, of sizes that may be 0, on operands of any strides.
type writtenAttention struct {
	t     *rapid.T
	lines []string
	attrs map[string][]int
	lead  []int // of the scores as they are seen
	l, s  int
	heads []int // of the operands
	n     int
	dtype ir.DType
	seen  ir.DType // of the scores
}

func (w *writtenAttention) line(format string, args ...any) string {
	w.n++
	name := fmt.Sprintf("v%d", w.n)
	w.lines = append(w.lines, name+" = "+fmt.Sprintf(format, args...))
	return name
}

// part draws sizes that broadcast to those of the scores.
func (w *writtenAttention) part(last bool) []int {
	full := append(append([]int{}, w.lead...), w.l, w.s)
	if !last {
		full[len(full)-1] = 1
	}
	from := rapid.IntRange(0, len(full)-1).Draw(w.t, "from")
	sizes := full[from:]
	for i := range sizes {
		if rapid.Bool().Draw(w.t, "one") {
			sizes[i] = 1
		}
	}
	return sizes
}

func (w *writtenAttention) attr(last bool) string {
	name := fmt.Sprintf("a%d", len(w.attrs))
	w.attrs[name] = w.part(last)
	return w.line("torch.ops.aten.to.dtype(self.%s, %s)", name, torchName(w.seen))
}

func torchName(d ir.DType) string { return "torch." + strings.TrimPrefix(d.String(), "torch.") }

// step does something to scores.
func (w *writtenAttention) step(scores string) string {
	const op = "torch.ops.aten."
	hidden := func() string {
		return w.line(op+"gt.Scalar(%s, %s)", w.attr(true), rapid.SampledFrom([]string{"0.1", "-100.0"}).Draw(w.t, "threshold"))
	}
	number := rapid.SampledFrom([]string{"-inf", "-10000.0", "-30000.0"}).Draw(w.t, "number")
	switch rapid.IntRange(0, 8).Draw(w.t, "step") {
	case 0:
		return w.line(op+"mul.Tensor(%s, %s)", scores, rapid.SampledFrom([]string{"0.5", "2", "-1.5"}).Draw(w.t, "scale"))
	case 1:
		return w.line(op+"div.Tensor(%s, %s)", scores, w.line(op+"add.Tensor(%s, 4.0)", w.line(op+"abs.default(%s)", w.attr(false))))
	case 2:
		return w.line(op+"add.Tensor(%s, %s)", scores, w.attr(true))
	case 3:
		return w.line(op+"sub.Tensor(%s, %s, alpha=2)", scores, w.attr(true))
	case 4:
		return w.line(op+"masked_fill.Scalar(%s, %s, %s)", scores, hidden(), number)
	case 5:
		return w.line(op+"where.ScalarOther(%s, %s, %s)", hidden(), scores, number)
	case 6:
		numbers := []string{"-inf", "-50.0", "-1e30"} // between the last two scores are rounded
		switch w.seen {
		case ir.BFloat16: // which has 8 bits of 50
			numbers[1] = "-8.0"
		case ir.Float16:
			numbers = []string{"-inf", "-8.0"}
		}
		number := rapid.SampledFrom(numbers).Draw(w.t, "added")
		mask := w.line(op+"masked_fill.Scalar(%s, %s, %s)", w.line(op+"mul.Tensor(%s, 0.0)", w.attr(true)), hidden(), number)
		return w.line(op+"add.Tensor(%s, %s)", mask, scores)
	case 7:
		if len(w.lead) == 2 && rapid.Bool().Draw(w.t, "merge") {
			w.lead = []int{w.lead[0] * w.lead[1]}
		} else {
			w.lead = w.heads
		}
		return w.line(op+"reshape.default(%s, %s)", scores, sizesText(append(append([]int{}, w.lead...), w.l, w.s)))
	default:
		if w.dtype == ir.Float64 {
			return scores
		}
		w.seen = ir.Float32
		return w.line(op+"to.dtype(%s, torch.float32)", scores)
	}
}

func sizesText(sizes []int) string { return strings.ReplaceAll(fmt.Sprint(sizes), " ", ", ") }

// Random programs of attention compute what they did, NaN where that was, and stay what they are when
// frozen again.
func TestFreezeRandomAttention(t *testing.T) {
	testenv.Libtorch(t)
	fused, all := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 3, 5, 1, 2, 3, 0})
		w := &writtenAttention{t: rt, attrs: map[string][]int{}, l: size.Draw(rt, "l"), s: size.Draw(rt, "s"),
			dtype: rapid.SampledFrom([]ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.BFloat16, ir.Float16}).Draw(rt, "dtype")}
		for range rapid.IntRange(0, 3).Draw(rt, "rank") {
			w.heads = append(w.heads, size.Draw(rt, "head"))
		}
		w.lead, w.seen = w.heads, w.dtype
		d, dv := rapid.SampledFrom([]int{1, 4, 16}).Draw(rt, "d"), rapid.SampledFrom([]int{1, 4, 16}).Draw(rt, "dv")
		require.NoError(rt, libtorch.ManualSeed(rapid.Uint64Range(0, 1<<32).Draw(rt, "seed")))
		var inputs []*torch.Tensor
		for i, last := range [][]int{{w.l, d}, {w.s, d}, {w.s, dv}} {
			sizes := append(append([]int{}, w.heads...), last...)
			if i > 0 && len(w.heads) > 0 && rapid.IntRange(0, 3).Draw(rt, "one head") == 0 {
				sizes[len(w.heads)-1] = 1
			}
			inputs = append(inputs, strided(t, rt, w.dtype, sizes))
		}
		scores := w.line("torch.ops.aten.matmul.default(x, %s)", w.line("torch.ops.aten.transpose.int(y, -2, -1)"))
		scores = w.line("torch.ops.aten.mul.Tensor(%s, 0.5)", scores)
		for range rapid.IntRange(0, 4).Draw(rt, "steps") {
			scores = w.step(scores)
		}
		if len(w.lead) != len(w.heads) {
			w.lead = w.heads
			scores = w.line("torch.ops.aten.reshape.default(%s, %s)", scores, sizesText(append(append([]int{}, w.lead...), w.l, w.s)))
		}
		weights := w.line("torch.ops.aten.softmax.int(%s, -1)", scores)
		if w.seen != w.dtype {
			weights = w.line("torch.ops.aten.to.dtype(%s, %s)", weights, torchName(w.dtype))
		}
		body := strings.Join(append(w.lines, "return torch.ops.aten.matmul.default("+weights+", z)"), "\n")
		gm := atenOf(t, w.dtype, body, w.attrs, inputs...)
		options := []FreezeOption{WithChoices(Unmeasured()), FreezeDelegate(nil)}
		if rapid.Bool().Draw(rt, "computed masks") {
			options = append(options, WithoutRewrites("fold-constants"))
		}
		frozen, err := Freeze(t.Context(), gm, options...)
		require.NoError(rt, err, "%s", body)
		defer frozen.Close()
		again, err := Freeze(t.Context(), frozen.Module, options...)
		require.NoError(rt, err)
		defer again.Close()
		require.Equal(rt, frozen.Module.Graph().String(), again.Module.Graph().String())
		plan, err := interpreter.Compile(frozen.Module)
		require.NoError(rt, err)
		defer plan.Close()
		all++
		fused += frozen.Report.Count("fuse-attention")
		want := runModule(t, interpreter.New(gm), inputs)
		for _, r := range []interface {
			RunFlat(context.Context, []any) ([]any, error)
		}{interpreter.New(frozen.Module), plan, plan} {
			got := runModule(t, r, inputs)
			require.Equal(rt, torch.Describe(want[0]), torch.Describe(got[0]), "%s", body)
			// Scores of up to 16 are rounded at each of up to four steps in the program, by 2^-9 or 2^-12 of
			// them, and once in the operator; a weight changes by as much as its score.
			tolerance := map[ir.DType]float64{ir.Float32: 1e-5, ir.Float64: 1e-12, ir.BFloat16: 4 * 16.0 / 512, ir.Float16: 4 * 16.0 / 4096}[w.dtype]
			require.LessOrEqual(rt, distanceOrNaN(t, want[0], got[0], inputs[2]), tolerance, "%s\n%s\n%s", body, frozen.Report, frozen.Module.Graph())
			closeEach(got)
		}
		closeEach(want)
	})
	t.Logf("%d of %d were fused", fused, all)
	require.Greater(t, 3*fused, all)
}

// strided makes a tensor of random elements that lies in some way.
func strided(t *testing.T, rt *rapid.T, d ir.DType, sizes []int) *torch.Tensor {
	lies := rapid.SampledFrom([]string{"rows", "turned", "apart"}).Draw(rt, "lies")
	given := append([]int{}, sizes...)
	n := len(given)
	switch lies {
	case "turned":
		given[n-1], given[n-2] = given[n-2], given[n-1]
	case "apart":
		given[n-2] *= 2
	}
	x := castTo(t, randn(t, given...), d)
	switch lies {
	case "turned":
		x = torch.Transpose(x, -1, -2)
	case "apart":
		v, err := tensor("aten::slice.Tensor", x, -2, 0, given[n-2], 2)
		require.NoError(t, err)
		x = v
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// distanceOrNaN is the largest difference as a part of the largest magnitude of what is weighed, since a
// result of few elements may be near 0 while each weight is rounded; 1 where only one of both has NaN.
func distanceOrNaN(t *testing.T, want, got, weighed *torch.Tensor) float64 {
	if want.Numel() == 0 || weighed.Numel() == 0 {
		return 0
	}
	a, b := castTo(t, want, ir.Float64), castTo(t, got, ir.Float64)
	if v, err := torch.Call("aten::equal", torch.Isnan(a), torch.Isnan(b)); err != nil || v != true {
		return 1
	}
	off, err := torch.Max(torch.Abs(torch.Sub(torch.NanToNum(a), torch.NanToNum(b)))).Item()
	require.NoError(t, err)
	most, err := torch.Max(torch.Abs(castTo(t, weighed, ir.Float64))).Item()
	require.NoError(t, err)
	return off.(float64) / most.(float64)
}
