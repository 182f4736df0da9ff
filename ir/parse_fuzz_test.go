package ir

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseCode reads any text as code. What is accepted is a sound graph, whose
// own code is read again as one with the same code.
func FuzzParseCode(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "fx", "*.json"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		var r recording
		require.NoError(f, json.Unmarshal(data, &r))
		for _, text := range r.Texts {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		g, err := ParseCode(src)
		if err != nil {
			require.ErrorIs(t, err, ErrSyntax)
			return
		}
		require.NoError(t, g.Lint())
		if unwritten(g) != nil {
			return
		}
		code, err := g.PythonCode("self")
		require.NoError(t, err)
		again, err := ParseCode(code.Source, WithGlobals(code.Globals...))
		require.NoError(t, err, code.Source)
		text, err := again.PythonCode("self")
		require.NoError(t, err)
		if text.Source == code.Source {
			return
		}
		// a node that gave way to a global has its local's name now, from which
		// boxed arguments take theirs; that name stays
		third, err := ParseCode(text.Source, WithGlobals(text.Globals...))
		require.NoError(t, err, text.Source)
		last, err := third.PythonCode("self")
		require.NoError(t, err)
		require.Equal(t, text.Source, last.Source)
	})
}
