package export

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// state is what a program carries, as bytes by name.
func stateBytes(t *testing.T, p *Program) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for name, x := range p.State() {
		b, err := x.Bytes()
		require.NoError(t, err)
		out[name] = bytes.Clone(b)
	}
	return out
}

// TestContainersAreEqual reads one program from every kind of container that
// may hold it.
func TestContainersAreEqual(t *testing.T) {
	path := filepath.Join("testdata", "programs", "state.pt2")
	want, err := Open(path)
	require.NoError(t, err)
	defer want.Close()
	tests := map[string]func(a *testArchive) (*Program, error){
		"stored, unaligned": func(a *testArchive) (*Program, error) { return Open(a.file()) },
		"deflated":          func(a *testArchive) (*Program, error) { a.method = zip.Deflate; return Open(a.file()) },
		"not a file":        func(a *testArchive) (*Program, error) { return a.open() },
		"another root":      func(a *testArchive) (*Program, error) { a.root = "archive/"; return a.open() },
		"reversed": func(a *testArchive) (*Program, error) {
			for i, j := 0, len(a.names)-1; i < j; i, j = i+1, j-1 {
				a.names[i], a.names[j] = a.names[j], a.names[i]
			}
			return a.open()
		},
		"other config names": func(a *testArchive) (*Program, error) {
			for old, name := range map[string]string{
				"data/weights/model_weights_config.json":     "data/weights/model_model_param_config.json",
				"data/constants/model_constants_config.json": "data/constants/model_model_constants_config.json",
			} {
				a.put(name, a.records[old])
				a.remove(old)
			}
			return a.open()
		},
	}
	for name, open := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := open(takeApart(t, "state.pt2"))
			require.NoError(t, err)
			defer p.Close()
			assert.Equal(t, want.Graph.String(), p.Graph.String())
			assert.Equal(t, stateBytes(t, want), stateBytes(t, p))
			assert.Same(t, p.Tensor("a").Storage, p.Tensor("rows").Storage)
			assert.Equal(t, []byte("made by make_programs.py"), p.Extra["notes/readme.txt"])
			assert.Empty(t, p.Warnings)
		})
	}
}

func TestArchiveFaults(t *testing.T) {
	tests := []struct {
		name  string
		class *ir.Class
		says  string
		make  func(a *testArchive) []byte
	}{
		{"no root folder", ir.ErrFormat, "was not written by torch.export.save", func(a *testArchive) []byte { a.root = ""; return a.bytes() }},
		{"two folders deep", ir.ErrFormat, "was not written by torch.export.save", func(a *testArchive) []byte { a.root = "a/b/"; return a.bytes() }},
		{"another format", ir.ErrFormat, `archive_format: expected pt2, got "pt3"`, func(a *testArchive) []byte { a.put("archive_format", []byte("pt3")); return a.bytes() }},
		{"no version", ir.ErrFormat, "record missing: archive_version", func(a *testArchive) []byte { a.remove("archive_version"); return a.bytes() }},
		{"empty zip", ir.ErrFormat, "an empty zip archive", func(a *testArchive) []byte { a.names = nil; return a.bytes() }},
		{"an npz", ir.ErrFormat, "a NumPy .npz archive", func(a *testArchive) []byte {
			var b bytes.Buffer
			require.NoError(a.t, WriteNpz(&b, map[string]*Tensor{"x": {DType: ir.UInt8, Storage: NewStorage(nil), Sizes: []int64{0}, Strides: []int64{1}}}))
			return b.Bytes()
		}},
		{"a record twice", ir.ErrFormat, "record program/byteorder: there are two of that name", func(a *testArchive) []byte {
			a.root, a.names = "program/", append(a.names, "byteorder")
			return a.bytes()
		}},
		{"a backslash", ir.ErrFormat, `expected printable UTF-8 text with forward slashes`, func(a *testArchive) []byte { a.put(`extra\x`, nil); return a.bytes() }},
		{"an escape sequence", ir.ErrFormat, `"linear/\x1b[2J": expected printable`, func(a *testArchive) []byte { a.put("\x1b[2J", nil); return a.bytes() }},
		{"a safetensors file", ir.ErrFormat, "not a zip archive: looks like a safetensors file", func(*testArchive) []byte {
			var b bytes.Buffer
			require.NoError(t, WriteSafetensors(&b, nil, nil))
			return b.Bytes()
		}},
		{"a bomb", ir.ErrFormat, "more than its", func(a *testArchive) []byte {
			a.method = zip.Deflate
			b := a.bytes()
			i := bytes.LastIndex(b[:bytes.LastIndex(b, []byte("models/model.json"))], []byte("PK\x01\x02"))
			binary.LittleEndian.PutUint32(b[i+24:], 0xF0000000)
			return b
		}},
		{"too long inside", ir.ErrFormat, "got more", func(a *testArchive) []byte {
			a.method = zip.Deflate
			b := a.bytes()
			i := bytes.LastIndex(b[:bytes.LastIndex(b, []byte("models/model.json"))], []byte("PK\x01\x02"))
			binary.LittleEndian.PutUint32(b[i+24:], 100)
			return b
		}},
		{"an unknown method", ir.ErrUnsupported, "expected stored or deflated content, got zip method 12", func(a *testArchive) []byte {
			b := a.bytes()
			i := bytes.LastIndex(b[:bytes.LastIndex(b, []byte("models/model.json"))], []byte("PK\x01\x02"))
			binary.LittleEndian.PutUint16(b[i+10:], 12)
			return b
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			a := takeApart(t, "linear.pt2")
			a.root = "linear/"
			data := tc.make(a)
			_, err := Read(bytes.NewReader(data), int64(len(data)))
			require.ErrorIs(t, err, tc.class)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}

func TestWarnings(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.put("byteorder", []byte("big"))
	p, err := a.open()
	require.NoError(t, err)
	assert.True(t, anyContains(p.Warnings, "byteorder says big"), p.Warnings)

	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range append(a.names, "") {
		full := a.root + name
		if name == "" {
			full = "README"
		}
		w, err := z.Create(full)
		require.NoError(t, err)
		_, err = w.Write(a.records[name])
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	p, err = Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	assert.True(t, anyContains(p.Warnings, "1 records lie outside the root folder"), p.Warnings)
}

func TestOpenTellsWhatIsNoFile(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "missing.pt2"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(t.TempDir())
	assert.ErrorContains(t, err, "is a directory")
}

// TestModels picks among several programs of one archive.
func TestModels(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	for _, name := range []string{"models/model.json", "data/weights/model_weights_config.json", "data/constants/model_constants_config.json"} {
		a.put(replaceModel(name, "second"), a.records[name])
	}
	p, err := a.open()
	require.NoError(t, err)
	assert.Equal(t, "model", p.Name)
	assert.True(t, p.Samples)
	p, err = a.open(Model("second"))
	require.NoError(t, err)
	assert.Equal(t, "second", p.Name)
	assert.False(t, p.Samples)
	_, err = a.open(Model("third"))
	require.ErrorIs(t, err, ir.ErrKey)
	assert.ErrorContains(t, err, `model "third": expected one of "model", "second"`)
	a.remove("models/model.json")
	a.put("models/first.json", a.records["models/second.json"])
	_, err = a.open()
	assert.ErrorContains(t, err, `holds several programs ("second", "first"): say which one`)
}

func replaceModel(record, name string) string {
	switch record {
	case "models/model.json":
		return "models/" + name + ".json"
	case "data/weights/model_weights_config.json":
		return "data/weights/" + name + "_weights_config.json"
	}
	return "data/constants/" + name + "_constants_config.json"
}

// Weights that are not aligned in a mapped file are copied when somebody wants to
// have them, and not before.
func TestUnalignedWeightsAreCopiedLate(t *testing.T) {
	want, err := Open(filepath.Join("testdata", "programs", "state.pt2"))
	require.NoError(t, err)
	defer want.Close()
	a := takeApart(t, "state.pt2")
	crooked := func() *Program {
		for i := range 64 { // Go's own writer aligns nothing: some root does it
			a.root = strings.Repeat("r", i+1) + "/"
			p, err := Open(a.file())
			require.NoError(t, err)
			if s := p.Tensor("a").Storage; s.crooked != nil {
				return p
			}
			require.NoError(t, p.Close())
		}
		t.Fatal("no unaligned weights")
		return nil
	}
	p := crooked()
	s := p.Tensor("a").Storage
	if !s.Mapped() {
		t.Skip("files are not mapped here")
	}
	var file bytes.Buffer
	require.NoError(t, Write(&file, []*Program{p}))
	assert.True(t, s.Mapped(), "written without a copy")
	s.Bytes()[0] ^= 1
	assert.False(t, s.Mapped())
	assert.Equal(t, want.Tensor("a").Storage.Bytes()[0]^1, s.Bytes()[0])
	file.Reset()
	require.NoError(t, Write(&file, []*Program{p}))
	q, err := Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	require.NoError(t, err)
	assert.Equal(t, s.Bytes(), q.Tensor("a").Storage.Bytes(), "what is written is what was changed")
	require.NoError(t, p.Close())
	assert.NotNil(t, s.Bytes(), "a copy stays")
	_, err = s.Hold()
	require.NoError(t, err)

	p = crooked()
	s = p.Tensor("a").Storage
	require.NoError(t, p.Close())
	assert.Nil(t, s.Bytes())
	_, err = s.Hold()
	assert.ErrorIs(t, err, ir.ErrClosed)
	assert.ErrorIs(t, Write(&file, []*Program{p}), ir.ErrClosed)
}
