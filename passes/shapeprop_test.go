package passes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// tensorOf makes a tensor of ones.
func tensorOf(t testing.TB, grad bool, sizes ...int) *torch.Tensor {
	v, err := torch.Call("aten::ones", sizes)
	require.NoError(t, err)
	x := v.(*torch.Tensor)
	t.Cleanup(func() { x.Close() })
	if grad {
		p, err := nn.NewParameter(x)
		require.NoError(t, err)
		if p != x {
			t.Cleanup(func() { p.Close() })
		}
		return p
	}
	return x
}

// shapeModel is the model of the recorded case shape_prop.
type shapeModel struct {
	nn.Base `forward:"x"`
	Conv    *nn.Conv2d
	W       *torch.Tensor
}

func (m *shapeModel) Forward(x *torch.Tensor) any {
	y := operator.Mul(m.Conv.Forward(x), m.W)
	max := y.Value().Method("max", nil, torch.Kw("dim", 1)).Unpack(2)
	i := &ir.PyDict{}
	i.Set("i", max[1])
	return ir.PyTuple{y.Permute(0, 2, 3, 1), []any{max[0], i}, y.Value().Attr("shape"), y.To(torch.Kw("memory_format", ir.ChannelsLast)), 3}
}

// A recorded tensor_meta.
type recordedMeta struct {
	Shape  []int64
	DType  string
	Stride []int64
	Grad   bool    `json:"requires_grad"`
	Format *string `json:"memory_format"`
}

func (w recordedMeta) require(t *testing.T, name string, m ir.TensorMeta) {
	got := recordedMeta{DType: m.DType.String(), Grad: m.RequiresGrad}
	for i := range m.Sizes {
		got.Shape, got.Stride = append(got.Shape, m.Sizes[i].Hint()), append(got.Stride, m.Strides[i].Hint())
	}
	if f, ok := passes.MemoryFormatOf(m); ok {
		text := f.String()
		got.Format = &text
	}
	require.Equal(t, w, got, name)
}

// upstream: test_fx.TestFX.test_example_shape_prop
// upstream: test_fx.TestFX.test_shape_prop_aggregate
func TestRecordedShapeProp(t *testing.T) {
	testenv.Libtorch(t)
	c := fxcase.Open(t, "shape_prop")
	var want struct {
		Nodes []struct {
			Name string
			Meta struct {
				Tensor json.RawMessage `json:"tensor_meta"`
				Type   string
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(c.Text("nodes.json")), &want))
	for _, onMeta := range []bool{false, true} {
		t.Run(fmt.Sprint("meta ", onMeta), func(t *testing.T) {
			c.Seed()
			m := traced(t, &shapeModel{Conv: nn.NewConv2d(2, 3, 3, nn.WithPadding(1)), W: ones(t, 3, 1, 1)})
			var opts []passes.ShapeOption
			if onMeta {
				opts = append(opts, passes.OnMeta())
			}
			out, err := passes.ShapeProp(context.Background(), m, []any{tensorOf(t, false, 1, 2, 4, 5)}, opts...)
			require.NoError(t, err)
			closeTensors(out)
			for _, w := range want.Nodes {
				n := m.Graph().Lookup(w.Name)
				require.NotNil(t, n, w.Name)
				var single recordedMeta
				var several []recordedMeta
				switch meta := n.Meta().Get(ir.MetaTensorMeta).(type) {
				case ir.TensorMeta:
					require.NoError(t, json.Unmarshal(w.Meta.Tensor, &single), w.Name)
					if onMeta {
						single.Grad = meta.RequiresGrad // tensors without elements are no parameters
					}
					single.require(t, w.Name, meta)
				case []any:
					if n.Op() == ir.Output {
						require.Len(t, meta, 5)
						continue
					}
					require.NoError(t, json.Unmarshal(w.Meta.Tensor, &several), w.Name)
					require.Len(t, meta, len(several))
					for i, s := range several {
						if onMeta {
							s.Grad = meta[i].(ir.TensorMeta).RequiresGrad
						}
						s.require(t, w.Name, meta[i].(ir.TensorMeta))
					}
				default:
					require.Empty(t, w.Meta.Tensor, w.Name)
				}
			}
			if !onMeta {
				c.State(c.Same(m, nil))
			}
		})
	}
}

func closeTensors(v any) {
	switch v := v.(type) {
	case *torch.Tensor:
		v.Close()
	case []any:
		for _, item := range v {
			closeTensors(item)
		}
	case ir.PyTuple:
		closeTensors([]any(v))
	case *ir.PyDict:
		for _, item := range v.All() {
			closeTensors(item)
		}
	}
}

func TestShapePropFails(t *testing.T) {
	testenv.Libtorch(t)
	m := bodyModule(t, "a = torch.relu(x)\nb = torch.matmul(a, y)", "b")
	_, err := passes.ShapeProp(context.Background(), m, []any{tensorOf(t, false, 2, 3), tensorOf(t, false, 2, 3)})
	require.ErrorIs(t, err, ir.ErrRuntime)
	require.ErrorContains(t, err, "ShapeProp error for: node=%b : [num_users=1] = call_function[target=torch.matmul](args = (%a, %y), kwargs = {}) with meta=[]")
	require.True(t, m.Graph().Lookup("a").Meta().Has(ir.MetaTensorMeta))
}

// Layers of package nn run without their elements as well.
func TestShapePropOnMetaModules(t *testing.T) {
	testenv.Libtorch(t)
	lin := nn.NewLinear(1<<12, 5)
	g, err := ir.ParseCode("def forward(self, x):\n    lin = self.lin(x);  x = None\n    return lin")
	require.NoError(t, err)
	m, err := ir.NewGraphModule(map[string]any{"lin": lin}, g)
	require.NoError(t, err)
	out, err := passes.ShapeProp(context.Background(), m, []any{tensorOf(t, false, 7, 1<<12)}, passes.OnMeta())
	require.NoError(t, err)
	require.Equal(t, []int{7, 5}, out.(*torch.Tensor).Shape())
	require.Equal(t, ir.DeviceMeta, out.(*torch.Tensor).Device().Kind())
	require.Equal(t, ir.DeviceCPU, lin.Weight.Device().Kind())
	closeTensors(out)
	for p := range nn.Tensors(lin) {
		p.Tensor.Close()
	}
}

func ExampleShapeProp() {
	g, err := ir.ParseCode(`def forward(self, x, y):
    matmul = torch.matmul(x, y);  x = y = None
    relu = matmul.relu();  matmul = None
    return relu`)
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	x, err := torch.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	y, err := torch.From([]float32{1, 2, 3}, 3, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer y.Close()
	out, err := passes.ShapeProp(context.Background(), m, []any{x, y}, passes.OnMeta())
	if err != nil {
		log.Fatal(err)
	}
	out.(*torch.Tensor).Close()
	for n := range m.Graph().Nodes() {
		fmt.Println(n, n.Meta().Get(ir.MetaTensorMeta).(ir.TensorMeta).Text(true, false))
	}
	// Output:
	// x f32[2, 3][3, 1]
	// y f32[3, 1][1, 1]
	// matmul f32[2, 1][1, 1]
	// relu f32[2, 1][1, 1]
	// output f32[2, 1][1, 1]
}
