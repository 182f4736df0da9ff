package torchfx_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// TestSavedProgramsAreTheSame loads every recorded program that runs here, saves it
// and opens the file: graph, shapes and signature are those of the original, also
// where shapes were looked at anew.
func TestSavedProgramsAreTheSame(t *testing.T) {
	testenv.Libtorch(t)
	files, err := filepath.Glob(filepath.Join(testenv.Fixtures(t, "pt2", "2.15.0"), "*", "model.pt2"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		switch name {
		case "custom_op", "custom_op_mutating", "auto_functionalized", "effect_token":
			continue // their operators are in no library here
		}
		t.Run(name, func(t *testing.T) {
			p, err := torchfx.Load(file)
			require.NoError(t, err)
			defer p.Close()
			path := filepath.Join(t.TempDir(), "saved.pt2")
			require.NoError(t, p.Save(path))
			want, err := export.Open(file)
			require.NoError(t, err)
			defer want.Close()
			got, err := export.Open(path)
			require.NoError(t, err)
			defer got.Close()
			if !want.Training() { // the module has no dead code
				for _, p := range []*export.Program{want, got} {
					_, err := p.Graph.EliminateDeadCode()
					require.NoError(t, err)
				}
			}
			require.Equal(t, want.Graph.String(), got.Graph.String())
			assert.Equal(t, want.Signature, got.Signature)
			for n := range want.Graph.Nodes() {
				assert.Equal(t, n.Meta().Get(ir.MetaVal), got.Graph.Lookup(n.Name()).Meta().Get(ir.MetaVal), n.Name())
			}
		})
	}
}

// TestSavedRewrites saves programs whose graph was changed: what is new has shapes,
// symbols included.
func TestSavedRewrites(t *testing.T) {
	p := load(t, "dynamic_batch")
	g := p.Module().Graph()
	var relu *ir.Node
	for n := range g.Nodes() {
		if n.Op() == ir.CallFunction {
			relu = n
		}
	}
	require.NotNil(t, relu)
	out, err := g.OutputNode()
	require.NoError(t, err)
	restore, err := g.InsertBefore(out)
	require.NoError(t, err)
	twice := g.CallFunction(ir.OverloadOf("aten::cat"), []ir.Arg{ir.ListOf(relu, relu)})
	sum := g.CallFunction(ir.OverloadOf("aten::sum.dim_IntList"), []ir.Arg{twice, ir.ListOf(ir.Int(1))})
	restore()
	out.SetArgs(ir.MapNodes(out.Arg(0), func(n *ir.Node) ir.Arg {
		if n == relu {
			return sum
		}
		return n
	}))
	path := filepath.Join(t.TempDir(), "saved.pt2")
	require.NoError(t, p.Save(path))
	got, err := export.Open(path)
	require.NoError(t, err)
	defer got.Close()
	val := got.Graph.Lookup(sum.Name()).Meta().Get(ir.MetaVal).(ir.TensorMeta)
	require.Len(t, val.Sizes, 1)
	assert.Regexp(t, `^2\*s\d+$`, val.Sizes[0].String())
}
