package torchops

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

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
		"size": N(3), "truth": SymBool{b: true}, "sizes": []SymInt{N(3)}, "values": []Value{{}}, "value": Value{},
	} {
		assert.Equal(t, v, kept(v), name)
	}
	assert.Same(t, x, kept(x))
	assert.Equal(t, ir.Slice{Start: ir.Opaque{Value: 1}, Stop: ir.None{}, Step: ir.None{}}, kept(Slice(1, nil)))

	ints, name := []int{1, 2}, []byte("dim")
	args := []any{ints, []any{ints}, Kw("dim", ints)}
	whole := keptAll(args)
	clear(ints)
	clear(name)
	assert.Equal(t, []any{[]int{1, 2}, []any{[]int{1, 2}}, Kw("dim", []int{1, 2})}, whole)
}

// Of what no operator takes the type is kept, for the error that says so.
func TestWhatNoOperatorTakesIsNotKept(t *testing.T) {
	testenv.Libtorch(t)
	type unknown struct{ p *int }
	for _, v := range []any{unknown{new(int)}, &unknown{}, func() {}, make(chan int), map[string]any{"k": 1}, []unknown{{}}} {
		assert.True(t, reflect.ValueOf(kept(v)).IsZero(), "%T", v)
		assert.Equal(t, reflect.TypeOf(v), reflect.TypeOf(kept(v)))
		_, err := Try(func() *Tensor { return Add(Ones(2), v) })
		require.ErrorIs(t, err, ir.ErrType)
		assert.ErrorContains(t, err, "must be Tensor, not "+typeName(v))
	}
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
