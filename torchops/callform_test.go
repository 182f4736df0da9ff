package torchops

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// Whatever a function is called with: where the form of the call has a route, the
// parser takes the arguments too, for the same operator, and what it makes of them is
// what the route writes.
func TestRoutesAreThoseOfTheParser(t *testing.T) {
	testenv.Libtorch(t)
	s := NewScope()
	defer s.Close()
	tensors := []*Tensor{Ones(2, 3, In(s)), Full([]int{}, 2.0, In(s)), Full([]int{}, 2, In(s)), Ones(1, Kw("dtype", Int64), In(s)), Full([]int{}, true, In(s))}
	tensor := rapid.SampledFrom(tensors)
	value := rapid.Custom(func(t *rapid.T) any {
		n := rapid.IntRange(-3, 3).Draw(t, "n")
		switch rapid.IntRange(0, 16).Draw(t, "kind") {
		case 0, 1, 2, 3:
			return tensor.Draw(t, "tensor")
		case 4, 5, 6:
			return n
		case 7:
			return float64(n) / 2
		case 8:
			return n > 0
		case 9:
			return []int{n}
		case 10:
			return []any{n, int64(2)}
		case 11:
			return nil
		case 12:
			return List{tensor.Draw(t, "tensor"), tensors[0]}
		case 13:
			return Float64
		case 14:
			return "mean"
		case 15:
			return CPU
		}
		return N(int64(n))
	})
	names := slices.Sorted(maps.Keys(signatureIndex()))
	routes := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		p := implementationOf(ir.FuncOf(name)).public
		if p == nil {
			return
		}
		for range 20 {
			args := rapid.SliceOfN(value, 0, 5).Draw(t, "args")
			if p.method || rapid.Bool().Draw(t, "of a tensor") {
				args = append([]any{tensor.Draw(t, "self")}, args...)
			}
			var kw []Kwarg
			for _, param := range rapid.SampledFrom(p.signatures).Draw(t, "signature").params {
				if rapid.IntRange(0, 5).Draw(t, "given") == 0 {
					kw = append(kw, Kw(param.name, value.Draw(t, param.name)))
				}
			}
			if checkRoute(t, p, args, kw) {
				routes[name] = true
			}
		}
	})
	t.Logf("%d functions by routes", len(routes))
	assert.Greater(t, len(routes), 20)
}

// checkRoute reports whether the call has a route, and compares it with the parser.
func checkRoute(t require.TestingT, p *public, args []any, kw []Kwarg) bool {
	a := callArgs{args: args, kw: kw}
	var form callForm
	var slots libtorch.Slots
	defer slots.Drop()
	if _, ok := a.form(&form, &slots); !ok {
		return false
	}
	r := p.learn(&form)
	if !r.takes(&slots) {
		return false // the parser is asked
	}
	operator, made, ok := p.arguments(&form, new(route))
	what := p.name + Describe(args) + Describe(len(kw))
	require.True(t, ok, what)
	given := slices.Clone(args)
	for _, k := range kw {
		given = append(given, k.Value)
	}

	args, err := normalizeItems(args)
	require.NoError(t, err, what)
	kw, err = normalizeKeywords(kw)
	require.NoError(t, err, what)
	b := &binding{values: make([]any, p.most)}
	if p.method {
		b.self, args = args[0].(*Tensor), args[1:]
	}
	s, err := p.choose(b, args, kw)
	require.NoError(t, err, what)
	plan, err := s.plan(p.method, s.out >= 0 && b.values[s.out] != nil)
	require.NoError(t, err, what)
	require.Same(t, plan.operator, operator, what)
	c := call{schema: plan.operator.Schema(), public: true}
	defer c.release()
	var self any
	if p.method {
		self = b.self
	}
	encoded, err := c.arguments(nil, s, plan, self, b.values)
	require.NoError(t, err, what)
	for i, want := range encoded {
		got := argumentOf(made[i], given)
		if h, isTensor := want.(*libtorch.Tensor); isTensor && slices.Contains(c.made, h) {
			require.GreaterOrEqual(t, made[i].Kind, libtorch.ArgWrapped, what)
			want, err = item(nil, FromHandle(h))
			require.NoError(t, err, what)
		} else {
			require.Less(t, made[i].Kind, libtorch.ArgWrapped, what)
		}
		if x, isFloat := want.(float64); isFloat && math.IsNaN(x) {
			continue
		}
		require.Equal(t, want, got, what)
	}
	return true
}

// argumentOf is what the bridge makes of an argument of a call.
func argumentOf(a libtorch.Argument, given []any) any {
	if a.Kind == libtorch.ArgConstant {
		return a.Value
	}
	v, err := normalize(given[a.Slot])
	if err != nil {
		return err
	}
	switch a.Kind {
	case libtorch.ArgTensor:
		return &v.(*Tensor).handle
	case libtorch.ArgReal:
		return float64(v.(int64))
	case libtorch.ArgInts:
		return listOf(v.([]any), func(n any) int64 { return n.(int64) })
	case libtorch.ArgTensors:
		return listOf(v.([]any), func(t any) *libtorch.Tensor { return &t.(*Tensor).handle })
	case libtorch.ArgTimes:
		return slices.Repeat([]int64{v.(int64)}, a.Count)
	case libtorch.ArgRow:
		row := make([]int64, a.Count)
		for i := range row {
			n, _ := normalize(given[a.Slot+i])
			row[i] = n.(int64)
		}
		return row
	}
	return v
}

// A view by an int or a slice is what the whole way makes, and so are its errors.
func TestViewsOfOnePartAreThoseOfSubscripts(t *testing.T) {
	testenv.Libtorch(t)
	s := NewScope()
	defer s.Close()
	x, scalar := Ones(3, 2, In(s)), Full([]int{}, 1.5, In(s))
	for _, part := range []any{0, -1, 2, 3, -4, Slice(1, nil, nil), Slice(nil, nil, nil), Slice(-2, 9, nil), Slice(nil, nil, 2), Slice(2, 1, nil), Slice(nil, nil, -1), Slice(nil, nil, 0)} {
		for _, y := range []*Tensor{x, scalar} {
			want, wantErr := Try(func() *Tensor { return As[*Tensor](Dispatch(ir.CallFunction, fnGetItem, []any{y, part}, nil)) })
			got, err := Try(func() *Tensor { return y.Index(part) })
			if wantErr != nil {
				assert.EqualError(t, err, wantErr.Error())
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, want.Shape(), got.Shape())
			assert.Equal(t, want.Strides(), got.Strides())
			assert.Equal(t, want.StorageOffset(), got.StorageOffset())
			assert.Same(t, s, got.scope.Load())
		}
	}
}

func TestFormsAreBounded(t *testing.T) {
	testenv.Libtorch(t)
	x := open(t, []float32{1, 2})
	p := implementationOf(ir.FuncOf("torch.Tensor.view")).public
	before := p.routes.Load()
	defer p.routes.Store(before)
	for n := range 2 * formRoutes {
		_, _ = Try(func() any { return x.View(1, Kw(strings.Repeat("k", n+1), 2)) })
	}
	known := 0
	for r := p.routes.Load(); r != nil; r = r.next {
		known++
	}
	assert.LessOrEqual(t, known, formRoutes)
	assert.Equal(t, []int{2, 1}, x.View(2, 1).Shape())
}
