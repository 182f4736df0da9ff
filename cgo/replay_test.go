package libtorch_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// A recorded call, as the README beside the recordings describes it.
type recorded struct {
	Fn      string
	Args    []any
	Kwargs  map[string]any
	Tensors []entry
	Inputs  int
	Out     any
	Changed map[string]int
	Random  bool
	CPU     string // what the result looks like, of scripts/record_meta.py
	Meta    string // on the device meta
}

type entry struct {
	DType, Layout string
	Size, Stride  []int64
	Offset        int64
	S             *string
	Share         *int
	Conj, Neg     bool
	Random        bool
	Indices       *int
	Crow          *int
	Ccol          *int
}

// errSparse leaves out calls on sparse inputs, whose parts other calls make.
var errSparse = errors.New("sparse input")

// A replay is one call with the tensors that it made.
type replay struct {
	data  *export.Safetensors
	call  *recorded
	bases map[int]*libtorch.Tensor
	made  map[int]*libtorch.Tensor
	own   []*libtorch.Tensor
	bare  bool // of tensors without elements
}

func (r *replay) close() {
	for _, t := range r.own {
		t.Close()
	}
}

func (r *replay) keep(t *libtorch.Tensor, err error) (*libtorch.Tensor, error) {
	if t != nil {
		r.own = append(r.own, t)
	}
	return t, err
}

// op calls an operator with all its arguments and returns its one result.
func (r *replay) op(name string, args ...any) (any, error) {
	o, err := libtorch.Find(name)
	if err != nil {
		return nil, err
	}
	res, err := o.Call(nil, args)
	if err != nil {
		return nil, err
	}
	r.adopt(res)
	return res[0], nil
}

func (r *replay) adopt(v any) {
	switch v := v.(type) {
	case *libtorch.Tensor:
		r.own = append(r.own, v)
	case []*libtorch.Tensor:
		r.own = append(r.own, v...)
	case []any:
		for _, x := range v {
			r.adopt(x)
		}
	}
}

// tensor builds tensor i: a view of its storage.
func (r *replay) tensor(i int) (*libtorch.Tensor, error) {
	if t := r.made[i]; t != nil {
		return t, nil
	}
	e := r.call.Tensors[i]
	if e.Layout != "" && e.Layout != "strided" {
		return nil, errSparse
	}
	dt, err := ir.ParseDType(e.DType)
	if err != nil {
		return nil, err
	}
	stride := e.Stride
	if stride == nil {
		stride = make([]int64, len(e.Size))
		n := int64(1)
		for i := len(stride) - 1; i >= 0; i-- {
			stride[i] = n
			n *= max(e.Size[i], 1)
		}
	}
	var data []byte
	if r.data == nil {
		n := int64(1) + e.Offset
		for d, stride := range stride {
			n += (e.Size[d] - 1) * stride
		}
		data = make([]byte, max(n, 0)*int64(dt.Size()))
	} else if e.S != nil {
		t, err := r.data.Tensor(*e.S)
		if err != nil {
			return nil, err
		}
		start := t.Offset * int64(t.DType.Size())
		n := int64(t.DType.Size())
		for _, s := range t.Sizes {
			n *= s
		}
		data = t.Storage.Bytes()[start : start+n]
	}
	var base *libtorch.Tensor
	if e.Share != nil {
		base = r.bases[*e.Share]
	}
	if base == nil {
		if base, err = r.storage(data); err != nil {
			return nil, err
		}
		if e.Share != nil {
			r.bases[*e.Share] = base
		}
	}
	t, err := r.keep(libtorch.View(base, dt, e.Size, stride, e.Offset))
	for _, lazy := range []struct {
		on bool
		op string
	}{{e.Conj, "aten::_conj"}, {e.Neg, "aten::_neg_view"}} {
		if err == nil && lazy.on {
			var v any
			v, err = r.op(lazy.op, t)
			t, _ = v.(*libtorch.Tensor)
		}
	}
	r.made[i] = t
	return t, err
}

func (r *replay) storage(data []byte) (*libtorch.Tensor, error) {
	if !r.bare {
		return r.keep(libtorch.NewTensor(ir.UInt8, []int64{int64(len(data))}, data))
	}
	v, err := r.op("aten::empty.memory_format", []int64{int64(len(data))}, ir.UInt8, nil, ir.NewDevice(ir.DeviceMeta, -1), nil, nil)
	t, _ := v.(*libtorch.Tensor)
	return t, err
}

// value turns JSON into what Call takes.
func (r *replay) value(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, nil
		}
		return strconv.ParseUint(v.String(), 10, 64)
	case []any:
		items := make([]any, len(v))
		var err error
		for i := range v {
			if items[i], err = r.value(v[i]); err != nil {
				return nil, err
			}
		}
		return items, nil
	case map[string]any:
		for kind, x := range v {
			s, _ := x.(string)
			switch kind {
			case "t":
				n, err := strconv.Atoi(x.(json.Number).String())
				if err != nil {
					return nil, err
				}
				return r.tensor(n)
			case "f":
				return float(x)
			case "c":
				re, err := float(x.([]any)[0])
				im, err2 := float(x.([]any)[1])
				return complex(re, im), errors.Join(err, err2)
			case "tuple":
				return r.value(x)
			case "dtype":
				return ir.ParseDType(s)
			case "device":
				return ir.ParseDevice(s)
			case "layout":
				for n := range 8 {
					if l, err := ir.LayoutFromC10(n); err == nil && l.String() == "torch."+s {
						return l, nil
					}
				}
			case "memory_format":
				for n := range 4 {
					if m, err := ir.MemoryFormatFromC10(n); err == nil && m.String() == "torch."+s {
						return m, nil
					}
				}
			}
		}
		return nil, fmt.Errorf("cannot read %v", v)
	}
	return v, nil
}

func float(x any) (float64, error) {
	return strconv.ParseFloat(fmt.Sprint(x), 64)
}

// fit makes the conversions of Python's parser that Call leaves to its callers.
func (r *replay) fit(t ir.Type, v any) (any, error) {
	n, isInt := v.(int64)
	switch t.Kind {
	case ir.TypeOptional:
		if v == nil {
			return nil, nil
		}
		return r.fit(*t.Elem, v)
	case ir.TypeFloat:
		if isInt {
			return float64(n), nil
		}
		if b, ok := v.(bool); ok && b {
			return 1.0, nil
		} else if ok {
			return 0.0, nil
		}
	case ir.TypeInt, ir.TypeSymInt:
		if b, ok := v.(bool); ok && b {
			return int64(1), nil
		} else if ok {
			return int64(0), nil
		}
	case ir.TypeBool:
		if isInt {
			return n != 0, nil
		}
	case ir.TypeTensor:
		switch v.(type) {
		case int64, float64, bool, complex128, uint64:
			return r.keep(libtorch.WrappedNumber(v))
		}
	case ir.TypeList:
		items, ok := v.([]any)
		if !ok {
			items = make([]any, max(t.Len, 1))
			for i := range items {
				items[i] = v
			}
		} else if t.Len > 1 && len(items) == 1 {
			for len(items) < t.Len {
				items = append(items, items[0])
			}
		}
		fitted := make([]any, len(items))
		for i := range items {
			x, err := r.fit(*t.Elem, items[i])
			if err != nil {
				return nil, err
			}
			fitted[i] = x
		}
		return fitted, nil
	}
	return v, nil
}

// literal turns a default of a schema into what Call takes.
func literal(a ir.Arg) any {
	switch a := a.(type) {
	case ir.Int:
		return int64(a)
	case ir.Float:
		return float64(a)
	case ir.Bool:
		return bool(a)
	case ir.Str:
		return string(a)
	case ir.Complex:
		return complex128(a)
	case ir.DType, ir.Layout, ir.MemoryFormat, ir.Device:
		return a
	case ir.List:
		items := make([]any, a.Len())
		for i, x := range a.All() {
			items[i] = literal(x)
		}
		return items
	}
	return nil
}

// make makes the call.
func (r *replay) make() ([]any, error) {
	o, err := libtorch.Find(r.call.Fn)
	if err != nil {
		return nil, err
	}
	s := o.Schema()
	args := make([]any, len(s.Args))
	for i, p := range s.Args {
		v, given := r.call.Kwargs[p.Name]
		if i < len(r.call.Args) {
			v, given = r.call.Args[i], true
		}
		var x any
		if given {
			x, err = r.value(v)
		} else {
			x = literal(p.Default)
		}
		if err == nil {
			args[i], err = r.fit(p.Type, x)
		}
		if err != nil {
			return nil, err
		}
	}
	res, err := o.Call(nil, args)
	r.adopt(res)
	return res, err
}

// run makes the call and compares its results.
func (r *replay) run() error {
	res, err := r.make()
	if err != nil || r.call.Random {
		return err
	}
	var got any = res
	if len(res) == 1 {
		got = res[0]
	}
	want := &replay{data: r.data, call: r.call, bases: map[int]*libtorch.Tensor{}, made: map[int]*libtorch.Tensor{}}
	defer want.close()
	if err := want.same(got, r.call.Out, r.call.Changed); err != nil {
		return err
	}
	for i, j := range r.call.Changed {
		n, err := strconv.Atoi(i)
		if err != nil {
			return err
		}
		if err := want.same(r.made[n], map[string]any{"t": json.Number(strconv.Itoa(j))}, nil); err != nil {
			return fmt.Errorf("argument %d after the call: %w", n, err)
		}
	}
	return nil
}

// same compares a result with what was recorded.
func (r *replay) same(got, want any, changed map[string]int) error {
	switch w := want.(type) {
	case nil:
		if items, ok := got.([]any); got != nil && !(ok && len(items) == 0) {
			return fmt.Errorf("expected None, got %v", got)
		}
		return nil
	case []any:
		items := []any{}
		switch g := got.(type) {
		case []any:
			items = g
		case []*libtorch.Tensor:
			for _, t := range g {
				items = append(items, t)
			}
		case []int64:
			for _, x := range g {
				items = append(items, x)
			}
		}
		if len(items) != len(w) {
			return fmt.Errorf("expected %d items, got %T of %d", len(w), got, len(items))
		}
		for i := range w {
			if err := r.same(items[i], w[i], changed); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		return nil
	case map[string]any:
		if x, ok := w["tuple"]; ok {
			return r.same(got, x, changed)
		}
		if x, ok := w["t"]; ok {
			n, err := strconv.Atoi(x.(json.Number).String())
			if err != nil {
				return err
			}
			if j, ok := changed[strconv.Itoa(n)]; ok {
				n = j
			}
			return r.sameTensor(got, n)
		}
	}
	v, err := r.value(want)
	if err != nil {
		return err
	}
	x, isFloat := v.(float64)
	y, ok := got.(float64)
	if isFloat && ok && (x == y || x != x && y != y || math.Abs(x-y) <= 1e-5*math.Abs(x)) {
		return nil
	}
	if dt, ok := got.(ir.DType); ok { // libtorch's number in the recordings
		got = int64(dt.C10())
	}
	if v != got {
		return fmt.Errorf("expected %v, got %v", v, got)
	}
	return nil
}

func (r *replay) sameTensor(got any, n int) error {
	e := r.call.Tensors[n]
	t, ok := got.(*libtorch.Tensor)
	if !ok || t == nil {
		return fmt.Errorf("expected a tensor, got %T", got)
	}
	info, err := t.Info()
	if err != nil {
		return err
	}
	if info.DType.Name() != e.DType || fmt.Sprint(info.Sizes) != fmt.Sprint(e.Size) {
		return fmt.Errorf("expected %s %v, got %s %v", e.DType, e.Size, info.DType.Name(), info.Sizes)
	}
	if e.Random {
		return nil
	}
	want, err := r.tensor(n)
	if err != nil {
		return err // the parts of a sparse result are not compared
	}
	wide := ir.Float64
	rtol, atol := 1e-4, 1e-5
	switch {
	case info.DType.IsComplex():
		wide = ir.Complex128
	case !info.DType.IsFloat():
		rtol, atol = 0, 0
	}
	switch info.DType {
	case ir.Float16, ir.Complex32:
		rtol, atol = 1e-3, 1e-3
	case ir.BFloat16:
		rtol, atol = 1.6e-2, 1e-3
	}
	a, err := r.op("aten::_to_copy", t, wide, nil, nil, nil, false, nil)
	if err != nil {
		return err
	}
	b, err := r.op("aten::_to_copy", want, wide, nil, nil, nil, false, nil)
	if err != nil {
		return err
	}
	close, err := r.op("aten::allclose", a, b, rtol, atol, true)
	if err == nil && close != true {
		err = errors.New("values differ")
	}
	return err
}

// TestRecordedCalls replays the calls that PyTorch's own operator tests made: every
// kind of argument and result, on nearly every operator of the CPU.
func TestRecordedCalls(t *testing.T) {
	testenv.Libtorch(t)
	dir := testenv.Fixtures(t, "ops")
	data, err := export.OpenSafetensors(filepath.Join(dir, "tensors.safetensors"))
	require.NoError(t, err)
	defer data.Close()
	f, err := os.Open(filepath.Join(dir, "aten.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	calls, sparse := 0, 0
	failed := map[string]int{}
	for lines.Scan() {
		var c recorded
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.UseNumber()
		require.NoError(t, d.Decode(&c))
		calls++
		if libtorch.Debug && calls%100 != 0 {
			continue // each call collects several times
		}
		r := &replay{data: data, call: &c, bases: map[int]*libtorch.Tensor{}, made: map[int]*libtorch.Tensor{}}
		err := r.run()
		r.close()
		if errors.Is(err, errSparse) {
			sparse++
			continue
		}
		if err != nil && testenv.Otherwise(t, c.Fn) == "" {
			failed[c.Fn]++
			if failed[c.Fn] == 1 {
				t.Errorf("%s: %v\n  %s", c.Fn, err, lines.Text()[:min(400, len(lines.Text()))])
			}
		}
	}
	require.NoError(t, lines.Err())
	t.Logf("%d calls, %d with sparse tensors left out", calls, sparse)
	require.Greater(t, calls, 8000, "the recordings are not what they were")
}
