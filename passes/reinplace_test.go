package passes_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Functional programs of make_fx as torch.fx's pass writes them.
//
// upstream: test_fx_reinplace_pass.TestReinplacePass.test_reinplace_basic
// upstream: test_fx_reinplace_pass.TestReinplacePass.test_reinplace_with_view
// upstream: test_fx_reinplace_pass.TestReinplacePass.test_reinplace_different_metadata
// upstream: test_fx_reinplace_pass.TestReinplacePass.test_reinplace_overlapping_memory
// upstream: test_fx_reinplace_pass.TestReinplacePass.test_reinplace_scatter_op
// upstream: test_fx_reinplace_pass.TestReinplacePass.test_reinplace_scatter_twice
// upstream: test_fx_reinplace_pass.TestReinplacePass.test_reinplace_scatter_twice_with_different_view_op_valid
// upstream: test_fx_reinplace_pass.TestReinplacePass.test_reinplace_scatter_twice_with_different_view_op_invalid
// upstream: test_fx_reinplace_pass.TestReinplacePass.test_reinplace_scatter_twice_with_different_view_op_invalid2
// upstream: test_fx_reinplace_pass.TestReinplacePass.test_out_node_updated
// upstream: test_fx_reinplace_pass.TestReinplacePass.test_reinplace_index_mutation
func TestReinplace(t *testing.T) {
	testenv.Libtorch(t)
	var cases []struct {
		Name, Code, After, DType string
		Shape                    []int
	}
	section(t, "reinplaced", &cases)
	require.NotEmpty(t, cases)
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			m := module(t, tc.Code)
			sample := func() *torch.Tensor {
				n := 1
				for _, d := range tc.Shape {
					n *= d
				}
				var x *torch.Tensor
				var err error
				if tc.DType == "torch.int64" {
					values := make([]int64, n)
					for i := range values {
						values[i] = int64(i + 1)
					}
					x, err = torch.From(values, tc.Shape...)
				} else {
					values := make([]float32, n)
					for i := range values {
						values[i] = float32(i)
					}
					x, err = torch.From(values, tc.Shape...)
				}
				require.NoError(t, err)
				t.Cleanup(func() { x.Close() })
				return x
			}
			x := sample()
			want := texts(t, m, x)
			written, err := passes.Reinplace(t.Context(), m, x)
			require.NoError(t, err)
			require.NoError(t, m.Graph().Lint())
			requireCode(t, tc.After, m)
			require.Equal(t, tc.Code == tc.After, len(written) == 0)
			require.Equal(t, want, texts(t, m, x))
			require.Equal(t, sample().String(), x.String(), "the argument is as it was")
		})
	}
}

// texts runs a module and returns its results as text.
func texts(t *testing.T, m *ir.GraphModule, args ...any) (out []string) {
	v, err := interpreter.New(m).Run(t.Context(), args...)
	require.NoError(t, err)
	items, several := v.(ir.PyTuple)
	if !several {
		items = ir.PyTuple{v}
	}
	for _, item := range items {
		out = append(out, item.(*torch.Tensor).String())
		item.(*torch.Tensor).Close()
	}
	return out
}

// Attributes stay as they are, which torch.fx does not see to.
func TestReinplaceLeavesAttributesAlone(t *testing.T) {
	testenv.Libtorch(t)
	g, err := ir.ParseCode("def forward(self, x):\n    w = self.w\n    add = torch.ops.aten.add.Tensor(w, 1);  w = None\n    add_1 = torch.ops.aten.add.Tensor(add, x);  add = x = None\n    return add_1")
	require.NoError(t, err)
	w := tensorOf(t, false, 2)
	m, err := ir.NewGraphModule(map[string]any{"w": w}, g)
	require.NoError(t, err)
	written, err := passes.Reinplace(t.Context(), m, tensorOf(t, false, 2))
	require.NoError(t, err)
	require.Equal(t, []string{"add_1"}, written)
}

func ExampleReinplace() {
	g, err := ir.ParseCode(`def forward(self, x):
    relu = torch.ops.aten.relu.default(x);  x = None
    add = torch.ops.aten.add.Tensor(relu, 1);  relu = None
    return add`)
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	x, err := torch.From([]float32{1, 2}, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	written, err := passes.Reinplace(context.Background(), m, x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(written, g.Lookup("add").Target())
	// Output: [add] torch.ops.aten.add_.Tensor
}
