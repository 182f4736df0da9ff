package torchops

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// TestPromotion compares the dtypes that all pairs of operands make with those that
// PyTorch makes of them; see scripts/record_promotion.py.
func TestPromotion(t *testing.T) {
	testenv.Libtorch(t)
	table, err := os.ReadFile("testdata/promotion.txt")
	require.NoError(t, err)
	scope := NewScope()
	defer scope.Close()
	made := map[string]any{"number:bool": true, "number:int": 2, "number:float": 2.5, "number:complex": 2i}
	operand := func(name string) any {
		if v, ok := made[name]; ok {
			return v
		}
		plain, scalar := strings.CutSuffix(name, "()")
		dt, err := ir.ParseDType(plain)
		require.NoError(t, err)
		ones := []any{[]int{2}}
		if scalar {
			ones[0] = []int{}
		}
		x, err := callTensor("aten::ones", append(ones, In(scope))...)
		require.NoError(t, err)
		x, err = callTensor("aten::to.dtype", x, dt)
		require.NoError(t, err)
		made[name] = x
		return x
	}
	pairs := 0
	for line := range strings.Lines(string(table)) {
		if line[0] == '#' {
			continue
		}
		pairs++
		words := strings.Fields(line)
		if slices.ContainsFunc(words, func(w string) bool { return testenv.Otherwise(t, strings.TrimSuffix(w, "()")) != "" }) {
			continue
		}
		for i, fn := range []string{"torch.result_type", "torch.add", "torch.div"} {
			v, err := Invoke(nil, ir.FuncOf(fn), []any{operand(words[0]), operand(words[1])}, nil)
			got := "-"
			switch v := v.(type) {
			case DType:
				got = v.Name()
			case *Tensor:
				got = v.DType().Name()
				require.NoError(t, v.Close())
			}
			assert.Equal(t, words[2+i], got, "%s(%s, %s): %v", fn, words[0], words[1], err)
		}
	}
	require.Equal(t, 21*(21+21+4), pairs)
}
