package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// The embedded table is what the recorded signatures make.
func TestEmbeddedIsCurrent(t *testing.T) {
	recorded, err := os.ReadFile(filepath.Join(testenv.Fixtures(t), "py_signatures.json"))
	require.NoError(t, err)
	table, err := format(recorded)
	require.NoError(t, err)
	embedded, err := os.ReadFile(filepath.Join(testenv.Root(t), "torchops", "signatures.txt"))
	require.NoError(t, err)
	assert.True(t, table == string(embedded), "torchops/signatures.txt: run go run ./scripts/gensignatures")
}

func TestFormatRefuses(t *testing.T) {
	for name, recorded := range map[string]string{
		"another name":     `{"names":{"torch.add":[{"sig":"sub(Tensor input)","aten":"aten::sub"}]}}`,
		"another library":  `{"names":{"torch.add":[{"sig":"add(Tensor input)","aten":"my::add"}]}}`,
		"no JSON":          `{`,
		"no closing paren": `{"names":{"torch.add":[{"sig":"add(Tensor input","aten":"aten::add"}]}}`,
	} {
		_, err := format([]byte(recorded))
		assert.Error(t, err, name)
	}
}
