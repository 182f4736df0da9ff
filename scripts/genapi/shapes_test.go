package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A shapeCall is a line of testdata/shapes.jsonl.gz, which scripts/record_shapes.py made,
// or of the file that TORCHFX_SHAPES names.
type shapeCall struct {
	Fn     string
	Args   []any
	Kwargs map[string]any
	Out    any
}

func shapeCalls(t *testing.T) (calls []shapeCall) {
	t.Helper()
	file, err := os.Open(cmp.Or(os.Getenv("TORCHFX_SHAPES"), "testdata/shapes.jsonl.gz"))
	require.NoError(t, err)
	defer file.Close()
	z, err := gzip.NewReader(file)
	require.NoError(t, err)
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var c shapeCall
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.UseNumber()
		require.NoError(t, d.Decode(&c))
		calls = append(calls, c)
	}
	require.NoError(t, lines.Err())
	return calls
}

// shapeValue decodes a value; ok is false for a tensor that is sparse.
func shapeValue(v any) (value any, strided bool) {
	switch v := v.(type) {
	case json.Number:
		n, _ := v.Int64()
		return int(n), true
	case []any:
		list := make([]any, len(v))
		strided := true
		for i := range v {
			item, ok := shapeValue(v[i])
			list[i], strided = item, strided && ok
		}
		return list, strided
	case map[string]any:
		if t, ok := v["t"]; ok {
			pair := t.([]any)
			shape := []int{}
			for _, n := range pair[1].([]any) {
				size, _ := n.(json.Number).Int64()
				shape = append(shape, int(size))
			}
			return tensor{pair[0].(string), shape}, v["layout"] == nil
		}
		if f, ok := v["f"]; ok {
			x, _ := strconv.ParseFloat(fmt.Sprint(f), 64)
			return x, true
		}
		if c, ok := v["c"]; ok {
			z, _ := strconv.ParseComplex(strings.ReplaceAll(c.(string), "j", "i"), 128)
			return z, true
		}
		if d, ok := v["dtype"]; ok {
			return dtypeName(d.(string)), true
		}
		return nil, true
	}
	return v, true
}

// bind gives the arguments their names, by the first signature that they fit.
func (c *shapeCall) bind(f *function) (*recorded, error) {
	for i := range f.signatures {
		if r := c.bindTo(f, &f.signatures[i]); r != nil {
			return r, nil
		}
	}
	// any number of tensors, one by one
	for i := range f.signatures {
		if n := len(f.signatures[i].params); n > 0 && n <= len(c.Args) {
			packed := *c
			packed.Args = append(slices.Clone(c.Args[:n-1]), c.Args[n-1:])
			if r := packed.bindTo(f, &f.signatures[i]); r != nil {
				return r, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: expected arguments of one of %d signatures, got %v %v", c.Fn, len(f.signatures), c.Args, c.Kwargs)
}

func (c *shapeCall) bindTo(f *function, s *signature) *recorded {
	r := &recorded{name: c.Fn, args: map[string]any{}}
	values := make([]any, len(c.Args))
	for i, v := range c.Args {
		values[i], _ = shapeValue(v)
	}
	if f.method {
		r.args["x"], r.order = values[0], append(r.order, "x")
		values = values[1:]
	}
	positional := 0
	for _, p := range s.params {
		if !p.keyword {
			positional++
		}
	}
	if len(values) > 0 && positional >= 1 && (s.params[0].rest || positional == 1 && strings.HasPrefix(s.params[0].typ, "Ints")) {
		if _, isList := values[0].([]any); !isList {
			values = []any{values}
		} else if s.params[0].rest && len(values) > 1 {
			values = []any{values}
		}
	}
	if len(values) > positional {
		return nil
	}
	used := 0
	for i, p := range s.params {
		name := p.name
		r.order = append(r.order, name)
		v, given := any(nil), false
		if i < len(values) {
			v, given = values[i], true
		}
		for _, key := range append([]string{name}, numpy[name]...) {
			if k, ok := c.Kwargs[key]; ok && !given {
				v, _ = shapeValue(k)
				given = true
				used++
			}
		}
		if !given && p.required {
			return nil
		}
		if !given {
			v = defaultOf(p.def)
		} else if !fits(v, &p) {
			return nil
		}
		r.args[name] = v
	}
	if used < len(c.Kwargs) {
		return nil
	}
	return r
}

var numpy = map[string][]string{"dim": {"axis"}, "keepdim": {"keepdims"}, "input": {"x", "a", "x1"}, "other": {"x2"}}

func fits(v any, p *param) bool {
	typ := strings.TrimSuffix(p.python, "?")
	base, _, sized := strings.Cut(typ, "[")
	switch v.(type) {
	case nil:
		return p.def == "None" || strings.HasSuffix(p.python, "?") || typ == "any"
	case tensor:
		return typ == "any" || base == "Tensor" || base == "Scalar" || base == "double" || strings.Contains(base, "nt")
	case []any:
		return typ == "any" || sized || strings.HasSuffix(base, "ArrayRef") || strings.HasSuffix(base, "List") || strings.HasPrefix(base, "ArrayRef") || strings.HasPrefix(base, "c10::List")
	case string:
		return typ == "any" || strings.HasPrefix(base, "c10::string") || base == "Device"
	case dtypeName:
		return typ == "any" || base == "ScalarType"
	case bool:
		return typ == "any" || base == "bool" || base == "Scalar" || base == "double" || p.typ == "any" && base == "Tensor"
	case int:
		return typ == "any" || base == "int64_t" || base == "SymInt" || base == "Scalar" || base == "double" || sized && base != "Tensor" || p.typ == "any" && base == "Tensor"
	case float64, complex128:
		return typ == "any" || base == "Scalar" || base == "double" || p.typ == "any" && base == "Tensor"
	}
	return true
}

func defaultOf(text string) any {
	switch text {
	case "", "None":
		return nil
	case "True", "False":
		return text == "True"
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x
	}
	if inner, ok := strings.CutPrefix(text, "{"); ok {
		list := []any{}
		for _, part := range strings.FieldsFunc(strings.TrimSuffix(inner, "}"), func(r rune) bool { return r == ',' || r == ' ' }) {
			n, _ := strconv.Atoi(part)
			list = append(list, n)
		}
		return list
	}
	return strings.Trim(text, `"'`)
}

// returned are the tensors of a result, in order.
func returned(v any) (all []tensor, strided bool) {
	value, strided := shapeValue(v)
	switch value := value.(type) {
	case tensor:
		return []tensor{value}, strided
	case []any:
		var walk func(list []any)
		walk = func(list []any) {
			for _, item := range list {
				switch item := item.(type) {
				case tensor:
					all = append(all, item)
				case []any:
					walk(item)
				}
			}
		}
		walk(value)
	}
	return all, strided
}

// check holds a rule against a call, "" where it says what was returned.
func check(r *recorded, shape shapeRule, dtype dtypeRule) string {
	if r.args["out"] != nil {
		return "" // which has its own shape and dtype
	}
	want := shape.of(r)
	if r.decided {
		return "" // by elements, which are not recorded
	}
	if want == nil {
		return "the rule of shape says nothing"
	}
	if len(want) != len(r.results) {
		return fmt.Sprintf("expected %d results by the rule of shape, got %d", len(want), len(r.results))
	}
	for i, got := range r.results {
		if !slices.EqualFunc(want[i], got.shape, func(a, b int) bool { return a == b || a == -1 }) {
			return fmt.Sprintf("result %d: expected shape %v by the rule, got %v", i, want[i], got.shape)
		}
		d := dtype.of(r, i)
		if asked, given := r.args["dtype"].(dtypeName); given {
			d = string(asked)
		}
		if d != got.dtype {
			return fmt.Sprintf("result %d: expected dtype %s by the rule, got %s", i, d, got.dtype)
		}
	}
	return ""
}

// TestShapeRules holds what the doc comments say of shapes and dtypes against calls of
// PyTorch: each rule predicts what every recorded call of its functions returned.
func TestShapeRules(t *testing.T) {
	const root = "../.."
	tables, err := readTables(root)
	require.NoError(t, err)
	names, err := publicNames(root)
	require.NoError(t, err)
	list, _ := functions(names, tables)
	generated := map[string]*function{}
	for i := range list {
		generated[list[i].python] = &list[i]
	}
	held, skipped := map[string]int{}, 0
	for _, c := range shapeCalls(t) {
		f, r := generated[c.Fn], tables.rulings[c.Fn]
		if f == nil || r.shape == "" {
			continue
		}
		call, err := c.bind(f)
		if err != nil {
			skipped++ // by a deprecated signature, which is not documented, or with nothing at all
			continue
		}
		call.results, _ = returned(c.Out)
		if d := check(call, shapeRules[r.shape], dtypeRules[r.dtype]); d != "" {
			assert.Failf(t, "another result", "%s, rules %s and %s: %s %v", c.Fn, r.shape, r.dtype, d, call.args)
		}
		held[c.Fn]++
	}
	calls := 0
	for name := range generated {
		r, known := tables.rulings[name]
		assert.True(t, known, "%s: shapes.txt says neither a rule nor a reason", name)
		if r.shape != "" {
			assert.NotZero(t, held[name], "%s: no recorded call holds its rules", name)
		}
		calls += held[name]
	}
	for name := range tables.rulings {
		assert.NotNil(t, generated[name], "%s of shapes.txt is not generated", name)
	}
	assert.Less(t, skipped, 60)
	t.Logf("%d calls of %d functions, %d calls are not bound", calls, len(held), skipped)
}

// The rules that are functions are all in use, and say something.
func TestShapeRulesAreUsed(t *testing.T) {
	rulings, err := readRulings("../..")
	require.NoError(t, err)
	shapes, dtypes := map[string]bool{}, map[string]bool{}
	for _, r := range rulings {
		shapes[r.shape], dtypes[r.dtype] = true, true
	}
	for name, r := range shapeRules {
		assert.NotEmpty(t, r.text, name)
		assert.True(t, shapes[name], "rule of shape %q is not used", name)
	}
	for name, r := range dtypeRules {
		assert.True(t, name == "" || r.text != "", name)
		assert.True(t, dtypes[name], "rule of dtype %q is not used", name)
	}
}
