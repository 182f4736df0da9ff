package tracer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// Functions that are Python code in PyTorch are recorded in the form in which
// they hand themselves to torch.fx; the texts are torch.fx's of 2.15.0.
func TestComposedFunctionsAsRecorded(t *testing.T) {
	call := func(name string, args ...any) func(x, y *torch.Tensor) any {
		return func(x, y *torch.Tensor) any {
			in := make([]any, 0, len(args)+1)
			for _, a := range args {
				switch a {
				case "x":
					a = x
				case "y":
					a = y
				case "[x, y]":
					a = []any{x, y}
				}
				in = append(in, a)
			}
			positional, kw := torch.SplitKwargs(in)
			return torch.Dispatch(ir.CallFunction, ir.FuncOf(name), positional, kw)
		}
	}
	const f = "torch.nn.functional."
	tests := []struct {
		name string
		run  func(x, y *torch.Tensor) any
		want string
	}{
		{"a method", call(f+"sigmoid", "x"), "sigmoid = x.sigmoid()"},
		{"another method", call(f+"tanh", "x"), "tanh = x.tanh()"},
		{"upsample", call(f+"upsample", "x", torch.Kw("scale_factor", 2)), "interpolate = torch.nn.functional.interpolate(x, size = None, scale_factor = 2, mode = 'nearest', align_corners = None, recompute_scale_factor = None, antialias = False)"},
		{"upsample_bilinear", call(f+"upsample_bilinear", "x", 4), "interpolate = torch.nn.functional.interpolate(x, size = 4, scale_factor = None, mode = 'bilinear', align_corners = True, recompute_scale_factor = None, antialias = False)"},
		{"grouped_mm", call(f+"grouped_mm", "x", "y"), "_grouped_mm = torch._grouped_mm(x, y, offs = None, bias = None, out_dtype = None)"},
		{"with indices", call(f+"max_pool1d", "x", 2, torch.Kw("return_indices", true)), "max_pool1d_with_indices = torch.nn.functional.max_pool1d_with_indices(x, 2, stride = None, padding = 0, dilation = 1, ceil_mode = False, return_indices = True)"},
		{"einsum", call("torch.einsum", "ij,jk", "x", "y"), "einsum = torch.functional.einsum('ij,jk', x, y)"},
		{"einsum of a list", call("torch.einsum", "ij,jk", "[x, y]"), "einsum = torch.functional.einsum('ij,jk', x, y)"},
		{"einsum with subscripts", call("torch.einsum", "x", []int{0, 1}, "y", []int{1, 2}, []int{0, 2}), "einsum = torch.functional.einsum(x, [0, 1], y, [1, 2], [0, 2])"},
		{"unique", call("torch.unique", "x", torch.Kw("return_inverse", true)), "unique = torch.functional.unique(x, sorted = True, return_inverse = True, return_counts = False, dim = None)"},
		{"lu", call("torch.lu", "x"), "lu = torch.functional.lu(x, pivot = True, get_infos = False, out = None)"},
		{"meshgrid", call("torch.meshgrid", "x", "y"), "meshgrid = torch.functional.meshgrid(x, y, indexing = None)"},
		{"meshgrid of a list", call("torch.meshgrid", "[x, y]"), "meshgrid = torch.meshgrid([x, y])"},
		{"split", call("torch.split", "x", 2), "split = torch.functional.split(x, 2, dim = 0)"},
		{"norm", call("torch.norm", "x"), "norm = torch.functional.norm(x, p = 'fro', dim = None, keepdim = False, out = None, dtype = None)"},
		{"chain_matmul", call("torch.chain_matmul", "x", "y"), "chain_matmul = torch.functional.chain_matmul(x, y)"},
		{"svd_lowrank", call("torch.svd_lowrank", "x"), "svd_lowrank = torch._lowrank.svd_lowrank(x, q = 6, niter = 2, M = None)"},
		{"tensordot", call("torch.tensordot", "x", "y"), "tensordot = torch.functional.tensordot(x, y, dims = 2, out = None)"},
		{"unravel_index", call("torch.unravel_index", "x", ir.PyTuple{2, 3}), "unravel_index = torch.functional.unravel_index(x, shape = (2, 3))"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			gm, err := tracer.SymbolicTrace(tc.run, tracer.Signature("x, y"))
			require.NoError(t, err)
			code, err := gm.Code()
			require.NoError(t, err)
			_, line, _ := strings.Cut(code, "):\n    ")
			line, _, _ = strings.Cut(line, ";")
			assert.Equal(t, tc.want, line)
		})
	}
	for name, is := range map[string]error{"torch.masked.sum": ir.ErrTrace, "torch.signal.windows.hann": ir.ErrTrace, "torch.cholesky": ir.ErrRuntime} {
		_, err := tracer.SymbolicTrace(call(name, "x"))
		assert.ErrorIs(t, err, is, name)
	}
}
