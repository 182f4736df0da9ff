package export

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// fixtures returns a folder of the recorded cases, and skips the test where they
// are not there.
func fixtures(t testing.TB, below string) string {
	t.Helper()
	return testenv.Fixtures(t, filepath.FromSlash(below))
}

// cases lists the folders with a program in dir.
func cases(t testing.TB, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "model.pt2"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = filepath.Base(filepath.Dir(f))
	}
	return names
}

// readJSON reads a JSON file into v.
func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, v), path)
}

// openFixture opens a recorded program.
func openFixture(t testing.TB, name string, opts ...Option) *Program {
	t.Helper()
	p, err := Open(filepath.Join(fixtures(t, "pt2/2.15.0"), name, "model.pt2"), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}
