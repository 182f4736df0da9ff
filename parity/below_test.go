package parity

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	torchfx "github.com/torchfx-go/torchfx"
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/examples/vision"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// What PyTorch sees below its dispatcher, by scripts/record_below.py.
type belowCase struct {
	Leaf, Top []string
	Skip      string
}

func readBelow(t *testing.T) (below struct{ Programs, Networks map[string]belowCase }) {
	data, err := os.ReadFile("testdata/below.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &below))
	return below
}

// Recording the run of a program gives the operators that make_fx gives, and at
// the top level those of the program itself; the graph computes what the program does.
func TestRecordPrograms(t *testing.T) {
	testenv.Libtorch(t)
	cases := readBelow(t).Programs
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

// An operator of a library that has a kernel of its own is itself at both levels, as
// in make_fx; its kernel's operators are not the program's.
func TestRecordCustomOperators(t *testing.T) {
	require.NoError(t, libtorch.OpenLibrary(testenv.FixtureOperators(t)))
	for name, want := range map[string][]string{
		"custom_op":          {"fixtures::halves", "fixtures::scale_shift", "fixtures::scale_shift", "aten::add.Tensor"},
		"custom_op_mutating": {"aten::add.Tensor", "fixtures::bump_", "aten::mul.Tensor"},
	} {
		found, err := Find([]string{testenv.Fixtures(t, "pt2/2.15.0/"+name)}, nil)
		require.NoError(t, err)
		require.Len(t, found, 1)
		c := found[0]
		c.meta, err = readMeta(c.Dir)
		require.NoError(t, err)
		for level, r := range map[string]tracer.Recording{"top": {}, "leaf": {Leaf: true}} {
			t.Run(name+"/"+level, func(t *testing.T) { c.recordBelow(t, r, want) })
		}
	}
}

// Recording a network gives the operators of torch.export at the top level, and at
// the leaves those of make_fx.
func TestRecordNetworks(t *testing.T) {
	testenv.Libtorch(t)
	network := func(name string) nn.Module {
		m, err := vision.New(name)
		require.NoError(t, err)
		return m
	}
	encoder := func(options ...nn.Option) nn.Module {
		return nn.NewTransformerEncoder(nn.NewTransformerEncoderLayer(8, 2, append(options, nn.WithDimFeedforward(16))...), 2)
	}
	image, words := torch.Randn(2, 3, 64, 64), torch.Randn(5, 2, 8)
	networks := map[string]struct {
		module nn.Module
		args   []any
		train  bool
	}{
		"resnet18":                        {network("resnet18"), []any{image}, false},
		"resnet18 training":               {network("resnet18"), []any{image}, true},
		"mobilenet_v2":                    {network("mobilenet_v2"), []any{image}, false},
		"densenet121":                     {network("densenet121"), []any{image}, false},
		"transformer encoder":             {encoder(), []any{words}, false},
		"transformer encoder training":    {encoder(), []any{words}, true},
		"transformer encoder batch first": {encoder(nn.WithBatchFirst(true)), []any{torch.Randn(2, 5, 8)}, false},
		"attention":                       {nn.NewMultiheadAttention(8, 2), []any{words, words, words}, false},
		"lstm":                            {nn.NewLSTM(4, 6, nn.WithNumLayers(2), nn.WithBidirectional(true)), []any{torch.Randn(5, 2, 4)}, false},
		"gru":                             {nn.NewGRU(4, 6, nn.WithBatchFirst(true)), []any{torch.Randn(2, 5, 4)}, false},
		"lstm cell":                       {nn.NewLSTMCell(4, 6), []any{torch.Randn(2, 4)}, true},
	}
	for name, want := range readBelow(t).Networks {
		t.Run(name, func(t *testing.T) {
			n, ok := networks[name]
			require.True(t, ok)
			nn.Train(n.module, n.train)
			top, err := tracer.Record(n.module, n.args...)
			require.NoError(t, err)
			assert.Equal(t, below(t, want.Top), operatorsOf(top), "top")
			leaf, err := tracer.Recording{Leaf: true}.Record(n.module, n.args...)
			require.NoError(t, err)
			assert.Equal(t, below(t, want.Leaf), operatorsOf(leaf), "leaf")
		})
	}
}

// below are the operators that PyTorch recorded, as the libtorch that is set up names
// those that operators are made of.
func below(t *testing.T, names []string) []string {
	if testenv.Otherwise(t, "aten::linear") == "" {
		return names
	}
	names = slices.Clone(names)
	for i := 1; i < len(names); i++ {
		if names[i-1] == "aten::addmm" && names[i] == "aten::_unsafe_view" {
			names[i] = "aten::view"
		}
	}
	return names
}

func operatorsOf(gm *ir.GraphModule) (names []string) {
	for n := range gm.Graph().Nodes() {
		if f := n.Func(); f != nil && f.Op() != "" {
			names = append(names, f.Op())
		}
	}
	return names
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
	assert.Equal(t, below(t, want), operatorsOf(gm))

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
