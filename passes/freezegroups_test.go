package passes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/internal/testenv"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Heads that are repeated in another way, or for something else, stay.
func TestGroupHeadsLeaves(t *testing.T) {
	testenv.Libtorch(t)
	const op = "torch.ops.aten."
	expanded := func(x, at, sizes, joined string) string {
		return op + "reshape.default(" + op + "expand.default(" + op + "unsqueeze.default(" + x + ", " + at + "), " + sizes + "), " + joined + ")"
	}
	const sdpa = "return " + op + "scaled_dot_product_attention.default(x, k, v, None, 0.0, False, scale=0.25)"
	for _, tc := range []struct{ name, body, why string }{
		{"tiled", "k = " + expanded("y", "1", "[2, 3, 2, 7, 16]", "[2, 6, 7, 16]") + "\nv = " + expanded("z", "1", "[2, 3, 2, 7, 16]", "[2, 6, 7, 16]") + "\n" + sdpa, ""},
		{"keys alone", "k = " + expanded("y", "2", "[2, 2, 3, 7, 16]", "[2, 6, 7, 16]") + "\nv = " + expanded("z", "1", "[2, 3, 2, 7, 16]", "[2, 6, 7, 16]") + "\n" + sdpa, "key and value are not repeated alike"},
		{"heads joined with places", "k = " + expanded("y", "2", "[2, 2, 3, 7, 16]", "[2, 6, 14, 8]") + "\nv = " + expanded("z", "2", "[2, 2, 3, 7, 16]", "[2, 6, 14, 8]") +
			"\nh = " + op + "slice.Tensor(x, 3, 0, 8)\nreturn " + op + "scaled_dot_product_attention.default(h, k, v)", ""},
		{"places repeated", "k = " + op + "repeat_interleave.self_int(y, 3, 2)\nv = " + op + "repeat_interleave.self_int(z, 3, 2)\nh = " + op + "slice.Tensor(x, 1, 0, 2)\nreturn " + op + "scaled_dot_product_attention.default(h, k, v)", ""},
		{"one query head", "k = " + op + "repeat_interleave.self_int(y, 3, 1)\nv = " + op + "repeat_interleave.self_int(z, 3, 1)\nh = " + op + "slice.Tensor(x, 1, 0, 1)\nreturn " + op + "scaled_dot_product_attention.default(h, k, v)", "batch or heads are broadcast"},
		{"groups of groups", "k = " + op + "repeat_interleave.self_int(y, 3, 1)\nv = " + op + "repeat_interleave.self_int(z, 3, 1)\nh = " + op + "cat.default([x, x], 1)\nreturn " + op + "scaled_dot_product_attention.default(h, k, v, enable_gqa=True)", "it groups its heads already"},
		{"written", "c = " + op + "clone.default(y)\nk = " + op + "repeat_interleave.self_int(c, 3, 1)\nv = " + op + "repeat_interleave.self_int(z, 3, 1)\nw = " + op + "zero_.default(c)\n" + sdpa, "its key or value is written"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inputs := []*torch.Tensor{randn(t, 2, 6, 5, 16), randn(t, 2, 2, 7, 16), randn(t, 2, 2, 7, 16)}
			gm := aten(t, tc.body, nil, inputs...)
			report := freezes(t, gm, [][]*torch.Tensor{inputs}, OnlyRewrites("group-heads")).Report
			assert.Empty(t, report.Applied)
			if tc.why != "" {
				require.Len(t, report.Kept, 1)
				assert.Equal(t, tc.why, report.Kept[0].Why)
			}
		})
	}
}

// Groups of any sizes, masks and layouts give what repeated heads do.
func TestGroupHeadsOfRandomSizes(t *testing.T) {
	testenv.Libtorch(t)
	const op = "torch.ops.aten."
	rapid.Check(t, func(r *rapid.T) {
		size := func(name string, most int) int { return rapid.IntRange(1, most).Draw(r, name) }
		b, heads, times, l, s, d := size("batch", 3), size("heads", 4), 1+size("times", 3), size("queries", 40), size("keys", 40), 4*size("size", 9)
		q, kv := []int{b, heads * times, l, d}, []int{b, heads, s, d}
		body, view := "", func(n string) string { return n }
		if rapid.Bool().Draw(r, "transposed") { // as products of a linear layer are seen
			q, kv = []int{b, l, heads * times, d}, []int{b, s, heads, d}
			view = func(n string) string { return op + "transpose.int(" + n + ", 1, 2)" }
		}
		for name, from := range map[string]string{"k": "y", "v": "z"} {
			body += fmt.Sprintf("%s0 = %s\n", name, view(from))
			if rapid.Bool().Draw(r, "interleaved "+name) {
				body += fmt.Sprintf("%s = %srepeat_interleave.self_int(%s0, %d, 1)\n", name, op, name, times)
			} else {
				body += fmt.Sprintf("%s = %sreshape.default(%sexpand.default(%sunsqueeze.default(%s0, 2), [%d, %d, %d, %d, %d]), [%d, %d, %d, %d])\n",
					name, op, op, op, name, b, heads, times, s, d, b, heads*times, s, d)
			}
		}
		mask := rapid.SampledFrom([]string{"None, 0.0, False", "None, 0.0, True", "self.mask, 0.0, False", op + "gt.Scalar(self.mask, -2.0), 0.0, False"}).Draw(r, "mask")
		body += "return " + op + "scaled_dot_product_attention.default(" + view("x") + ", k, v, " + mask + ")"
		inputs := []*torch.Tensor{randn(t, q...), randn(t, kv...), randn(t, kv...)}
		gm := aten(t, body, map[string][]int{"mask": {l, s}}, inputs...)
		report := freezes(t, gm, [][]*torch.Tensor{inputs}, OnlyRewrites("group-heads")).Report
		require.Equal(t, 1, report.Count("group-heads"), "%s", report)
	})
}
