package layers

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated files")

// The generated files of package nn are those that the table gives.
func TestGenerated(t *testing.T) {
	types, options, err := Generate()
	require.NoError(t, err)
	for name, want := range map[string][]byte{"../../layers.go": types, "../../options.go": options} {
		if *update {
			require.NoError(t, os.WriteFile(name, want, 0o644))
		}
		have, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(have), "%s: run go test ./nn/internal/layers -update", name)
	}
}
