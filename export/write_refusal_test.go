package export

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/wholefile"
	"github.com/torchfx-go/torchfx/ir"
)

// openTestProgram opens a program of testdata.
func openTestProgram(t testing.TB, name string, opts ...Option) *Program {
	t.Helper()
	p, err := Open(filepath.Join("testdata", "programs", name), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// TestRefusedBeforeAByte lists all that is wrong with a program, and leaves the file
// that is there alone.
func TestRefusedBeforeAByte(t *testing.T) {
	last := func(p *Program) *ir.Node { n, _ := p.Graph.OutputNode(); return n.Prev() }
	tests := []struct {
		name  string
		spoil func(t *testing.T, p *Program)
		says  []string
	}{
		{"no meta", func(t *testing.T, p *Program) { last(p).Meta().Delete(ir.MetaVal) },
			[]string{`nothing is known of the values of 1 nodes: linear; expected the meta "val"`}},
		{"a function of Python", func(t *testing.T, p *Program) {
			require.NoError(t, last(p).SetTarget(ir.FuncOf("torch.relu")))
		}, []string{"node linear (torch.relu): a program holds calls of operators alone: lower the graph to ATen first"}},
		{"a method", func(t *testing.T, p *Program) {
			require.NoError(t, last(p).SetOp(ir.CallMethod, ir.Path("relu")))
		}, []string{"and no call_method: lower the graph to ATen first"}},
		{"an unknown operator", func(t *testing.T, p *Program) {
			require.NoError(t, last(p).SetTarget(ir.OverloadOf("mine::op")))
		}, []string{"unknown operator mine::op"}},
		{"arguments that the schema does not have", func(t *testing.T, p *Program) { last(p).UpdateKwarg("alpha", ir.Int(2)) },
			[]string{`has no argument "alpha"`}},
		{"a missing argument", func(t *testing.T, p *Program) { last(p).SetArgs(last(p).Arg(0)) },
			[]string{"argument weight is missing"}},
		{"an argument without a form", func(t *testing.T, p *Program) {
			require.NoError(t, last(p).UpdateArg(2, ir.Ellipsis{}))
		}, []string{"argument Ellipsis (ir.Ellipsis) has no form in a program"}},
		{"a string as a result", func(t *testing.T, p *Program) {
			out, _ := p.Graph.OutputNode()
			out.SetArgs(ir.TupleOf(ir.Str("done")))
		}, []string{"torch.export.load cannot read a program that returns a string"}},
		{"other inputs than the signature", func(t *testing.T, p *Program) { p.Signature.Inputs = p.Signature.Inputs[1:] },
			[]string{"signature: expected an entry for each of 3 inputs of the graph, got 2"}},
		{"a weight that is not there", func(t *testing.T, p *Program) { delete(p.state.tensors, "l.weight") },
			[]string{"parameter l.weight: expected it in the state of the program, got none"}},
		{"a view beyond its storage", func(t *testing.T, p *Program) { p.Tensor("l.weight").Offset = 1 << 40 },
			[]string{"state l.weight: expected a view of its storage"}},
		{"several faults", func(t *testing.T, p *Program) {
			last(p).UpdateKwarg("alpha", ir.Int(2))
			p.Tensor("l.weight").Storage = nil
		}, []string{`has no argument "alpha"`, "state l.weight: expected its elements, got none"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := openTestProgram(t, "linear.pt2")
			tc.spoil(t, p)
			path := filepath.Join(t.TempDir(), "old.pt2")
			require.NoError(t, os.WriteFile(path, []byte("what was there"), 0o600))
			err := Save(path, []*Program{p})
			for _, text := range tc.says {
				assert.ErrorContains(t, err, text)
			}
			assertOnly(t, path, "what was there")
			assert.Error(t, Write(failing{t}, []*Program{p}), "nothing is written")
		})
	}
}

// assertOnly checks that a file is the only one in its folder, and what is in it.
func assertOnly(t *testing.T, path, text string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.True(t, text == string(data), "expected the file as it was")
}

// failing is a writer that nothing is to be written to.
type failing struct{ t *testing.T }

func (f failing) Write([]byte) (int, error) {
	f.t.Error("expected no byte to be written")
	return 0, errors.New("expected no byte")
}

// TestWritingFailsWhole leaves no trace of a file that could not be written.
func TestWritingFailsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.pt2")
	require.NoError(t, os.WriteFile(path, []byte("what was there"), 0o640))
	full := errors.New("the disk is full")
	err := wholefile.Write(path, func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return full
	})
	require.ErrorIs(t, err, full)
	assertOnly(t, path, "what was there")

	require.NoError(t, wholefile.Write(path, func(w io.Writer) error { _, err := w.Write([]byte("new")); return err }))
	assertOnly(t, path, "new")
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "permissions stay")
	assert.Error(t, wholefile.Write(t.TempDir(), func(io.Writer) error { return nil }), "a folder")
}

// TestASavedFileReplacesItsOwn writes a program over the file that it is mapped from.
func TestASavedFileReplacesItsOwn(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "programs", "state.pt2"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "state.pt2")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	p, err := Open(path)
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, Save(path, []*Program{p}))
	q, err := Open(path)
	require.NoError(t, err)
	defer q.Close()
	assertSameProgram(t, p, q)
}

// TestSeveralPrograms are written into one archive, whose payloads do not collide.
func TestSeveralPrograms(t *testing.T) {
	a, b := openTestProgram(t, "linear.pt2"), openTestProgram(t, "state.pt2")
	a.Name = "encoder"
	var done, total int64
	var out bytes.Buffer
	require.NoError(t, Write(&out, []*Program{a, b}, Progress(func(d, n int64) {
		assert.GreaterOrEqual(t, d, done)
		done, total = d, n
	})))
	assert.NotZero(t, total)
	assert.Equal(t, total, done)
	for name, want := range map[string]*Program{"encoder": a, "model": b} {
		got, err := Read(bytes.NewReader(out.Bytes()), int64(out.Len()), Model(name))
		require.NoError(t, err)
		got.Extra = want.Extra // extra files belong to the archive
		assertSameProgram(t, want, got)
	}
	b.Name = "encoder"
	assert.ErrorContains(t, Write(&out, []*Program{a, b}), `program "encoder": expected a name of its own`)
}

// TestArchiveLayout checks what mapping relies on, with Go's own reader of zip files.
func TestArchiveLayout(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Write(&out, []*Program{openTestProgram(t, "state.pt2")}))
	z, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	for _, f := range z.File {
		at, err := f.DataOffset()
		require.NoError(t, err)
		assert.Zero(t, at%64, "%s begins at a multiple of 64", f.Name)
		assert.Equal(t, zip.Store, f.Method, f.Name)
		r, err := f.Open()
		require.NoError(t, err)
		_, err = io.ReadAll(r) // checks sizes and checksum
		require.NoError(t, err, f.Name)
	}
}
