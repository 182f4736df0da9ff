package torchops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// A script is the smallest recorder: it writes each call as a line.
type script struct{ lines []string }

func (s *script) Record(op ir.Op, target any, args []any, kw []Kwarg) Value {
	parts := make([]string, 0, len(args)+len(kw))
	for _, a := range args {
		parts = append(parts, s.text(a))
	}
	for _, k := range kw {
		parts = append(parts, k.Name+"="+s.text(k.Value))
	}
	name := fmt.Sprintf("v%d", len(s.lines))
	s.lines = append(s.lines, fmt.Sprintf("%s = %s %v(%s)", name, op, target, strings.Join(parts, ", ")))
	return NewValue(s, name)
}

func (s *script) text(v any) string {
	if value, ok := ValueOf(v); ok {
		return value.Ref().(string)
	}
	if list, kind := items(v); kind != "" {
		return "[" + strings.Join(listText(list, s.text), ", ") + "]"
	}
	if slice, ok := v.(ir.Slice); ok {
		return fmt.Sprintf("%s:%s", s.text(slice.Start), s.text(slice.Stop))
	}
	if o, ok := v.(ir.Opaque); ok {
		return s.text(o.Value)
	}
	return Describe(v)
}

func listText(list []any, text func(any) string) []string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = text(v)
	}
	return parts
}

func (s *script) input(name string) *Tensor { return NewValue(s, name).Tensor() }

func TestTracedCallsAreRecorded(t *testing.T) {
	s := &script{}
	x, y := s.input("x"), s.input("y")
	n := x.Size(0)
	Add(x, 2)
	x.Add(y)
	x.View(n.FloorDiv(2), -1)
	Cat(List{x, y}, 1)
	a, _ := x.Chunk(2, -1).Unpack2()
	Relu(a)
	x.Index(Slice(nil, n, nil), 0)
	Zeros(n, 3, Kw("dtype", Int64))
	x.Clamp(Kw("min", 0.5))
	As[*Tensor](Dispatch(ir.CallFunction, ir.FuncOf("operator.add"), []any{x, y}, nil))
	x.Value().Attr("shape").Index(0).Int().Add(1)
	x.Value().Method("unbind", nil, Kw("dim", 0)).Tensors().At(-1).Neg()
	assert.Equal(t, []string{
		"v0 = call_method size(x, 0)",
		"v1 = call_function torch.add(x, 2)",
		"v2 = call_method add(x, y)",
		"v3 = call_function operator.floordiv(v0, 2)",
		"v4 = call_method view(x, v3, -1)",
		"v5 = call_function torch.cat([x, y], 1)",
		"v6 = call_method chunk(x, 2, -1)",
		"v7 = call_function operator.getitem(v6, 0)",
		"v8 = call_function operator.getitem(v6, 1)",
		"v9 = call_function torch.relu(v7)",
		"v10 = call_function operator.getitem(x, [None:v0, 0])",
		"v11 = call_function torch.zeros(v0, 3, dtype=torch.int64)",
		"v12 = call_method clamp(x, min=0.5)",
		"v13 = call_function operator.add(x, y)",
		"v14 = call_function builtins.getattr(x, \"shape\")",
		"v15 = call_function operator.getitem(v14, 0)",
		"v16 = call_function operator.add(v15, 1)",
		"v17 = call_method unbind(x, dim=0)",
		"v18 = call_function operator.getitem(v17, -1)",
		"v19 = call_method neg(v18)",
	}, s.lines)
}

// What has a default in Python is in the recording only where the caller gave it,
// and as it was given.
func TestTracedOptionsAreRecordedAsGiven(t *testing.T) {
	s := &script{}
	x, y := s.input("x"), s.input("y")
	Cat(List{x, y})
	Cat(List{x, y}, Kw("dim", 1))
	Stack(List{x, y})
	Stack(As[Seq](NewValue(s, "l")), -1)
	Sum(x)
	Sum(x, 1, Kw("keepdim", true))
	Mean(x, Kw("keepdim", true), Kw("dim", []any{0, 1}))
	assert.Equal(t, []string{
		"v0 = call_function torch.cat([x, y])",
		"v1 = call_function torch.cat([x, y], dim=1)",
		"v2 = call_function torch.stack([x, y])",
		"v3 = call_function torch.stack(l, -1)",
		"v4 = call_function torch.sum(x)",
		"v5 = call_function torch.sum(x, 1, keepdim=True)",
		"v6 = call_function torch.mean(x, keepdim=True, dim=[0, 1])",
	}, s.lines)
}

func TestTracedValuesHaveNoNumbers(t *testing.T) {
	testenv.Libtorch(t) // which a call by name opens first
	s := &script{}
	x := s.input("x")
	tests := []struct {
		name string
		f    func() any
	}{
		{"dim", func() any { return x.Dim() }},
		{"shape", func() any { return x.Shape() }},
		{"size", func() any { return x.Size(0).Int() }},
		{"number of tensors", func() any { return x.Chunk(2, 0).Len() }},
		{"a call by name", func() any { v, err := Call("aten::relu", x); mustNot("call", err); return v }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Try(tc.f)
			require.Error(t, err)
			assert.ErrorIs(t, err, ir.ErrTrace)
		})
	}
	_, err := x.Item()
	assert.Error(t, err)
	assert.Equal(t, "<a traced tensor>", x.String())
	assert.NoError(t, x.Close())
}

func TestTwoTracesDoNotMeet(t *testing.T) {
	x, y := (&script{}).input("x"), (&script{}).input("y")
	_, err := Try(func() *Tensor { return Add(x, y) })
	require.ErrorIs(t, err, ErrTracers)
	assert.ErrorIs(t, err, ir.ErrTrace)
	_, err = Try(func() *Tensor { return Cat(List{x, y}, 0) })
	assert.ErrorIs(t, err, ErrTracers)
}

func TestAs(t *testing.T) {
	s := &script{}
	v := NewValue(s, "v")
	assert.Equal(t, v, As[*Tensor](v).Value())
	assert.True(t, As[SymInt](v).Traced())
	assert.Equal(t, v, As[Value](v))
	assert.Equal(t, any(v), As[any](v))
	assert.Equal(t, "v", s.text(As[Tensors](v)))
	assert.Equal(t, 5, As[SymInt](int64(5)).Int())
	assert.Nil(t, As[*Tensor](nil))
	assert.Equal(t, 0, As[Tensors]([]any{}).Len())
	for name, f := range map[string]func(){
		"a node as an int":    func() { As[int](v) },
		"a node as a list":    func() { As[List](v) },
		"a text as a tensor":  func() { As[*Tensor]("x") },
		"numbers as tensors":  func() { As[Tensors]([]any{int64(1)}) },
		"a float as a SymInt": func() { As[SymInt](1.5) },
	} {
		_, err := Try(func() int { f(); return 0 })
		assert.ErrorIs(t, err, ir.ErrType, name)
	}
}

var (
	scaleBy = Wrap("torchops_test.scale_by", func(x *Tensor, by float64, more ...int) *Tensor {
		for _, n := range more {
			by *= float64(n)
		}
		return x.Mul(by)
	})
	halveSize = Wrap("torchops_test.halve_size", func(n SymInt) SymInt { return n.FloorDiv(2) })
)

func TestWrap(t *testing.T) {
	s := &script{}
	y := scaleBy(s.input("x"), 2.5, 2, 3)
	assert.Equal(t, "v0", y.Value().Ref())
	halveSize(s.input("x").Size(0))
	assert.Equal(t, []string{
		"v0 = call_function torchops_test.scale_by(x, 2.5, 2, 3)",
		"v1 = call_method size(x, 0)",
		"v2 = call_function torchops_test.halve_size(v1)",
	}, s.lines)
	assert.Equal(t, 3, halveSize(N(7)).Int())
	n, err := Invoke(nil, ir.FuncOf("torchops_test.halve_size"), []any{int64(9)}, nil)
	require.NoError(t, err)
	assert.Equal(t, int64(4), n)

	assert.Panics(t, func() { Wrap("torchops_test.scale_by", func(x *Tensor) *Tensor { return x }) }, "the name is taken")
	assert.Panics(t, func() { Wrap("torchops_test.count", func(x *Tensor) int { return 0 }) }, "an int cannot stand for a node")
	assert.Panics(t, func() { Wrap("torchops_test.two", func(x *Tensor) (a, b *Tensor) { return x, x }) })

	testenv.Libtorch(t)
	x := open(t, []float32{1, 2})
	assert.Equal(t, "tensor([15., 30.])", scaleBy(x, 2.5, 2, 3).String())
	v, err := Invoke(nil, ir.FuncOf("torchops_test.scale_by"), []any{x, int64(2), int64(3)}, nil)
	require.NoError(t, err)
	assert.Equal(t, "tensor([ 6., 12.])", fmt.Sprint(v))
	for _, args := range [][]any{{}, {x}, {x, "2"}, {x, 2.0, 1.5}, {1.0, 2.0}} {
		_, err := Invoke(nil, ir.FuncOf("torchops_test.scale_by"), args, nil)
		assert.ErrorIs(t, err, ir.ErrType, "%v", args)
	}
}

func TestSymIntIsPythons(t *testing.T) {
	n := N(-7)
	assert.Equal(t, -4, n.FloorDiv(2).Int())
	assert.Equal(t, 1, n.Mod(2).Int())
	assert.Equal(t, -1, n.Mod(-2).Int())
	assert.Equal(t, -4, n.Add(3).Int())
	assert.Equal(t, -9, n.Sub(N(2)).Int())
	assert.Equal(t, 21, n.Mul(-3).Int())
	assert.Equal(t, 7, n.Neg().Int())
	_, err := Try(func() SymInt { return n.Mod(0) })
	assert.ErrorIs(t, err, ir.ErrZeroDivision)
	_, err = Try(func() SymInt { return N(1 << 62).Mul(2) })
	assert.ErrorIs(t, err, ir.ErrUnsupported)
	_, err = Try(func() SymInt { return n.Add("1") })
	assert.ErrorIs(t, err, ir.ErrType)
}

// Functions on symbolic numbers are recorded with their parameters by position, in
// whatever way they were called.
func TestRecordedSymbolicFunctions(t *testing.T) {
	for _, c := range []struct {
		name string
		args func(x, y *Tensor) []any
		kw   func(x, y *Tensor) []Kwarg
		want string // a node, or what the error says
	}{
		{"sym_int", func(x, _ *Tensor) []any { return []any{x} }, nil, "torch.sym_int(x)"},
		{"sym_float", nil, func(x, _ *Tensor) []Kwarg { return []Kwarg{Kw("a", x)} }, "torch.sym_float(x)"},
		{"sym_sqrt", func(x, _ *Tensor) []any { return []any{x} }, nil, "torch._sym_sqrt(x)"},
		{"sym_max", func(x, _ *Tensor) []any { return []any{x} }, func(_, y *Tensor) []Kwarg { return []Kwarg{Kw("b", y)} }, "torch.sym_max(x, y)"},
		{"sym_min", func(x, _ *Tensor) []any { return []any{2, x} }, nil, "torch.sym_min(2, x)"},
		{"sym_ite", func(x, y *Tensor) []any { return []any{true, x, y} }, nil, "torch.sym_ite(True, x, y)"},
		{"sym_sum", func(x, y *Tensor) []any { return []any{x, y, 1} }, nil, "torch.sym_sum([x, y, 1])"},
		{"sym_sum", func(x, y *Tensor) []any { return []any{[]any{x, y}} }, nil, "torch.sym_sum([x, y])"},
		{"sym_not", func(x, y *Tensor) []any { return []any{x, y} }, nil, "sym_not() takes 1 positional argument but 2 were given"},
		{"sym_max", func(x, _ *Tensor) []any { return []any{x} }, nil, "sym_max() missing 1 required positional argument: 'b'"},
		{"sym_int", func(x, _ *Tensor) []any { return []any{x} }, func(x, _ *Tensor) []Kwarg { return []Kwarg{Kw("b", x)} }, "unexpected keyword argument 'b'"},
	} {
		s := &script{}
		x, y := s.input("x"), s.input("y")
		var args []any
		var kw []Kwarg
		if c.args != nil {
			args = c.args(x, y)
		}
		if c.kw != nil {
			kw = c.kw(x, y)
		}
		_, err := Try(func() any { return Dispatch(ir.CallFunction, ir.FuncOf("torch."+c.name), args, kw) })
		if err != nil {
			assert.ErrorIs(t, err, ir.ErrType, c.name)
			assert.ErrorContains(t, err, c.want)
			continue
		}
		assert.Equal(t, []string{"v0 = call_function " + c.want}, s.lines, c.name)
	}
}
