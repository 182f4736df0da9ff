package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/script"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

func TestMain(m *testing.M) { testenv.MainWithExamples(m) }

type recorded struct {
	Shape []int
	Data  []float32
}

// read returns the programs that scripts/record_script.py wrote.
func read(t *testing.T, name string) (m *script.Module, in *torch.Tensor, want []float32) {
	testenv.Libtorch(t)
	data, err := os.ReadFile("testdata/script.json")
	require.NoError(t, err)
	var cases map[string]struct{ Input, Output recorded }
	require.NoError(t, json.Unmarshal(data, &cases))
	c, ok := cases[name]
	require.True(t, ok)
	in, err = torch.From(c.Input.Data, c.Input.Shape...)
	require.NoError(t, err)
	m, err = script.Open(filepath.Join("testdata", name+".pt"), ir.Device{})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m, in, c.Output.Data
}

func data(t *testing.T, v any) []float32 {
	t.Helper()
	x, ok := v.(*torch.Tensor)
	require.True(t, ok, "%T", v)
	d, err := torch.Data[float32](x)
	require.NoError(t, err)
	return d
}

func TestRun(t *testing.T) {
	for _, name := range []string{"loop", "choice"} {
		t.Run(name, func(t *testing.T) {
			m, x, want := read(t, name)
			for range 4 { // libtorch optimises a program while it runs the first times
				out, err := m.Run(context.Background(), "forward", x)
				require.NoError(t, err)
				assert.InDeltaSlice(t, want, data(t, out), 1e-6)
			}
		})
	}
}

// Values of all kinds go in and come out.
func TestValues(t *testing.T) {
	ctx := context.Background()
	m, x, want := read(t, "values")
	out, err := m.Run(ctx, "forward", x)
	require.NoError(t, err)
	pair, ok := out.(ir.PyTuple)
	require.True(t, ok, "%T", out)
	assert.InDeltaSlice(t, want, data(t, pair[0]), 1e-6)
	assert.Equal(t, int64(3), pair[1])

	out, err = m.Run(ctx, "forward", x, torch.Kw("more", []*torch.Tensor{x.Mul(0)}), torch.Kw("n", 4))
	require.NoError(t, err)
	twice := data(t, out.(ir.PyTuple)[0])
	for i, v := range want {
		assert.InDelta(t, 2*v, twice[i], 1e-5)
	}
	assert.Equal(t, int64(5), out.(ir.PyTuple)[1])

	out, err = m.Run(ctx, "doubled", map[string]any{"a": torch.Ones(2)}, true, 3)
	require.NoError(t, err)
	a, ok := out.(*ir.PyDict).Get("a")
	require.True(t, ok)
	assert.Equal(t, []float32{3, 3}, data(t, a))

	for want := int64(1); want < 4; want++ { // a buffer that the program writes
		out, err = m.Run(ctx, "counted", torch.Ones(7))
		require.NoError(t, err)
		assert.Equal(t, []any{want, int64(7)}, out)
	}
	out, err = m.Run(ctx, "label", 1)
	require.NoError(t, err)
	assert.Equal(t, "yes", out)
}

func TestWhatThereIs(t *testing.T) {
	m, _, _ := read(t, "values")
	assert.Equal(t, []string{"forward", "counted", "doubled", "label"}, m.Methods())
	assert.Equal(t, "forward(Tensor x, int n=…, Tensor[]? more=…) -> (Tensor, int)", m.Signature("forward"))
	assert.Empty(t, m.Signature("backward"))
	state, err := m.State()
	require.NoError(t, err)
	var names []string
	for name := range state {
		names = append(names, name)
	}
	assert.ElementsMatch(t, []string{"fc.weight", "fc.bias", "count"}, names)
	scale, ok, err := m.Attribute("scale")
	require.NoError(t, err)
	require.True(t, ok)
	assert.Equal(t, 2.0, scale)
	_, ok, err = m.Attribute("nothing")
	require.NoError(t, err)
	assert.False(t, ok)
	_, ok, err = m.Attribute("fc")
	assert.True(t, ok)
	require.ErrorIs(t, err, ir.ErrUnsupported)
	require.NoError(t, m.Train(true))
	training, _, err := m.Attribute("training")
	require.NoError(t, err)
	assert.Equal(t, true, training)
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	m, x, _ := read(t, "values")
	for _, c := range []struct {
		method string
		args   []any
		class  error
		want   string
	}{
		{"backward", nil, ir.ErrMissing, `expected one of the methods forward, counted, doubled, label, got "backward"`},
		{"forward", nil, ir.ErrType, "missing arguments x: Tensor"},
		{"forward", []any{x, 1, nil, 2}, ir.ErrType, "expected at most 3 arguments, got 4"},
		{"forward", []any{x, torch.Kw("m", 1)}, ir.ErrType, "unexpected keyword argument m"},
		{"forward", []any{x, torch.Kw("x", 1)}, ir.ErrType, "multiple values for argument x"},
		{"forward", []any{"x"}, ir.ErrType, "argument 0, x: expected Tensor, got"},
		{"label", []any{7}, ir.ErrRuntime, "list index out of range"},
		{"forward", []any{torch.Ones(2, 2)}, ir.ErrRuntime, "mat1 and mat2 shapes cannot be multiplied"},
	} {
		_, err := m.Run(ctx, c.method, c.args...)
		require.ErrorIs(t, err, c.class, "%s %v", c.method, c.args)
		require.ErrorContains(t, err, c.want)
	}
	_, err := script.Open("testdata/script.json", ir.Device{})
	require.ErrorIs(t, err, ir.ErrInput)
	_, err = script.Open("testdata/none.pt", ir.Device{})
	require.ErrorIs(t, err, ir.ErrInput)
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	_, err = m.Run(stopped, "forward", x)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, m.Close())
	_, err = m.Run(ctx, "forward", x)
	require.ErrorIs(t, err, ir.ErrClosed)
}

// A program becomes a graph: loops are what the run did.
func TestGraph(t *testing.T) {
	m, x, want := read(t, "loop")
	gm, err := m.Graph(tracer.Recording{}, x)
	require.NoError(t, err)
	require.NoError(t, gm.Graph().Lint())
	cells := 0
	for n := range gm.Graph().Nodes() {
		if f := n.Func(); f != nil && f.Op() == "aten::gru_cell" {
			cells++
		}
	}
	assert.Equal(t, 5, cells)
	_, named := gm.Attr("cell.weight_ih")
	assert.True(t, named)
	out, err := interpreter.New(gm).Run(context.Background(), x)
	require.NoError(t, err)
	assert.InDeltaSlice(t, want, data(t, out), 1e-6)

	m, x, want = read(t, "choice")
	_, err = m.Graph(tracer.Recording{}, x)
	require.ErrorContains(t, err, "expected no value to be read while recording")
	gm, err = m.Graph(tracer.Recording{GuardReads: true}, x)
	require.NoError(t, err)
	out, err = interpreter.New(gm).Run(context.Background(), x)
	require.NoError(t, err)
	assert.InDeltaSlice(t, want, data(t, out), 1e-6)
	_, err = interpreter.New(gm).Run(context.Background(), x.Mul(-1))
	require.ErrorContains(t, err, "with which the graph was recorded")
}

// TestSilero runs the voice detector of the PyPI package silero-vad on a recording
// that scripts/record_script.py --silero made; TORCHFX_SILERO names the folder of
// that, TORCHFX_SILERO_MODEL the program.
func TestSilero(t *testing.T) {
	folder, model := os.Getenv("TORCHFX_SILERO"), os.Getenv("TORCHFX_SILERO_MODEL")
	if folder == "" || model == "" {
		t.Skip("TORCHFX_SILERO names no recording")
	}
	testenv.Libtorch(t)
	floats := func(name string) *torch.Tensor {
		raw, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		x, err := torch.FromBytes(torch.Float32, []int{len(raw) / 4}, raw)
		require.NoError(t, err)
		return x
	}
	audio, want := data(t, floats("audio.f32")), data(t, floats("probabilities.f32"))
	m, err := script.Open(model, ir.Device{})
	require.NoError(t, err)
	defer m.Close()
	_, err = m.Run(context.Background(), "reset_states")
	require.NoError(t, err)
	const window = 512
	for i := range want {
		x, err := torch.From(audio[i*window:(i+1)*window], window)
		require.NoError(t, err)
		out, err := m.Run(context.Background(), "forward", x, 16000)
		require.NoError(t, err)
		require.Equal(t, want[i:i+1], data(t, out), "window %d", i)
	}
}

func ExampleModule_Run() {
	m, err := script.Open("testdata/values.pt", ir.Device{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	fmt.Println(m.Signature("label"))
	out, err := m.Run(context.Background(), "label", 1)
	fmt.Println(out, err)
	// Output:
	// label(int i) -> str
	// yes <nil>
}
