package passes_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A recordedTensor has small numbers, which are exact.
type recordedTensor struct {
	Shape   []int
	Values  []float32
	Trained bool
}

func (r recordedTensor) tensor(t *testing.T) *torch.Tensor {
	x, err := torch.From(r.Values, r.Shape...)
	require.NoError(t, err)
	if r.Trained {
		x = parameterOf(t, x)
	}
	return x
}

// tried is what a pass made, or the class and text of its error.
type tried[T any] struct {
	Made  T
	Error string
}

func (r *tried[T]) UnmarshalJSON(data []byte) error {
	var failed struct{ Error string }
	if json.Unmarshal(data, &failed) == nil && failed.Error != "" {
		r.Error = failed.Error
		return nil
	}
	return json.Unmarshal(data, &r.Made)
}

// fails compares errors and reports whether there is one.
func (r *tried[T]) fails(t *testing.T, err error) bool {
	if r.Error == "" {
		require.NoError(t, err)
		return false
	}
	_, text, _ := strings.Cut(r.Error, ": ")
	require.ErrorContains(t, err, text)
	return true
}

// A randomRun is what scripts/record_random_runs.py has of a graph.
type randomRun struct {
	Code       string
	Attributes map[string]recordedTensor
	Inputs     []recordedTensor
	Shapes     [][3]any
	Dot        struct {
		Nodes [][3]string
		Edges [][2]string
	}
	Fold struct {
		Skip []string
		Made tried[struct {
			Code  string
			Const *string
			Attrs [][3]any
		}]
	}
	Cut struct {
		Names   []string
		Options struct {
			Min   int  `json:"min_acc_module_size"`
			Free  bool `json:"allow_non_tensor"`
			Apart bool `json:"skip_fusion"`
			Move  bool `json:"move_non_tensor_nodes_on_boundary"`
		}
		Made tried[map[string]string]
	}
	Functional struct {
		Code    string
		Written tried[string]
	}
	Normed struct {
		Dims       int
		Layers     []map[string]bool
		Attributes map[string]recordedTensor
		Code       string
		Fused      map[string]recordedTensor
	}
	Ordered struct {
		Passes int
		Before [][2]int
		Order  tried[[]int]
	}
}

// What passes that run a graph make of random graphs is what those of torch.fx make:
// texts, names, bits, and what requires a gradient. TORCHFX_RANDOM_RUNS names a file of
// other graphs.
func TestPassesThatRunRandomGraphs(t *testing.T) {
	testenv.Libtorch(t)
	data, err := os.ReadFile(cmp.Or(os.Getenv("TORCHFX_RANDOM_RUNS"), "testdata/random_runs.json"))
	require.NoError(t, err)
	var cases []randomRun
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	for i, c := range cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Run("shapes and drawing", c.shapes)
			t.Run("fold", c.fold)
			t.Run("cut", c.cut)
			t.Run("functional", c.functional)
			t.Run("normed", c.normed)
			t.Run("ordered", c.ordered)
		})
	}
}

type randomRoot struct {
	nn.Base
	V, W *torch.Tensor
	U    *torch.Tensor `nn:"u,buffer"`
	Sub  *nn.ModuleDict
}

// module makes the graph module of a record anew.
func (c randomRun) module(t *testing.T) (*ir.GraphModule, []any) {
	lin := nn.NewLinear(3, 3)
	root := &randomRoot{Sub: nn.NewModuleDict(nn.Child{Name: "lin", Module: lin})}
	root.V, root.W, root.U = torch.Zeros(3), torch.Zeros(2, 3), torch.Zeros(3, 2)
	for name, at := range map[string]**torch.Tensor{"v": &root.V, "w": &root.W, "u": &root.U, "sub.lin.weight": &lin.Weight, "sub.lin.bias": &lin.Bias} {
		if r, there := c.Attributes[name]; there {
			*at = r.tensor(t)
		}
	}
	g, err := ir.ParseCode(c.Code)
	require.NoError(t, err)
	m, err := torchfx.NewGraphModule(root, g)
	require.NoError(t, err)
	var inputs []any
	for _, r := range c.Inputs {
		inputs = append(inputs, r.tensor(t))
	}
	return m, inputs
}

// shown is tensor meta as the record has it.
func shown(meta any) any {
	switch m := meta.(type) {
	case ir.TensorMeta:
		shape, stride := []any{}, []any{}
		for i := range m.Sizes {
			shape, stride = append(shape, float64(m.Sizes[i].Hint())), append(stride, float64(m.Strides[i].Hint()))
		}
		var format any
		if f, ok := passes.MemoryFormatOf(m); ok {
			format = f.String()
		}
		return []any{m.DType.String(), shape, m.RequiresGrad, stride, format}
	case []any:
		out := []any{}
		for _, item := range m {
			out = append(out, shown(item))
		}
		return out
	}
	return meta
}

func (c randomRun) shapes(t *testing.T) {
	m, inputs := c.module(t)
	out, err := passes.ShapeProp(t.Context(), m, inputs)
	require.NoError(t, err)
	closeTensors(out)
	var got [][3]any
	for n := range m.Graph().Nodes() {
		if n.Op() != ir.Output {
			got = append(got, [3]any{n.Name(), shown(n.Meta().Get(ir.MetaTensorMeta)), n.Meta().Get(passes.MetaType)})
		}
	}
	want := slices.Clone(c.Shapes)
	for i, w := range want { // sizes and several results are tuples here, and parameters tensors
		want[i][2] = cmp.Or(map[any]any{"torch.Size": "builtins.tuple", "torch.return_types.max": "builtins.tuple", "torch.nn.parameter.Parameter": "torch.Tensor"}[w[2]], w[2])
	}
	assert.Equal(t, want, got)

	var opts []passes.DotOption
	drawn := map[string]bool{}
	for _, n := range c.Dot.Nodes {
		drawn[n[0]] = true
	}
	for n := range m.Graph().Nodes() {
		if !drawn[n.Name()] {
			opts = []passes.DotOption{passes.WithoutGetAttr()}
		}
	}
	dot := passes.Dot(m, "m", opts...)
	for _, n := range c.Dot.Nodes {
		assert.Contains(t, dot, fmt.Sprintf("%q [fillcolor=%q, fontcolor=\"#000000\", label=\"%s\", shape=record, style=\"filled,rounded\"];\n", n[0], n[2], n[1]))
	}
	for _, e := range c.Dot.Edges {
		assert.Contains(t, dot, fmt.Sprintf("%q -> %q;\n", e[0], e[1]))
	}
	assert.Equal(t, len(c.Dot.Edges), strings.Count(dot, " -> "))
}

func (c randomRun) fold(t *testing.T) {
	m, _ := c.module(t)
	f, err := passes.ConstFold(m, passes.SkipFolding(func(n *ir.Node) bool { return slices.Contains(c.Fold.Skip, n.Name()) }))
	if strings.Contains(c.Fold.Made.Error, "has no attribute 'detach'") { // several results of one call are no constant
		require.NoError(t, err)
		require.ErrorIs(t, f.Run(t.Context()), ir.ErrUnsupported)
		return
	}
	if strings.Contains(c.Fold.Made.Error, "ParameterList' as parameter") { // torch.fx foresees one tensor, and gets a call's several results
		require.NoError(t, err)
		require.NoError(t, f.Run(t.Context()))
		defer f.Close()
		whole, inputs := c.module(t)
		want, err := interpreter.New(whole).RunFlat(t.Context(), inputs)
		require.NoError(t, err)
		got, err := interpreter.New(f.Module).RunFlat(t.Context(), inputs)
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i := range want {
			same, err := torch.Call("aten::equal", want[i], got[i])
			require.NoError(t, err)
			assert.Equal(t, true, same)
		}
		return
	}
	if c.Fold.Made.fails(t, err) {
		return
	}
	want := c.Fold.Made.Made
	assert.Equal(t, want.Code, codeOf(t, f.Module))
	require.Equal(t, want.Const != nil, f.Const != nil)
	if f.Const == nil {
		return
	}
	assert.Equal(t, *want.Const, codeOf(t, f.Const))
	require.NoError(t, f.Run(t.Context()))
	defer f.Close()
	v, _ := f.Module.Attr(f.Attr)
	var made []*torch.Tensor
	switch v := v.(type) {
	case *torch.Tensor:
		made = append(made, v)
	case *nn.ParameterList:
		for i := range v.Len() {
			made = append(made, v.At(i))
		}
	}
	var got [][3]any
	for _, x := range made {
		got = append(got, [3]any{floats(x.Shape()), floats(valuesOf(t, x)), x.RequiresGrad()})
	}
	assert.Equal(t, want.Attrs, append([][3]any{}, got...))
}

// floats are numbers as JSON has them.
func floats[T int | float64](values []T) []any {
	out := []any{}
	for _, v := range values {
		out = append(out, float64(v))
	}
	return out
}

func valuesOf(t *testing.T, x *torch.Tensor) []float64 {
	flat, err := torch.Call("aten::reshape", x, []int64{-1})
	require.NoError(t, err)
	wide, err := torch.Call("aten::_to_copy", flat, torch.Kw("dtype", torch.Float64))
	require.NoError(t, err)
	values, err := torch.Data[float64](wide.(*torch.Tensor))
	require.NoError(t, err)
	return values
}

func (c randomRun) cut(t *testing.T) {
	m, inputs := c.module(t)
	options := recordedSplit{Options: c.Cut.Options}.options()
	support := passes.SupportFunc(func(_ *ir.GraphModule, n *ir.Node) bool { return slices.Contains(c.Cut.Names, n.Name()) })
	s, err := passes.NewAcceleratorSplitter(t.Context(), m, inputs, support, options...)
	require.NoError(t, err)
	split, err := s.Split()
	if c.Cut.Made.fails(t, err) {
		return
	}
	sameCodes(t, c.Cut.Made.Made, split.Module)
}

func (c randomRun) functional(t *testing.T) {
	m := module(t, c.Functional.Code)
	_, err := passes.Reinplace(t.Context(), m, torch.Ones(4, 4), torch.Ones(4))
	if c.Functional.Written.fails(t, err) {
		return
	}
	assert.Equal(t, c.Functional.Written.Made, codeOf(t, m))
}

func (c randomRun) normed(t *testing.T) {
	var layers []nn.Layer
	last := 2
	for i, l := range c.Normed.Layers {
		var made nn.Layer
		features := c.Normed.Attributes[fmt.Sprintf("%d.weight", i-i%2)].Shape[0]
		if i%2 == 0 {
			bias := nn.WithBias(l["bias"])
			if made = nn.NewConv1d(last, features, 1, bias); c.Normed.Dims == 2 {
				made = nn.NewConv2d(last, features, 1, bias)
			}
		} else {
			options := []nn.Option{nn.WithAffine(l["affine"]), nn.WithTrackRunningStats(l["stats"])}
			if made = nn.NewBatchNorm1d(features, options...); c.Normed.Dims == 2 {
				made = nn.NewBatchNorm2d(features, options...)
			}
			last = features
		}
		layers = append(layers, made)
	}
	root := nn.NewSequential(layers...)
	nn.Train(root, false)
	for s := range nn.Tensors(root) {
		if r := c.Normed.Attributes[s.Name]; s.Tensor != nil && s.Tensor.DType() == torch.Float32 {
			_, err := torch.Call("aten::copy_", s.Tensor, recordedTensor{Shape: r.Shape, Values: r.Values}.tensor(t))
			require.NoError(t, err)
			_, err = torch.Call("aten::requires_grad_", s.Tensor, r.Trained)
			require.NoError(t, err)
		}
	}
	m, err := torchfx.SymbolicTrace(root)
	require.NoError(t, err)
	_, err = passes.FuseConvBN(m)
	require.NoError(t, err)
	assert.Equal(t, c.Normed.Code, codeOf(t, m))
	got := map[string]recordedTensor{}
	for path, v := range m.Attrs() {
		for s := range nn.Tensors(v.(nn.Module)) {
			if s.Tensor != nil && s.Tensor.DType() == torch.Float32 {
				r := recordedTensor{Shape: s.Tensor.Shape(), Trained: s.Tensor.RequiresGrad()}
				for _, f := range valuesOf(t, s.Tensor) {
					r.Values = append(r.Values, float32(f))
				}
				got[path+"."+s.Name] = r
			}
		}
	}
	assert.Equal(t, c.Normed.Fused, got)
}

func (c randomRun) ordered(t *testing.T) {
	all := make([]*passes.Pass, c.Ordered.Passes)
	for i := range all {
		all[i] = &passes.Pass{Name: fmt.Sprint(i)}
	}
	var constraints []passes.Constraint
	for _, p := range c.Ordered.Before {
		constraints = append(constraints, passes.Before(all[p[0]], all[p[1]]))
	}
	manager := passes.NewManager(all, passes.WithConstraints(constraints...))
	err := manager.Solve()
	if c.Ordered.Order.Error != "" {
		require.ErrorContains(t, err, "Circular dependency detected")
		return
	}
	require.NoError(t, err)
	var order []int
	for _, p := range manager.Passes() {
		order = append(order, slices.Index(all, p))
	}
	assert.Equal(t, c.Ordered.Order.Made, order)
}
