package parity

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	torchfx "github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// What PyTorch sees below its dispatcher, by scripts/record_below.py.
type belowCase struct {
	Leaf, Top []string
	Skip      string
}

// Recording the run of a program gives the operators that make_fx gives, and at
// the top level those of the program itself; the graph computes what the program does.
func TestRecordPrograms(t *testing.T) {
	testenv.Libtorch(t)
	data, err := os.ReadFile("testdata/below.json")
	require.NoError(t, err)
	var cases map[string]belowCase
	require.NoError(t, json.Unmarshal(data, &cases))
	found, err := Find([]string{filepath.Join(testenv.Fixtures(t), "pt2", "2.15.0")}, nil)
	require.NoError(t, err)
	for _, c := range found {
		name := filepath.Base(c.Dir)
		want, ok := cases[name]
		require.True(t, ok, "%s is not recorded: run scripts/record_below.py", name)
		if want.Skip != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c.meta, err = readMeta(c.Dir)
			require.NoError(t, err)
			t.Run("top", func(t *testing.T) { c.recordBelow(t, tracer.Recording{}, want.Top) })
			t.Run("leaf", func(t *testing.T) { c.recordBelow(t, tracer.Recording{Leaf: true}, want.Leaf) })
		})
	}
}

// recordBelow records one run and compares its operators; then what a further run
// gives, of the program and of the graph.
func (c *Case) recordBelow(t *testing.T, r tracer.Recording, want []string) {
	seed := uint64(0)
	set := c.meta.Sets[0]
	load := func() (*torchfx.Program, []any) {
		p, err := c.load()
		require.NoError(t, err)
		t.Cleanup(func() { p.Close() })
		inputs, err := c.inputs(set.Files.Inputs, set.Inputs)
		require.NoError(t, err)
		t.Cleanup(func() { closeValues(inputs) })
		return p, inputs
	}
	twice, inputs := load()
	_, err := runSet(context.Background(), twice, inputs, &seed)
	require.NoError(t, err)
	expected, err := runSet(context.Background(), twice, inputs, &seed)
	require.NoError(t, err)

	p, inputs := load()
	r.State = maps.Collect(p.State())
	gm, err := r.Record(func(leaves ...any) (ir.PyTuple, error) {
		out, err := p.RunFlat(context.Background(), leaves)
		return out, err
	}, inputs...)
	if want == nil {
		require.ErrorContains(t, err, "under vmap")
		return
	}
	require.NoError(t, err)
	assert.NoError(t, gm.Graph().Lint())
	var got []string
	for n := range gm.Graph().Nodes() {
		if f := n.Func(); f != nil && f.Op() != "" {
			got = append(got, f.Op())
		}
	}
	assert.Equal(t, want, got)

	unlock, err := seeded(&seed)
	require.NoError(t, err)
	defer unlock()
	outputs, err := interpreter.New(gm).RunFlat(context.Background(), inputs)
	require.NoError(t, err)
	require.Len(t, outputs, len(expected))
	for i := range expected {
		if x, ok := expected[i].(*torch.Tensor); ok && x != nil {
			want, err := x.Bytes()
			require.NoError(t, err)
			got, err := outputs[i].(*torch.Tensor).Bytes()
			require.NoError(t, err)
			assert.True(t, bytes.Equal(want, got), "output %d", i)
			continue
		}
		assert.Equal(t, expected[i], outputs[i], "output %d", i)
	}
}
