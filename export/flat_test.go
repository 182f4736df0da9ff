package export

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// A generation is made of another one's parts: its state as files of torch.save.
type oldParts struct {
	program, weights, constants, samples string
}

var (
	flatParts    = oldParts{flatProgram, flatWeights, flatConstants, flatSamples}
	pickledParts = oldParts{"models/model.json", "data/weights/model.pt", "data/constants/model.pt", "data/sample_inputs/model.pt"}
)

// older makes an archive of an older generation of a program of testdata.
func older(t testing.TB, program string, parts oldParts) *testArchive {
	t.Helper()
	from := takeApart(t, program)
	p, err := Open(filepath.Join("testdata", "programs", program))
	require.NoError(t, err)
	defer p.Close()
	weights, constants := map[string]*Tensor{}, map[string]*Tensor{}
	for name, x := range p.State() {
		to := constants
		if p.state.weights[name] {
			to = weights
		}
		to[name] = x
	}
	a := &testArchive{t: t, records: map[string][]byte{}}
	if parts == pickledParts {
		a.root = from.root
		a.put("archive_format", from.records["archive_format"])
		a.put("archive_version", from.records["archive_version"])
	} else {
		a.put("version", []byte("8.2"))
	}
	a.put(parts.program, from.records["models/model.json"])
	a.put(parts.samples, []byte("not opened"))
	for name, tensors := range map[string]map[string]*Tensor{parts.weights: weights, parts.constants: constants} {
		var b bytes.Buffer
		require.NoError(t, WriteState(&b, maps.All(tensors)))
		a.put(name, b.Bytes())
	}
	return a
}

// TestOlderGenerations opens one program in all three.
func TestOlderGenerations(t *testing.T) {
	for _, program := range []string{"linear.pt2", "state.pt2", "state_core.pt2", "derived.pt2"} {
		want, err := Open(filepath.Join("testdata", "programs", program))
		require.NoError(t, err)
		for _, parts := range []oldParts{flatParts, pickledParts} {
			for _, method := range []uint16{0, 8} {
				a := older(t, program, parts)
				a.method = method
				p, err := a.open()
				require.NoError(t, err, program)
				assert.Equal(t, want.Graph.String(), p.Graph.String())
				assert.Equal(t, want.Signature, p.Signature)
				assert.True(t, p.Samples)
				for name, x := range want.State() {
					y := p.Tensor(name)
					require.NotNil(t, y, name)
					w, err := x.Bytes()
					require.NoError(t, err)
					g, err := y.Bytes()
					require.NoError(t, err)
					assert.Equal(t, w, g, name)
					assert.Equal(t, x.Parameter, y.Parameter, name)
				}
				bare, err := a.open(WithoutWeights())
				require.NoError(t, err, program)
				for name, x := range bare.State() {
					assert.Nil(t, x.Storage, name)
				}
				_, err = a.open(GraphOnly())
				require.NoError(t, err, program)
			}
		}
		require.NoError(t, want.Close())
	}
}

// saveOf puts a pickle into an archive of torch.save.
func saveOf(t testing.TB, pickle string) []byte {
	a := &testArchive{t: t, root: "archive/", records: map[string][]byte{}}
	a.put("data.pkl", []byte(pickle))
	return a.bytes()
}

func TestOlderRefusals(t *testing.T) {
	tests := []struct {
		name  string
		edit  func(a *testArchive)
		opts  []Option
		class *ir.Class
		says  string
	}{
		{"a custom object", func(a *testArchive) {
			a.put(flatConstants, saveOf(t, "}"+text("obj")+"ctorch._C\nScriptObject\n)\x81s."))
		}, nil, ir.ErrUnsupported, "record serialized_constants.pt: obj is an object of class torch._C.ScriptObject, which is not supported"},
		{"a weight that is no tensor", func(a *testArchive) { a.put(flatConstants, saveOf(t, "}"+text("n")+"K\x01s.")) },
			nil, ir.ErrUnsupported, "expected a tensor under n, got an int"},
		{"a list for a dict", func(a *testArchive) { a.put(flatWeights, saveOf(t, "].")) },
			nil, ir.ErrFormat, "record serialized_state_dict.pt: expected a dict of tensors, got a list"},
		{"no weights", func(a *testArchive) { a.remove(flatWeights) }, nil, ir.ErrFormat, "record missing: serialized_state_dict.pt"},
		{"empty weights", func(a *testArchive) { a.put(flatWeights, nil) },
			nil, ir.ErrFormat, "weight l.weight is in the signature but not in the serialized_state_dict.pt"},
		{"weights that are no archive", func(a *testArchive) { a.put(flatWeights, []byte("\x80\x02}.")) },
			nil, ir.ErrFormat, "record serialized_state_dict.pt: not a zip archive"},
		{"a program in the place of weights", func(a *testArchive) { a.put(flatWeights, takeApart(t, "linear.pt2").bytes()) },
			nil, ir.ErrFormat, "this is an exported program, not a torch.save file"},
		{"fake weights", func(a *testArchive) {
			fake := "ctorch._export.serde.serialize\n_reconstruct_fake_tensor\nN\x85R"
			a.put(flatWeights, saveOf(t, "}("+text("l.weight")+fake+text("l.bias")+fake+"u."))
		}, nil, ir.ErrFormat, "weight l.bias: it has no elements: the program was saved without real weights"},
		{"fake weights, shown", func(a *testArchive) {
			fake := "ctorch._export.serde.serialize\n_reconstruct_fake_tensor\nN\x85R"
			a.put(flatWeights, saveOf(t, "}("+text("l.weight")+fake+text("l.bias")+fake+"u."))
		}, []Option{WithoutWeights()}, nil, ""},
		{"torch 2.4", func(a *testArchive) { a.put("version", []byte("5.1")) }, nil, ir.ErrVersion, "produced by torch 2.2 to 2.4"},
		{"a model's name", func(*testArchive) {}, []Option{Model("other")}, ir.ErrKey, "holds one program only"},
		{"schema 7", func(a *testArchive) {
			a.edit(flatProgram, func(o object) { o["schema_version"] = object{"major": 7, "minor": 3} })
		}, nil, nil, ""},
		{"schema 6", func(a *testArchive) {
			a.edit(flatProgram, func(o object) { o["schema_version"] = object{"major": 6, "minor": 0} })
		}, nil, ir.ErrVersion, "schema version 6 is not supported"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			a := older(t, "linear.pt2", flatParts)
			a.t = t
			tc.edit(a)
			p, err := a.open(tc.opts...)
			if tc.class == nil {
				require.NoError(t, err)
				_, err = p.Module()
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, tc.class)
			assert.ErrorContains(t, err, tc.says)
		})
	}
	a := takeApart(t, "linear.pt2")
	a.program(func(o object) { o["schema_version"] = object{"major": 7, "minor": 3} })
	_, err := a.open()
	require.ErrorIs(t, err, ir.ErrVersion, "schema 7 came in flat archives only")
}

// TestBareInfinity reads the tokens that are no JSON where torch 2.5 wrote them.
func TestBareInfinity(t *testing.T) {
	a := older(t, "derived.pt2", flatParts)
	program := string(a.records[flatProgram])
	at := strings.Index(program, `"max_val":`)
	require.Positive(t, at)
	end := at + strings.IndexAny(program[at:], "},")
	a.put(flatProgram, []byte(program[:at]+`"max_val": Infinity`+program[end:]))
	p, err := a.open()
	require.NoError(t, err)
	assert.True(t, slices.ContainsFunc(p.Ranges, func(r Range) bool { return r.Max == unbound.max }))
}
