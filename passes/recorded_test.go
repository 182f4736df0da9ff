package passes_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The tests TestRecorded… trace the program of a recorded case, change it, and get
// what torch.fx recorded.

// traced records what the Go function or model does.
func traced(t testing.TB, root any, opts ...tracer.Option) *ir.GraphModule {
	m, err := tracer.SymbolicTrace(root, opts...)
	require.NoError(t, err)
	return m
}

// parameters is Python's list of a traced function's parameters.
func parameters(list string) tracer.Option { return tracer.Signature(list) }

// fn calls a function by name on values one of which is traced.
func fn(name string, args ...any) torch.Value {
	args, kw := torch.SplitKwargs(args)
	return torch.Dispatch(ir.CallFunction, ir.FuncOf(name), args, kw).(torch.Value)
}

// randn makes a parameter as a model of Python does.
func randn(t testing.TB, sizes ...torch.Int) *torch.Tensor {
	return parameterOf(t, torch.Randn(sizes...))
}

func ones(t testing.TB, sizes ...torch.Int) *torch.Tensor {
	return parameterOf(t, torch.Ones(sizes...))
}

func parameterOf(t testing.TB, x *torch.Tensor) *torch.Tensor {
	p, err := nn.NewParameter(x)
	require.NoError(t, err)
	return p
}

// A submodule and a parameter of a program of which only the graph matters.
type (
	submodule struct{ class string }
	parameter struct{ path string }
)

func (s *submodule) Type() string  { return s.class }
func (*parameter) DType() ir.DType { return ir.Float32 }

// module reads a graph from code; its attributes are stand-ins.
func module(t testing.TB, code string, opts ...ir.ModuleOption) *ir.GraphModule {
	g, err := ir.ParseCode(code)
	require.NoError(t, err)
	return moduleOf(t, g, opts...)
}

func moduleOf(t require.TestingT, g *ir.Graph, opts ...ir.ModuleOption) *ir.GraphModule {
	attrs := map[string]any{}
	for n := range g.Nodes() {
		path := n.Target().String()
		switch n.Op() {
		case ir.CallModule:
			attrs[path] = &submodule{"test." + path}
		case ir.GetAttr:
			attrs[path] = &parameter{path}
		}
	}
	m, err := ir.NewGraphModule(attrs, g, opts...)
	require.NoError(t, err)
	return m
}

// nodesNamed finds nodes by name.
func nodesNamed(t testing.TB, m *ir.GraphModule, names ...string) []*ir.Node {
	var nodes []*ir.Node
	for _, name := range names {
		n := m.Graph().Lookup(name)
		require.NotNil(t, n, name)
		nodes = append(nodes, n)
	}
	return nodes
}

func namesOf(nodes []*ir.Node) []string {
	names := []string{}
	for _, n := range nodes {
		names = append(names, n.Name())
	}
	return names
}

func graphNames(m *ir.GraphModule) []string {
	names := []string{}
	for n := range m.Graph().Nodes() {
		names = append(names, n.Name())
	}
	return names
}

// codeOf returns a module's code.
func codeOf(t testing.TB, m *ir.GraphModule) string {
	code, err := m.Code()
	require.NoError(t, err)
	return code
}

// requireCode compares code without its blank lines and indentation.
func requireCode(t testing.TB, want string, m *ir.GraphModule) {
	strip := func(s string) string {
		var lines []string
		for _, l := range strings.Split(s, "\n") {
			if l = strings.TrimSpace(l); l != "" {
				lines = append(lines, l)
			}
		}
		return strings.Join(lines, "\n")
	}
	assert.Equal(t, strip(want), strip(codeOf(t, m)))
}

// bodyModule reads a function of x and y from its lines.
func bodyModule(t testing.TB, body, result string) *ir.GraphModule {
	return module(t, "def forward(self, x, y):\n    "+strings.ReplaceAll(body, "\n", "\n    ")+"\n    return "+result)
}
