package interpreter_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A group of several threads has the bits of eager code with as many, where bits depend on how
// libtorch splits elements between them, too: the exponential of elements that fill no vector at the
// end of a share is another one, and so is the NaN that maximum gives.
func TestFusedOnSeveralThreads(t *testing.T) {
	needLibtorch(t)
	anywhere := []string{"add", "mul", "relu", "rsqrt", "neg", "abs", "div"}
	tails := []string{"sigmoid", "maximum", "silu", "minimum", "neg"}
	for _, tc := range []struct {
		ops     []string
		sizes   []int
		threads int
		want    string
	}{
		{anywhere, []int{64}, 3, "1 × 64 elements, "},
		{anywhere, []int{32768}, 2, "on 2 threads"},
		{anywhere, []int{32768}, 3, "on 3 threads"},
		{anywhere, []int{517, 301}, 3, "on 3 threads"},
		{anywhere, []int{3, 70001}, 2, "on 2 threads"},
		{tails, []int{32768}, 2, "elements, "}, // of which libtorch's loops make no two shares
		{tails, []int{32769}, 2, "on 2 threads"},
		{tails, []int{33001}, 3, "on 2 threads"}, // nor three of these
		{tails, []int{100003}, 2, "on 2 threads"},
		{tails, []int{100003}, 3, "on 3 threads"},
		{tails, []int{1 << 20}, 7, "on 7 threads"},
		{tails, []int{41, 29, 63}, 2, "on 2 threads"},
	} {
		t.Run(fmt.Sprint(tc.ops, tc.sizes, tc.threads), func(t *testing.T) {
			gm := chain(t, tc.ops...)
			p := compile(t, gm, interpreter.WithThreads(tc.threads))
			agreeThreads(t, gm, p, tc.threads, drawn(t, 1, tc.sizes), drawn(t, 2, tc.sizes))
			text, err := p.Dump()
			require.NoError(t, err)
			if os.Getenv("OMP_THREAD_LIMIT")+os.Getenv("OMP_DYNAMIC") == "" {
				assert.Contains(t, text, tc.want)
			}
		})
	}
}

// So it has where OpenMP gives fewer threads than were asked for.
func TestFusedOnFewerThreads(t *testing.T) {
	needLibtorch(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFusedOnSeveralThreads$", "-test.v")
	cmd.Env = append(os.Environ(), "OMP_THREAD_LIMIT=2")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: TestFusedOnSeveralThreads")
}

// drawn is a tensor of normal numbers, every fifth of them a special one.
func drawn(t *testing.T, seed uint64, sizes []int) *torch.Tensor {
	t.Helper()
	n := 1
	for _, s := range sizes {
		n *= s
	}
	random := rand.New(rand.NewPCG(seed, 0))
	values := make([]float32, n)
	for i := range values {
		if values[i] = float32(random.NormFloat64()); random.IntN(5) == 0 {
			values[i] = float32(special[random.IntN(len(special))])
		}
	}
	return tensor(t, values, sizes...)
}
