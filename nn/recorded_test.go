package nn_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/nn/functional"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// A recordedLayer is a layer of torch.nn as scripts/record_nn.py met it.
type recordedLayer struct {
	Class   string  `json:"class"`
	Args    []any   `json:"args"`
	Kwargs  ordered `json:"kwargs"`
	Train   bool    `json:"train"`
	Seed    uint64  `json:"seed"`
	Repr    string  `json:"repr"`
	Initial ordered `json:"initial"`
	Loaded  ordered `json:"loaded"`
	Inputs  []any   `json:"inputs"`
	Call    ordered `json:"call"`
	Output  any     `json:"output"`
	Traced  *string `json:"traced"`
	Root    *string `json:"root"`
	After   ordered `json:"after"`
}

// ordered is a JSON object whose order counts.
type ordered []pair

type pair struct {
	key   string
	value any
}

func (o *ordered) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t == nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var v any
		if err := d.Decode(&v); err != nil {
			return err
		}
		*o = append(*o, pair{key.(string), v})
	}
	return nil
}

// A recorded is what scripts/record_nn.py wrote, on this machine where
// TORCHFX_RECORDED_LAYERS names the file.
type recorded struct {
	Cases     []recordedLayer
	Functions []struct {
		Function string
		Args     []any
		Kwargs   ordered
		Seed     uint64
		Output   any
	}
	Messages [][4]any // name, keys, shapes, message
}

func readRecorded(t *testing.T) (all recorded) {
	t.Helper()
	f, err := os.Open(cmp.Or(os.Getenv("TORCHFX_RECORDED_LAYERS"), "testdata/layers.json.gz"))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	d := json.NewDecoder(z)
	d.UseNumber()
	require.NoError(t, d.Decode(&all))
	return all
}

// Functions that no layer calls, or not so, give the recorded bits.
func TestRecordedFunctions(t *testing.T) {
	testenv.Libtorch(t)
	for i, c := range readRecorded(t).Functions {
		t.Run(fmt.Sprintf("%02d_%s", i, c.Function), func(t *testing.T) {
			require.NoError(t, torch.ManualSeed(c.Seed))
			out, err := torch.Try(func() any {
				return functional.Call(c.Function, decodeAll(t, c.Args), c.Kwargs.options(t))
			})
			if testenv.Otherwise(t, "torch.nn.functional."+c.Function) != "" {
				return
			}
			require.NoError(t, err)
			requireSame(t, decode(t, c.Output), out, "output")
		})
	}
}

type Net struct {
	nn.Base
	Fc   *nn.Linear
	Norm *nn.BatchNorm1d
}

// A state dict that does not fit is refused with Python's words.
func TestStateDictMessages(t *testing.T) {
	testenv.Libtorch(t)
	for _, c := range readRecorded(t).Messages {
		t.Run(c[0].(string), func(t *testing.T) {
			m := &Net{Fc: nn.NewLinear(2, 3), Norm: nn.NewBatchNorm1d(3)}
			shapes := c[2].(map[string]any)
			_, err := nn.LoadStateDict(m, func(yield func(string, *torch.Tensor) bool) {
				for _, key := range c[1].([]any) {
					x := torch.Full(shapeOf(t, shapes[key.(string)]), 1.0)
					if !yield(key.(string), x) {
						return
					}
				}
			})
			require.ErrorIs(t, err, ir.ErrRuntime)
			assert.Equal(t, c[3], err.Error())
		})
	}
}

// decode returns a recorded value as the operators take it.
func decode(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case json.Number:
		n, err := v.Int64()
		require.NoError(t, err)
		return n
	case map[string]any:
		for kind, x := range v {
			switch kind {
			case "float":
				f, err := strconv.ParseFloat(x.(string), 64)
				require.NoError(t, err)
				return f
			case "tuple":
				return ir.PyTuple(decodeAll(t, x.([]any)))
			case "list":
				return decodeAll(t, x.([]any))
			case "dtype":
				dt, err := ir.ParseDType(x.(string))
				require.NoError(t, err)
				return dt
			case "tensor":
				return decodeTensor(t, x.([]any))
			case "module":
				parts := x.([]any)
				var options []nn.Option
				for name, v := range parts[2].(map[string]any) {
					options = append(options, torch.Kw(name, decode(t, v)))
				}
				m, err := nn.New(parts[0].(string), decodeAll(t, parts[1].([]any)), options...)
				require.NoError(t, err)
				return m
			}
		}
		t.Fatalf("unknown value %v", v)
	}
	return v
}

func decodeAll(t *testing.T, items []any) []any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = decode(t, item)
	}
	return out
}

func decodeTensor(t *testing.T, parts []any) *torch.Tensor {
	t.Helper()
	dt, err := ir.ParseDType(parts[0].(string))
	require.NoError(t, err)
	data, err := base64.StdEncoding.DecodeString(parts[2].(string))
	require.NoError(t, err)
	x, err := torch.FromBytes(dt, shapeOf(t, parts[1]), data)
	require.NoError(t, err)
	return x
}

func shapeOf(t *testing.T, v any) []int {
	shape := []int{}
	for _, n := range v.([]any) {
		k, err := n.(json.Number).Int64()
		require.NoError(t, err)
		shape = append(shape, int(k))
	}
	return shape
}

func (o ordered) options(t *testing.T) []nn.Option {
	var out []nn.Option
	for _, p := range o {
		out = append(out, torch.Kw(p.key, decode(t, p.value)))
	}
	return out
}

// requireSame compares a result with the recorded one: same structure, dtypes,
// shapes and bits.
func requireSame(t *testing.T, want, have any, where string) {
	t.Helper()
	switch want := want.(type) {
	case *torch.Tensor:
		x, ok := have.(*torch.Tensor)
		require.True(t, ok, "%s: expected a tensor, got %T", where, have)
		require.Equal(t, want.DType(), x.DType(), where)
		require.Equal(t, want.Shape(), x.Shape(), where)
		a, err := want.Bytes()
		require.NoError(t, err)
		b, err := x.Bytes()
		require.NoError(t, err)
		if !bytes.Equal(a, b) {
			require.Failf(t, "other bits", "%s:\nexpected %v\ngot      %v", where, want, x)
		}
	case ir.PyTuple:
		items, ok := have.(ir.PyTuple)
		require.True(t, ok, "%s: expected a tuple, got %T", where, have)
		require.Len(t, items, len(want), where)
		for i := range want {
			requireSame(t, want[i], items[i], fmt.Sprintf("%s[%d]", where, i))
		}
	default:
		require.Equal(t, want, have, where)
	}
}

// Every recorded layer: its initial state under the seed, its repr, the repr of
// what is made from the repr, its output with the recorded state, what a trace
// through it records, and the output of that graph, all equal to the bit.
func TestRecordedLayers(t *testing.T) {
	testenv.Libtorch(t)
	for i, c := range readRecorded(t).Cases {
		name := className(c.Class)
		t.Run(fmt.Sprintf("%03d_%s", i, name), func(t *testing.T) {
			require.NoError(t, torch.ManualSeed(c.Seed))
			args := decodeAll(t, c.Args)
			m, err := nn.New(c.Class, args, c.Kwargs.options(t)...)
			require.NoError(t, err)
			assert.Equal(t, c.Repr, nn.Repr(m))
			checkInitial(t, c.Initial, m)
			checkFromRepr(t, c)

			inc, err := nn.LoadStateDict(m, entries(t, c.Loaded))
			require.NoError(t, err)
			assert.Empty(t, inc)
			nn.Train(m, c.Train)
			inputs := c.inputs(t)
			require.NoError(t, torch.ManualSeed(c.Seed+1))
			options := c.Call.options(t)
			before, _ := torch.LiveTensors()
			out, err := nn.Invoke(m, inputs, options)
			require.NoError(t, err)
			after, _ := torch.LiveTensors()
			assert.LessOrEqual(t, after-before, int64(tensorsIn(out)), "tensors that the call leaves open")
			requireSame(t, decode(t, c.Output), out, "output")
			if c.Train {
				checkState(t, c.After, m)
			}
			checkRoot(t, c, m)
			if gm := checkTraced(t, c, m); gm != nil && len(options) == 0 && !c.Train {
				out, err := interpreter.New(gm).Run(t.Context(), c.inputs(t)...)
				require.NoError(t, err)
				requireSame(t, decode(t, c.Output), out, "output of the traced graph")
			}
		})
	}
}

// inputs returns new tensors; what was one object is one.
func (c *recordedLayer) inputs(t *testing.T) []any {
	inputs := make([]any, len(c.Inputs))
	for i, v := range c.Inputs {
		if d, ok := v.(map[string]any); ok && d["same"] != nil {
			k, err := d["same"].(json.Number).Int64()
			require.NoError(t, err)
			inputs[i] = inputs[k]
			continue
		}
		inputs[i] = decode(t, v)
	}
	return inputs
}

func entries(t *testing.T, state ordered) iter.Seq2[string, *torch.Tensor] {
	return func(yield func(string, *torch.Tensor) bool) {
		for _, p := range state {
			if !yield(p.key, decode(t, p.value).(*torch.Tensor)) {
				return
			}
		}
	}
}

// checkInitial compares names, order, dtypes, shapes and digests.
func checkInitial(t *testing.T, want ordered, m nn.Module) {
	t.Helper()
	var have []string
	var expected []string
	for name, x := range nn.StateDict(m) {
		data, err := x.Bytes()
		require.NoError(t, err)
		sum := sha256.Sum256(data)
		have = append(have, fmt.Sprintf("%s torch.%s %v %s", name, x.DType().Name(), x.Shape(), hex.EncodeToString(sum[:])[:16]))
	}
	for _, p := range want {
		parts := p.value.([]any)
		expected = append(expected, fmt.Sprintf("%s %s %v %s", p.key, parts[0], shapeOf(t, parts[1]), parts[2]))
	}
	assert.Equal(t, expected, have, "initial state")
}

func checkState(t *testing.T, want ordered, m nn.Module) {
	t.Helper()
	i := 0
	for name, x := range nn.StateDict(m) {
		require.Less(t, i, len(want))
		require.Equal(t, want[i].key, name)
		requireSame(t, decode(t, want[i].value), x, "state after the call: "+name)
		i++
	}
	require.Len(t, want, i)
}

// notInRepr are the arguments that the repr of a class does not tell and a
// constructor asks for.
var notInRepr = map[string]bool{
	"MultiheadAttention": true, "TransformerEncoderLayer": true, "TransformerDecoderLayer": true,
	"TransformerEncoder": true, "TransformerDecoder": true, "FractionalMaxPool2d": true, "FractionalMaxPool3d": true, "AdaptiveLogSoftmaxWithLoss": true,
}

// asksLater are the classes that can be traced here where no mask is given: Python asks
// the value for its length before it looks for a mask.
var asksLater = map[string]bool{"TransformerEncoder": true, "TransformerDecoder": true}

func className(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

func checkFromRepr(t *testing.T, c recordedLayer) {
	t.Helper()
	name := className(c.Class)
	m, err := nn.FromRepr(c.Class, c.Repr)
	if notInRepr[name] {
		require.ErrorContains(t, err, "missing 1 required positional argument")
		return
	}
	if name == "Transformer" {
		return // its defaults are a model of 44 million parameters
	}
	require.NoError(t, err)
	assert.Equal(t, c.Repr, nn.Repr(m), "made from the repr")
}

// checkTraced compares what a trace records when it goes through the layer, and
// stops at the layers in it. What cannot be traced in Python cannot here.
func checkTraced(t *testing.T, c recordedLayer, m nn.Module) *ir.GraphModule {
	t.Helper()
	required := 0
	signature, err := nn.SignatureOf(m)
	require.NoError(t, err)
	for _, p := range signature.Params {
		if p.Default == nil {
			required++
		}
	}
	root := []nn.Module{&throughOne{M: m}, &throughTwo{M: m}, &throughThree{M: m}, &throughFour{M: m}}[required-1]
	nn.Train(m, c.Train)
	gm, err := tracer.SymbolicTrace(root, tracer.IsLeaf(func(m nn.Module, path string) bool { return path != "m" && tracer.DefaultIsLeaf(m, path) }))
	if c.Traced == nil && asksLater[className(c.Class)] && err == nil {
		return gm
	}
	if c.Traced == nil {
		require.Error(t, err)
		return nil
	}
	require.NoError(t, err)
	code, err := gm.Code()
	require.NoError(t, err)
	assert.Equal(t, *c.Traced, code)
	return gm
}

// checkRoot compares what a trace of the layer itself records.
func checkRoot(t *testing.T, c recordedLayer, m nn.Module) {
	t.Helper()
	nn.Train(m, c.Train)
	gm, err := tracer.SymbolicTrace(m)
	if c.Root == nil && asksLater[className(c.Class)] && err == nil {
		return
	}
	if c.Root == nil {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	code, err := gm.Code()
	require.NoError(t, err)
	assert.Equal(t, *c.Root, code)
	parsed, err := ir.ParseCode(code)
	require.NoError(t, err)
	assert.NoError(t, ir.Equal(gm.Graph(), parsed))
}

func tensorsIn(v any) int {
	switch v := v.(type) {
	case *torch.Tensor:
		return 1
	case ir.PyTuple:
		n := 0
		for _, item := range v {
			n += tensorsIn(item)
		}
		return n
	}
	return 0
}

// The roots that call a layer whose type is not known.
type (
	throughOne struct {
		nn.Base `forward:"a"`
		M       nn.Module
	}
	throughTwo struct {
		nn.Base `forward:"a, b"`
		M       nn.Module
	}
	throughThree struct {
		nn.Base `forward:"a, b, c"`
		M       nn.Module
	}
	throughFour struct {
		nn.Base `forward:"a, b, c, d"`
		M       nn.Module
	}
)

func invoke(m nn.Module, args ...any) any {
	v, err := nn.Invoke(m, args, nil)
	if err != nil {
		panic(err)
	}
	return v
}

func (r *throughOne) Forward(a *torch.Tensor) any           { return invoke(r.M, a) }
func (r *throughTwo) Forward(a, b *torch.Tensor) any        { return invoke(r.M, a, b) }
func (r *throughThree) Forward(a, b, c *torch.Tensor) any   { return invoke(r.M, a, b, c) }
func (r *throughFour) Forward(a, b, c, d *torch.Tensor) any { return invoke(r.M, a, b, c, d) }
