package export

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// TestGraphsAreEqualToPython compares texts of whole programs with those that
// torch 2.15.0 printed: the lifted graph, the module, their subgraphs and their
// code. testdata/record_graphs.py made them; with TORCHFX_GRAPHS set to a folder
// that it filled, every case there is compared.
func TestGraphsAreEqualToPython(t *testing.T) {
	dir := os.Getenv("TORCHFX_GRAPHS")
	if dir == "" {
		dir = filepath.Join("testdata", "graphs")
	}
	programs := fixtures(t, "pt2")
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			want := parts(t, file)
			release, program, other := strings.Cut(name, "--")
			if !other {
				release, program = "2.15.0", name
			}
			opts := []Option{Operators(withSchemas(t, want["schemas"]))}
			p, err := Open(filepath.Join(programs, release, program, "model.pt2"), opts...)
			require.NoError(t, err)
			defer p.Close()
			got := texts(t, p)
			for name, text := range want {
				if name == "guards" || name == "schemas" {
					continue
				}
				assert.Equal(t, text, got[name], name)
				delete(got, name)
			}
			assert.Empty(t, got, "texts that Python does not have")
			assertGuards(t, want["guards"], p.Guards)
		})
	}
}

// parts reads a file of the txtar form: texts behind lines "-- name --".
func parts(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	out, name := map[string]string{}, ""
	for line := range strings.Lines(string(data)) {
		if title, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(title, " --\n") {
			name = strings.TrimSuffix(title, " --\n")
			out[name] = ""
		} else if name != "" {
			out[name] += line
		}
	}
	for name := range out {
		out[name] = strings.Trim(out[name], "\n")
	}
	return out
}

// withSchemas is the embedded catalogue with more operators, one schema a line.
func withSchemas(t *testing.T, lines string) *ir.Catalogue {
	c := ir.Operators()
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			s, err := ir.ParseSchema(line)
			require.NoError(t, err)
			c = c.With(s)
		}
	}
	return c
}

// texts are what record_graphs.py records of a program.
func texts(t *testing.T, p *Program) map[string]string {
	t.Helper()
	out := map[string]string{}
	m, err := p.Module()
	require.NoError(t, err)
	for prefix, gm := range map[string]*ir.GraphModule{"": p.GraphModule(), "module/": m} {
		code, err := gm.Code()
		require.NoError(t, err)
		out[prefix+"code"] = strings.Trim(code, "\n")
		out[prefix+"graph"] = gm.Graph().String()
		subgraphs(gm, "", func(path string, sub *ir.GraphModule) {
			out[prefix+"sub/"+path] = sub.Graph().String()
		})
	}
	var state []string
	for _, in := range p.Signature.Inputs {
		if in.Kind == BufferInput && in.Persistent || in.Kind == ParameterInput {
			state = append(state, in.Target)
		}
	}
	slices.Sort(state)
	out["state"] = strings.Join(state, "\n")
	return out
}

func subgraphs(m *ir.GraphModule, at string, f func(string, *ir.GraphModule)) {
	for path, v := range m.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok {
			f(at+path, sub)
			subgraphs(sub, at+path+".", f)
		}
	}
}

// assertGuards checks that every condition of Python's guards is one of ours:
// inputs that break it alone are refused.
func assertGuards(t *testing.T, lines string, g *Guards) {
	t.Helper()
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		assert.True(t, g.implies(line), "condition %q of Python is not checked", line)
	}
}

// implies reports whether the guards hold a condition as Python writes it.
func (g *Guards) implies(text string) bool {
	for _, c := range g.conds {
		if c.text == text {
			return true
		}
	}
	if name, value, ok := strings.Cut(text, " == '"); ok {
		at, ok := g.places[strings.TrimSuffix(strings.TrimPrefix(name, "L['"), "']")]
		return ok && g.inputs[at].constant == ir.Arg(ir.Str(strings.TrimSuffix(value, "'")))
	}
	e, err := ir.ParseGuard(text)
	if err != nil {
		return false
	}
	// the inputs as exported fulfil the condition; with another number in one
	// place of it, it is broken, and so must be ours
	leaves := g.examples()
	if g.Check(leaves) != nil {
		return false
	}
	for _, s := range e.Symbols() {
		gp, err := ir.ParseGuardPlace(s)
		if err != nil {
			return false
		}
		at := g.find(gp.Path)
		if at < 0 {
			return false
		}
		for _, n := range []int{1 << 20, 1<<20 + 1} {
			changed := append([]any(nil), leaves...)
			if gp.Of == "size" {
				x := leaves[at].(fakeTensor)
				shape := append([]int(nil), x.shape...)
				shape[gp.Dim] = n
				changed[at] = fakeTensor{shape, x.dtype}
			} else {
				changed[at] = int64(n)
			}
			if strings.Contains(text, ">=") && !strings.Contains(text, "<=") {
				if gp.Of == "size" {
					changed[at].(fakeTensor).shape[gp.Dim] = 0
				} else {
					changed[at] = int64(0)
				}
			}
			if err := g.Check(changed); !errors.Is(err, ir.ErrInput) {
				return false
			}
		}
	}
	return true
}

// fakeTensor is the least that guards look at.
type fakeTensor struct {
	shape []int
	dtype ir.DType
}

func (f fakeTensor) Shape() []int    { return f.shape }
func (f fakeTensor) DType() ir.DType { return f.dtype }

// examples are inputs as they were exported.
func (g *Guards) examples() []any {
	leaves := make([]any, len(g.inputs))
	for i, in := range g.inputs {
		switch c := in.constant.(type) {
		case nil:
			if in.scalar {
				leaves[i] = in.dims[0].size
				continue
			}
			x := fakeTensor{dtype: in.dtype, shape: make([]int, len(in.dims))}
			for d := range in.dims {
				x.shape[d] = int(in.dims[d].size)
			}
			leaves[i] = x
		case ir.None:
		case ir.Int:
			leaves[i] = int64(c)
		case ir.Float:
			leaves[i] = float64(c)
		case ir.Bool:
			leaves[i] = bool(c)
		case ir.Str:
			leaves[i] = string(c)
		}
	}
	return leaves
}
