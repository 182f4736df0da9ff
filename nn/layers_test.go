package nn_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// What a constructor refuses, in PyTorch's words.
func TestConstructorsRefuse(t *testing.T) {
	testenv.Libtorch(t)
	tests := []struct {
		name    string
		class   string
		args    []any
		options []nn.Option
		is      error
		want    string
	}{
		{"no such class", "Linea", nil, nil, ir.ErrUnsupported, "no layer of class Linea"},
		{"class of another module", "my.nn.Linear", nil, nil, ir.ErrUnsupported, "no layer of class my.nn.Linear"},
		{"missing", "Linear", []any{3}, nil, ir.ErrType, "missing 1 required positional argument: 'out_features'"},
		{"unknown keyword", "ReLU", nil, []nn.Option{torch.Kw("inplce", true)}, ir.ErrType, "unexpected keyword argument 'inplce'"},
		{"given twice", "ReLU", []any{true}, []nn.Option{torch.Kw("inplace", true)}, ir.ErrType, "multiple values for argument 'inplace'"},
		{"too many", "Tanh", []any{1}, nil, ir.ErrType, "positional arguments"},
		{"no number", "Linear", []any{"3", 4}, nil, ir.ErrType, "argument 'in_features' must be int"},
		{"groups", "Conv2d", []any{3, 4, 3}, []nn.Option{nn.WithGroups(2)}, ir.ErrValue, "in_channels must be divisible by groups"},
		{"padding mode", "Conv2d", []any{3, 4, 3}, []nn.Option{nn.WithPaddingMode("zero")}, ir.ErrValue, "padding_mode must be one of"},
		{"same with stride", "Conv2d", []any{3, 4, 3}, []nn.Option{nn.WithPadding("same"), nn.WithStride(2)}, ir.ErrValue, "padding='same' is not supported for strided convolutions"},
		{"probability", "Dropout", []any{1.5}, nil, ir.ErrValue, "dropout probability has to be between 0 and 1, but got 1.5"},
		{"group norm", "GroupNorm", []any{3, 4}, nil, ir.ErrValue, "num_channels (4) must be divisible by num_groups (3)"},
		{"padding index", "Embedding", []any{3, 4}, []nn.Option{nn.WithPaddingIdx(3)}, ir.ErrAssertion, "Padding_idx must be within num_embeddings"},
		{"projection", "GRU", []any{3, 4}, []nn.Option{nn.WithProjSize(2)}, ir.ErrValue, "proj_size argument is only supported for LSTM"},
		{"heads", "MultiheadAttention", []any{5, 2}, nil, ir.ErrAssertion, "embed_dim must be divisible by num_heads"},
		{"activation", "TransformerEncoderLayer", []any{4, 2}, []nn.Option{nn.WithActivation("tanh")}, ir.ErrRuntime, "activation should be relu/gelu, not tanh"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := nn.New(tc.class, tc.args, tc.options...)
			require.ErrorIs(t, err, tc.is)
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

// What a call refuses.
func TestCallsRefuse(t *testing.T) {
	testenv.Libtorch(t)
	tests := []struct {
		name string
		m    nn.Module
		args []any
		kw   []torch.Kwarg
		is   error
		want string
	}{
		{"no argument", nn.NewReLU(), nil, nil, ir.ErrType, "missing 1 required positional argument: 'input'"},
		{"unknown keyword", nn.NewReLU(), []any{torch.Ones(1)}, []torch.Kwarg{torch.Kw("x", 1)}, ir.ErrType, "unexpected keyword argument 'x'"},
		{"rank", nn.NewBatchNorm2d(3), []any{torch.Ones(2, 3)}, nil, ir.ErrValue, "expected 4D input (got 2D input)"},
		{"ranks", nn.NewBatchNorm1d(3), []any{torch.Ones(3)}, nil, ir.ErrValue, "expected 2D or 3D input (got 1D input)"},
		{"one value", nn.NewBatchNorm1d(3), []any{torch.Ones(1, 3)}, nil, ir.ErrValue, "Expected more than 1 value per channel when training, got input size torch.Size([1, 3])"},
		{"width", nn.NewLSTM(3, 4), []any{torch.Ones(5, 2, 2)}, nil, ir.ErrRuntime, "input.size(-1) must be equal to input_size. Expected 3, got 2"},
		{"state", nn.NewGRU(3, 4), []any{torch.Ones(5, 2, 3), torch.Ones(1, 2, 3)}, nil, ir.ErrRuntime, "Expected hidden size (1, 2, 4), got [1, 2, 3]"},
		{"upsample", nn.NewUpsample(), []any{torch.Ones(1, 1, 2)}, nil, ir.ErrValue, "either size or scale_factor should be defined"},
		{"loss sizes", nn.NewBCELoss(), []any{torch.Ones(2), torch.Ones(3)}, nil, ir.ErrValue, "Using a target size (torch.Size([3])) that is different to the input size (torch.Size([2])) is deprecated"},
		{"reduction", nn.NewL1Loss(nn.WithReduction("average")), []any{torch.Ones(2), torch.Ones(2)}, nil, ir.ErrValue, "average is not a valid value for reduction"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := nn.Invoke(tc.m, tc.args, tc.kw)
			require.ErrorIs(t, err, tc.is)
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

// Containers print as Python's do: neighbours that look the same share a line.
func TestReprOfContainers(t *testing.T) {
	testenv.Libtorch(t)
	block := func() nn.Module { return nn.NewModuleList(nn.NewReLU(), nn.NewReLU(), nn.NewLinear(1, 2)) }
	parameters := &nn.ParameterDict{}
	parameters.Set("a", torch.Ones(2, 3))
	tests := []struct {
		name string
		m    nn.Module
		want string
	}{
		{"empty", nn.NewSequential(), "Sequential()"},
		{"empty list", nn.NewModuleList(), "ModuleList()"},
		{"list", nn.NewModuleList(block(), block()), "ModuleList(\n  (0-1): 2 x ModuleList(\n    (0-1): 2 x ReLU()\n    (2): Linear(in_features=1, out_features=2, bias=True)\n  )\n)"},
		{"dict", nn.NewModuleDict(nn.Child{Name: "a", Module: nn.NewReLU()}), "ModuleDict(\n  (a): ReLU()\n)"},
		{"parameters", nn.NewParameterList(torch.Ones(2, 3), torch.Ones(2)), "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2x3]\n    (1): Parameter containing: [torch.float32 of size 2]\n)"},
		{"named parameters", parameters, "ParameterDict(  (a): Parameter containing: [torch.FloatTensor of size 2x3])"},
		{"no parameters", &nn.ParameterDict{}, "ParameterDict()"},
		{"named", nn.NewSequentialOf(nn.Child{Name: "act", Module: nn.NewGELU()}), "Sequential(\n  (act): GELU(approximate='none')\n)"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, nn.Repr(tc.m))
			back, err := nn.FromRepr(nn.ClassName(tc.m), tc.want)
			require.NoError(t, err)
			assert.Equal(t, tc.want, nn.Repr(back))
		})
	}
}

// tagger has layers with several arguments and results.
type tagger struct {
	nn.Base `forward:"x"`
	Lstm    *nn.LSTM
	Attn    *nn.MultiheadAttention
	Scales  *nn.ParameterList
}

func (m *tagger) Forward(x *torch.Tensor) *torch.Tensor {
	y, _, _ := m.Lstm.Forward(x, nil, nil)
	y, _ = m.Attn.Forward(y, y, y, nn.WithNeedWeights(false))
	return torch.Mul(y, m.Scales.At(0))
}

// Leaves with keywords and several results are recorded as Python's calls are,
// and the graph computes what the model does.
func TestTraceOfSeveralResults(t *testing.T) {
	testenv.Libtorch(t)
	m := &tagger{Lstm: nn.NewLSTM(3, 4), Attn: nn.NewMultiheadAttention(4, 2), Scales: nn.NewParameterList(torch.Full([]int{4}, 2.0))}
	gm, err := tracer.SymbolicTrace(m)
	require.NoError(t, err)
	code, err := gm.Code()
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, x):
    lstm = self.lstm(x);  x = None
    getitem = lstm[0]
    getitem_1 = lstm[1];  lstm = None
    getitem_2 = getitem_1[0];  getitem_2 = None
    getitem_3 = getitem_1[1];  getitem_1 = getitem_3 = None
    attn = self.attn(getitem, getitem, getitem, need_weights = False);  getitem = None
    getitem_4 = attn[0]
    getitem_5 = attn[1];  attn = getitem_5 = None
    scales_0 = getattr(self.scales, "0")
    mul = torch.mul(getitem_4, scales_0);  getitem_4 = scales_0 = None
    return mul
    `, code)
	x := torch.Randn(5, 2, 3)
	want, err := torch.Try(func() *torch.Tensor { return m.Forward(x) })
	require.NoError(t, err)
	out, err := interpreter.New(gm).Run(t.Context(), x)
	require.NoError(t, err)
	requireSame(t, want, out, "output")
}

// A copy has tensors of its own, and modules that are one stay one.
func TestCopy(t *testing.T) {
	testenv.Libtorch(t)
	shared := nn.NewLinear(2, 2)
	m := nn.NewSequential(shared, nn.NewReLU(), shared)
	c, err := nn.Copy(m)
	require.NoError(t, err)
	twin := c.(*nn.Sequential)
	assert.Same(t, twin.At(0), twin.At(2))
	first := twin.At(0).(*nn.Linear)
	assert.NotSame(t, shared.Weight, first.Weight)
	same, err := torch.Equal(shared.Weight, first.Weight)
	require.NoError(t, err)
	assert.True(t, same)
	assert.True(t, first.Weight.RequiresGrad())
	x := torch.Ones(1, 2)
	want, err := torch.Try(func() *torch.Tensor { return m.Forward(x) })
	require.NoError(t, err)
	have, err := torch.Try(func() *torch.Tensor { return twin.Forward(x) })
	require.NoError(t, err)
	requireSame(t, want, have, "output of the copy")
}

// A lenient load reports what does not fit, and loads the rest.
func TestLenientLoad(t *testing.T) {
	testenv.Libtorch(t)
	m := nn.NewLinear(2, 2)
	ones := torch.Ones(2)
	inc, err := nn.LoadStateDict(m, func(yield func(string, *torch.Tensor) bool) {
		_ = yield("bias", ones) && yield("gain", ones)
	}, nn.Lenient())
	require.NoError(t, err)
	assert.Equal(t, nn.Incompatible{Missing: []string{"weight"}, Unexpected: []string{"gain"}}, inc)
	same, err := torch.Equal(m.Bias, ones)
	require.NoError(t, err)
	assert.True(t, same)
}

// A short repr may ask for much, and does not get it.
func TestReprsAreBounded(t *testing.T) {
	testenv.Libtorch(t)
	tests := []struct{ name, class, repr, want string }{
		{"memory", "Linear", "Linear(in_features=1000000, out_features=1000000)", "expected at most 2^32 parameters in all"},
		{"overflow", "Linear", "Linear(in_features=4000000000, out_features=4000000000)", ""},
		{"modules", "ModuleList", "ModuleList(\n (0-9999): 10000 x ModuleList(\n (0-9999): 10000 x ReLU()\n)\n)", "expected at most 100000 modules"},
		{"range", "ModuleList", "ModuleList(\n  (0-99999999): 100000000 x ReLU()\n)", "expected as many modules as the range has"},
		{"depth", "ReLU", "ReLU(" + strings.Repeat("(", 200), "less than 100 deep"},
		{"parameters", "ParameterList", "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 99999x99999]\n)", "expected at most 2^32 parameters in all"},
		{"class", "Linear", "ReLU()", "expected Linear(…), got ReLU(…)"},
		{"end", "ReLU", "ReLU() and more", "expected the end"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := nn.FromRepr(tc.class, tc.repr)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// A repr is bounded before it is believed, and never a panic.
func FuzzFromRepr(f *testing.F) {
	testenv.Libtorch(f)
	for _, s := range []string{
		"Linear(in_features=2, out_features=2, bias=False)", "ReLU()", "Conv1d(1, 2, kernel_size=(3,), stride=(1,))",
		"Sequential(\n  (0): ReLU()\n)", "ModuleList(\n  (0-9): 10 x ReLU()\n)", "ModuleList(\n  (0-99999999): 100000000 x ReLU()\n)",
		"((((((", "ReLU(inplace=((((1,),),),))", "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2x3]\n)", "Linear(in_features=99999999999, out_features=99999999999)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		nn.LimitRepr(1 << 20)
		defer nn.LimitRepr(1 << 32)
		name, _, _ := strings.Cut(s, "(")
		if m, err := nn.FromRepr(name, s); err == nil {
			nn.Repr(m)
		}
	})
}
