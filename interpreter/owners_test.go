package interpreter_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A thing counts how often it is closed.
type thing struct {
	name   string
	closed int
	shop   *shop
}

func (t *thing) Close() error {
	t.closed++
	t.shop.log = append(t.shop.log, "close "+t.name)
	return nil
}

// A shop executes every call by making things, and logs what happens: the
// target's name tells what is made.
type shop struct {
	interpreter.Default
	log  []string
	made []*thing
	fail string
}

func (s *shop) new(name string) *thing {
	t := &thing{name: name, shop: s}
	s.made = append(s.made, t)
	return t
}

func (s *shop) CallFunction(r *interpreter.Run, fn *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
	name := r.Node().Name()
	s.log = append(s.log, "run "+name)
	if name == s.fail {
		return nil, ir.Errorf(ir.ErrValue, "broken")
	}
	switch fn.Base() {
	case "make":
		return s.new(name), nil
	case "pair":
		return []any{s.new(name + ".0"), s.new(name + ".1")}, nil
	case "same":
		return args[0], nil
	case "bundle":
		return ir.PyTuple(args), nil
	}
	return s.Default.CallFunction(r, fn, args, kwargs)
}

var (
	makes  = ir.FuncOf("shop.make")
	pair   = ir.FuncOf("shop.pair")
	same   = ir.FuncOf("shop.same")
	bundle = ir.FuncOf("shop.bundle")
)

// upstream: test_fx.TestFX.test_interpreter_gc_values
func TestValuesAreClosedAtLastUse(t *testing.T) {
	lent := &thing{name: "lent", shop: &shop{}}
	tests := []struct {
		name  string
		build func(g *ir.Graph, x *ir.Node) ir.Arg // x is a lent argument
		want  []string
		open  []string // made and not closed: the result
	}{
		{"a chain keeps one value", func(g *ir.Graph, x *ir.Node) ir.Arg {
			a := g.CallFunction(makes, []ir.Arg{x}, ir.Name("a"))
			b := g.CallFunction(makes, []ir.Arg{a}, ir.Name("b"))
			return g.CallFunction(makes, []ir.Arg{b}, ir.Name("c"))
		}, []string{"run a", "run b", "close a", "run c", "close b"}, []string{"c"}},
		{"nobody reads it", func(g *ir.Graph, x *ir.Node) ir.Arg {
			g.CallFunction(makes, nil, ir.Name("a"))
			return g.CallFunction(makes, nil, ir.Name("b"))
		}, []string{"run a", "close a", "run b"}, []string{"b"}},
		{"a second name keeps it", func(g *ir.Graph, x *ir.Node) ir.Arg {
			a := g.CallFunction(makes, nil, ir.Name("a"))
			b := g.CallFunction(same, []ir.Arg{a}, ir.Name("b"))
			c := g.CallFunction(makes, nil, ir.Name("c"))
			return g.CallFunction(makes, []ir.Arg{b, c}, ir.Name("d"))
		}, []string{"run a", "run b", "run c", "run d", "close a", "close c"}, []string{"d"}},
		{"an item outlives its list", func(g *ir.Graph, x *ir.Node) ir.Arg {
			p := g.CallFunction(pair, nil, ir.Name("p"))
			first := g.CallFunction(getitem, []ir.Arg{p, ir.Int(0)}, ir.Name("first"))
			b := g.CallFunction(makes, nil, ir.Name("b"))
			return g.CallFunction(makes, []ir.Arg{first, b}, ir.Name("c"))
		}, []string{"run p", "run first", "close p.1", "run b", "run c", "close p.0", "close b"}, []string{"c"}},
		{"an argument twice", func(g *ir.Graph, x *ir.Node) ir.Arg {
			a := g.CallFunction(makes, nil, ir.Name("a"))
			b := g.CallFunction(bundle, []ir.Arg{a, a}, ir.Name("b"))
			return g.CallFunction(makes, []ir.Arg{b, a}, ir.Name("c"))
		}, []string{"run a", "run b", "run c", "close a"}, []string{"c"}},
		{"lent ones stay open", func(g *ir.Graph, x *ir.Node) ir.Arg {
			a := g.CallFunction(same, []ir.Arg{x}, ir.Name("a"))
			w := g.GetAttr("w")
			b := g.CallFunction(bundle, []ir.Arg{a, w}, ir.Name("b"))
			return g.CallFunction(makes, []ir.Arg{b}, ir.Name("c"))
		}, []string{"run a", "run b", "run c"}, []string{"c"}},
		{"literals of the graph stay open", func(g *ir.Graph, x *ir.Node) ir.Arg {
			a := g.CallFunction(same, []ir.Arg{ir.Opaque{Value: lent}}, ir.Name("a"))
			b := g.CallFunction(bundle, []ir.Arg{a, ir.ListOf(ir.Opaque{Value: lent})}, ir.Name("b"))
			return g.CallFunction(makes, []ir.Arg{b}, ir.Name("c"))
		}, []string{"run a", "run b", "run c"}, []string{"c"}},
		{"a result in a container", func(g *ir.Graph, x *ir.Node) ir.Arg {
			a := g.CallFunction(makes, nil, ir.Name("a"))
			b := g.CallFunction(makes, nil, ir.Name("b"))
			return ir.TupleOf(a, ir.DictOf(ir.Pair{Key: ir.Str("b"), Value: b}), a, x)
		}, []string{"run a", "run b"}, []string{"a", "b"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := ir.NewGraph()
			g.Output(tc.build(g, g.Placeholder("x")))
			s := &shop{}
			attr := &thing{name: "w", shop: s}
			in := interpreter.New(module(t, g, map[string]any{"w": attr}), interpreter.WithHandler(s))
			_, err := in.Run(t.Context(), lent)
			require.NoError(t, err)
			assert.Equal(t, tc.want, s.log)
			var open []string
			for _, m := range s.made {
				require.LessOrEqual(t, m.closed, 1, m.name)
				if m.closed == 0 {
					open = append(open, m.name)
				}
			}
			assert.Equal(t, tc.open, open)
			assert.Zero(t, lent.closed)
			assert.Zero(t, attr.closed)
		})
	}
}

func TestErrorClosesWhatTheRunMade(t *testing.T) {
	g := ir.NewGraph()
	a := g.CallFunction(makes, nil, ir.Name("a"))
	b := g.CallFunction(pair, nil, ir.Name("b"))
	g.Output(g.CallFunction(makes, []ir.Arg{a, b}, ir.Name("c")))
	s := &shop{fail: "c"}
	_, err := interpreter.New(module(t, g, nil), interpreter.WithHandler(s)).Run(t.Context())
	require.ErrorIs(t, err, ir.ErrValue)
	for _, m := range s.made {
		assert.Equal(t, 1, m.closed, m.name)
	}
}

func TestBoxedArgumentsAreClosedAtLastUse(t *testing.T) {
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	a := g.CallFunction(makes, []ir.Arg{x}, ir.Name("a"))
	g.Output(ir.TupleOf(a, g.CallFunction(same, []ir.Arg{y}, ir.Name("b"))))
	s := &shop{}
	args := []any{s.new("x"), s.new("y")}
	_, err := interpreter.New(module(t, g, nil), interpreter.WithHandler(s)).RunBoxed(t.Context(), &args)
	require.NoError(t, err)
	assert.Equal(t, []string{"run a", "close x", "run b"}, s.log)
}

func TestBoxedArgumentsAreClosedOnAnError(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.CallFunction(makes, []ir.Arg{x}, ir.Name("a"))
	g.Output(g.Placeholder("y"))
	s := &shop{fail: "a"}
	args := []any{s.new("x"), s.new("y")}
	_, err := interpreter.New(module(t, g, nil), interpreter.WithHandler(s)).RunBoxed(t.Context(), &args)
	require.ErrorIs(t, err, ir.ErrValue)
	assert.ElementsMatch(t, []string{"run a", "close x", "close y"}, s.log)
}

func TestKeptValuesAreFreedAtTheEnd(t *testing.T) {
	g := ir.NewGraph()
	a := g.CallFunction(makes, nil, ir.Name("a"))
	b := g.CallFunction(makes, []ir.Arg{a}, ir.Name("b"))
	g.Output(g.CallFunction(makes, []ir.Arg{b}, ir.Name("c")))
	gm := module(t, g, nil)

	s := &shop{}
	_, err := interpreter.New(gm, interpreter.WithHandler(s), interpreter.KeepValues()).Run(t.Context())
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"run a", "run b", "run c", "close a", "close b"}, s.log)

	s = &shop{}
	env := map[*ir.Node]any{}
	_, err = interpreter.New(gm, interpreter.WithHandler(s), interpreter.KeepValues()).RunWith(t.Context(), interpreter.Options{Env: env})
	require.NoError(t, err)
	assert.Equal(t, []string{"run a", "run b", "run c"}, s.log)
	assert.Same(t, s.made[0], env[a])
}

// Whatever the graph: everything made is closed exactly once, unless it is in
// the result, and nothing is closed before a node that reads it.
func TestOwnershipOfRandomGraphs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := ir.NewGraph()
		nodes := []*ir.Node{g.Placeholder("x"), g.GetAttr("w")}
		pick := func() *ir.Node { return rapid.SampledFrom(nodes).Draw(t, "node") }
		for i := range rapid.IntRange(1, 20).Draw(t, "calls") {
			name := ir.Name(fmt.Sprintf("n%d", i))
			fn := rapid.SampledFrom([]*ir.Func{makes, same, bundle, pair}).Draw(t, "call")
			n := g.CallFunction(fn, []ir.Arg{pick(), pick()}, name)
			nodes = append(nodes, n)
			if fn == pair {
				nodes = append(nodes, g.CallFunction(getitem, []ir.Arg{n, ir.Int(1)}))
			}
		}
		result := pick()
		g.Output(ir.ListOf(result, pick()))

		s := &checkedShop{t: t}
		gm, err := ir.NewGraphModule(map[string]any{"w": &thing{name: "w", shop: &s.shop}}, g)
		if err != nil {
			t.Fatal(err)
		}
		x := &thing{name: "x", shop: &s.shop}
		out, err := interpreter.New(gm, interpreter.WithHandler(s)).Run(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		inResult := map[*thing]bool{}
		walk(out, func(m *thing) { inResult[m] = true })
		for _, m := range append(s.made, x) {
			want := 1
			if inResult[m] || m == x {
				want = 0
			}
			if m.closed != want {
				t.Fatalf("%s: closed %d times, expected %d\n%s\n%v", m.name, m.closed, want, g, s.log)
			}
		}
	})
}

// checkedShop refuses to work with closed things.
type checkedShop struct {
	shop
	t *rapid.T
}

func (s *checkedShop) CallFunction(r *interpreter.Run, fn *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
	walk(args, func(m *thing) {
		if m.closed > 0 {
			s.t.Fatalf("node %s reads %s, which is closed", r.Node(), m.name)
		}
	})
	return s.shop.CallFunction(r, fn, args, kwargs)
}

func walk(v any, f func(*thing)) {
	switch v := v.(type) {
	case *thing:
		f(v)
	case []any:
		for _, item := range v {
			walk(item, f)
		}
	case ir.PyTuple:
		walk([]any(v), f)
	}
}
