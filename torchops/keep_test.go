package torchops

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

func kept(v any) any { return new(keeping).one(v) }

// What is kept of an argument is equal to it, and does not change when the caller's
// memory does.
func TestKeptArguments(t *testing.T) {
	type size int
	type pair struct{ a, b int32 }
	x, s := newTensor(), NewScope()
	g := new(Generator)
	d := &ir.PyDict{}
	d.Set("k", []int{1})
	for name, v := range map[string]any{
		"nil": nil, "int": 300, "int64": int64(300), "float": 1000.5, "bool": true, "string": "floor", "complex": 1i, "uint8": uint8(7),
		"a named int": size(400), "a flat struct": pair{1, 2}, "float16": F16(3), "dtype": Float64, "layout": ir.Strided, "device": CPU,
		"memory format": ir.ChannelsLast, "ellipsis": Ellipsis, "none": ir.None{}, "an int of a graph": ir.Int(5), "text of a graph": ir.Str("s"),
		"tensor": x, "no tensor": (*Tensor)(nil), "list": List{x, nil}, "tuple": Tuple{x}, "tensors": []*Tensor{x}, "a result": Tensors{list: []*Tensor{x}},
		"ints": []int{1, 2}, "int64s": []int64{1}, "floats": []float64{1}, "bools": []bool{true}, "strings": []string{"a"}, "no ints": []int(nil),
		"any": []any{1, "a", []any{2.5, x}}, "python's tuple": ir.PyTuple{1, nil}, "dict": d, "keyword": Kw("dim", []int{1}), "scope": In(s), "function": ir.FuncOf("torch.relu"), "generator": g,
		"no generator": (*Generator)(nil), "object": &ir.PyObject{Values: []any{1}},
		"a struct": struct{ X []int }{[]int{1}}, "a pointer": &struct{ X any }{[]int{1}}, "lists": [][]float64{{1}, nil}, "named": anys1{1, x}, "an array": [1]any{x},
		"a map": map[string]any{"k": x, "n": nil}, "tensors by name": map[string]*Tensor{"k": x}, "dtypes": []DType{Float32}, "tuples": []Tuple{{x}},
		"list of a graph": ir.ListOf(ir.Int(1), ir.TupleOf(ir.Str("a"))), "dict of a graph": ir.DictOf(ir.Pair{Key: ir.Str("k"), Value: ir.ListOf(ir.Int(1))}),
		"named tuple": ir.NamedTupleOf(ir.FuncOf("c"), []string{"f"}, ir.Int(1)), "enum": ir.Enum{Class: ir.FuncOf("c"), Member: "m", Value: ir.Int(1)},
		"range": ir.Range{Stop: 2, Step: 1}, "node": ir.NewGraph().Placeholder("x"),
		"size": N(3), "truth": SymBool{b: true}, "sizes": []SymInt{N(3)}, "values": []Value{{}}, "value": Value{},
	} {
		assert.Equal(t, v, kept(v), name)
	}
	assert.Same(t, x, kept(x))
	assert.Equal(t, ir.Slice{Start: ir.Opaque{Value: 1}, Stop: ir.None{}, Step: ir.None{}}, kept(Slice(1, nil)))

	ints, name := []int{1, 2}, []byte("dim")
	args := []any{ints, []any{ints}, Kw("dim", ints)}
	whole := kept(args)
	clear(ints)
	clear(name)
	assert.Equal(t, []any{[]int{1, 2}, []any{[]int{1, 2}}, Kw("dim", []int{1, 2})}, whole)
}

// Of what no operator takes the type is kept, for the error that says so.
func TestWhatNoOperatorTakesIsNotKept(t *testing.T) {
	testenv.Libtorch(t)
	type unknown struct{ p *int }
	for _, v := range []any{unknown{new(int)}, func() {}, make(chan int), new(int), new(pointerWithMethods)} {
		assert.True(t, reflect.ValueOf(kept(v)).IsZero(), "%T", v)
		assert.Equal(t, reflect.TypeOf(v), reflect.TypeOf(kept(v)))
		_, err := Try(func() *Tensor { return Add(Ones(2), v) })
		require.ErrorIs(t, err, ir.ErrType)
		assert.ErrorContains(t, err, "must be Tensor, not "+typeName(v))
	}
}

type (
	anys1              []any
	pointerWithMethods struct{ X int }
)

func (*pointerWithMethods) Method() {}

// A recorder of which nothing but the values of a trace is kept.
type localRecorder struct {
	calls int
	args  [][]any
}

func (r *localRecorder) Record(op ir.Op, target any, args []any, kw []Kwarg) Value {
	r.calls++
	r.args = append(r.args, args)
	return NewValue(r, r.calls)
}

// A trace gets copies of lists, maps and structs of any type, and what has no copy is
// an error there.
func TestTracedArgumentsOfAnyType(t *testing.T) {
	x := NewValue(&localRecorder{}, 0).Tensor()
	r := x.Value().Recorder().(*localRecorder)
	ints, m := [][]int{{1, 2}}, map[string]*Tensor{"k": x}
	CallAny("torch.some", nil, x, ints, m, ir.ListOf(ir.Int(1)), []any{[]int32{1}})
	ints[0][0] = 7
	delete(m, "k")
	assert.Equal(t, []any{x, [][]int{{1, 2}}, map[string]*Tensor{"k": x}, ir.ListOf(ir.Int(1)), []any{[]int32{1}}}, r.args[0])
	for _, v := range []any{func() {}, new(pointerWithMethods), []any{new(int)}, struct{ p *int }{new(int)}} {
		_, err := Try(func() any { return CallAny("torch.some", nil, x, v) })
		require.ErrorIs(t, err, ir.ErrNotImplemented)
		_, err = Try(func() any { return x.Index(v) })
		require.ErrorIs(t, err, ir.ErrNotImplemented)
	}
}

// Sizes of a graph are sizes.
func TestListsOfAGraphAsArguments(t *testing.T) {
	testenv.Libtorch(t)
	x := Ones(2, 3, 4)
	assert.Equal(t, []int{4}, Sum(x, ir.ListOf(ir.Int(0), ir.Int(1))).Shape())
	assert.Equal(t, []int{3}, Sum(x, Kw("dim", ir.TupleOf(ir.Int(0), ir.Int(2)))).Shape())
}

// What holds itself by a way that is no list ends in an error too.
func TestArgumentsThatHoldThemselves(t *testing.T) {
	testenv.Libtorch(t)
	type box struct{ X any }
	for name, wrap := range map[string]func(any) any{
		"opaque": func(v any) any { return ir.Opaque{Value: v} }, "struct": func(v any) any { return box{v} }, "pointer": func(v any) any { return &box{v} },
		"slice": func(v any) any { return ir.Slice{Start: ir.Opaque{Value: v}} }, "keyword": func(v any) any { return Kw("k", v) },
		"array": func(v any) any { return [1]any{v} }, "map": func(v any) any { return map[string]any{"k": v} },
	} {
		list := []any{nil}
		list[0] = wrap(list)
		_, err := Try(func() *Tensor { return Add(Ones(2), list) })
		require.ErrorIs(t, err, ErrNesting, name)
	}
}

// The recorder that a size comes from is on the heap, where what it records refers to it.
func TestRecordersAreOnTheHeap(t *testing.T) {
	var rec localRecorder
	v := NewValue(&rec, 0)
	at := uintptr(unsafe.Pointer(&rec))
	var grow func(n int) int
	grow = func(n int) int {
		var room [256]int
		if n == 0 {
			return room[n]
		}
		return grow(n-1) + room[n%256]
	}
	traced := Zeros(v.Int(), 2)
	grow(2000)
	assert.Equal(t, at, uintptr(unsafe.Pointer(&rec)))
	assert.True(t, traced.Traced())
	assert.Equal(t, 1, rec.calls)
}

// A tensor that this package did not make may lie on a stack.
func TestTensorsOfTheCaller(t *testing.T) {
	testenv.Libtorch(t)
	s := NewScope()
	defer s.Close()
	x := Ones(2, In(s))
	var zero, same Tensor
	same.handle = x.handle
	same.scope.Store(s)
	assert.True(t, x.is(&same))
	assert.NotSame(t, &same, kept(&same))
	assert.True(t, x.is(kept(&same).(*Tensor)))
	assert.Same(t, s, kept(&same).(*Tensor).scope.Load())
	assert.Equal(t, []int{2}, Add(&same, 1).Shape())
	_, err := Try(func() *Tensor { return Add(&zero, 1) })
	require.ErrorIs(t, err, ir.ErrClosed)
	_, err = Try(func() *Tensor { return Cat(List{x, &zero}) })
	require.ErrorIs(t, err, ir.ErrClosed)
}

// The stack of the caller may move while the parser works.
func TestArgumentsOnAStackThatMoves(t *testing.T) {
	testenv.Libtorch(t)
	var deep func(n int, f func())
	deep = func(n int, f func()) {
		var room [64]int
		if n > 0 {
			deep(n-1, f)
		} else {
			f()
		}
		assert.Zero(t, room[n%64])
	}
	for depth := range 200 {
		done := make(chan []int)
		go func() {
			defer close(done)
			deep(depth, func() {
				n, a := depth%3+1, float64(depth)
				y := Full([]Int{n, int32(2), N(3)}, a, Kw("dtype", Float64)) // an int32 goes through the parser
				z := y.Reshape(Kw("shape", []any{uint8(2), -1}))
				done <- slices.Concat(y.Shape(), z.Shape())
				_ = y.Close()
				_ = z.Close()
			})
		}()
		n := depth%3 + 1
		require.Equal(t, []int{n, 2, 3, 2, 3 * n}, <-done)
	}
}
