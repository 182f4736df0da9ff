package export

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestImports: the rooms below the bridge need nothing but the standard library,
// x/sync and each other, and no C, so that graphs can be read, checked and
// rewritten on any machine.
func TestImports(t *testing.T) {
	const module = "github.com/torchfx-go/torchfx/"
	allowed := map[string][]string{
		"ir":                 nil,
		"rewriter":           {"ir"},
		"internal/wholefile": nil,
		"export":             {"ir", "internal/wholefile"},
	}
	for room, below := range allowed {
		found := 0
		require.NoError(t, filepath.WalkDir(filepath.Join("..", room), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			found++
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, spec := range f.Imports {
				name, _ := strconv.Unquote(spec.Path.Value)
				inner, ours := strings.CutPrefix(name, module)
				switch {
				case ours:
					assert.Contains(t, below, inner, path)
				case strings.Contains(name, "."):
					assert.True(t, strings.HasPrefix(name, "golang.org/x/sync/"), "%s imports %s", path, name)
				default:
					assert.NotEqual(t, "C", name, path)
				}
			}
			return nil
		}))
		assert.NotZero(t, found, room)
	}
}
