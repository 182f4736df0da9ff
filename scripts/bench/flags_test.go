package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.md")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, tc := range []struct {
		name   string
		rest   []string
		n      numbers
		files  map[string]string
		resume bool
		want   string
	}{
		{"nothing", nil, nil, nil, false, ""},
		{"a file", nil, numbers{"rounds": {1, 1}}, map[string]string{"write": file, "tables": ""}, true, ""},
		{"words behind", []string{"resnet18"}, nil, nil, false, `expected flags alone, got ["resnet18"]`},
		{"no rounds", nil, numbers{"rounds": {0, 1}}, nil, false, "-rounds: expected at least 1, got 0"},
		{"resume alone", nil, nil, map[string]string{"write": ""}, true, "-resume: expected -write FILE.md"},
		{"no such file", nil, nil, map[string]string{"write": file + "x"}, false, "-write: expected a file with markers that can be written: open "},
		{"a folder", nil, nil, map[string]string{"tables": filepath.Dir(file)}, false, "-tables: expected a file with markers that can be written: open "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := checkFlags(tc.rest, tc.n, tc.files, tc.resume)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tc.want)
		})
	}
}
