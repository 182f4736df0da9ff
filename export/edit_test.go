package export

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A testArchive is a program of testdata taken apart, to be changed and put
// together again.
type testArchive struct {
	t       testing.TB
	root    string
	names   []string
	records map[string][]byte
	method  uint16
}

func takeApart(t testing.TB, program string) *testArchive {
	t.Helper()
	return takeApartFile(t, filepath.Join("testdata", "programs", program))
}

func takeApartFile(t testing.TB, path string) *testArchive {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return takeApartBytes(t, data)
}

func takeApartBytes(t testing.TB, archive []byte) *testArchive {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(t, err)
	a := &testArchive{t: t, records: map[string][]byte{}}
	isFlat := slices.ContainsFunc(z.File, func(f *zip.File) bool { return !strings.Contains(f.Name, "/") })
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		name := f.Name
		if root, below, _ := strings.Cut(f.Name, "/"); !isFlat {
			a.root, name = root+"/", below
		}
		a.put(name, data)
	}
	return a
}

func (a *testArchive) put(name string, data []byte) {
	if _, ok := a.records[name]; !ok {
		a.names = append(a.names, name)
	}
	a.records[name] = data
}

func (a *testArchive) remove(name string) {
	delete(a.records, name)
	for i, n := range a.names {
		if n == name {
			a.names = append(a.names[:i:i], a.names[i+1:]...)
			return
		}
	}
}

// object is decoded JSON with short ways into it.
type object map[string]any

func (o object) get(path ...any) any {
	var v any = map[string]any(o)
	for _, step := range path {
		switch s := step.(type) {
		case string:
			v = v.(map[string]any)[s]
		case int:
			v = v.([]any)[s]
		}
	}
	return v
}

func (o object) at(path ...any) object { return o.get(path...).(map[string]any) }

// program returns the graph, node 0 and so on of a program's JSON.
func (o object) graph() object     { return o.at("graph_module", "graph") }
func (o object) signature() object { return o.at("graph_module", "signature") }
func (o object) node(i int) object { return o.at("graph_module", "graph", "nodes", i) }

// edit changes a JSON record.
func (a *testArchive) edit(name string, f func(object)) {
	a.t.Helper()
	d := json.NewDecoder(bytes.NewReader(a.records[name]))
	d.UseNumber()
	o := object{}
	require.NoError(a.t, d.Decode(&o))
	f(o)
	data, err := json.Marshal(o)
	require.NoError(a.t, err)
	a.put(name, data)
}

func (a *testArchive) program(f func(object)) { a.edit("models/model.json", f) }
func (a *testArchive) weights(f func(object)) {
	a.edit("data/weights/model_weights_config.json", func(o object) { f(o.at("config")) })
}

// bytes writes the archive with Go's own writer.
func (a *testArchive) bytes() []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range a.names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: a.root + name, Method: a.method})
		require.NoError(a.t, err)
		_, err = w.Write(a.records[name])
		require.NoError(a.t, err)
	}
	require.NoError(a.t, z.Close())
	return b.Bytes()
}

// open reads the archive back.
func (a *testArchive) open(opts ...Option) (*Program, error) {
	data := a.bytes()
	return Read(bytes.NewReader(data), int64(len(data)), opts...)
}

// file writes the archive to a file.
func (a *testArchive) file() string {
	path := filepath.Join(a.t.TempDir(), "program.pt2")
	require.NoError(a.t, os.WriteFile(path, a.bytes(), 0o600))
	return path
}

// openSave reads the archive back as a torch.save file.
func (a *testArchive) openSave(opts ...Option) (*Saved, error) { return readSave(a.bytes(), opts...) }

func readSave(data []byte, opts ...Option) (*Saved, error) {
	return ReadTorchSave(bytes.NewReader(data), int64(len(data)), opts...)
}
