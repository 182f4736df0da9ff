package ir

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fixturesDir returns the folder of recorded programs, or skips the test.
func fixturesDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TORCHFX_FIXTURES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "fixtures")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recorded programs: %s is not there; TORCHFX_FIXTURES can name another place", dir)
	}
	return dir
}

// eachModelJSON calls f with every JSON record of every archive.
func eachModelJSON(t *testing.T, f func(name string, doc any)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixturesDir(t), "pt2", "*", "*", "model.pt2"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		z, err := zip.OpenReader(file)
		require.NoError(t, err)
		for _, entry := range z.File {
			if !strings.HasSuffix(entry.Name, ".json") {
				continue
			}
			r, err := entry.Open()
			require.NoError(t, err)
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			var doc any
			if json.Unmarshal(data, &doc) == nil {
				f(file+"/"+entry.Name, doc)
			}
		}
		require.NoError(t, z.Close())
	}
}

// eachField calls f with every value under key, at any depth.
func eachField(doc any, key string, f func(any)) {
	switch d := doc.(type) {
	case map[string]any:
		for k, v := range d {
			if k == key {
				f(v)
			}
			eachField(v, key, f)
		}
	case []any:
		for _, v := range d {
			eachField(v, key, f)
		}
	}
}

// What PyTorch wrote comes out byte for byte, also when the context is made
// anew, and every tree takes apart what it puts together.
func TestTreeSpecsOfRecordedPrograms(t *testing.T) {
	seen := map[string]bool{}
	eachModelJSON(t, func(name string, doc any) {
		fields := map[string][]string{}
		eachField(doc, "treespec_namedtuple_fields", func(v any) {
			for class, def := range v.(map[string]any) {
				for _, f := range def.(map[string]any)["field_names"].([]any) {
					fields[class] = append(fields[class], f.(string))
				}
			}
		})
		check := func(v any) {
			text := v.(string)
			seen[text] = true
			spec, err := ParseTreeSpec(text, fields)
			require.NoError(t, err, name)
			got, err := spec.JSON()
			require.NoError(t, err)
			assert.Equal(t, text, got)
			forgetContext(spec)
			got, err = spec.JSON()
			require.NoError(t, err)
			assert.Equal(t, text, got, "with a new context")
			checkFlattens(t, spec)
		}
		eachField(doc, "in_spec", check)
		eachField(doc, "out_spec", check)
	})
	assert.Greater(t, len(seen), 25)
}

func forgetContext(t *TreeSpec) {
	t.Context = ""
	for _, c := range t.Children {
		forgetContext(c)
	}
}

func checkFlattens(t require.TestingT, spec *TreeSpec) {
	leaves := make([]any, spec.NumLeaves())
	for i := range leaves {
		leaves[i] = i
	}
	v, err := spec.Unflatten(leaves)
	require.NoError(t, err)
	got, err := spec.Flatten(v)
	require.NoError(t, err)
	require.Equal(t, leaves, got)
}
