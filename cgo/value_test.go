package libtorch

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// echoes returns the overload of tfxtest::echo and tfxtest::type_of for a type.
func echoes(t *testing.T, typ string) (echo, typeOf *Operator) {
	t.Helper()
	testOps(t)
	all, err := Operators()
	require.NoError(t, err)
	for _, s := range all.Overloads("tfxtest::echo") {
		if s.Args[0].Type.String() == typ {
			return find(t, s.Op), find(t, "tfxtest::type_of"+s.Op[len("tfxtest::echo"):])
		}
	}
	t.Fatalf("no tfxtest::echo for %s", typ)
	return nil, nil
}

func TestValuesComeBackAsTheyWent(t *testing.T) {
	testenv.Libtorch(t)
	gen, err := NewGenerator(7)
	require.NoError(t, err)
	x, y := ones(t, 2), ones(t, 3)
	tests := []struct {
		typ   string
		give  any
		want  any    // nil: as given
		exact string // libtorch's own type of the value
	}{
		{"Tensor", x, nil, "Tensor"},
		{"Tensor?", x, nil, "Tensor"},
		{"Tensor[]", []*Tensor{x, y}, nil, "List[Tensor]"},
		{"Tensor[]", []*Tensor{}, nil, "List[Tensor]"},
		{"Tensor[]", []any{x, y}, []*Tensor{x, y}, "List[Tensor]"},
		{"Tensor?[]", []*Tensor{x, nil, y}, nil, "List[Optional[Tensor]]"},
		{"Tensor?[]", []*Tensor{}, nil, "List[Optional[Tensor]]"},
		{"int", int64(-1 << 62), nil, "int"},
		{"int", 5, int64(5), "int"},
		{"SymInt", int64(3), nil, "int"},
		{"int?", int64(3), nil, "int"},
		{"int[]", []int64{1, -2, 3}, nil, "List[int]"},
		{"int[]", []int64{}, nil, "List[int]"},
		{"int[]", []any{int64(1), 2}, []int64{1, 2}, "List[int]"},
		{"SymInt[]", []int64{4, 5}, nil, "List[int]"},
		{"int[2]", []int64{4, 5}, nil, "List[int]"},
		{"int[1]", []int64{4, 5}, nil, "List[int]"},
		{"float", 1.5, nil, "float"},
		{"float[]", []float64{1, 2.5}, nil, "List[float]"},
		{"float[]", []any{1.0, 2.5}, []float64{1, 2.5}, "List[float]"},
		{"float[]", []float64{}, nil, "List[float]"},
		{"bool", true, nil, "bool"},
		{"bool", false, nil, "bool"},
		{"bool[]", []bool{true, false}, nil, "List[bool]"},
		{"bool[]", []any{true, false}, []bool{true, false}, "List[bool]"},
		{"bool[3]", []bool{true, false, true}, nil, "List[bool]"},
		{"Scalar", int64(2), nil, "int"},
		{"Scalar", 2.5, nil, "float"},
		{"Scalar", true, nil, "bool"},
		{"Scalar", complex(1, -2), nil, "complex"},
		{"Scalar", uint64(1<<63 + 1), nil, "int"},
		{"Scalar?", 2.5, nil, "float"},
		{"Scalar[]", []any{int64(1), 2.5, true}, nil, "List[number]"},
		{"Scalar[]", []complex128{1, 2i}, []any{complex(1, 0), complex(0, 2)}, "List[number]"},
		{"Scalar?[]", []any{int64(1), nil}, nil, "List[Optional[number]]"},
		{"str", "", nil, "str"},
		{"str", "sieben Zeichen und Ümläute", nil, "str"},
		{"str[]", []string{"a", "", "twelve bytes"}, nil, "List[str]"},
		{"str[]", []any{"a", "b"}, []string{"a", "b"}, "List[str]"},
		{"str?", "x", nil, "str"},
		{"Device", ir.NewDevice(ir.DeviceCUDA, 3), nil, "Device"},
		{"Device", ir.NewDevice(ir.DeviceCPU, -1), nil, "Device"},
		{"ScalarType", ir.BFloat16, nil, "int"},
		{"ScalarType?", ir.Float8E4M3FN, nil, "int"},
		{"Layout", ir.SparseCSR, nil, "int"},
		{"MemoryFormat", ir.ChannelsLast, nil, "int"},
		{"Generator", gen, nil, "Generator"},
		{"Generator?", gen, nil, "Generator"},
		{"Tensor[][]", []any{[]*Tensor{x}, []*Tensor{}}, nil, "List[List[Tensor]]"},
		{"str[][]", []any{[]string{"a"}, []string{}}, nil, "List[List[str]]"},
		{"int[]?", []int64{1}, nil, "List[int]"},
		{"float[]?", []float64{1}, nil, "List[float]"},
		{"Any", int64(1), nil, "int"},
		{"Any", "s", nil, "str"},
		{"Any", []float64{1}, nil, "List[float]"},
		{"Any", []*Tensor{x}, nil, "List[Tensor]"},
		{"Any", []any{int64(1), "s"}, nil, "List[Any]"},
		{"Any", nil, nil, "NoneType"},
		{"complex", complex(1, 2), nil, "complex"},
		{"(int, Tensor, str)", []any{int64(1), x, "s"}, nil, "Tuple[int, Tensor, str]"},
		{"Dict(str, int)", []any{[]any{"a", int64(1)}, []any{"b", int64(2)}}, nil, "Dict[str, int]"},
		{"QScheme", int64(1), nil, "int"},
	}
	for _, tc := range tests {
		t.Run(fmt.Sprintf("%s/%T", tc.typ, tc.give), func(t *testing.T) {
			echo, typeOf := echoes(t, tc.typ)
			want := tc.want
			if want == nil {
				want = tc.give
			}
			got, err := echo.Call(nil, []any{tc.give})
			require.NoError(t, err)
			defer closeAll(got)
			require.Len(t, got, 1)
			assert.Equal(t, identity(want), identity(got[0]))
			name, err := typeOf.Call(nil, []any{tc.give})
			require.NoError(t, err)
			assert.Equal(t, tc.exact, name[0])
		})
	}
}

// identity replaces handles by what they refer to, since an echo is a new handle.
func identity(v any) any {
	switch v := v.(type) {
	case *Tensor:
		if v == nil {
			return nil
		}
		return v.ID()
	case *Generator:
		return v.cell.impl
	case []*Tensor:
		ids := []any{}
		for _, t := range v {
			ids = append(ids, identity(t))
		}
		return ids
	case []any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = identity(v[i])
		}
		return items
	}
	return v
}

func TestNoneAndUndefinedStayApart(t *testing.T) {
	testOps(t)
	x := ones(t, 1)
	assert.Equal(t, "none", call(t, nil, "tfxtest::optional_state", nil)[0])
	assert.Equal(t, "tensor", call(t, nil, "tfxtest::optional_state", x)[0])
	assert.Equal(t, true, call(t, nil, "tfxtest::is_undefined", nil)[0], "None for a Tensor is an undefined one, as in Python")
	assert.Equal(t, false, call(t, nil, "tfxtest::is_undefined", x)[0])
	assert.Equal(t, []any{nil}, call(t, nil, "tfxtest::undefined"))
}

func TestWrongArgumentsAreRefusedByName(t *testing.T) {
	x := ones(t, 1, 1, 3, 3)
	closed := ones(t, 1)
	require.NoError(t, closed.Close())
	require.NoError(t, closed.Close(), "a second Close does nothing")
	conv := func(stride any) []any {
		return []any{x, x, nil, stride, []int64{0, 0}, []int64{1, 1}, int64(1)}
	}
	tests := []struct {
		name, op string
		args     []any
		class    *ir.Class
		say      string
	}{
		{"too few", "aten::add.Tensor", []any{x, x}, ir.ErrType, "expected 3 arguments, got 2"},
		{"too many", "aten::add.Tensor", []any{x, x, int64(1), int64(1)}, ir.ErrType, "expected 3 arguments, got 4"},
		{"none", "aten::add.Tensor", nil, ir.ErrType, "expected 3 arguments, got 0"},
		{"string for a tensor", "aten::add.Tensor", []any{x, "y", int64(1)}, ir.ErrType, "argument other: expected Tensor, got string"},
		{"nil pointer for a tensor", "aten::add.Tensor", []any{x, (*Tensor)(nil), int64(1)}, ir.ErrType, "argument other: expected Tensor, got a nil tensor"},
		{"closed tensor", "aten::add.Tensor", []any{x, closed, int64(1)}, ir.ErrClosed, "argument other: expected an open tensor, got a closed one"},
		{"closed in a list", "aten::cat", []any{[]*Tensor{x, closed}, int64(0)}, ir.ErrClosed, "argument tensors: expected open tensors, got a closed one as element 1"},
		{"none in a list", "aten::cat", []any{[]*Tensor{x, nil}, int64(0)}, ir.ErrType, "argument tensors: expected Tensor[], got None as element 1"},
		{"number in a list of tensors", "aten::cat", []any{[]any{x, int64(1)}, int64(0)}, ir.ErrType, "argument tensors: expected Tensor[], got int64 as element 1"},
		{"float for an int", "aten::cat", []any{[]*Tensor{x}, 0.5}, ir.ErrType, "argument dim: expected int, got float64"},
		{"int for a float", "aten::dropout", []any{x, int64(1), false}, ir.ErrType, "argument p: expected float, got int64"},
		{"int for a bool", "aten::dropout", []any{x, 0.5, int64(0)}, ir.ErrType, "argument train: expected bool, got int64"},
		{"string for a Scalar", "aten::add.Tensor", []any{x, x, "1"}, ir.ErrType, "argument alpha: expected Scalar, got string"},
		{"short int[2]", "aten::conv2d", conv([]int64{1}), ir.ErrRuntime, "argument stride: expected SymInt[2] of 2, got 1 elements"},
		{"long int[2]", "aten::conv2d", conv([]int64{1, 1, 1}), ir.ErrRuntime, "argument stride: expected SymInt[2] of 2, got 3 elements"},
		{"empty int[2]", "aten::conv2d", conv([]int64{}), ir.ErrRuntime, "argument stride: expected SymInt[2] of 2, got 0 elements"},
		{"string in an int[2]", "aten::conv2d", conv([]any{int64(1), "1"}), ir.ErrType, "argument stride: expected SymInt, got string as element 1"},
		{"none for an int[2]", "aten::conv2d", conv(nil), ir.ErrType, "argument stride: expected SymInt[2], got None"},
		{"int for an int[2]", "aten::conv2d", conv(int64(1)), ir.ErrType, "argument stride: expected SymInt[2], got int64"},
		{"int for a dtype", "aten::sum", []any{x, int64(6)}, ir.ErrType, "argument dtype: expected ScalarType or None, got int64"},
		{"invalid dtype", "aten::sum", []any{x, ir.InvalidDType}, ir.ErrType, "argument dtype: expected ScalarType or None, got invalid dtype 0"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := find(t, tc.op).Call(nil, tc.args)
			require.ErrorIs(t, err, tc.class)
			assert.Equal(t, tc.say, err.Error())
		})
	}
}

func TestListsThatTheSchemaAllows(t *testing.T) {
	x := ones(t, 1, 1, 4, 4)
	// int[1] is a list of any length, for which one number may stand.
	call(t, nil, "aten::sum.dim_IntList", x, []int64{0, 1, 2}, false, nil)
	// int[2] stride=[] is the kernel size.
	pooled := call(t, nil, "aten::max_pool2d", x, []int64{2, 2}, []int64{}, []int64{0, 0}, []int64{1, 1}, false)
	assert.Equal(t, []float32{1, 1, 1, 1}, values(t, pooled[0]))
}

// TestEveryTypeInEverySchema encodes a value for each argument of each operator,
// and refuses a wrong one. Nothing is called: the kernels would not like it.
func TestEveryTypeInEverySchema(t *testing.T) {
	x := ones(t, 1)
	gen, err := NewGenerator(0)
	require.NoError(t, err)
	object := call(t, nil, "quantized::linear_prepack_fp16", ones(t, 4, 4), nil)[0].(*Object)
	all, err := Operators()
	require.NoError(t, err)
	require.GreaterOrEqual(t, all.Len(), 3483)
	kinds := map[ir.TypeKind]int{}
	for s := range all.All() {
		ps := params(s)
		for i := range ps {
			v := sample(ps[i].typ, x, gen, object)
			require.NotNil(t, v, "%s: argument %s: no value for %v", s.Op, ps[i].name, ps[i].typ)
			var e encoder
			require.NoError(t, e.value(ps[i].typ, v, ps[i].free), "%s: argument %s: %v", s.Op, ps[i].name, ps[i].typ)
			e.unuse()
			kinds[ps[i].typ.Kind]++
			var bad encoder
			require.Error(t, bad.value(ps[i].typ, struct{}{}, ps[i].free), "%s: argument %s", s.Op, ps[i].name)
			bad.unuse()
		}
	}
	for _, kind := range []ir.TypeKind{ir.TypeTensor, ir.TypeList, ir.TypeInt, ir.TypeSymInt, ir.TypeFloat, ir.TypeBool, ir.TypeScalar, ir.TypeStr,
		ir.TypeDType, ir.TypeLayout, ir.TypeMemoryFormat, ir.TypeDevice, ir.TypeGenerator, ir.TypeStorage, ir.TypeStream, ir.TypeClass, ir.TypeAny} {
		assert.Positive(t, kinds[kind], "kind %d does not occur: the test lost its material", kind)
	}
}

// sample returns a value of a type.
func sample(t *ir.Type, x *Tensor, gen *Generator, object *Object) any {
	switch t.Kind {
	case ir.TypeTensor:
		return x
	case ir.TypeInt, ir.TypeSymInt, ir.TypeScalar, ir.TypeQScheme:
		return int64(1)
	case ir.TypeFloat, ir.TypeSymFloat:
		return 1.0
	case ir.TypeBool, ir.TypeSymBool:
		return true
	case ir.TypeComplex:
		return 1i
	case ir.TypeStr, ir.TypeDimname, ir.TypeAny, ir.TypeVar:
		return "s"
	case ir.TypeDType:
		return ir.Float32
	case ir.TypeLayout:
		return ir.Strided
	case ir.TypeMemoryFormat:
		return ir.ContiguousFormat
	case ir.TypeDevice:
		return ir.Device{}
	case ir.TypeGenerator:
		return gen
	case ir.TypeStorage, ir.TypeStream, ir.TypeClass, ir.TypeFuture:
		return object
	case ir.TypeOptional:
		return sample(t.Elem, x, gen, object)
	case ir.TypeList:
		items := make([]any, max(t.Len, 1))
		for i := range items {
			items[i] = sample(t.Elem, x, gen, object)
		}
		return items
	case ir.TypeDict:
		return []any{[]any{sample(&t.Elems[0], x, gen, object), sample(&t.Elems[1], x, gen, object)}}
	case ir.TypeTuple:
		items := make([]any, len(t.Elems))
		for i := range items {
			items[i] = sample(&t.Elems[i], x, gen, object)
		}
		return items
	}
	return nil
}

func TestLongResultsAndArguments(t *testing.T) {
	x := floats(t, []int64{300}, make([]float32, 300)...)
	parts := call(t, nil, "aten::split.Tensor", x, int64(1), int64(0))[0].([]*Tensor)
	require.Len(t, parts, 300)
	back := call(t, nil, "aten::cat", parts, int64(0))
	assert.Equal(t, values(t, x), values(t, back[0]))
	for _, p := range parts {
		assert.True(t, IsAlias(p, x), "split makes views")
	}
}

func TestObjectsGoBackIn(t *testing.T) {
	w, x := ones(t, 4, 4), ones(t, 2, 4)
	packed := call(t, nil, "quantized::linear_prepack_fp16", w, nil)[0].(*Object)
	assert.Equal(t, "__torch__.torch.classes.quantized.LinearPackedParamsBase", packed.TypeName())
	y := call(t, nil, "quantized::linear_dynamic_fp16", x, packed)
	assert.Equal(t, []float32{4, 4, 4, 4, 4, 4, 4, 4}, values(t, y[0]))
	require.NoError(t, packed.Close())
	_, err := find(t, "quantized::linear_dynamic_fp16").Call(nil, []any{x, packed})
	require.ErrorIs(t, err, ir.ErrClosed)
	assert.ErrorContains(t, err, "argument W_prepack: expected an open object, got a closed one")
}
