package vision_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/examples/vision"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

func TestMain(m *testing.M) { testenv.MainWithExamples(m) }

// A recorded is what scripts/record_vision.py wrote of one network.
type recorded struct {
	Seed   uint64
	Next   float64  // the number drawn after the weights
	State  [][4]any // name, dtype, shape, digest
	Traces map[string]struct{ Class, Code, Graph string }
}

func readRecorded(t *testing.T) map[string]recorded {
	t.Helper()
	f, err := os.Open("testdata/vision.json.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	all := map[string]recorded{}
	require.NoError(t, json.NewDecoder(z).Decode(&all))
	require.Len(t, all, len(vision.Names))
	return all
}

// Every network is traced to torch.fx's graph of torchvision's, in both modes.
//
// upstream: test_fx.TestVisionTracing.test_torchvision_models_*
func TestTraces(t *testing.T) {
	testenv.Libtorch(t)
	for name, want := range readRecorded(t) {
		m, err := vision.New(name)
		require.NoError(t, err)
		for _, mode := range []string{"eval", "train"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				nn.Train(m, mode == "train")
				gm, err := tracer.SymbolicTrace(m)
				require.NoError(t, err)
				require.NoError(t, gm.Graph().Lint())
				code, err := gm.Code()
				require.NoError(t, err)
				sameText(t, want.Traces[mode].Code, code)
				sameText(t, want.Traces[mode].Graph, gm.Graph().String())
				assert.Equal(t, want.Traces[mode].Class, gm.ClassName())
			})
		}
	}
}

// sameText compares line by line, as the texts are long.
func sameText(t *testing.T, want, have string) {
	t.Helper()
	expected, got := strings.Split(want, "\n"), strings.Split(have, "\n")
	for i := range min(len(expected), len(got)) {
		require.Equal(t, expected[i], got[i], "line %d", i+1)
	}
	require.Len(t, got, len(expected))
}

// Under the same seed a network has the weights that torchvision's has, under
// their names, and the generator stands where Python leaves it.
func TestWeights(t *testing.T) {
	testenv.Libtorch(t)
	for name, want := range readRecorded(t) {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, torch.ManualSeed(want.Seed))
			m, err := vision.New(name)
			require.NoError(t, err)
			i := 0
			for key, x := range nn.StateDict(m) {
				require.Less(t, i, len(want.State))
				data, err := x.Bytes()
				require.NoError(t, err)
				sum := sha256.Sum256(data)
				have := [4]any{key, "torch." + x.DType().Name(), fmt.Sprint(x.Shape()), hex.EncodeToString(sum[:])[:16]}
				w := want.State[i]
				require.Equal(t, [4]any{w[0], w[1], fmt.Sprint(w[2]), w[3]}, have)
				i++
			}
			assert.Len(t, want.State, i)
			next := torch.Rand(1)
			drawn, err := next.Item()
			require.NoError(t, err)
			assert.Equal(t, want.Next, drawn)
		})
	}
}

// A network and the graph of its trace compute the same bits.
//
// upstream: test_fx.TestVisionTracing.test_torchvision_models_*
func TestGraphsComputeTheSame(t *testing.T) {
	testenv.Libtorch(t)
	for _, name := range vision.Names {
		for _, train := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/train=%v", name, train), func(t *testing.T) {
				m, err := vision.New(name)
				require.NoError(t, err)
				nn.Train(m, train)
				gm, err := tracer.SymbolicTrace(m)
				require.NoError(t, err)
				s := torch.NewScope()
				defer s.Close()
				x := torch.Randn(2, 3, 64, 64, torch.In(s))
				if name == "googlenet" && train { // its auxiliary classifiers
					x = torch.Randn(2, 3, 224, 224, torch.In(s))
				}
				require.NoError(t, torch.ManualSeed(1))
				out, err := nn.Invoke(m, []any{x}, nil)
				require.NoError(t, err)
				require.NoError(t, torch.ManualSeed(1))
				again, err := interpreter.New(gm).Run(t.Context(), x)
				require.NoError(t, err)
				want, have := tensors(t, out), tensors(t, again)
				require.Len(t, have, len(want))
				for i := range want {
					a, err := want[i].Bytes()
					require.NoError(t, err)
					b, err := have[i].Bytes()
					require.NoError(t, err)
					assert.Equal(t, a, b)
					_ = have[i].Close()
				}
			})
		}
	}
}

// tensors returns what a network returned as a list.
func tensors(t *testing.T, out any) (list []*torch.Tensor) {
	t.Helper()
	switch out := out.(type) {
	case *torch.Tensor:
		return []*torch.Tensor{out}
	case vision.GoogLeNetOutputs:
		return []*torch.Tensor{out.Logits, out.AuxLogits2, out.AuxLogits1}
	case *ir.PyObject:
		assert.Equal(t, []string{"logits", "aux_logits2", "aux_logits1"}, out.Fields)
		for _, v := range out.Values {
			list = append(list, v.(*torch.Tensor))
		}
		return list
	}
	require.Fail(t, "unexpected result", "%T", out)
	return nil
}

func TestNewRefusesUnknownNames(t *testing.T) {
	_, err := vision.New("vgg16")
	require.EqualError(t, err, "model: expected one of [resnet18 mobilenet_v2 googlenet densenet121], got vgg16")
}

// Without auxiliary classifiers googlenet returns scores alone, and pictures may
// be scaled as torchvision scales them for its published weights.
func TestGoogLeNetTransformsItsInput(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(vision.NewGoogLeNet(vision.GoogLeNetConfig{Classes: 10, TransformInput: true}))
	require.NoError(t, err)
	code, err := gm.Code()
	require.NoError(t, err)
	assert.Contains(t, code, `
    getitem = x[(slice(None, None, None), 0)]
    unsqueeze = torch.unsqueeze(getitem, 1);  getitem = None
    mul = unsqueeze * 0.458;  unsqueeze = None
    add = mul + -0.030000000000000027;  mul = None
`)
}
