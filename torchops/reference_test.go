package torchops

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// A referenceCall is a line that scripts/reference_calls.py wrote.
type referenceCall struct {
	recordedCall
	Aten    []string
	Seed    uint64
	Error   string
	Message string
	Said    bool

	Generator *uint64   // the seed of one that is given, see scripts/reference_generators.py
	Next      []float64 // what is drawn after the call
}

// pythonClasses are the classes of Python's exceptions.
var pythonClasses = map[string]*ir.Class{
	"TypeError": ir.ErrType, "ValueError": ir.ErrValue, "IndexError": ir.ErrIndex, "KeyError": ir.ErrKey, "AttributeError": ir.ErrAttribute,
	"NotImplementedError": ir.ErrNotImplemented, "RuntimeError": ir.ErrRuntime, "ZeroDivisionError": ir.ErrZeroDivision, "AssertionError": ir.ErrAssertion,
	"OverflowError": ir.ErrValue, "_LinAlgError": ir.ErrLinAlg, "LinAlgError": ir.ErrLinAlg,
	"MemoryError": ir.ErrUnsupported,
	"unsupported": ir.ErrUnsupported, // no class of Python: what a Go int64 does not hold
}

// TestReferenceCalls repeats what live PyTorch returned on this machine, bit by
// bit, with the errors that it raised. scripts/reference_test.sh records the
// calls and runs it.
func TestReferenceCalls(t *testing.T) {
	dir := os.Getenv("TORCHFX_REFERENCE_CALLS")
	if dir == "" {
		t.Skip("set TORCHFX_REFERENCE_CALLS to the folder that scripts/reference_calls.py made, or run make reference-test")
	}
	testenv.Libtorch(t)
	data := readTensors(t, filepath.Join(dir, "tensors.safetensors"))
	file, err := os.Open(filepath.Join(dir, "calls.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<26)
	calls, functions := 0, map[string]bool{}
	for n := 1; lines.Scan(); n++ {
		var c referenceCall
		decoder := json.NewDecoder(strings.NewReader(lines.Text()))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&c))
		if d := c.repeat(data); d != "" {
			assert.Failf(t, "another result", "line %d, %s: %s", n, c.Fn, d)
		}
		calls++
		functions[c.Fn] = true
	}
	require.NoError(t, lines.Err())
	t.Logf("%d calls of %d functions", calls, len(functions))
}

// repeat makes the call and returns what is different, "" for nothing.
func (c *referenceCall) repeat(data map[string][]byte) string {
	s := NewScope()
	defer s.Close()
	in := &recording{data: data, entries: c.Tensors, made: map[int]*Tensor{}, shared: map[int]*libtorch.Tensor{}, scope: s}
	args, err := in.value(c.Args)
	if err != nil {
		return "arguments: " + err.Error()
	}
	var kw []Kwarg
	for name, v := range c.Kwargs {
		value, err := in.value(v)
		if err != nil {
			return "arguments: " + err.Error()
		}
		kw = append(kw, Kw(name, value))
	}
	if err := ManualSeed(c.Seed); err != nil {
		return err.Error()
	}
	var generator *Generator
	if c.Generator != nil {
		if generator, err = NewGenerator(*c.Generator); err != nil {
			return err.Error()
		}
		defer generator.Close()
		kw = append(kw, Kw("generator", generator))
	}
	var operators []string
	mode := &libtorch.Mode{Observe: func(o *libtorch.Operator) {
		operators = append(operators, strings.TrimSuffix(o.Schema().Op, ".default"))
	}}
	got, err := Invoke(mode, ir.FuncOf(c.Fn), append(args.([]any), In(s)), kw)
	if c.Error != "" {
		return c.failed(got, err)
	}
	if err != nil {
		return err.Error()
	}
	want := &recording{data: data, entries: c.Tensors, made: map[int]*Tensor{}, shared: map[int]*libtorch.Tensor{}, scope: s}
	if d := want.bitsDiffer(got, c.Out, c.Changed); d != "" {
		return d
	}
	for i, j := range c.Changed {
		index := 0
		fmt.Sscan(i, &index)
		if d := want.bitsDiffer(in.made[index], map[string]any{"t": json.Number(fmt.Sprint(j))}, nil); d != "" {
			return "argument " + i + ": " + d
		}
	}
	if d := c.aliasesDiffer(in, got, c.Out); d != "" {
		return d
	}
	if d := c.nextDiffers(generator); d != "" {
		return d
	}
	return c.otherOperators(operators)
}

// aliasesDiffer compares which arguments the results lie in the memory of.
func (c *referenceCall) aliasesDiffer(in *recording, got, want any) string {
	switch x := want.(type) {
	case []any:
		have, _ := items(got)
		for i := range x {
			if d := c.aliasesDiffer(in, have[i], x[i]); d != "" {
				return d
			}
		}
	case map[string]any:
		if list, ok := x["tuple"]; ok {
			return c.aliasesDiffer(in, got, list)
		}
		number, ok := x["t"].(json.Number)
		if !ok {
			return ""
		}
		index := 0
		fmt.Sscan(number.String(), &index)
		have := got.(*Tensor)
		if e := c.Tensors[index]; index < c.Inputs || e.Layout != "" || have.Numel() == 0 {
			return ""
		}
		for i, a := range in.made {
			if c.Tensors[i].Layout != "" || a.Numel() == 0 {
				continue
			}
			shares, alias := libtorch.IsAlias(&a.handle, &have.handle), c.Tensors[index].Alias
			switch {
			case shares && alias == nil:
				return fmt.Sprintf("expected memory of its own, got that of argument %d", i)
			case !shares && alias != nil && *alias == i:
				return fmt.Sprintf("expected the memory of argument %d, got another", i)
			}
		}
	}
	return ""
}

// nextDiffers compares what the generator of the call, nil for the default one, draws
// next.
func (c *referenceCall) nextDiffers(generator *Generator) string {
	if c.Next == nil {
		return ""
	}
	var kw []Kwarg
	if generator != nil {
		kw = append(kw, Kw("generator", generator))
	}
	v, err := Invoke(nil, ir.FuncOf("torch.rand"), []any{len(c.Next)}, kw)
	if err != nil {
		return err.Error()
	}
	drawn, err := Data[float32](v.(*Tensor))
	if err != nil {
		return err.Error()
	}
	for i, x := range c.Next {
		if float64(drawn[i]) != x {
			return fmt.Sprintf("expected the generator to draw %v next, got %v", c.Next, drawn)
		}
	}
	return ""
}

// failed compares an error: its class, and its text where Python code wrote it.
func (c *referenceCall) failed(got any, err error) string {
	if err == nil {
		return fmt.Sprintf("expected %s: %s, got %s", c.Error, c.Message, Describe(got))
	}
	class, known := pythonClasses[c.Error]
	if !known {
		return "an error of a class that is not known here: " + c.Error
	}
	if ir.ClassOf(err) != class {
		return fmt.Sprintf("expected %s: %s, got %s: %v", c.Error, c.Message, ir.ClassOf(err), err)
	}
	if c.Said && !strings.Contains(err.Error(), c.Message) {
		return fmt.Sprintf("expected the message %q, got %q", c.Message, err)
	}
	return ""
}

// unobserved are the functions whose operators are not compared: the constants
// that they make are made otherwise here.
var unobserved = []string{"unravel_index", "lobpcg", ".masked.", ".windows.", "Tensor.__", "tensordot", "pca_lowrank"}

// otherOperators compares the operators that were called, in order, "" for the
// same.
func (c *referenceCall) otherOperators(have []string) string {
	if c.Aten == nil || composedFunctions[ir.FuncOf(c.Fn)] == nil || slices.ContainsFunc(unobserved, func(name string) bool { return strings.Contains(c.Fn, name) }) {
		return ""
	}
	// is_nonzero is how Python asks for the truth of a tensor, contiguous is left
	// out where it has nothing to do
	quiet := func(name string) bool { return name == "aten::is_nonzero" || name == "aten::contiguous" }
	have = slices.DeleteFunc(slices.Clone(have), quiet)
	want := slices.DeleteFunc(slices.Clone(c.Aten), quiet)
	if !slices.Equal(want, have) {
		return fmt.Sprintf("expected the operators %v, got %v", want, have)
	}
	return ""
}

// bitsDiffer compares a result with what was recorded, bit by bit.
func (r *recording) bitsDiffer(got, want any, changed map[string]int) string {
	if m, ok := want.(map[string]any); ok {
		if x, ok := m["t"]; ok {
			index := 0
			fmt.Sscan(x.(json.Number).String(), &index)
			if j, ok := changed[x.(json.Number).String()]; ok {
				index = j
			}
			have, ok := got.(*Tensor)
			if !ok {
				return fmt.Sprintf("expected a tensor, got %s", Describe(got))
			}
			want, err := r.tensor(index)
			if err != nil {
				return err.Error()
			}
			return tensorBitsDiffer(have, want)
		}
		if x, ok := m["tuple"]; ok {
			if _, isTuple := got.(ir.PyTuple); !isTuple {
				return fmt.Sprintf("expected a tuple, got %s", typeName(got))
			}
			want = x
		}
		if x, ok := m["f"]; ok {
			number, err := r.value(map[string]any{"f": x})
			if err != nil {
				return err.Error()
			}
			f, ok := got.(float64)
			if nan := math.IsNaN(f) && math.IsNaN(number.(float64)); !ok || !nan && math.Float64bits(f) != math.Float64bits(number.(float64)) {
				return fmt.Sprintf("expected %v, got %v", number, got)
			}
			return ""
		}
	}
	list, ok := want.([]any)
	if !ok {
		if want, err := r.value(want); err != nil {
			return err.Error()
		} else if typeName(want) != typeName(got) || !equal(want, got) {
			return fmt.Sprintf("expected %v, got %v", want, got)
		}
		return ""
	}
	have, kind := items(got)
	if kind == "" || len(have) != len(list) {
		return fmt.Sprintf("expected %d values, got %s", len(list), Describe(got))
	}
	for i := range list {
		if d := r.bitsDiffer(have[i], list[i], changed); d != "" {
			return fmt.Sprintf("value %d: %s", i, d)
		}
	}
	return ""
}

// tensorBitsDiffer compares shape, strides and every bit of the elements.
func tensorBitsDiffer(have, want *Tensor) string {
	if want.Layout() != Strided {
		if have.Layout() != want.Layout() {
			return fmt.Sprintf("expected layout %s, got %s", want.Layout(), have.Layout())
		}
		a, err := callTensor("aten::to_dense", have)
		if err != nil {
			return err.Error()
		}
		b, err := callTensor("aten::to_dense", want)
		if err != nil {
			return err.Error()
		}
		return tensorBitsDiffer(a, b)
	}
	if have.DType() != want.DType() || !slices.Equal(have.Shape(), want.Shape()) || have.Layout() != want.Layout() {
		return fmt.Sprintf("expected %s, got %s", want.describe(), have.describe())
	}
	for i, n := range want.Shape() {
		if n < 2 || want.Numel() == 0 || have.Strides()[i] == want.Strides()[i] {
			continue // strides that lead nowhere are not recorded
		}
		return fmt.Sprintf("expected strides %v, got %v", want.Strides(), have.Strides())
	}
	a, err := have.Bytes()
	if err != nil {
		return err.Error()
	}
	b, err := want.Bytes()
	if err != nil {
		return err.Error()
	}
	if !bytes.Equal(a, b) && !sameButNaNs(have, want) {
		return fmt.Sprintf("other bits, %s", compareTensors(have, want))
	}
	return ""
}

// sameButNaNs reports whether two tensors differ in the bits of NaNs alone, of which
// the sign is that of whatever instruction made them.
func sameButNaNs(have, want *Tensor) bool {
	var parts [2][2][]byte
	for i, t := range []*Tensor{have, want} {
		nans, err := callTensor("aten::isnan", t)
		if err != nil {
			return false
		}
		rest, err := callTensor("aten::masked_fill.Scalar", t, nans, 0)
		if err != nil {
			return false
		}
		for j, t := range []*Tensor{nans, rest} {
			if parts[i][j], err = t.Bytes(); err != nil {
				return false
			}
		}
	}
	return bytes.Equal(parts[0][0], parts[1][0]) && bytes.Equal(parts[0][1], parts[1][1])
}
