package torchops

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

func made(t *testing.T, name string, args ...any) any {
	t.Helper()
	v, err := Invoke(nil, ir.FuncOf(name), args, nil)
	require.NoError(t, err, name)
	return v
}

// What operator.itemgetter and its like return can be called, be a key, and be printed.
// The expected values are Python's.
func TestGetters(t *testing.T) {
	testenv.Libtorch(t)
	x := open(t, []float32{1.5, 2.5}, 2)
	list := []any{int64(5), int64(6)}
	for _, c := range []struct {
		name string
		f, v any
		want any
		text string
	}{
		{"item", made(t, "operator.itemgetter", 1), list, int64(6), "operator.itemgetter(1)"},
		{"items", made(t, "operator.itemgetter", 1, 0), list, ir.PyTuple{int64(6), int64(5)}, "operator.itemgetter(1, 0)"},
		{"attribute", made(t, "operator.attrgetter", "ndim"), x, int64(1), "operator.attrgetter('ndim')"},
		{"attributes", made(t, "operator.attrgetter", "shape", "T.ndim"), x, ir.PyTuple{ir.PyTuple{int64(2)}, int64(1)}, "operator.attrgetter('shape', 'T.ndim')"},
		{"method", made(t, "operator.methodcaller", "size", 0), x, int64(2), "operator.methodcaller('size', 0)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.text, reprOf(c.f))
			v, err := InvokeMethod(nil, "__call__", []any{c.f, c.v}, nil)
			require.NoError(t, err)
			assert.Equal(t, c.want, v)
			assert.Equal(t, c.want, made(t, "operator.call", c.f, c.v))
		})
	}
	for _, c := range []struct {
		name  string
		args  []any
		kw    []Kwarg
		class *ir.Class
		text  string
	}{
		{"operator.itemgetter", nil, nil, ir.ErrType, "itemgetter expected 1 argument, got 0"},
		{"operator.attrgetter", []any{1}, nil, ir.ErrType, "attribute name must be a string"},
		{"operator.methodcaller", nil, nil, ir.ErrType, "methodcaller needs at least one argument, the method name"},
		{"operator.methodcaller", []any{1}, nil, ir.ErrType, "method name must be a string"},
		{"operator.call", []any{made(t, "operator.itemgetter", 1), x, x}, nil, ir.ErrType, "itemgetter expected 1 argument, got 2"},
		{"operator.call", []any{made(t, "operator.methodcaller", "nope"), x}, nil, ir.ErrUnsupported, "method nope"},
		{"builtins.sorted", []any{list, 3}, nil, ir.ErrType, "sorted expected 1 argument, got 2"},
		{"builtins.sorted", []any{list}, []Kwarg{Kw("key", 3)}, ir.ErrType, "'int' object is not callable"},
		{"builtins.max", []any{1, 2}, []Kwarg{Kw("default", 3)}, ir.ErrType, "Cannot specify a default for max() with multiple positional arguments"},
		{"builtins.max", nil, nil, ir.ErrType, "max expected at least 1 argument, got 0"},
		{"operator.delitem", []any{x, 0}, nil, ir.ErrType, "Tensor does not support deleting items"},
		{"operator.delitem", []any{list, 5}, nil, ir.ErrIndex, "index out of range"},
		{"operator.delitem", []any{ir.NewPyDict(nil, nil), 0}, nil, ir.ErrKey, "0"},
		{"operator.delitem", []any{"abc", 0}, nil, ir.ErrType, "'str' object doesn't support item deletion"},
		{"operator.delitem", []any{3, 0}, nil, ir.ErrType, "'int' object does not support item deletion"},
		{"operator.delitem", []any{list, 0}, nil, ir.ErrUnsupported, "expected a list that stays as it is"},
	} {
		_, err := Invoke(nil, ir.FuncOf(c.name), c.args, c.kw)
		assert.ErrorIs(t, err, c.class, "%s%v", c.name, c.args)
		assert.ErrorContains(t, err, c.text, "%s%v", c.name, c.args)
	}
}

func TestKeysAndDefaults(t *testing.T) {
	testenv.Libtorch(t)
	list := []any{int64(3), int64(-1), int64(2), int64(-4)}
	abs := Kw("key", ir.FuncOf("builtins.abs"))
	for _, c := range []struct {
		name string
		args []any
		kw   []Kwarg
		want any
	}{
		{"builtins.sorted", []any{list}, []Kwarg{abs}, []any{int64(-1), int64(2), int64(3), int64(-4)}},
		{"builtins.sorted", []any{list}, []Kwarg{abs, Kw("reverse", true)}, []any{int64(-4), int64(3), int64(2), int64(-1)}},
		{"builtins.max", []any{list}, []Kwarg{abs}, int64(-4)},
		{"builtins.min", []any{1, -3}, []Kwarg{abs}, int64(1)},
		{"builtins.max", []any{[]any{}}, []Kwarg{Kw("default", 3)}, int64(3)},
		{"builtins.min", []any{[]any{}}, []Kwarg{Kw("default", nil)}, nil},
	} {
		v, err := Invoke(nil, ir.FuncOf(c.name), c.args, c.kw)
		require.NoError(t, err)
		assert.Equal(t, c.want, v, "%s %v", c.name, c.kw)
	}
}

// The methods that call a function for each element.
func TestApplyAndMap(t *testing.T) {
	testenv.Libtorch(t)
	elements := func(x *Tensor) any { return x.Tolist() }
	x := open(t, []float32{1.5, 2.5}, 2)
	i := open(t, []int64{1, 2, 3}, 3)
	add, neg, sqrt := ir.FuncOf("operator.add"), ir.FuncOf("operator.neg"), ir.FuncOf("math.sqrt")
	assert.Equal(t, []any{int64(-1), int64(-2), int64(-3)}, elements(i.Clone().ApplyInPlace(neg)))
	assert.Equal(t, []any{int64(1), int64(1), int64(1)}, elements(i.Clone().ApplyInPlace(sqrt)))
	assert.Equal(t, []any{2.25, 6.25}, elements(x.Clone().ApplyInPlace(func(v float64) float64 { return v * v })))
	assert.Equal(t, []any{3.0, 5.0}, elements(x.Clone().MapInPlace(x, add)))
	assert.Equal(t, []any{3.5, 4.5}, elements(x.Clone().MapInPlace(open(t, []float32{2}), add)))
	assert.Equal(t, []any{math.Inf(1), math.Inf(1)}, elements(x.Clone().MapInPlace(x, func(a, b float64) float64 { return math.Inf(1) })))
	square := open(t, []float32{1, 2, 3, 4}, 2, 2)
	assert.Equal(t, []any{[]any{-1.0, -3.0}, []any{-2.0, -4.0}}, elements(square.T().ApplyInPlace(neg)), "a view is written")
	assert.Equal(t, []any{[]any{-1.0, -2.0}, []any{-3.0, -4.0}}, elements(square))
	for _, c := range []struct {
		name  string
		args  []any
		class *ir.Class
		text  string
	}{
		{"apply_", []any{x, 3}, ir.ErrType, "'int' object is not callable"},
		{"apply_", []any{x, ir.FuncOf("builtins.str")}, ir.ErrUnsupported, "builtins.str"},
		{"map_", []any{x, i, add}, ir.ErrType, "map_: expected torch.FloatTensor for 'other' (got torch.LongTensor)"},
		{"map_", []any{x, 3, add}, ir.ErrType, "map_(): argument 'other' (position 1) must be Tensor, not int"},
		{"map_", []any{x, Ones(3), add}, ir.ErrRuntime, "The expanded size of the tensor"},
		{"map2_", []any{x}, ir.ErrType, "missing"},
	} {
		_, err := InvokeMethod(nil, c.name, c.args, nil)
		assert.ErrorIs(t, err, c.class, "%v", c.args)
		assert.ErrorContains(t, err, c.text, "%v", c.args)
	}
	grad := x.Clone().RequiresGradInPlace()
	_, err := InvokeMethod(nil, "apply_", []any{grad, neg}, nil)
	assert.ErrorContains(t, err, "Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
	assert.Nil(t, grad.Grad(), "no gradient")
	assert.Nil(t, made(t, "torch.Tensor.grad_fn.__get__", grad), "a leaf")
}

// The method new of old code.
func TestLegacyNew(t *testing.T) {
	testenv.Libtorch(t)
	x := open(t, []float32{1.5, 2.5}, 2)
	assert.Equal(t, []int{0}, x.New().Shape())
	assert.Equal(t, []int{2, 3}, x.New(2, 3).Shape())
	assert.Equal(t, []int{2}, x.New(ir.PyTuple{2}).Shape(), "of sizes")
	assert.Equal(t, []any{2.0, 3.0}, x.New([]any{2, 3}).Tolist())
	assert.Equal(t, []any{int64(1), int64(2)}, open(t, []int64{1}, 1).New([]any{1.5, 2}).Tolist())
	assert.Equal(t, []any{[]any{1.0, 2.0}}, x.New([]any{[]any{1, 2}}, Kw("device", CPU)).Tolist())
	assert.Equal(t, []any{1.5, 2.5}, x.New(x).Tolist())
	for _, c := range []struct {
		args  []any
		class *ir.Class
		text  string
	}{
		{[]any{2.5}, ir.ErrType, "new(): data must be a sequence (got float)"},
		{[]any{"a"}, ir.ErrType, "new(): invalid data type 'str'"},
		{[]any{open(t, []int64{1}, 1)}, ir.ErrType, "expected torch.FloatTensor (got torch.LongTensor)"},
		{[]any{x, x}, ir.ErrType, "invalid combination of arguments"},
		{[]any{-1}, ir.ErrRuntime, "negative dimension"},
		{[]any{2, Kw("device", "meta")}, ir.ErrRuntime, "legacy constructor expects device type: cpu but device type: meta was passed"},
	} {
		_, err := Try(func() *Tensor { return x.New(c.args...) })
		assert.ErrorIs(t, err, c.class, "%v", c.args)
		assert.ErrorContains(t, err, c.text, "%v", c.args)
	}
}

// The state of the default generator, taken and put back.
func TestDefaultGenerator(t *testing.T) {
	testenv.Libtorch(t)
	made(t, "torch.manual_seed", -3)
	assert.Equal(t, uint64(math.MaxUint64-2), InitialSeed())
	made(t, "torch.manual_seed", "7")
	assert.Equal(t, int64(7), InitialSeed())
	state := GetRngState()
	assert.Equal(t, []int{5056}, state.Shape())
	first := Rand(3).Tolist()
	SetRngState(state)
	assert.Equal(t, first, Rand(3).Tolist())
	seed := Seed()
	assert.Equal(t, seed, InitialSeed())
	for state, text := range map[any]string{3: "expected a torch.ByteTensor, but got int", open(t, []float32{1}, 1): "RNG state must be a torch.ByteTensor"} {
		_, err := Invoke(nil, ir.FuncOf("torch.set_rng_state"), []any{state}, nil)
		assert.ErrorIs(t, err, ir.ErrType)
		assert.ErrorContains(t, err, text)
	}
}
