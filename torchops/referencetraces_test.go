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

// A referenceTrace is a line that scripts/reference_random_traces.py wrote.
type referenceTrace struct {
	Fn             string
	Args           []any
	Kw             [][2]any
	Lines          []string
	Error, Message string
}

// TestReferenceTraces makes the calls that torch.fx traced on this machine, and
// compares the nodes, or that it refuses. scripts/reference_test.sh records them and
// runs it.
func TestReferenceTraces(t *testing.T) {
	path := os.Getenv("TORCHFX_REFERENCE_TRACES")
	if path == "" {
		t.Skip("set TORCHFX_REFERENCE_TRACES to what scripts/reference_random_traces.py wrote, or run make reference-test")
	}
	testenv.Libtorch(t)
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	calls := 0
	for n := 1; lines.Scan(); n++ {
		var c referenceTrace
		decoder := json.NewDecoder(strings.NewReader(lines.Text()))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&c))
		if d := c.repeat(); d != "" {
			assert.Failf(t, "another trace", "line %d, %s: %s of %v %v", n, c.Fn, d, c.Args, c.Kw)
		}
		calls++
	}
	require.NoError(t, lines.Err())
	assert.NotZero(t, calls)
	t.Logf("%d calls", calls)
}

// repeat makes the call and returns what is different, "" for nothing.
func (c *referenceTrace) repeat() string {
	s := &script{}
	inputs := map[string]*Tensor{"x": s.input("x"), "y": s.input("y")}
	value := func(v any) any { return traceValue(v, inputs) }
	var kw []Kwarg
	for _, k := range c.Kw {
		kw = append(kw, Kw(k[0].(string), value(k[1])))
	}
	op, target := ir.CallFunction, any(ir.FuncOf(c.Fn))
	if method, ok := strings.CutPrefix(c.Fn, tensorMethod); ok {
		op, target = ir.CallMethod, method
	}
	result, err := Try(func() any { return Dispatch(op, target, listOf(c.Args, value), kw) })
	if t, ok := result.(*Tensor); ok && err == nil && len(s.lines) == 0 {
		if _, traced := ValueOf(t); !traced { // which the graph returns as a constant of its own
			s.lines = append(s.lines, "v0 = get_attr _tensor_constant0()")
		}
	}
	got, want := strings.Join(s.lines, "; "), strings.Join(c.Lines, "; ")
	switch {
	case c.Error != "" && err == nil:
		return fmt.Sprintf("expected %s: %s, got %s", c.Error, c.Message, got)
	case c.Error == "" && err != nil:
		return fmt.Sprintf("expected %s, got %v", want, err)
	case c.Error == "" && got != want:
		return fmt.Sprintf("expected %s, got %s", want, got)
	}
	return ""
}

// traceValue reads an argument; {"p": name} is one of the inputs.
func traceValue(v any, inputs map[string]*Tensor) any {
	value := func(v any) any { return traceValue(v, inputs) }
	switch v := v.(type) {
	case json.Number:
		n, _ := v.Int64()
		return n
	case []any:
		return listOf(v, value)
	case map[string]any:
		for kind, x := range v {
			switch kind {
			case "p":
				return inputs[x.(string)]
			case "f":
				f, _ := x.(json.Number).Float64()
				return f
			case "d":
				d, _ := ir.ParseDType(x.(string))
				return d
			case "tuple":
				return ir.PyTuple(listOf(x.([]any), value))
			}
		}
	}
	return v
}
