package passes

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func randn(t testing.TB, sizes ...int) *torch.Tensor {
	t.Helper()
	x, err := tensor("aten::randn", sizes)
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	return x
}

var (
	attributeRead = regexp.MustCompile(`self\.(\w+)`)
	operatorCalls = regexp.MustCompile(`torch\.ops\.[\w.]+\([^()]*\)`)
)

// flat brings code with calls as arguments into the form that graphs are read from, a
// call or an attribute a line.
func flat(body string) string {
	var lines []string
	seen := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(body)) {
		line = strings.TrimSpace(line)
		for _, m := range attributeRead.FindAllStringSubmatch(line, -1) {
			if name := m[1]; !seen[name] {
				seen[name] = true
				lines = append(lines, name+" = self."+name)
			}
		}
		line = attributeRead.ReplaceAllString(line, "$1")
		for {
			at := operatorCalls.FindStringIndex(line)
			if at == nil || strings.HasSuffix(line[:at[0]], "= ") && at[1] == len(line) && !strings.Contains(line[:at[0]], "(") {
				break
			}
			name := fmt.Sprintf("t%d", len(lines))
			lines = append(lines, name+" = "+line[at[0]:at[1]])
			line = line[:at[0]] + name + line[at[1]:]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n    ")
}

// aten reads a graph of operators, gives it attributes of random elements, and notes
// its values on inputs.
func aten(t testing.TB, body string, attrs map[string][]int, inputs ...*torch.Tensor) *ir.GraphModule {
	t.Helper()
	return atenOf(t, ir.Float32, body, attrs, inputs...)
}

// atenOf is aten with attributes of a dtype.
func atenOf(t testing.TB, d ir.DType, body string, attrs map[string][]int, inputs ...*torch.Tensor) *ir.GraphModule {
	t.Helper()
	testenv.Libtorch(t)
	require.NoError(t, libtorch.ManualSeed(0))
	values := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(attrs)) { // each with the same elements every time
		sizes := attrs[name]
		x := randn(t, sizes...)
		if len(sizes) > 1 && sizes[0] > 0 { // as layers begin, so that values stay of one magnitude
			x = torch.Div(x, math.Sqrt(float64(x.Numel()/sizes[0])))
		}
		if strings.HasSuffix(name, "var") {
			x = torch.Add(torch.Abs(x), 0.5)
		}
		values[name] = castTo(t, x, d)
	}
	args := []string{"x", "y", "z"}[:len(inputs)]
	g, err := ir.ParseCode("def forward(self, " + strings.Join(args, ", ") + "):\n    " + flat(body))
	require.NoError(t, err)
	gm, err := ir.NewGraphModule(values, g)
	require.NoError(t, err)
	note(t, gm, inputs)
	return gm
}

func runModule(t testing.TB, r interface {
	RunFlat(context.Context, []any) ([]any, error)
}, inputs []*torch.Tensor) []*torch.Tensor {
	t.Helper()
	args := make([]any, len(inputs))
	for i, x := range inputs {
		args[i] = x
	}
	out, err := r.RunFlat(t.Context(), args)
	require.NoError(t, err)
	tensors := make([]*torch.Tensor, len(out))
	for i, v := range out {
		tensors[i] = v.(*torch.Tensor)
	}
	return tensors
}

func closeEach(tensors []*torch.Tensor) {
	for _, x := range tensors {
		x.Close()
	}
}

// distance is the largest difference, as a part of the largest magnitude.
func distance(t testing.TB, want, got *torch.Tensor) float64 {
	t.Helper()
	if want.Numel() == 0 {
		return 0
	}
	if same, err := torch.Call("aten::equal", want, got); err == nil && same == true {
		return 0 // infinities, too
	}
	if d := want.DType(); !d.IsFloat() && !d.IsComplex() {
		want, got = castTo(t, want, ir.Float64), castTo(t, got, ir.Float64)
	}
	number := func(x *torch.Tensor) float64 {
		v, err := torch.Max(torch.Abs(x)).Item()
		require.NoError(t, err)
		f, _ := v.(float64)
		return f
	}
	if scale := number(want); scale > 0 {
		return number(torch.Sub(want, got)) / scale
	}
	return number(got)
}

// steps are the strides that matter: of dimensions that have more than one element, in
// a tensor that has any.
func steps(x *torch.Tensor) []int {
	strides := slices.Clone(x.Strides())
	for i, n := range x.Shape() {
		if n == 1 || x.Numel() == 0 {
			strides[i] = 0
		}
	}
	return strides
}

// freezes freezes a module and checks that the frozen one gives the same results, with
// the same strides, within the tolerance that the report states.
func freezes(t testing.TB, gm *ir.GraphModule, sets [][]*torch.Tensor, opts ...FreezeOption) *Frozen {
	t.Helper()
	before := gm.Graph().String()
	options := append([]FreezeOption{WithChoices(Unmeasured()), FreezeDelegate(nil)}, opts...)
	frozen, err := Freeze(t.Context(), gm, options...)
	require.NoError(t, err)
	t.Cleanup(func() { frozen.Close() })
	again, err := Freeze(t.Context(), frozen.Module, options...)
	require.NoError(t, err)
	t.Cleanup(func() { again.Close() })
	require.Equal(t, frozen.Module.Graph().String(), again.Module.Graph().String(), "a frozen module stays as it is\n%s", again.Report)
	require.Equal(t, before, gm.Graph().String(), "the module given stays as it is")
	require.NoError(t, frozen.Module.Graph().Lint())
	plan, err := interpreter.Compile(frozen.Module)
	require.NoError(t, err)
	defer plan.Close()
	for _, inputs := range sets {
		want := runModule(t, interpreter.New(gm), inputs)
		for _, r := range []interface {
			RunFlat(context.Context, []any) ([]any, error)
		}{interpreter.New(frozen.Module), plan, plan} {
			got := runModule(t, r, inputs)
			require.Len(t, got, len(want))
			for i := range want {
				require.Equal(t, torch.Describe(want[i]), torch.Describe(got[i]))
				require.Equal(t, steps(want[i]), steps(got[i]))
				require.LessOrEqual(t, distance(t, want[i], got[i]), frozen.Report.Tolerance(), "%s\n%s", frozen.Report, frozen.Module.Graph())
			}
			closeEach(got)
		}
		closeEach(want)
	}
	return frozen
}

// operatorsOf lists what a graph calls, without "torch.ops." and ".default".
func operatorsOf(gm *ir.GraphModule) []string {
	names := []string{}
	for n := range gm.Graph().Nodes() {
		if n.Op() == ir.CallFunction {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(n.Target().String(), "torch.ops."), ".default"))
		}
	}
	return names
}
