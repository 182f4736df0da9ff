package interpreter_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A recordedOp is a line of the recorded operator calls; their README describes
// the format. Values of kinds that graphs seldom have are left out.
type recordedOp struct {
	Fn      string
	Args    []any
	Kwargs  map[string]any
	Tensors []struct {
		DType  string
		Size   []int
		Stride []int
		Offset int
		Key    *string `json:"s"`
		Share  *int
		Conj   bool
		Neg    bool
		Layout string
	}
	Inputs int
	Random bool
}

// A result in planned memory has the bits, shape and strides of one that its
// kernel allocated, for every operator of which there are recorded calls: this is
// what the choice of out variants rests on.
func TestPlannedResultsHaveTheirKernelsBits(t *testing.T) {
	needLibtorch(t)
	dir := testenv.Fixtures(t, "ops")
	data, err := export.OpenSafetensors(filepath.Join(dir, "tensors.safetensors"))
	require.NoError(t, err)
	defer data.Close()
	lines, err := os.Open(filepath.Join(dir, "aten.jsonl"))
	require.NoError(t, err)
	defer lines.Close()
	planned, operators, differs := 0, map[string]bool{}, map[string]bool{}
	scan := bufio.NewScanner(lines)
	scan.Buffer(nil, 1<<24)
	for scan.Scan() {
		var c recordedOp
		d := json.NewDecoder(strings.NewReader(scan.Text()))
		d.UseNumber()
		require.NoError(t, d.Decode(&c))
		if strings.HasSuffix(c.Fn, "_") || strings.Contains(c.Fn, "_.") || c.Random {
			continue
		}
		if testenv.Otherwise(t, c.Fn) != "" {
			continue
		}
		n, equal := c.compare(t, data)
		if planned += n; n > 0 {
			operators[c.Fn] = true
		}
		if !equal && !differs[c.Fn] {
			differs[c.Fn] = true
			assert.Fail(t, "a planned result differs", "%s", scan.Text()[:min(len(scan.Text()), 300)])
		}
	}
	require.NoError(t, scan.Err())
	t.Logf("%d results of %d operators in planned memory", planned, len(operators))
	assert.Greater(t, len(operators), 100)
}

// compare runs the call twice over, each result only to be copied, and returns how
// many results lay in planned memory, and whether the bits are equal.
func (c *recordedOp) compare(t *testing.T, data *export.Safetensors) (planned int, equal bool) {
	t.Helper()
	op, err := libtorch.Find(c.Fn)
	require.NoError(t, err)
	schema := op.Schema()
	if schema.IsOut() || len(schema.Returns) == 0 || len(c.Args) == 0 || slices.ContainsFunc(schema.Returns, func(p ir.Param) bool { return p.Type.Kind != ir.TypeTensor }) {
		return 0, true
	}
	var inputs []any
	defer func() { closeResult(inputs) }()
	g := ir.NewGraph()
	var places []*ir.Node
	for i := range c.Inputs {
		x, ok := c.input(t, data, i)
		if !ok {
			return 0, true
		}
		inputs = append(inputs, x)
		places = append(places, g.Placeholder("x"))
	}
	var args []ir.Arg
	for _, a := range c.Args {
		arg, ok := recordedArg(a, places)
		if !ok {
			return 0, true
		}
		args = append(args, arg)
	}
	var kwargs []ir.Keyword
	for name, a := range c.Kwargs {
		arg, ok := recordedArg(a, places)
		if !ok {
			return 0, true
		}
		kwargs = append(kwargs, ir.Keyword{Name: name, Value: arg})
	}
	clone := ir.OverloadOf("aten::clone")
	var copies []ir.Arg
	for k := range 2 { // the second may take the place of the first
		args := slices.Clone(args)
		if x, isNode := args[0].(*ir.Node); isNode && k == 1 && schema.Tags.Has(ir.TagPointwise) && slices.Contains([]string{"float32", "float64", "int64"}, c.Tensors[slices.Index(places, x)].DType) {
			// and be written over its operand, which is an intermediate result then
			neg := ir.OverloadOf("aten::neg")
			args[0] = g.CallFunction(neg, []ir.Arg{g.CallFunction(neg, []ir.Arg{x})})
		}
		call := g.CallFunction(ir.OverloadOf(c.Fn), args, ir.Kwargs(kwargs...))
		for i := range schema.Returns {
			result := call
			if len(schema.Returns) > 1 {
				result = g.CallFunction(getitem, []ir.Arg{call, ir.Int(i)})
			}
			copies = append(copies, g.CallFunction(clone, []ir.Arg{result}))
		}
	}
	g.Output(ir.TupleOf(copies...))
	gm := module(t, g, nil)
	want, err := interpreter.New(gm).Run(t.Context(), inputs...)
	if err != nil {
		return 0, true
	}
	defer closeResult(want)
	p := compile(t, gm)
	defer p.Close()
	equal = true
	for range 2 {
		got, err := p.Run(t.Context(), inputs...)
		require.NoError(t, err, "%s", c.Fn)
		equal = equal && alike(t, want.(ir.PyTuple), got.(ir.PyTuple))
		closeResult(got)
	}
	text, err := p.Dump()
	require.NoError(t, err)
	return strings.Count(text, "–"), equal
}

// alike compares tensors to the last bit.
func alike(t *testing.T, want, got ir.PyTuple) bool {
	t.Helper()
	for i := range want {
		x, y := want[i].(*torch.Tensor), got[i].(*torch.Tensor)
		a, err := x.Bytes()
		require.NoError(t, err)
		b, err := y.Bytes()
		require.NoError(t, err)
		if torch.Describe(x) != torch.Describe(y) || !slices.Equal(x.Strides(), y.Strides()) || string(a) != string(b) {
			return false
		}
	}
	return true
}

func (c *recordedOp) input(t *testing.T, data *export.Safetensors, i int) (*torch.Tensor, bool) {
	t.Helper()
	e := &c.Tensors[i]
	if e.Key == nil || e.Stride != nil || e.Offset != 0 || e.Share != nil || e.Conj || e.Neg || e.Layout != "" {
		return nil, false
	}
	dt, err := ir.ParseDType(e.DType)
	require.NoError(t, err)
	stored, err := data.Tensor(*e.Key)
	require.NoError(t, err)
	bytes, err := stored.Bytes()
	require.NoError(t, err)
	n := dt.Size()
	for _, s := range e.Size {
		n *= s
	}
	if len(bytes) < n {
		return nil, false
	}
	x, err := torch.FromBytes(dt, e.Size, bytes[:n])
	return x, err == nil
}

func recordedArg(v any, places []*ir.Node) (ir.Arg, bool) {
	switch v := v.(type) {
	case nil:
		return ir.None{}, true
	case bool:
		return ir.Bool(v), true
	case string:
		return ir.Str(v), true
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return ir.Int(n), true
		}
		f, err := v.Float64()
		return ir.Float(f), err == nil
	case []any:
		items := make([]ir.Arg, len(v))
		for i, item := range v {
			var ok bool
			if items[i], ok = recordedArg(item, places); !ok {
				return nil, false
			}
		}
		return ir.ListOf(items...), true
	case map[string]any:
		if i, ok := v["t"].(json.Number); ok {
			n, err := i.Int64()
			if err != nil || int(n) >= len(places) {
				return nil, false
			}
			return places[n], true
		}
		if f, ok := v["f"].(json.Number); ok {
			x, err := f.Float64()
			return ir.Float(x), err == nil
		}
		if name, ok := v["dtype"].(string); ok {
			dt, err := ir.ParseDType(name)
			return dt, err == nil
		}
	}
	return nil, false
}
