package passes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A pointwiseDelegate knows of some pointwise operations, whose bits are libtorch's. It
// speaks the programs of oneDNN's.
type pointwiseDelegate struct{ *OneDNN }

var pointwise = overloads("aten::add.Tensor aten::sub.Tensor aten::mul.Tensor aten::relu aten::abs aten::clamp aten::flatten.using_ints")

func (pointwiseDelegate) Name() string               { return "pointwise" }
func (pointwiseDelegate) Worth(*ir.GraphModule) bool { return true }
func (d pointwiseDelegate) Supported(m *ir.GraphModule, n *ir.Node) bool {
	return pointwise[n.Func()] && d.OneDNN.Supported(m, n)
}

func delegateForTests(t testing.TB) pointwiseDelegate {
	t.Helper()
	library, err := libtorch.OpenDelegateFile(testenv.PointwiseDelegate(t))
	require.NoError(t, err)
	return pointwiseDelegate{NewOneDNN(library)}
}

// delegates gives regions of a copy of gm to the delegate for tests.
func delegates(t testing.TB, gm *ir.GraphModule, opts ...DelegateOption) (*ir.GraphModule, []Delegation) {
	t.Helper()
	m := gm.Clone()
	report, regions, err := DelegateRegions(t.Context(), m, delegateForTests(t), opts...)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, r := range regions {
			require.NoError(t, r.Close())
		}
	})
	require.NoError(t, m.Graph().Lint())
	return m, report
}

// sameBits runs both modules by an Interpreter, and the second by a Plan three times.
func sameBits(t testing.TB, want, got *ir.GraphModule, inputs ...*torch.Tensor) {
	t.Helper()
	plan, err := interpreter.Compile(got)
	require.NoError(t, err)
	defer plan.Close()
	expected := runModule(t, interpreter.New(want), inputs)
	defer closeEach(expected)
	for i, r := range []interface {
		RunFlat(context.Context, []any) ([]any, error)
	}{interpreter.New(got), plan, plan, plan} {
		found := runModule(t, r, inputs)
		require.Len(t, found, len(expected))
		for k := range expected {
			require.Equal(t, torch.Describe(expected[k]), torch.Describe(found[k]))
			require.Equal(t, expected[k].Strides(), found[k].Strides())
			a, err := expected[k].Bytes()
			require.NoError(t, err)
			b, err := found[k].Bytes()
			require.NoError(t, err)
			require.Equal(t, a, b, "result %d of run %d\n%s", k, i, got.Graph())
		}
		closeEach(found)
	}
}

func TestDelegateRegions(t *testing.T) {
	tests := []struct {
		name, body string
		regions    [][]string // operators of each
		outside    []string   // operators that are left
	}{
		{"all", "a = torch.ops.aten.add.Tensor(x, y)\nb = torch.ops.aten.relu.default(a)\nreturn b", [][]string{{"aten.add.Tensor", "aten.relu"}}, []string{}},
		{"several results", "a = torch.ops.aten.add.Tensor(x, y)\nb = torch.ops.aten.relu.default(a)\nc = torch.ops.aten.abs.default(a)\nreturn (b, c, a)",
			[][]string{{"aten.add.Tensor", "aten.relu", "aten.abs"}}, []string{}},
		{"a path leads out and back", "a = torch.ops.aten.add.Tensor(x, y)\nb = torch.ops.aten.neg.default(a)\nc = torch.ops.aten.mul.Tensor(a, b)\nreturn c",
			[][]string{{"aten.add.Tensor"}, {"aten.mul.Tensor"}}, []string{"aten.neg"}},
		{"constant", "a = torch.ops.aten.mul.Tensor(x, self.w)\nb = torch.ops.aten.sub.Tensor(a, self.w)\nreturn b", [][]string{{"aten.mul.Tensor", "aten.sub.Tensor"}}, []string{}},
		{"constant that is read elsewhere", "a = torch.ops.aten.mul.Tensor(x, self.w)\nb = torch.ops.aten.neg.default(self.w)\nc = torch.ops.aten.cos.default(a)\nreturn (c, b)",
			[][]string{{"aten.mul.Tensor"}}, []string{"aten.neg", "aten.cos"}},
		{"a value that is written", "a = torch.ops.aten.add.Tensor(x, y)\nw = torch.ops.aten.mul_.Tensor(a, 2.0)\nb = torch.ops.aten.relu.default(a)\nc = torch.ops.aten.abs.default(x)\nreturn (b, c)",
			[][]string{{"aten.abs"}}, []string{"aten.add.Tensor", "aten.mul_.Tensor", "aten.relu"}},
		{"a write between", "v = torch.ops.aten.cos.default(x)\na = torch.ops.aten.abs.default(y)\nm = torch.ops.aten.mul.Tensor(v, a)\nw = torch.ops.aten.relu_.default(v)\nb = torch.ops.aten.relu.default(a)\nreturn (m, b)",
			[][]string{{"aten.abs"}, {"aten.relu"}}, []string{"aten.cos", "aten.mul.Tensor", "aten.relu_"}},
		{"an argument that is written", "a = torch.ops.aten.add.Tensor(x, y)\nw = torch.ops.aten.mul_.Tensor(x, 2.0)\nb = torch.ops.aten.relu.default(y)\nreturn (a, b)",
			[][]string{{"aten.relu"}}, []string{"aten.add.Tensor", "aten.mul_.Tensor"}},
		{"an attribute that is written", "a = torch.ops.aten.mul.Tensor(x, self.w)\nu = torch.ops.aten.add_.Tensor(self.w, 1.0)\nb = torch.ops.aten.abs.default(y)\nreturn (a, b)",
			[][]string{{"aten.abs"}}, []string{"aten.mul.Tensor", "aten.add_.Tensor"}},
		{"a view that is returned", "a = torch.ops.aten.abs.default(x)\nb = torch.ops.aten.flatten.using_ints(a, 0)\nreturn (a, b)", [][]string{{"aten.abs"}}, []string{"aten.flatten.using_ints"}},
		{"a view between", "a = torch.ops.aten.abs.default(x)\nb = torch.ops.aten.flatten.using_ints(a, 0)\nc = torch.ops.aten.relu.default(b)\nreturn c",
			[][]string{{"aten.abs", "aten.flatten.using_ints", "aten.relu"}}, []string{}},
		{"other dtype", "a = torch.ops.aten.add.Tensor(x, y)\nb = torch.ops.aten.to.dtype(a, torch.float64)\nc = torch.ops.aten.abs.default(b)\nreturn c",
			[][]string{{"aten.add.Tensor"}}, []string{"aten.to.dtype", "aten.abs"}},
		{"results that lie otherwise", "a = torch.ops.aten.t.default(x)\nb = torch.ops.aten.abs.default(a)\nc = torch.ops.aten.relu.default(y)\nreturn (b, c)",
			[][]string{{"aten.relu"}}, []string{"aten.t", "aten.abs"}},
		{"nothing", "a = torch.ops.aten.neg.default(x)\nreturn a", nil, []string{"aten.neg"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			inputs := []*torch.Tensor{randn(t, 4, 6), randn(t, 4, 6)}
			gm := aten(t, tc.body, map[string][]int{"w": {4, 6}}, inputs...)
			m, report := delegates(t, gm)
			var regions [][]string
			for _, r := range report {
				v, _ := m.Attr(r.Path)
				regions = append(regions, operatorsOf(v.(*interpreter.Delegated).Twin()))
				assert.Contains(t, r.Kernels, "steps")
			}
			assert.ElementsMatch(t, tc.regions, regions, "%s", m.Graph())
			assert.Equal(t, tc.outside, slices.DeleteFunc(operatorsOf(m), func(name string) bool { return name == "operator.getitem" }), "%s", m.Graph())
			if !strings.Contains(tc.body, "_.Tensor(self") { // or the next run begins with another state
				copies := func() []*torch.Tensor {
					out := make([]*torch.Tensor, 0, 2)
					for _, x := range inputs {
						c, err := tensor("aten::clone", x)
						require.NoError(t, err)
						out = append(out, c)
					}
					return out
				}
				if strings.Contains(tc.body, "_.Tensor(x") {
					for _, run := range []*ir.GraphModule{gm, m} {
						in := copies()
						closeEach(runModule(t, interpreter.New(run), in))
						closeEach(in)
					}
				} else {
					sameBits(t, gm, m, inputs...)
					sameBits(t, gm, m, randn(t, 4, 6), randn(t, 4, 6))
				}
			}
			inlined := m.Clone()
			n, err := InlineRegions(inlined)
			require.NoError(t, err)
			assert.Equal(t, len(tc.regions), n)
			require.NoError(t, inlined.Graph().Lint())
			assert.ElementsMatch(t, operatorsOf(gm), slices.DeleteFunc(operatorsOf(inlined), func(name string) bool { return name == "operator.getitem" }))
		})
	}
}

// Sizes that were not noted are prepared for when they come; those that the delegate
// has no kernels for are the twin's, and its errors those of the call.
func TestDelegatedSizes(t *testing.T) {
	testenv.Libtorch(t)
	gm := aten(t, "n = torch.ops.aten.neg.default(x)\na = torch.ops.aten.add.Tensor(n, y)\nb = torch.ops.aten.relu.default(a)\nreturn (torch.ops.aten.neg.default(b), a)",
		nil, randn(t, 4, 6), randn(t, 4, 6))
	m, report := delegates(t, gm)
	require.Len(t, report, 1)
	plan, err := interpreter.Compile(m)
	require.NoError(t, err)
	defer plan.Close()
	for _, rows := range []int{1, 4, 13, 7, 13, 1, 64} {
		x, y := randn(t, rows, 6), randn(t, rows, 6)
		sameBits(t, gm, m, x, y)
		want := runModule(t, interpreter.New(gm), []*torch.Tensor{x, y})
		for range 3 {
			got := runModule(t, plan, []*torch.Tensor{x, y})
			for i := range want {
				assert.Zero(t, distance(t, want[i], got[i]), "%d rows", rows)
			}
			closeEach(got)
		}
		closeEach(want)
	}
	// broadcasting is for the twin, too, and so is a tensor that is no float32
	sameBits(t, gm, m, randn(t, 4, 6), randn(t, 6))
	wide, err := tensor("aten::to.dtype", randn(t, 4, 6), torch.Float64)
	require.NoError(t, err)
	defer wide.Close()
	sameBits(t, gm, m, wide, wide)
	strided, err := tensor("aten::t", randn(t, 6, 4))
	require.NoError(t, err)
	defer strided.Close()
	x := randn(t, 4, 6)
	for _, r := range []interface {
		RunFlat(context.Context, []any) ([]any, error)
	}{interpreter.New(m), plan} {
		_, err = r.RunFlat(t.Context(), []any{randn(t, 17, 6), randn(t, 17, 6)})
		var at *interpreter.NodeError
		require.ErrorAs(t, err, &at)
		assert.Equal(t, "pointwise_0", at.Node)
		require.ErrorIs(t, err, ir.ErrRuntime)
		require.ErrorContains(t, err, "expected another size than 17")
		got := runModule(t, r, []*torch.Tensor{x, strided}) // and the frame goes on
		want := runModule(t, interpreter.New(gm), []*torch.Tensor{x, strided})
		for i := range want {
			assert.Zero(t, distance(t, want[i], got[i]))
		}
		closeEach(got)
		closeEach(want)
	}
}

// Where gradients are recorded, the twin runs.
func TestDelegatedGradients(t *testing.T) {
	testenv.Libtorch(t)
	gm := aten(t, "a = torch.ops.aten.mul.Tensor(x, y)\nreturn torch.ops.aten.relu.default(a)", nil, randn(t, 4, 6), randn(t, 4, 6))
	m, _ := delegates(t, gm)
	x := randn(t, 4, 6)
	_, err := torch.Call("aten::requires_grad_", x, true)
	require.NoError(t, err)
	plan, err := interpreter.Compile(m, interpreter.WithMode(libtorch.Mode{Grad: true}))
	require.NoError(t, err)
	defer plan.Close()
	for _, r := range []interface {
		RunFlat(context.Context, []any) ([]any, error)
	}{interpreter.New(m, interpreter.WithMode(libtorch.Mode{Grad: true})), plan} {
		out := runModule(t, r, []*torch.Tensor{x, x})
		assert.True(t, out[0].RequiresGrad())
		closeEach(out)
	}
	out := runModule(t, interpreter.New(m), []*torch.Tensor{x, x})
	assert.False(t, out[0].RequiresGrad())
	closeEach(out)
}

// One plan, many goroutines, several shapes: every result is that of the module.
func TestDelegatedConcurrently(t *testing.T) {
	testenv.Libtorch(t)
	gm := aten(t, "a = torch.ops.aten.add.Tensor(x, self.w)\nb = torch.ops.aten.relu.default(a)\nc = torch.ops.aten.neg.default(b)\nreturn torch.ops.aten.mul.Tensor(c, a)", map[string][]int{"w": {6, 6}}, randn(t, 6, 6))
	m, report := delegates(t, gm)
	require.Len(t, report, 2)
	plan, err := interpreter.Compile(m)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		x := randn(t, 6, 6)
		want := runModule(t, interpreter.New(gm), []*torch.Tensor{x})
		t.Cleanup(func() { closeEach(want) })
		wg.Go(func() {
			for range 200 {
				out, err := plan.RunFlat(context.Background(), []any{x})
				if !assert.NoError(t, err) {
					return
				}
				got := out[0].(*torch.Tensor)
				assert.Zero(t, distance(t, want[0], got))
				got.Close()
			}
		})
	}
	wg.Wait()
	require.NoError(t, plan.Close())
}

func TestDelegatedPlanDump(t *testing.T) {
	testenv.Libtorch(t)
	x := randn(t, 6, 6)
	gm := aten(t, "n = torch.ops.aten.neg.default(x)\na = torch.ops.aten.mul.Tensor(n, x)\nb = torch.ops.aten.relu.default(a)\nreturn torch.ops.aten.neg.default(b)", nil, x)
	m, _ := delegates(t, gm)
	plan, err := interpreter.Compile(m)
	require.NoError(t, err)
	defer plan.Close()
	closeEach(runModule(t, plan, []*torch.Tensor{x}))
	dump, err := plan.Dump()
	require.NoError(t, err)
	assert.Contains(t, dump, "test region")
	assert.Regexp(t, `(?m)^region pointwise_0, step 1: 2 operators by test, \d+ bytes of packed weights: a b$`, dump)
	assert.Regexp(t, `(?m)^1 +pointwise_0 +%2 +f32\[6, 6\] `, dump, "the result lies in planned memory")
}

func TestDelegateRegionsIsCancelled(t *testing.T) {
	testenv.Libtorch(t)
	gm := aten(t, "return torch.ops.aten.abs.default(x)", nil, randn(t, 4, 6))
	before := gm.Graph().String()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := DelegateRegions(ctx, gm, delegateForTests(t))
	require.ErrorIs(t, err, ir.ErrCancelled)
	assert.Equal(t, before, gm.Graph().String())
}

// Of random graphs, what regions compute has the bits of the operators.
func TestDelegateRandomGraphs(t *testing.T) {
	testenv.Libtorch(t)
	rapid.Check(t, func(r *rapid.T) {
		values := []string{"x", "y"}
		var lines []string
		for i := range rapid.IntRange(1, 25).Draw(r, "operators") {
			pick := func(label string) string { return rapid.SampledFrom(values).Draw(r, label) }
			name := fmt.Sprintf("v%d", i)
			switch op := rapid.SampledFrom([]string{"add.Tensor", "sub.Tensor", "mul.Tensor", "relu.default", "abs.default", "neg.default", "cos.default", "self.w", "relu_.default"}).Draw(r, "operator"); op {
			case "add.Tensor", "sub.Tensor", "mul.Tensor":
				lines = append(lines, fmt.Sprintf("%s = torch.ops.aten.%s(%s, %s)", name, op, pick("a"), pick("b")))
			case "self.w":
				lines = append(lines, fmt.Sprintf("%s = torch.ops.aten.mul.Tensor(%s, self.w)", name, pick("a")))
			case "relu_.default":
				own := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "x" || v == "y" })
				if len(own) == 0 {
					lines = append(lines, fmt.Sprintf("%s = torch.ops.aten.neg.default(x)", name))
					break
				}
				lines = append(lines, fmt.Sprintf("%s = torch.ops.aten.relu_.default(%s)", name, rapid.SampledFrom(own).Draw(r, "written")))
			default:
				lines = append(lines, fmt.Sprintf("%s = torch.ops.aten.%s(%s)", name, op, pick("a")))
			}
			values = append(values, name)
		}
		results := rapid.SliceOfNDistinct(rapid.SampledFrom(values[2:]), 1, 3, func(v string) string { return v }).Draw(r, "results")
		if len(results) == 0 {
			results = values[len(values)-1:]
		}
		body := strings.Join(lines, "\n") + "\nreturn (" + strings.Join(results, ", ") + ",)"
		gm := aten(t, body, map[string][]int{"w": {3, 5}}, randn(t, 3, 5), randn(t, 3, 5))
		m, _ := delegates(t, gm)
		sameBits(t, gm, m, randn(t, 3, 5), randn(t, 3, 5))
	})
}

// declining is a delegate that takes everything and can compile nothing.
type declining struct{}

func (declining) Name() string                             { return "declining" }
func (declining) Supported(*ir.GraphModule, *ir.Node) bool { return true }
func (declining) Worth(region *ir.GraphModule) bool        { return true }
func (declining) Compile(context.Context, *ir.GraphModule, delegate.Layouts) (*libtorch.Region, error) {
	return nil, ir.Errorf(ir.ErrUnsupported, "no kernels on this machine")
}

func ExampleDelegateRegions() {
	g, err := ir.ParseCode("def forward(self, x):\n    a = torch.ops.aten.relu.default(x)\n    b = torch.ops.aten.neg.default(a)\n    return b")
	if err != nil {
		fmt.Println(err)
		return
	}
	gm, err := ir.NewGraphModule(nil, g)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := ShapeProp(context.Background(), gm, []any{torch.Ones([]int{2, 3})}); err != nil {
		fmt.Println(err)
		return
	}
	for n := range gm.Graph().Nodes() { // a saved program has noted them
		if meta := n.Meta().Get(ir.MetaTensorMeta); meta != nil {
			n.Meta().Set(ir.MetaVal, meta)
		}
	}
	report, _, err := DelegateRegions(context.Background(), gm, declining{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, region := range report {
		fmt.Println(region.String())
	}
	// Output:
	// a, b left: no kernels on this machine
}
