package export

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// FuzzArchive reads whatever bytes there are as a program file. What opens must
// hold together: its graph lints, its module and its code can be made, and its
// weights can be read.
func FuzzArchive(f *testing.F) {
	programs, err := filepath.Glob(filepath.Join("testdata", "programs", "*.pt2"))
	require.NoError(f, err)
	require.NotEmpty(f, programs)
	for _, file := range programs {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	a := takeApart(f, "linear.pt2")
	a.method = 8
	f.Add(a.bytes())
	f.Add(older(f, "state.pt2", flatParts).bytes())
	f.Add(older(f, "linear.pt2", pickledParts).bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data), int64(len(data)))
		if err == nil {
			holdsTogether(t, p)
		}
	})
}

// FuzzProgram puts whatever text there is into an archive as its program, so
// that checksums and compression do not stand in the way.
func FuzzProgram(f *testing.F) {
	a := takeApart(f, "linear.pt2")
	for _, name := range []string{"linear.pt2", "derived.pt2"} {
		f.Add(string(takeApart(f, name).records["models/model.json"]))
	}
	text := string(a.records["models/model.json"])
	for _, field := range []string{`"target"`, `"dtype"`, `"fqn"`, `"tensor_values"`, `"torch_version"`} {
		f.Add(strings.ReplaceAll(text, field, `"a_later_field": [1.5, {"x": null}], `+field))
	}
	for _, op := range []string{"torch.ops.higher_order.cond", "torch.ops.aten.split.Tensor", "_operator.add",
		"torch.ops.aten.qr.default", "torch.ops.aten.align_as.default", "torch.ops.aten._pdist_backward.default", "torch.ops.higher_order.scan"} {
		f.Add(strings.Replace(text, "torch.ops.aten.linear.default", op, 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		b := *a
		b.t = t
		b.records = map[string][]byte{}
		for name, data := range a.records {
			b.records[name] = data
		}
		b.records["models/model.json"] = []byte(text)
		p, err := b.open()
		if err == nil {
			holdsTogether(t, p)
		}
	})
}

// FuzzJSON compares the parser's judgment with that of the standard library,
// which takes deeper nesting and longer numbers.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,"x\u00e9\n",true,null]}`, `[[[]]]`, `"\ud83d\ude00"`, `01`, `[1,]`, `{"a" 1}`, "\"\x01\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { compareJSON(t, text) })
}

func holdsTogether(t *testing.T, p *Program) {
	t.Helper()
	require.NoError(t, p.Graph.Lint())
	_ = p.Graph.String()
	m, err := p.Module()
	require.NoError(t, err)
	require.NoError(t, m.Graph().Lint())
	if _, err = m.Code(); err != nil { // such a program runs all the same
		require.ErrorContains(t, err, "expected an identifier")
	}
	for name, x := range p.State() {
		_, err := x.Bytes()
		require.NoError(t, err, name)
	}
	_ = p.Guards.Check(p.Guards.examples())
	holdsWritten(t, p, m)
}

// holdsWritten writes a program, and its module as one: what is written can be read,
// and what cannot be is refused before.
func holdsWritten(t *testing.T, p *Program, m *ir.GraphModule) {
	t.Helper()
	lifted, err := Lift(m, LiftFrom(p))
	require.NoError(t, err)
	for _, q := range []*Program{p, lifted} {
		var out bytes.Buffer
		if err := Write(&out, []*Program{q}); err != nil {
			require.Zero(t, out.Len(), "a refusal comes before the first byte")
			continue
		}
		again, err := Read(bytes.NewReader(out.Bytes()), int64(out.Len()), Operators(q.catalogue))
		require.NoError(t, err)
		require.NoError(t, again.Graph.Lint())
	}
}

// FuzzSafetensorsIndex reads whatever text there is as the index of a sharded set.
func FuzzSafetensorsIndex(f *testing.F) {
	dir := f.TempDir()
	one, err := os.Create(filepath.Join(dir, "one.safetensors"))
	require.NoError(f, err)
	require.NoError(f, WriteSafetensors(one, someTensors("a", "b"), nil))
	require.NoError(f, one.Close())
	f.Add(`{"metadata":{"total_size":16},"weight_map":{"a":"one.safetensors","b":"one.safetensors"}}`)
	f.Add(`{"weight_map":{"a":"../one.safetensors"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "model.safetensors.index.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Link(filepath.Join(dir, "one.safetensors"), filepath.Join(filepath.Dir(path), "one.safetensors")))
		set, err := OpenSafetensors(path)
		if err != nil {
			return
		}
		for _, name := range set.Names() {
			_, err := set.Tensor(name)
			require.NoError(t, err)
		}
		require.NoError(t, set.Close())
	})
}

// FuzzTorchSave reads whatever bytes there are as a file of torch.save. What
// opens can be walked, and its tensors lie inside their storages.
func FuzzTorchSave(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "torchsave", "*.pt"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readSave(data)
		if err == nil {
			savedHoldsTogether(t, s)
		}
	})
}

// FuzzPickle puts whatever bytes there are into an archive as its pickle, so
// that checksums do not stand in the way.
func FuzzPickle(f *testing.F) {
	a := takeApartFile(f, filepath.Join("testdata", "torchsave", "checkpoint.pt"))
	for _, name := range []string{"checkpoint", "containers", "parameters", "sparse", "quantized", "module", "graph_module", "graph_module_nested", "layers"} {
		f.Add(takeApartFile(f, filepath.Join("testdata", "torchsave", name+".pt")).records["data.pkl"])
	}
	f.Fuzz(func(t *testing.T, pickle []byte) {
		b := *a
		b.t = t
		b.records = map[string][]byte{}
		for name, data := range a.records {
			b.records[name] = data
		}
		b.records["data.pkl"] = pickle
		s, err := b.openSave(Classes(func(string) bool { return true }))
		if err == nil {
			savedHoldsTogether(t, s)
		}
	})
}

func savedHoldsTogether(t *testing.T, s *Saved) {
	t.Helper()
	if m, err := s.Module(); err == nil {
		if g, ok := m.(*ir.GraphModule); ok {
			_, err = g.Code()
			require.NoError(t, err)
		}
	}
	n := 0
	for path, x := range s.Tensors() {
		if n++; n > 1000 || x.Numel() > 1<<20 {
			break // an expanded tensor may be as large as it likes
		}
		if x.Storage != nil {
			_, err := x.Bytes()
			require.NoError(t, err, path)
		}
	}
}
