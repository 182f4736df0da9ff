package initialize_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/nn/initialize"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestMain(m *testing.M) { testenv.MainWithExamples(m) }

// A recorded is what scripts/record_init.py wrote of one call.
type recorded struct {
	Function string
	Shape    []int
	DType    string `json:"dtype"`
	Args     []any
	Seed     uint64
	SHA256   string `json:"sha256"`
	Next     float64
	Error    string
}

func (c recorded) call(x *torch.Tensor, options ...torch.Kwarg) {
	f := func(i int) float64 { return c.Args[i].(float64) }
	switch c.Function {
	case "uniform_":
		initialize.Uniform(x, f(0), f(1), options...)
	case "normal_":
		initialize.Normal(x, f(0), f(1), options...)
	case "constant_":
		initialize.Constant(x, f(0))
	case "xavier_uniform_":
		initialize.XavierUniform(x, f(0), options...)
	case "xavier_normal_":
		initialize.XavierNormal(x, f(0), options...)
	case "kaiming_uniform_":
		initialize.KaimingUniform(x, f(0), initialize.Mode(c.Args[1].(string)), c.Args[2].(string), options...)
	case "kaiming_normal_":
		initialize.KaimingNormal(x, f(0), initialize.Mode(c.Args[1].(string)), c.Args[2].(string), options...)
	case "trunc_normal_":
		initialize.TruncNormal(x, f(0), f(1), f(2), f(3), options...)
	case "orthogonal_":
		initialize.Orthogonal(x, f(0), options...)
	default:
		panic(c.Function)
	}
}

// Every function leaves PyTorch's bits under the same seed, and the generator
// where PyTorch leaves it; a generator of the caller's gives the same, and
// nothing stays open.
func TestRecorded(t *testing.T) {
	testenv.Libtorch(t)
	data, err := os.ReadFile("testdata/init.json")
	require.NoError(t, err)
	var cases []recorded
	require.NoError(t, json.Unmarshal(data, &cases))
	for i, c := range cases {
		t.Run(fmt.Sprintf("%02d_%s_%s", i, c.Function, c.DType), func(t *testing.T) {
			dtype, err := ir.ParseDType(c.DType)
			require.NoError(t, err)
			x := torch.Full(c.Shape, 7.0, torch.Kw("dtype", dtype))
			defer x.Close()
			require.NoError(t, torch.ManualSeed(c.Seed))
			before, _ := torch.LiveTensors()
			_, err = torch.Try(func() any { c.call(x); return nil })
			after, _ := torch.LiveTensors()
			assert.Equal(t, before, after, "tensors left open")
			if c.Error != "" {
				require.ErrorIs(t, err, ir.ErrValue)
				require.ErrorContains(t, err, c.Error)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.SHA256, digest(t, x))
			next := torch.Rand(1)
			defer next.Close()
			drawn, err := next.Item()
			require.NoError(t, err)
			assert.Equal(t, c.Next, drawn, "the next number drawn")

			g, err := torch.NewGenerator(c.Seed)
			require.NoError(t, err)
			defer g.Close()
			c.call(x, torch.Kw("generator", g))
			assert.Equal(t, c.SHA256, digest(t, x), "by a generator")
		})
	}
}

func digest(t *testing.T, x *torch.Tensor) string {
	t.Helper()
	data, err := x.Bytes()
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func ExampleKaimingNormal() {
	net := nn.NewSequential(nn.NewConv2d(3, 8, 3), nn.NewReLU(), nn.NewConv2d(8, 8, 3))
	filled := 0
	for _, m := range nn.Modules(net) {
		if conv, ok := m.(*nn.Conv2d); ok {
			initialize.KaimingNormal(conv.Weight, 0, initialize.FanOut, "relu")
			filled++
		}
	}
	fmt.Println(filled)
	// Output: 2
}
