package export

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// openModule opens a module that was saved whole.
func openModule(t *testing.T, name string) (any, error) {
	t.Helper()
	s, err := OpenTorchSave(filepath.Join("testdata", "torchsave", name+".pt"), Classes(func(class string) bool {
		return ModuleClasses(class) || class == "__main__.Net"
	}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s.Module()
}

// stateNames lists the tensors of a module under their qualified names.
func stateNames(m any) []string {
	var names []string
	switch m := m.(type) {
	case *SavedModule:
		for name := range m.State() {
			names = append(names, name)
		}
	case *ir.GraphModule:
		for path, v := range m.Attrs() {
			if _, ok := v.(*Tensor); ok {
				names = append(names, path)
			}
			for _, name := range stateNames(v) {
				names = append(names, path+"."+name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestSavedModules compares with what torch.load(weights_only=False) makes.
func TestSavedModules(t *testing.T) {
	graphs := 0
	for _, tc := range savedCases(t) {
		if tc.Module == nil || tc.Name == "python_class" {
			continue
		}
		t.Run(tc.Name, func(t *testing.T) {
			m, err := openModule(t, tc.Name)
			require.NoError(t, err)
			assert.Equal(t, tc.Module.State, stateNames(m))
			if tc.Module.Graph == "" {
				assert.Equal(t, tc.Module.Class, m.(*SavedModule).Class)
				return
			}
			graphs++
			g := m.(*ir.GraphModule)
			assert.Equal(t, tc.Module.Class, g.ClassName())
			assert.Equal(t, strings.TrimSpace(tc.Module.Graph), strings.TrimSpace(g.Graph().String()))
			code, err := g.Code()
			require.NoError(t, err)
			assert.Equal(t, strings.TrimSpace(tc.Module.Code), strings.TrimSpace(code))
		})
	}
	assert.Equal(t, 2, graphs)
}

func TestSavedLayers(t *testing.T) {
	m, err := openModule(t, "layers")
	require.NoError(t, err)
	s := m.(*SavedModule)
	assert.Equal(t, []string{"0", "1", "2", "3"}, s.Names)
	assert.Equal(t, "Conv2d(in_channels=3, out_channels=4, kernel_size=(3, 1), stride=(1, 1), padding='same', dilation=(1, 1), groups=1, padding_mode='zeros', bias=False)",
		s.Children[0].Repr())
	assert.Equal(t, "Dropout(p=0.25, inplace=False)", s.Children[1].Repr())
	assert.True(t, s.Children[1].Eval)
	assert.False(t, s.Children[0].Eval)
	assert.Equal(t, "LSTM(input_size=4, hidden_size=5, num_layers=2, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0)", s.Children[2].Repr())
	encoder, _, _ := strings.Cut(s.Children[3].Repr(), "\n  (linear1)")
	assert.Equal(t, `TransformerEncoderLayer(
  norm_first=False, d_model=4, nhead=2, dim_feedforward=3, dropout=0.1, layer_norm_eps=1e-05, batch_first=False, bias=True, activation='gelu'
  (self_attn): MultiheadAttention(
    embed_dim=4, kdim=4, vdim=4, num_heads=2, dropout=0.1, batch_first=False, add_zero_attn=False, add_bias_kv=False, bias=True
    (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)
  )`, encoder)
}

func TestSavedModuleOfPythonCode(t *testing.T) {
	_, err := openModule(t, "python_class")
	require.ErrorIs(t, err, ir.ErrUnsupported)
	assert.ErrorContains(t, err, "module itself: is of class __main__.Net, which is Python code")
	assert.ErrorContains(t, err, "torch.export.export")
	_, err = openModule(t, "state_dict")
	require.ErrorIs(t, err, ir.ErrType)
	assert.ErrorContains(t, err, "got a dict; StateDict reads its tensors")
	// without the classes nothing of it is read
	_, err = OpenTorchSave(filepath.Join("testdata", "torchsave", "graph_module.pt"))
	require.ErrorIs(t, err, ir.ErrUnsupported)
	assert.ErrorContains(t, err, "torch.fx.graph_module.reduce_graph_module")
}

// TestSavedModuleShapes makes trees that no module can be.
func TestSavedModuleShapes(t *testing.T) {
	container := func(children ...any) *Instance {
		names := make([]any, len(children))
		for i := range children {
			names[i] = string(rune('a' + i))
		}
		state := ir.NewPyDict([]any{"training", "_modules"}, []any{true, ir.NewPyDict(names, children)})
		return &Instance{Class: "torch.nn.modules.container.Sequential", State: state}
	}
	wide := container()
	for range 20 {
		wide = container(wide, wide)
	}
	deep := container()
	for range 200 {
		deep = container(deep)
	}
	loop := container()
	loop.State.(*ir.PyDict).Set("_modules", ir.NewPyDict([]any{"a"}, []any{loop}))
	for _, tc := range []struct {
		name string
		root *Instance
		says string
	}{
		{"shared again and again", wide, "expected at most 65536 modules, got more"},
		{"deep", deep, "nested at most 100 deep"},
		{"in itself", loop, "module a: holds itself"},
		{"no state", &Instance{Class: "torch.nn.modules.linear.Linear"}, "expected the state of a torch.nn.modules.linear.Linear as a dict, got None"},
		{"no code", &Instance{Class: graphModuleFunc}, "expected a GraphModule with its code"},
		{"code that is none", &Instance{Class: graphModuleFunc, Args: ir.PyTuple{ir.NewPyDict([]any{"_code"}, []any{"import os\nos.system('true')"}), ""}}, "module itself: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			atMost(t, func() {
				_, err := (&Saved{Value: tc.root}).Module()
				require.Error(t, err)
				assert.ErrorContains(t, err, tc.says)
			})
		})
	}
}
