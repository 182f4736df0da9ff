package torchops

import (
	"bufio"
	"encoding/binary"
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

// A recordedCall is a line of the recorded operator calls, in the format that
// their README describes.
type recordedCall struct {
	Fn      string
	Args    []any
	Kwargs  map[string]any
	Tensors []recordedTensor
	Inputs  int
	Out     any
	Changed map[string]int
	Random  bool
}

type recordedTensor struct {
	DType     string  `json:"dtype"`
	Size      []int64 `json:"size"`
	Stride    []int64 `json:"stride"`
	Offset    int64   `json:"offset"`
	Key       *string `json:"s"`
	Share     *int    `json:"share"`
	Alias     *int    `json:"alias"` // the argument that a result shares its storage with
	Conj, Neg bool
	Layout    string
	Indices   int
	Values    int
	Crow, Col int
	Ccol, Row int
	Coalesced bool
	Random    bool
}

// A recording decodes the values of one line.
type recording struct {
	data    map[string][]byte
	entries []recordedTensor
	made    map[int]*Tensor
	shared  map[int]*libtorch.Tensor
	scope   *Scope
}

func (r *recording) tensor(i int) (*Tensor, error) {
	if t, ok := r.made[i]; ok {
		return t, nil
	}
	t, err := r.build(&r.entries[i])
	if err != nil {
		return nil, err
	}
	r.scope.Add(t)
	r.made[i] = t
	return t, nil
}

func (r *recording) build(e *recordedTensor) (*Tensor, error) {
	dt, err := ir.ParseDType(e.DType)
	if err != nil {
		return nil, err
	}
	parts := func(indices ...int) (args []any, err error) {
		for _, i := range indices {
			t, err := r.tensor(i)
			if err != nil {
				return nil, err
			}
			args = append(args, t)
		}
		return append(args, e.Size), nil
	}
	switch e.Layout {
	case "sparse_coo":
		args, err := parts(e.Indices, e.Values)
		if err != nil {
			return nil, err
		}
		return callTensor("aten::sparse_coo_tensor.indices_size", append(args, Kw("is_coalesced", e.Coalesced))...)
	case "sparse_csr", "sparse_bsr", "sparse_csc", "sparse_bsc":
		args, err := parts(e.Crow+e.Ccol, e.Col+e.Row, e.Values) // one of each is there
		if err != nil {
			return nil, err
		}
		layout := map[string]ir.Layout{"sparse_csr": ir.SparseCSR, "sparse_bsr": ir.SparseBSR, "sparse_csc": ir.SparseCSC, "sparse_bsc": ir.SparseBSC}[e.Layout]
		return callTensor("aten::sparse_compressed_tensor.comp_plain_value_size", append(args, Kw("layout", layout), Kw("dtype", dt))...)
	}
	var data []byte
	if e.Key != nil {
		data = r.data[*e.Key]
	}
	var base *libtorch.Tensor
	if e.Share != nil {
		base = r.shared[*e.Share]
	}
	if base == nil {
		if base, err = libtorch.NewTensor(ir.UInt8, []int64{int64(len(data))}, data); err != nil {
			return nil, err
		}
		r.scope.Add(FromHandle(base))
		if e.Share != nil {
			r.shared[*e.Share] = base
		}
	}
	strides := e.Stride
	if strides == nil {
		strides = toInt64s(contiguousStrides(toInts(e.Size)))
	}
	h, err := libtorch.View(base, dt, e.Size, strides, e.Offset)
	if err != nil {
		return nil, err
	}
	t := FromHandle(h)
	r.scope.Add(t)
	for _, lazy := range []struct {
		op string
		on bool
	}{{"aten::_conj", e.Conj}, {"aten::_neg_view", e.Neg}} {
		if lazy.on {
			if t, err = callTensor(lazy.op, t); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func (r *recording) value(v any) (any, error) {
	number := func(x any) float64 {
		if s, ok := x.(string); ok {
			return map[string]float64{"inf": math.Inf(1), "-inf": math.Inf(-1), "nan": math.NaN()}[s]
		}
		f, _ := x.(json.Number).Float64()
		return f
	}
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if list[i], err = r.value(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		for kind, x := range v {
			switch kind {
			case "t":
				i, _ := x.(json.Number).Int64()
				return r.tensor(int(i))
			case "f":
				return number(x), nil
			case "c":
				return complex(number(x.([]any)[0]), number(x.([]any)[1])), nil
			case "tuple":
				list, err := r.value(x)
				if err != nil {
					return nil, err
				}
				return ir.PyTuple(list.([]any)), nil
			case "dict":
				dict := ir.NewPyDict(nil, nil)
				for key, item := range x.(map[string]any) {
					value, err := r.value(item)
					if err != nil {
						return nil, err
					}
					dict.Set(key, value)
				}
				return dict, nil
			case "ellipsis":
				return ir.Ellipsis{}, nil
			case "slice":
				list, err := r.value(x)
				if err != nil {
					return nil, err
				}
				parts := list.([]any)
				return Slice(parts[0], parts[1], parts[2]), nil
			case "dtype":
				return ir.ParseDType(x.(string))
			case "device":
				return ir.ParseDevice(x.(string))
			case "layout":
				for l := ir.Strided; l <= ir.Jagged; l++ {
					if l.String() == "torch."+x.(string) {
						return l, nil
					}
				}
			case "memory_format":
				for f := ir.ContiguousFormat; f <= ir.ChannelsLast3D; f++ {
					if f.String() == "torch."+x.(string) {
						return f, nil
					}
				}
			}
			return nil, fmt.Errorf("recorded value of unknown kind %q", kind)
		}
	}
	return v, nil
}

// tolerances are what kernels of other instruction sets may differ by, by dtype;
// dtypes without an entry must be equal.
var tolerances = map[DType][2]float64{
	ir.Float64: {1e-7, 1e-9}, ir.Complex128: {1e-7, 1e-9}, ir.Float32: {1e-4, 1e-5}, ir.Complex64: {1e-4, 1e-5},
	ir.Float16: {1e-3, 1e-3}, ir.Complex32: {1e-3, 1e-3}, ir.BFloat16: {1.6e-2, 1e-2},
}

// compareTensors returns what is different, "" for nothing.
func compareTensors(got, want *Tensor) string {
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) || got.Layout() != want.Layout() {
		return fmt.Sprintf("expected %s, got %s", want.describe(), got.describe())
	}
	a, err := got.Bytes()
	if err != nil {
		return err.Error()
	}
	b, err := want.Bytes()
	if err != nil {
		return err.Error()
	}
	dt := got.DType()
	re, im, texts := decodeElements(dt, a)
	re2, im2, texts2 := decodeElements(dt, b)
	if !slices.Equal(texts, texts2) {
		return fmt.Sprintf("expected elements %v, got %v", clip(texts2), clip(texts))
	}
	tolerance := tolerances[dt]
	for k, pair := range [][2][]float64{{re, re2}, {im, im2}} {
		for i, x := range pair[0] {
			y := pair[1][i]
			limit := tolerance[1] + tolerance[0]*math.Abs(y)
			if im != nil {
				limit = tolerance[1] + tolerance[0]*math.Hypot(re2[i], im2[i])
			}
			if x != y && !(x != x && y != y) && !(math.Abs(x-y) <= limit) {
				return fmt.Sprintf("expected element %d of part %d to be %v, got %v", i, k, y, x)
			}
		}
	}
	return ""
}

func clip(s []string) []string { return s[:min(len(s), 12)] }

// differs compares a result with what was recorded.
func (r *recording) differs(got, want any, changed map[string]int) string {
	if m, ok := want.(map[string]any); ok {
		if x, ok := m["t"]; ok {
			i := x.(json.Number).String()
			index := 0
			fmt.Sscan(i, &index)
			if j, ok := changed[i]; ok {
				index = j
			}
			t, ok := got.(*Tensor)
			if !ok {
				return fmt.Sprintf("expected a tensor, got %s", Describe(got))
			}
			if e := &r.entries[index]; e.Random {
				if t.DType().Name() != e.DType || !slices.Equal(t.Shape(), toInts(e.Size)) {
					return fmt.Sprintf("expected %s %v, got %s", e.DType, e.Size, t.describe())
				}
				return ""
			}
			want, err := r.tensor(index)
			if err != nil {
				return err.Error()
			}
			return compareTensors(t, want)
		}
		if x, ok := m["tuple"]; ok {
			want = x
		}
	}
	if list, ok := want.([]any); ok {
		x, kind := items(got)
		if kind == "" || len(x) != len(list) {
			return fmt.Sprintf("expected %d values, got %s", len(list), Describe(got))
		}
		for i := range list {
			if d := r.differs(x[i], list[i], changed); d != "" {
				return fmt.Sprintf("value %d: %s", i, d)
			}
		}
		return ""
	}
	w, err := r.value(want)
	if err != nil {
		return err.Error()
	}
	if x, ok := got.(float64); ok {
		if y, both := w.(float64); both && (x == y || x != x && y != y || math.Abs(x-y) <= 1e-5*math.Abs(y)) {
			return ""
		}
	}
	if dt, ok := got.(DType); ok {
		got = int64(dt.C10()) // Python returns a dtype as its number
	}
	if !equal(w, got) {
		return fmt.Sprintf("expected %v, got %v", w, got)
	}
	return ""
}

// replay makes one recorded call and returns what is different, "" for nothing.
func replay(data map[string][]byte, c *recordedCall) string {
	fn := ir.FuncOf(c.Fn)
	if strings.Contains(c.Fn, "::") {
		fn = ir.OverloadOf(c.Fn)
	}
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
	got, err := Invoke(nil, fn, append(args.([]any), In(s)), kw)
	if err != nil {
		return err.Error()
	}
	want := &recording{data: data, entries: c.Tensors, made: map[int]*Tensor{}, shared: map[int]*libtorch.Tensor{}, scope: s}
	if c.Random {
		for i := range want.entries {
			want.entries[i].Random = true
		}
	}
	if d := want.differs(got, c.Out, c.Changed); d != "" {
		return d
	}
	for i, j := range c.Changed {
		index := 0
		fmt.Sscan(i, &index)
		if d := want.differs(in.made[index], map[string]any{"t": json.Number(fmt.Sprint(j))}, nil); d != "" {
			return "argument " + i + ": " + d
		}
	}
	return ""
}

// readTensors reads the flat tensors of a safetensors file as bytes.
func readTensors(t *testing.T, path string) map[string][]byte {
	t.Helper()
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	n := binary.LittleEndian.Uint64(file)
	var header map[string]struct {
		Offsets [2]int `json:"data_offsets"`
	}
	require.NoError(t, json.Unmarshal(file[8:8+n], &header))
	data := make(map[string][]byte, len(header))
	for key, e := range header {
		data[key] = file[8+n:][e.Offsets[0]:e.Offsets[1]]
	}
	return data
}

// TestRecordedCalls replays what PyTorch's dispatcher received and returned.
func TestRecordedCalls(t *testing.T) {
	testenv.Libtorch(t)
	dir := testenv.Fixtures(t, "ops")
	data := readTensors(t, filepath.Join(dir, "tensors.safetensors"))
	file, err := os.Open(filepath.Join(dir, "aten.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	passed := 0
	for n := 1; lines.Scan(); n++ {
		var c recordedCall
		decoder := json.NewDecoder(strings.NewReader(lines.Text()))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&c))
		if n%every != 0 {
			continue
		}
		d := replay(data, &c)
		if d == "" || testenv.Otherwise(t, c.Fn) != "" {
			passed++
			continue
		}
		assert.Failf(t, "another result", "line %d, %s: %s", n, c.Fn, d)
	}
	require.NoError(t, lines.Err())
	require.GreaterOrEqual(t, passed, 8682/every)
}
