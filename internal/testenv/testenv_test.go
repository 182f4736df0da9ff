package testenv

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// probe is a testing.TB that remembers how a helper ended.
type probe struct {
	testing.TB
	skipped, failed bool
}

func (p *probe) Helper()               {}
func (p *probe) Skipf(string, ...any)  { p.skipped = true }
func (p *probe) Fatalf(string, ...any) { p.failed = true }

func TestRootHoldsTheModule(t *testing.T) {
	_, err := os.Stat(filepath.Join(Root(t), "go.mod"))
	require.NoError(t, err)
}

func TestMissingFixturesSkipOrFail(t *testing.T) {
	t.Setenv("TORCHFX_FIXTURES", filepath.Join(t.TempDir(), "none"))
	t.Setenv("TORCHFX_REQUIRE_FIXTURES", "")
	p := &probe{TB: t}
	Fixtures(p, "pt2")
	assert.True(t, p.skipped)
	assert.False(t, p.failed)

	t.Setenv("TORCHFX_REQUIRE_FIXTURES", "1")
	p = &probe{TB: t}
	Fixtures(p, "pt2")
	assert.True(t, p.failed)
}

func TestFixturesAreFound(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "pt2"), 0o755))
	t.Setenv("TORCHFX_FIXTURES", dir)
	assert.Equal(t, filepath.Join(dir, "pt2"), Fixtures(t, "pt2"))
}
