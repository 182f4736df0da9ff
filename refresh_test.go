package torchfx_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	torchfx "github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// notedFalsely names values whose notes are wrong in the file: torch 2.12 and earlier
// gave the states of an LSTM a dimension that they do not have.
var notedFalsely = map[string][]string{
	"2.5.1/lstm":  {"lstm_input", "getitem_1", "getitem_2"},
	"2.8.0/lstm":  {"lstm_input", "getitem_1", "getitem_2"},
	"2.12.1/lstm": {"lstm", "getitem_1", "getitem_2"},
}

// What is noted of the values of a program that was not changed is true: graphs
// in graphs and numbers that depend on elements included.
func TestNothingToRefresh(t *testing.T) {
	library := torchfx.WithLibrary(testenv.FixtureOperators(t))
	for _, release := range []string{"2.5.1", "2.8.0", "2.12.1", "2.15.0"} {
		dir := testenv.Fixtures(t, "pt2/"+release)
		cases, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, c := range cases {
			t.Run(release+"/"+c.Name(), func(t *testing.T) {
				p, err := torchfx.Load(filepath.Join(dir, c.Name(), "model.pt2"), library)
				require.NoError(t, err)
				defer p.Close()
				noted := valuesOf(p.Module(), map[*ir.Node]any{})
				var changed []string
				for _, n := range passes.RefreshValues(t.Context(), p.Module(), bounds(p)) {
					if noted[n] == nil {
						continue // the call of the guards, and copies that the file has as outputs
					}
					changed = append(changed, n.Name())
				}
				assert.Equal(t, notedFalsely[release+"/"+c.Name()], changed)
			})
		}
	}
}

// A value that a rewrite adds is described by what the program knows: in the graphs of
// higher-order operators, and by symbols that depend on elements.
func TestRefreshOfWhatARewriteAdds(t *testing.T) {
	testenv.Libtorch(t)
	for _, test := range []struct {
		program, subgraph, after, want string
	}{
		{"cond_symbolic", "true_graph_0", "add", "f32[s77]"},
		{"cond_symbolic", "false_graph_0", "getitem", "f32[s77]"},
		{"cond_symbolic", "false_graph_0.true_graph_0", "", "f32[]"},
		{"cond_symbolic", "", "getitem", "f32[s77]"},
		{"while_loop", "while_loop_body_graph_0", "mul", "f32[2]"},
		{"scan_op", "scan_combine_graph_0", "add", "f32[3]"},
		{"map_op", "body_graph_0", "mul", "f32[3]"},
		{"associative_scan_op", "", "", "f32["},
		{"unbacked", "", "add", "f32[u0]"},
		{"unbacked", "", "nonzero", "i64[u1, 1]"},
		{"unbacked", "", "index", "f32[u2]"},
		{"unbacked_split", "", "getitem_3", "f32[u1]"},
		{"unbacked_float", "", "mul", "f32[3]"},
		{"no_grad_region", "", "", "f32["},
		{"autocast_region", "", "", "f32["},
		{"autocast_region", "submod_1", "", "bf16["},
		{"nested_region", "", "", "f32["},
	} {
		t.Run(test.program+" "+test.subgraph+" "+test.after, func(t *testing.T) {
			p, err := torchfx.Load(filepath.Join(testenv.Fixtures(t, "pt2/2.15.0"), test.program, "model.pt2"))
			require.NoError(t, err)
			defer p.Close()
			m := p.Module()
			if test.subgraph != "" {
				for name := range strings.SplitSeq(test.subgraph, ".") {
					v, ok := m.Attr(name)
					require.True(t, ok)
					m = v.(*ir.GraphModule)
				}
			}
			at := m.Graph().Lookup(test.after)
			if test.after == "" { // the last tensor of floats
				for n := range m.Graph().Nodes() {
					if v, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta); ok && n.Op() == ir.CallFunction && v.DType.IsFloat() {
						at = n
					}
				}
			}
			require.NotNil(t, at)
			added := negateTwice(t, m.Graph(), at)
			changed := passes.RefreshValues(t.Context(), p.Module(), bounds(p))
			for _, n := range added {
				assert.Contains(t, changed, n)
				v, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta)
				require.True(t, ok, n.Format())
				assert.Contains(t, v.Text(false, false), test.want)
			}
			require.NoError(t, p.Save(filepath.Join(t.TempDir(), "written.pt2")))
		})
	}
}

// negateTwice puts two negations behind a node, of which nothing is noted.
func negateTwice(t *testing.T, g *ir.Graph, at *ir.Node) []*ir.Node {
	var added []*ir.Node
	before := at
	for range 2 {
		restore, err := g.InsertAfter(before)
		require.NoError(t, err)
		before = g.CallFunction(ir.OverloadOf("aten::neg"), []ir.Arg{before})
		restore()
		added = append(added, before)
	}
	at.ReplaceAllUsesWith(added[1], ir.OnlyUsers(func(u *ir.Node) bool { return u != added[0] }))
	return added
}

// What goes into a condition goes into its branches, and comes out.
func TestRefreshThroughACondition(t *testing.T) {
	testenv.Libtorch(t)
	p, err := torchfx.Load(filepath.Join(testenv.Fixtures(t, "pt2/2.15.0"), "cond_symbolic", "model.pt2"))
	require.NoError(t, err)
	defer p.Close()
	g := p.Module().Graph()
	cond := g.Lookup("cond")
	x := g.Lookup("x")
	restore, err := g.InsertBefore(cond)
	require.NoError(t, err)
	twice := g.CallFunction(ir.OverloadOf("aten::cat"), []ir.Arg{ir.ListOf(x, x)})
	restore()
	cond.ReplaceInputWith(x, twice)
	passes.RefreshValues(t.Context(), p.Module(), bounds(p))
	for node, want := range map[*ir.Node]string{twice: "f32[2*s77]", g.Lookup("getitem"): "f32[2*s77]", g.Lookup("getitem_1"): "f32[]"} {
		assert.Contains(t, node.Meta().Get(ir.MetaVal).(ir.TensorMeta).Text(false, false), want, node.Name())
	}
	for path, names := range map[string][]string{"true_graph_0": {"x", "add"}, "false_graph_0": {"x", "getitem"}} {
		v, _ := p.Module().Attr(path)
		for _, name := range names {
			assert.Contains(t, v.(*ir.GraphModule).Graph().Lookup(name).Meta().Get(ir.MetaVal).(ir.TensorMeta).Text(false, false), "f32[2*s77]", path+"."+name)
		}
	}
}

// valuesOf adds what is noted of the values of a module, its subgraphs included.
func valuesOf(m *ir.GraphModule, noted map[*ir.Node]any) map[*ir.Node]any {
	for n := range m.Graph().Nodes() {
		noted[n] = n.Meta().Get(ir.MetaVal)
	}
	for _, v := range m.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok {
			valuesOf(sub, noted)
		}
	}
	return noted
}

func bounds(p *torchfx.Program) func(string) (int64, int64) {
	return func(symbol string) (int64, int64) {
		for _, r := range p.Exported().Ranges {
			if r.Text == symbol {
				return r.Min, r.Max
			}
		}
		return -1 << 62, 1 << 62
	}
}

// What a rewrite does not note in a region, autocast's or another, is found out: it is
// what torch.export noted.
func TestRefreshInRegions(t *testing.T) {
	testenv.Libtorch(t)
	for _, program := range programsWithRegions(t) {
		t.Run(filepath.Base(filepath.Dir(program)), func(t *testing.T) {
			p, err := torchfx.Load(program)
			require.NoError(t, err)
			defer p.Close()
			noted := map[*ir.Node]any{}
			forgetRegions(p.Module(), noted)
			require.NotEmpty(t, noted)
			passes.RefreshValues(t.Context(), p.Module(), bounds(p))
			for n, want := range noted {
				assert.Equal(t, textOf(want), textOf(n.Meta().Get(ir.MetaVal)), n.Format())
			}
		})
	}
}

// programsWithRegions are those of the fixtures, and of TORCHFX_CASES.
func programsWithRegions(t *testing.T) (paths []string) {
	folders := []string{testenv.Fixtures(t, "pt2/2.15.0")}
	if cases := os.Getenv("TORCHFX_CASES"); cases != "" {
		folders = append(folders, cases)
	}
	for _, folder := range folders {
		for _, name := range []string{"autocast_region", "no_grad_region", "made_mixed_precision", "made_regions", "made_regions_dynamic"} {
			path := filepath.Join(folder, name, "model.pt2")
			if _, err := os.Stat(path); err == nil {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// forgetRegions removes what is noted of the calls in regions.
func forgetRegions(m *ir.GraphModule, noted map[*ir.Node]any) {
	for call := range m.Graph().Nodes() {
		if call.Func() == nil || !strings.HasPrefix(call.Func().Name(), "torch.ops.higher_order.wrap_with_") {
			continue
		}
		for _, in := range call.Inputs() {
			v, _ := m.Attr(in.Target().String())
			sub, ok := v.(*ir.GraphModule)
			if !ok || in.Op() != ir.GetAttr {
				continue
			}
			forgetRegions(sub, noted)
			for n := range sub.Graph().Nodes() {
				if val, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta); ok && n.Op() == ir.CallFunction && !unbacked(val) {
					noted[n] = val
					n.Meta().Delete(ir.MetaVal)
				}
			}
		}
	}
}

// unbacked reports whether a size depends on elements: no run without them tells it.
func unbacked(val ir.TensorMeta) bool {
	for _, s := range val.Sizes {
		if s.Expr() != nil && strings.Contains(s.Expr().String(), "u") {
			return true
		}
	}
	return false
}

func textOf(val any) string {
	if v, ok := val.(ir.TensorMeta); ok {
		return v.Text(true, true)
	}
	return "nothing"
}
