package ir

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The functions of scripts/record_hooks.py that OnGenerateCode registers.
type makeBody = func(current BodyFunc) BodyFunc

func above(line string) makeBody {
	return func(current BodyFunc) BodyFunc {
		return func(body []string) []string {
			if current != nil {
				body = current(body)
			}
			return append([]string{line + "\n"}, body...)
		}
	}
}

func given(line string) makeBody {
	return func(current BodyFunc) BodyFunc {
		return func(body []string) []string { return current(append([]string{line + "\n"}, body...)) }
	}
}

func instead(line string) makeBody { return func(BodyFunc) BodyFunc { return above(line)(nil) } }

// hookedModule is relu(x + y) * x.sum() with functions that change its code.
func hookedModule(t *testing.T, makers ...makeBody) *GraphModule {
	t.Helper()
	g := NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	relu := g.CallFunction(FuncOf("torch.relu"), []Arg{g.CallFunction(FuncOf("operator.add"), []Arg{x, y})})
	g.Output(g.CallFunction(FuncOf("operator.mul"), []Arg{relu, g.CallMethod("sum", []Arg{x})}))
	m, err := NewGraphModule(nil, g)
	require.NoError(t, err)
	for _, f := range makers {
		g.OnGenerateCode(f)
	}
	return m
}

func sourceOf(t *testing.T, g *Graph, opts ...CodeOption) string {
	t.Helper()
	code, err := g.PythonCode("self", opts...)
	require.NoError(t, err)
	return code.Source
}

// Several functions, scopes, other code generators and copies, each with what
// torch.fx makes of it.
func TestOnGenerateCodeAsTorchFX(t *testing.T) {
	data, err := os.ReadFile("testdata/hooks.json")
	require.NoError(t, err)
	var want map[string]any
	require.NoError(t, json.Unmarshal(data, &want))

	code := func(makers ...makeBody) any { return sourceOf(t, hookedModule(t, makers...).Graph()) }
	watch := func(g *Graph) *[]any {
		seen := &[]any{}
		g.OnGenerateCode(func(BodyFunc) BodyFunc {
			return func(body []string) []string {
				var pieces []any
				for _, p := range body {
					pieces = append(pieces, p)
				}
				*seen = append(*seen, any(pieces))
				return body
			}
		})
		return seen
	}
	programs := map[string]func() any{
		"above":        func() any { return code(above("a"), above("b")) },
		"given":        func() any { return code(above("a"), given("b")) },
		"instead":      func() any { return code(above("a"), instead("b")) },
		"nothing left": func() any { return code(func(BodyFunc) BodyFunc { return func([]string) []string { return nil } }) },
		"no function":  func() any { return code(above("a"), func(BodyFunc) BodyFunc { return nil }) },
		"scopes": func() any {
			g := hookedModule(t).Graph()
			outer := g.OnGenerateCode(above("a"))
			inner := g.OnGenerateCode(above("b"))
			log := []any{sourceOf(t, g)}
			inner()
			log = append(log, sourceOf(t, g))
			outer()
			return append(log, sourceOf(t, g))
		},
		"scopes left in the wrong order": func() any {
			g := hookedModule(t).Graph()
			first, second := g.OnGenerateCode(above("a")), g.OnGenerateCode(above("b"))
			first()
			log := []any{sourceOf(t, g)}
			second()
			return append(log, sourceOf(t, g))
		},
		"pieces": func() any {
			m := hookedModule(t)
			seen := watch(m.Graph())
			sourceOf(t, m.Graph())
			sourceOf(t, m.Graph(), Verbose())
			_, err := m.Readable()
			require.NoError(t, err)
			return *seen
		},
		"empty": func() any {
			g := NewGraph()
			seen := watch(g)
			return []any{sourceOf(t, g), *seen}
		},
		"another code generator": func() any {
			g := hookedModule(t, above("a")).Graph()
			g.SetCodeGen(BoxedCodeGen{})
			g.OnGenerateCode(above("b"))
			return sourceOf(t, g)
		},
		"scope of another code generator": func() any {
			g := hookedModule(t).Graph()
			restore := g.OnGenerateCode(above("a"))
			g.SetCodeGen(PlainCodeGen{})
			g.OnGenerateCode(above("b"))
			restore()
			return sourceOf(t, g)
		},
		"copies": func() any {
			m := hookedModule(t, above("a"))
			again, err := NewGraphModule(nil, m.Graph())
			require.NoError(t, err)
			g := NewGraph()
			out, _, err := g.CopyFrom(m.Graph(), nil)
			require.NoError(t, err)
			g.Output(out)
			return []any{sourceOf(t, m.Clone().Graph()), sourceOf(t, m.Graph().Clone()), sourceOf(t, again.Graph()), sourceOf(t, g)}
		},
	}
	assert.Len(t, programs, len(want))
	for name, program := range programs {
		t.Run(name, func(t *testing.T) { assert.Equal(t, want[name], program()) })
	}
}

// A graph takes the code generator of another with what is registered there.
func TestTakeCodeGen(t *testing.T) {
	from := hookedModule(t, above("a")).Graph()
	g := hookedModule(t, above("b")).Graph()
	g.TakeCodeGen(from)
	assert.Equal(t, sourceOf(t, from), sourceOf(t, g))
	g.OnGenerateCode(above("c"))
	assert.NotEqual(t, sourceOf(t, from), sourceOf(t, g), "and shares nothing with it")
}
