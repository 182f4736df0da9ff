package torchops

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// decodeTensorArg is decodeJSON with tensors, as testdata/record_tensorop.py
// writes them.
func decodeTensorArg(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case []any:
		return listOf(v, func(item any) any { return decodeTensorArg(t, item) })
	case map[string]any:
		if _, ok := v["ellipsis"]; ok {
			return ir.Ellipsis{}
		}
		if x, ok := v["tuple"]; ok {
			return ir.PyTuple(decodeTensorArg(t, x).([]any))
		}
		if x, ok := v["slice"]; ok {
			parts := decodeTensorArg(t, x).([]any)
			return Slice(parts[0], parts[1], parts[2])
		}
		if x, ok := v["t"]; ok {
			return decodeTensor(t, x.([]any))
		}
	}
	return decodeJSON(t, v)
}

func decodeTensor(t *testing.T, parts []any) *Tensor {
	t.Helper()
	dt, err := ir.ParseDType(parts[0].(string))
	require.NoError(t, err)
	shape := []int{}
	for _, n := range parts[1].([]any) {
		shape = append(shape, int(n.(float64)))
	}
	s := NewScope()
	defer s.Close()
	var numbers List
	for _, x := range parts[2].([]any) {
		if text, ok := x.(string); ok { // a complex number, as str() writes it
			var z complex128
			_, err := fmt.Sscan(strings.Replace(text, "j", "i", 1), &z)
			require.NoError(t, err)
			x = z
		}
		one, err := callTensor("aten::scalar_tensor", x, Kw("dtype", dt), In(s))
		require.NoError(t, err)
		numbers = append(numbers, one)
	}
	flat, err := callTensor("aten::stack", numbers)
	require.NoError(t, err)
	return s.Keep(flat.Reshape(shape))
}

func TestPythonsOperatorsOnTensors(t *testing.T) {
	testenv.Libtorch(t)
	file, err := os.Open("testdata/tensorop.jsonl")
	require.NoError(t, err)
	defer file.Close()
	classes := map[string]error{"RuntimeError": ir.ErrRuntime, "NotImplementedError": ir.ErrNotImplemented}
	for name, class := range pythonErrors {
		classes[name] = class
	}
	cases := 0
	for lines := bufio.NewScanner(file); lines.Scan(); cases++ {
		var c struct {
			Fn      string
			Args    []any
			Text    *string
			Error   string
			Message string
		}
		if cases%every != 0 {
			continue
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		args := decodeTensorArg(t, c.Args).([]any)
		name := c.Fn + fmt.Sprint(args)
		got, err := Invoke(nil, ir.FuncOf(c.Fn), args, nil)
		if c.Text == nil {
			if testenv.Otherwise(t, c.Fn) != "" {
				require.Error(t, err, name)
				continue
			}
			assert.ErrorIs(t, err, classes[c.Error], "%s: Python raises %s: %s", name, c.Error, c.Message)
			continue
		}
		if !assert.NoError(t, err, name) {
			continue
		}
		if strings.HasSuffix(c.Fn, "setitem") {
			got = args[0]
		}
		assert.Equal(t, *c.Text, pythonText(got), name)
	}
	require.Greater(t, cases, 2500)
}

// pythonText is str() of a value of a run.
func pythonText(v any) string {
	switch v := v.(type) {
	case *Tensor:
		return v.String()
	case bool:
		return Describe(v)
	case float64:
		return ir.Repr(ir.Float(v))
	case []any:
		return "[" + strings.Join(texts(v), ", ") + "]"
	case ir.PyTuple:
		if len(v) == 1 {
			return "(" + pythonText(v[0]) + ",)"
		}
		return "(" + strings.Join(texts(v), ", ") + ")"
	}
	return fmt.Sprint(v)
}

func texts(list []any) []string {
	s := make([]string, len(list))
	for i, v := range list {
		s[i] = pythonText(v)
	}
	return s
}

// The items of results have the names that Python's torch.return_types have.
func TestNamesOfResults(t *testing.T) {
	for _, c := range []struct {
		name    string
		results int
		want    int // -1: not to be told
	}{
		{"values", 2, 0}, {"indices", 2, 1}, {"sign", 2, 0}, {"logabsdet", 2, 1}, {"eigenvectors", 2, 1}, {"R", 2, 1}, {"exponent", 2, 1},
		{"U", 3, -1}, {"rank", 4, 2}, {"nothing", 2, -1},
	} {
		items := make([]any, c.results)
		for i := range items {
			items[i] = i
		}
		item, ok := returnItem(items, c.name)
		assert.Equal(t, c.want >= 0, ok, c.name)
		if ok {
			assert.Equal(t, c.want, item, c.name)
		}
	}
}
