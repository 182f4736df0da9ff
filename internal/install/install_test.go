package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

func TestRecordSurvivesAndMovesWithItsHome(t *testing.T) {
	root := t.TempDir()
	home := filepath.Join(root, "home")
	rec := &Record{
		TorchVersion: "2.15.0+cpu", Source: Downloaded, BridgeABI: 3, BridgeKey: "k",
		TorchDir:    filepath.Join(home, "libtorch-2.15.0", "torch"),
		LibDir:      filepath.Join(home, "libtorch-2.15.0", "torch", "lib"),
		IncludeDirs: []string{filepath.Join(home, "libtorch-2.15.0", "torch", "include"), "/opt/include"},
		RuntimeDirs: []string{filepath.Join(root, "home-not", "lib")},
		Bridge:      filepath.Join(home, "bridge", "k", "b.so"),
	}
	require.NoError(t, rec.Write(home))
	got, err := Read(home)
	require.NoError(t, err)
	want := *rec
	want.Format = Format
	assert.Equal(t, &want, got)

	moved := filepath.Join(root, "moved")
	require.NoError(t, os.Rename(home, moved))
	got, err = Read(moved)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(moved, "bridge", "k", "b.so"), got.Bridge)
	assert.Equal(t, filepath.Join(moved, "libtorch-2.15.0", "torch", "include"), got.IncludeDirs[0])
	assert.Equal(t, "/opt/include", got.IncludeDirs[1], "paths outside the home stay")
	assert.Equal(t, filepath.Join(root, "home-not", "lib"), got.RuntimeDirs[0], "a sibling with the same prefix is outside")

	left, err := filepath.Glob(filepath.Join(moved, "*"))
	require.NoError(t, err)
	assert.Len(t, left, 1, "no temporary files stay: %v", left)
}

func TestReadRefuses(t *testing.T) {
	tests := []struct {
		name, text string
		class      *ir.Class
		say        string
	}{
		{"nothing there", "", ir.ErrMissing, "torchfx setup"},
		{"not JSON", "{", ir.ErrFormat, "damaged"},
		{"too long", strings.Repeat(" ", maxRecord+1), ir.ErrFormat, "megabyte"},
		{"newer", `{"format": 2, "bridge": "b", "lib_dir": "l"}`, ir.ErrVersion, "expected format 1 at most, got 2"},
		{"empty", `{}`, ir.ErrFormat, "got none"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			home := t.TempDir()
			if tc.text != "" {
				require.NoError(t, os.WriteFile(filepath.Join(home, FileName), []byte(tc.text), 0o600))
			}
			_, err := Read(home)
			require.ErrorIs(t, err, tc.class)
			assert.ErrorContains(t, err, tc.say)
		})
	}
	_, err := Read("")
	assert.ErrorIs(t, err, ir.ErrMissing)
}

func TestHomeOrder(t *testing.T) {
	t.Setenv("TORCHFX_HOME", "some/where")
	wd, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(wd, "some", "where"), Home(), "a relative home is made absolute")

	t.Setenv("TORCHFX_HOME", "")
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	assert.Equal(t, filepath.Join(cache, "torchfx"), Home())
}
