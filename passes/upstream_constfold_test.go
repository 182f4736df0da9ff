package passes_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// foldProgram is a program whose attributes are tensors of two elements.
func foldProgram(t *testing.T, code string, more map[string]any) *ir.GraphModule {
	g, err := ir.ParseCode(code)
	require.NoError(t, err)
	attrs := map[string]any{}
	for i, n := range g.Find(ir.GetAttr, nil) {
		path := n.Target().String()
		if attrs[path] == nil {
			w, err := torch.From([]float32{float32(i + 1), float32(10 * (i + 1))}, 2)
			require.NoError(t, err)
			t.Cleanup(func() { w.Close() })
			attrs[path] = w
		}
	}
	for path, v := range more {
		attrs[path] = v
	}
	m, err := ir.NewGraphModule(attrs, g)
	require.NoError(t, err)
	return m
}

func foldInputs(t *testing.T, m *ir.GraphModule) (args []any) {
	for i := range m.Graph().Find(ir.Placeholder, nil) {
		x, err := torch.From([]float32{float32(i) + 0.5, -1}, 2)
		require.NoError(t, err)
		t.Cleanup(func() { x.Close() })
		args = append(args, x)
	}
	return args
}

// anyTexts runs a module and returns the tensors of its result as text.
func anyTexts(t *testing.T, m *ir.GraphModule, args []any) (out []string) {
	v, err := interpreter.New(m).Run(t.Context(), args...)
	require.NoError(t, err)
	var show func(v any)
	show = func(v any) {
		switch v := v.(type) {
		case *torch.Tensor:
			out = append(out, v.String())
		case ir.PyTuple:
			for _, item := range v {
				show(item)
			}
		case *ir.PyDict:
			for key, item := range v.All() {
				out = append(out, key.(string))
				show(item)
			}
		}
	}
	show(v)
	closeTensors(v)
	return out
}

// The programs of test/fx/test_fx_const_fold.py: what is constant is computed once,
// the rest gives what it gave.
func TestUpstreamConstFold(t *testing.T) {
	testenv.Libtorch(t)
	tests := []struct {
		name, code string
		gone       []string // calls that are not in the module any more
		left       []string // calls that are
		folded     bool
	}{
		// upstream: test_fx_const_fold.TestConstFold.test_const_fold_basic_one_attr_no_name_collision
		{"one_attr", "a = self.attr_1\nadd = a + a\nsub = x - add", []string{"add"}, []string{"sub"}, true},
		// upstream: test_fx_const_fold.TestConstFold.test_const_fold_basic_placeholder_reordered
		{"placeholder_reordered", "w = self.w\nneg = torch.neg(w)\nadd = neg + x\nmul = add * y", []string{"neg"}, []string{"add", "mul"}, true},
		// upstream: test_fx_const_fold.TestConstFold.test_const_fold_noop
		{"noop", "a = self.attr_1\nsub = x - a", nil, []string{"sub"}, false},
		// upstream: test_fx_const_fold.TestConstFold.test_const_fold_basic_two_attr_three_input
		{"two_attr_three_input", "a = self.attr_1\nb = self.attr_2\nadd = a + b\nsub = x - add\nsub_1 = y - add\nadd_1 = sub + sub_1\nadd_2 = add_1 + z", []string{"add"}, []string{"sub", "sub_1", "add_1", "add_2"}, true},
		// upstream: test_fx_const_fold.TestConstFold.test_const_fold_basic_two_attr
		{"two_attr", "a = self.attr_1\nb = self.attr_2\nadd = a + b\nsub = x - add", []string{"add"}, []string{"sub"}, true},
		// upstream: test_fx_const_fold.TestConstFold.test_const_fold_multi_const_folded_attrs
		{"multi", "a = self.attr_1\nb = self.attr_2\nneg = torch.neg(a)\nabs_1 = torch.abs(b)\nadd = neg + x\nmul = abs_1 * add", []string{"neg", "abs_1"}, []string{"add", "mul"}, true},
		// upstream: test_fx_const_fold.TestConstFold.test_const_fold_submod_hierarchy
		{"submod_hierarchy", "a = self.m.attr_1\nb = self.m.n.attr_2\nadd = a + b\nsub = x - add", []string{"add"}, []string{"sub"}, true},
		// upstream: test_fx_const_fold.TestConstFold.test_const_fold_unused_placeholder
		{"unused_placeholder", "a = self.attr_1\nadd = a + a\nsub = x - add", []string{"add"}, []string{"sub"}, true},
		// upstream: test_fx_const_fold.TestConstFold.test_check_inline_non_const
		{"inline_non_const", "a = self.attr\nneg = torch.neg(a)\nmul = x * neg\nmul_1 = mul * 2\nrelu = torch.relu(mul_1)", []string{"neg"}, []string{"mul", "mul_1", "relu"}, true},
	}
	results := map[string]string{"two_attr_three_input": "add_2", "noop": "sub"}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			lines := strings.Split(tc.code, "\n")
			result := results[tc.name]
			if result == "" {
				result, _, _ = strings.Cut(lines[len(lines)-1], " ")
			}
			m := foldProgram(t, "def forward(self, x, y, z):\n    "+strings.Join(lines, "\n    ")+"\n    return "+result, nil)
			requireFold(t, m, tc.gone, tc.left, tc.folded)
		})
	}
	// the shapes of results
	for _, tc := range []struct{ name, result string }{
		// upstream: test_fx_const_fold.TestConstFold.test_two_outputs
		{"two_outputs", "(sub, add)"},
		// upstream: test_fx_const_fold.TestConstFold.test_three_outputs
		{"three_outputs", "(sub, add, x)"},
		// upstream: test_fx_const_fold.TestConstFold.test_dict_output
		{"dict_output", "{'result': sub, 'folded': add}"},
		// upstream: test_fx_const_fold.TestConstFold.test_check_inline_non_const_mult_return
		{"inline_non_const_mult_return", "(sub, mul)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := foldProgram(t, "def forward(self, x):\n    a = self.a\n    add = a + a\n    sub = x - add\n    mul = sub * 2\n    return "+tc.result, nil)
			requireFold(t, m, []string{"add"}, []string{"sub"}, true)
		})
	}
}

// requireFold folds, and compares what the module computes before and after.
func requireFold(t *testing.T, m *ir.GraphModule, gone, left []string, folded bool) *passes.Folding {
	args := foldInputs(t, m)
	want := anyTexts(t, m, args)
	arguments := len(m.Graph().Find(ir.Placeholder, nil))
	f, err := passes.ConstFold(m)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	require.NoError(t, f.Module.Graph().Lint())
	require.Equal(t, folded, f.Const != nil)
	require.Len(t, f.Module.Graph().Find(ir.Placeholder, nil), arguments, "arguments stay, used or not")
	for _, name := range gone {
		require.Nil(t, f.Module.Graph().Lookup(name), name)
	}
	for _, name := range left {
		require.NotNil(t, f.Module.Graph().Lookup(name), name)
	}
	require.NoError(t, f.Run(t.Context()))
	require.Equal(t, want, anyTexts(t, f.Module, args))
	return f
}

// upstream: test_fx_const_fold.TestConstFold.test_const_fold_basic_one_attr_name_collision
func TestUpstreamConstFoldNameCollision(t *testing.T) {
	testenv.Libtorch(t)
	m := foldProgram(t, "def forward(self, x):\n    a = self._FX_CONST_FOLDED_ATTRS\n    add = a + a\n    sub = x - add\n    mul = sub * a\n    return mul", nil)
	f := requireFold(t, m, []string{"add"}, []string{"sub"}, true)
	_, ok := f.Module.Attr("_FX_CONST_FOLDED_ATTRS_1")
	require.True(t, ok)
}

// upstream: test_fx_const_fold.TestConstFold.test_retain_node_meta
// upstream: test_fx_const_fold.TestConstFold.test_const_fold_tensor_meta
func TestUpstreamConstFoldMeta(t *testing.T) {
	testenv.Libtorch(t)
	m := foldProgram(t, "def forward(self, x):\n    a = self.a\n    add = a + a\n    sub = x - add\n    return sub", nil)
	for i, name := range []string{"x", "a", "add", "sub"} {
		m.Graph().Lookup(name).Meta().Set("meta_idx", i)
	}
	m.Graph().Lookup("add").Meta().Set(ir.MetaTensorMeta, ir.TensorMeta{DType: ir.Float32, Sizes: []ir.Size{ir.SizeOf(2)}})
	f := requireFold(t, m, []string{"add"}, []string{"sub"}, true)
	require.Equal(t, 3, f.Module.Graph().Lookup("sub").Meta().Get("meta_idx"))
	require.Equal(t, 0, f.Module.Graph().Lookup("x").Meta().Get("meta_idx"))
	reads := f.Module.Graph().Find(ir.GetAttr, nil)
	require.Len(t, reads, 1)
	require.Equal(t, ir.Float32, reads[0].Meta().Get(ir.MetaTensorMeta).(ir.TensorMeta).DType, "of what was folded")
	require.Equal(t, 2, reads[0].Meta().Get("meta_idx"))
}

// upstream: test_fx_const_fold.TestConstFold.test_const_fold_has_inlined_call_module_node
// upstream: test_fx_const_fold.TestConstFold.test_const_fold_module_attr
// upstream: test_fx_const_fold.TestConstFold.test_fold_module
func TestUpstreamConstFoldModules(t *testing.T) {
	testenv.Libtorch(t)
	// a module applied to constants is folded away, one applied to an argument stays
	m := foldProgram(t, "def forward(self, x):\n    a = self.a\n    act = self.act(a)\n    lin = self.lin(x)\n    add = lin + act\n    return add",
		map[string]any{"act": nn.NewReLU(), "lin": nn.NewLinear(2, 2)})
	requireFold(t, m, []string{"act"}, []string{"lin", "add"}, true)

	lin := nn.NewLinear(2, 2)
	m = foldProgram(t, "def forward(self, x):\n    a = self.a\n    lin = self.lin(a)\n    add = lin + x\n    return add", map[string]any{"lin": lin})
	requireFold(t, m, []string{"lin"}, []string{"add"}, true)
}
