package export

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// unwritable says why a recorded program is refused.
var unwritable = map[string]string{}

// TestEveryProgramIsWritten reads, writes and reads again every recorded program
// of every release: the second is the first.
func TestEveryProgramIsWritten(t *testing.T) {
	out := os.Getenv("TORCHFX_WRITTEN") // keeps the files
	for _, release := range []string{"2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.12.1", "2.15.0"} {
		dir := fixtures(t, "pt2/"+release)
		for _, name := range cases(t, dir) {
			t.Run(release+"/"+name, func(t *testing.T) {
				opts := []Option{Operators(withSchemas(t, fixtureSchemas))}
				p, err := Open(filepath.Join(dir, name, "model.pt2"), opts...)
				require.NoError(t, err)
				defer p.Close()
				path := filepath.Join(t.TempDir(), "model.pt2")
				if out != "" {
					path = filepath.Join(out, release, name+".pt2")
					require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				}
				err = Save(path, []*Program{p})
				if why, refused := unwritable[release+"/"+name]; refused {
					assert.ErrorContains(t, err, why)
					return
				}
				require.NoError(t, err)
				q, err := Open(path, opts...)
				require.NoError(t, err)
				defer q.Close()
				assertSameProgram(t, p, q)
			})
		}
	}
}

// fixtureSchemas are the operators of the fixtures that no library here has.
const fixtureSchemas = `
fixtures::halves(Tensor x) -> Tensor[]
fixtures::scale_shift(Tensor x, float scale, SymInt shift=1, SymInt[]? names=None) -> Tensor
fixtures::bump_(Tensor(a0!) x, float by) -> ()
fixtures::logged(Tensor x) -> Tensor
`

// assertSameProgram compares all that two programs say.
func assertSameProgram(t *testing.T, p, q *Program) {
	t.Helper()
	assertSameModule(t, p.GraphModule(), q.GraphModule())
	assert.Equal(t, p.Signature, q.Signature)
	assert.Equal(t, p.InSpec, q.InSpec)
	assert.Equal(t, p.OutSpec, q.OutSpec)
	assert.Equal(t, p.ArgNames, q.ArgNames)
	require.Equal(t, len(p.Ranges), len(q.Ranges))
	for i := range p.Ranges {
		assert.Equal(t, p.Ranges[i].String(), q.Ranges[i].String())
	}
	assert.Equal(t, p.GuardsCode, q.GuardsCode)
	assert.Equal(t, p.Training(), q.Training())
	assert.Equal(t, p.Samples, q.Samples)
	assert.Equal(t, p.TorchVersion, q.TorchVersion)
	assert.Equal(t, p.Namedtuples, q.Namedtuples)
	assert.Equal(t, p.Custom, q.Custom)
	assert.Equal(t, p.Extra, q.Extra)
	assert.Equal(t, "torchfx", q.Writer)
	require.Equal(t, len(p.ModuleCalls), len(q.ModuleCalls))
	for i, c := range p.ModuleCalls {
		assert.Equal(t, c.FQN, q.ModuleCalls[i].FQN)
		assert.Equal(t, c.Signature == nil, q.ModuleCalls[i].Signature == nil)
		if c.Signature != nil {
			assert.Equal(t, c.Signature.Inputs, q.ModuleCalls[i].Signature.Inputs)
			assert.Equal(t, c.Signature.Outputs, q.ModuleCalls[i].Signature.Outputs)
			assert.Equal(t, c.Signature.InSpec, q.ModuleCalls[i].Signature.InSpec)
		}
	}
	if p.samples != nil {
		a, err := p.samples()
		require.NoError(t, err)
		b, err := q.samples()
		require.NoError(t, err)
		assert.True(t, bytes.Equal(a, b), "sample inputs")
	}
	assertSameState(t, p, q)
}

// assertSameState compares tensors, elements, and which of them share memory.
func assertSameState(t *testing.T, p, q *Program) {
	t.Helper()
	shared := map[*Storage]*Storage{}
	n := 0
	for name, a := range p.State() {
		n++
		b := q.Tensor(name)
		require.NotNil(t, b, name)
		assert.Equal(t, a.TensorMeta(), b.TensorMeta(), name)
		assert.Equal(t, a.Parameter, b.Parameter, name)
		x, err := a.Bytes()
		require.NoError(t, err)
		y, err := b.Bytes()
		require.NoError(t, err)
		assert.True(t, bytes.Equal(x, y), name)
		if other, ok := shared[a.Storage]; ok {
			assert.Same(t, other, b.Storage, "%s shares memory", name)
		}
		shared[a.Storage] = b.Storage
	}
	for range q.State() {
		n--
	}
	assert.Zero(t, n, "as many tensors")
}

// assertSameModule compares graphs, meta and subgraphs.
func assertSameModule(t *testing.T, a, b *ir.GraphModule) {
	t.Helper()
	require.Equal(t, a.Graph().String(), b.Graph().String())
	for n := range a.Graph().Nodes() {
		m := b.Graph().Lookup(n.Name())
		require.NotNil(t, m)
		for key, v := range n.Meta().All() {
			assert.Equal(t, v, m.Meta().Get(key), "%s, meta %s", n.Name(), key)
		}
		assert.Equal(t, n.Meta().Len(), m.Meta().Len(), n.Name())
	}
	subs := map[string]*ir.GraphModule{}
	subgraphs(a, "", func(path string, sub *ir.GraphModule) { subs[path] = sub })
	subgraphs(b, "", func(path string, sub *ir.GraphModule) {
		require.NotNil(t, subs[path], path)
		assert.Equal(t, subs[path].Graph().String(), sub.Graph().String(), path)
		delete(subs, path)
	})
	assert.Empty(t, subs)
}
