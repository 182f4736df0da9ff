package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// TestDocs runs the sessions in docs/files.md: the lines under a command are what it
// prints. UPDATE_DOCS rewrites them.
func TestDocs(t *testing.T) {
	testenv.Libtorch(t)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	path := filepath.Join(root, "docs", "files.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	work := t.TempDir()
	for _, dir := range []string{"export", "script"} {
		require.NoError(t, os.Symlink(filepath.Join(root, dir), filepath.Join(work, dir)))
	}
	t.Chdir(work)
	var out strings.Builder
	session, commands := false, 0
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "```"):
			session = strings.HasPrefix(line, "```console")
			out.WriteString(line)
		case !session:
			out.WriteString(line)
		case strings.HasPrefix(line, "$ torchfx "):
			commands++
			out.WriteString(line)
			_, stdout, stderr := invoke(nil, strings.Fields(strings.TrimPrefix(line, "$ torchfx "))...)
			out.WriteString(stdout + stderr)
		}
	}
	assert.NotZero(t, commands)
	if os.Getenv("UPDATE_DOCS") != "" {
		require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o644))
		return
	}
	assert.Equal(t, string(text), out.String(), "UPDATE_DOCS=1 rewrites the document")
}
