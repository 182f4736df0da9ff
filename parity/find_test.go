package parity

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeFiles writes files below a new folder and returns it.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "cases")
	for name, text := range files {
		name = filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	return root
}

func TestFind(t *testing.T) {
	root := writeFiles(t, map[string]string{
		"b/one/meta.json":    `{"sets": [], "compare": "allclose"}`,
		"b/one/model.pt2":    "",
		"a/bad/meta.json":    `{"must": "load", "file": "model.pt2", "says": "nothing"}`,
		"a/broken/meta.json": `{"must": `,
		"a/other/meta.json":  `{"graph": "def forward(self): pass"}`,
		"a/notes.txt":        "no case",
	})
	cases, err := Find([]string{root, filepath.Join(root, "a")}, nil)
	require.NoError(t, err)
	var got []string
	for _, c := range cases {
		line := c.Name + " " + string(c.Kind)
		if c.err != nil {
			line += " error"
		}
		got = append(got, line)
	}
	assert.Equal(t, []string{"cases/a/bad pt2-bad", "cases/a/broken  error", "cases/a/other  error", "cases/b/one pt2"}, got)
	assert.ErrorContains(t, cases[2].err, "layout: expected a program with input sets or a broken archive")

	cases, err = Find([]string{root}, regexp.MustCompile("^cases/b/"))
	require.NoError(t, err)
	require.Len(t, cases, 1)
	assert.Equal(t, "cases/b/one", cases[0].Name)
}

func TestFindRefusesPathsWithoutCases(t *testing.T) {
	root := writeFiles(t, map[string]string{"notes.txt": ""})
	_, err := Find([]string{root}, nil)
	assert.ErrorContains(t, err, "expected folders with a meta.json below "+root)
	_, err = Find([]string{filepath.Join(root, "absent")}, nil)
	assert.ErrorContains(t, err, "no such file")
}

func TestLeafScalars(t *testing.T) {
	tests := []struct {
		leaf leaf
		want any
		err  string
	}{
		{leaf{Kind: "none"}, nil, ""},
		{leaf{Kind: "int", Value: []byte("-3")}, int64(-3), ""},
		{leaf{Kind: "bool", Value: []byte("true")}, true, ""},
		{leaf{Kind: "str", Value: []byte(`"x"`)}, "x", ""},
		{leaf{Kind: "float", Value: []byte("0.5")}, 0.5, ""},
		{leaf{Kind: "float", Value: []byte("2")}, 2.0, ""},
		{leaf{Kind: "float", Value: []byte(`"half"`)}, nil, `expected a float, got "half"`},
		{leaf{Kind: "int", Value: []byte("0.5")}, nil, "expected a int, got 0.5"},
		{leaf{Kind: "complex", Value: []byte("1")}, nil, `kind "complex" is unknown`},
	}
	for _, tc := range tests {
		t.Run(tc.leaf.Kind+" "+string(tc.leaf.Value), func(t *testing.T) {
			v, err := tc.leaf.scalar()
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, v)
		})
	}
	for text, sign := range map[string]int{"Infinity": 1, "-Infinity": -1} {
		v, err := leaf{Kind: "float", Value: []byte(`"` + text + `"`)}.scalar()
		require.NoError(t, err)
		assert.True(t, v.(float64)*float64(sign) > 1e308, text)
	}
	v, err := leaf{Kind: "float", Value: []byte(`"NaN"`)}.scalar()
	require.NoError(t, err)
	assert.NotEqual(t, v, v)
}

func TestFactsDiffer(t *testing.T) {
	f := facts{dtype: 7, shape: []int{2, 1, 3}, strides: []int{3, 99, 1}}
	assert.Equal(t, "float32", f.dtype.Name())
	tests := []struct {
		name, want string
		leaf       leaf
	}{
		{"contiguous: a size of 1 may have any stride", "", leaf{DType: "float32", Shape: []int{2, 1, 3}}},
		{"recorded strides are met exactly", "strides: expected [3 3 1], got [3 99 1]", leaf{DType: "float32", Shape: []int{2, 1, 3}, Strides: []int{3, 3, 1}}},
		{"dtype", "dtype: expected float64, got float32", leaf{DType: "float64", Shape: []int{2, 1, 3}}},
		{"shape", "shape: expected [2 3], got [2 1 3]", leaf{DType: "float32", Shape: []int{2, 3}}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, f.differ(tc.leaf, true))
		})
	}
	transposed := facts{dtype: 7, shape: []int{2, 3}, strides: []int{1, 2}}
	l := leaf{DType: "float32", Shape: []int{2, 3}}
	assert.True(t, strings.HasPrefix(transposed.differ(l, true), "strides: expected contiguous ones"))
	assert.Empty(t, transposed.differ(l, false))
}

func TestQuoteNonFinite(t *testing.T) {
	in := `{"a": [Infinity, -Infinity, NaN, 1], "Infinity \" NaN": "NaN"}`
	assert.JSONEq(t, `{"a": ["Infinity", "-Infinity", "NaN", 1], "Infinity \" NaN": "NaN"}`, string(quoteNonFinite([]byte(in))))
}
