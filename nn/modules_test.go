package nn_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/nn"
)

// recordedModule is an entry of the modules.json of a recorded case.
type recordedModule struct {
	Path, Type, Repr    string
	Training            bool
	Parameters, Buffers map[string][]any
}

// notMadeFromRepr are the classes whose repr does not say how to make them, and
// Module itself, which computes nothing.
var notMadeFromRepr = []string{"MultiheadAttention", "TransformerEncoderLayer", "Module"}

// Every layer of torch.nn that stands in a recorded case can be made from its
// class and repr, and has the same repr and the same tensors.
func TestLayersOfTheRecordedCasesCanBeMade(t *testing.T) {
	testenv.Libtorch(t)
	files, err := filepath.Glob(filepath.Join(testenv.Fixtures(t, "fx"), "*", "modules.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	made, seen := 0, map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var modules []recordedModule
		require.NoError(t, json.Unmarshal(text, &modules))
		for _, m := range modules {
			name := m.Type[strings.LastIndexByte(m.Type, '.')+1:]
			if !strings.HasPrefix(m.Type, "torch.nn.modules.") || m.Repr == "" || seen[m.Repr] || contains(notMadeFromRepr, name) {
				continue
			}
			seen[m.Repr] = true
			layer, err := nn.FromRepr(m.Type, m.Repr)
			require.NoError(t, err, "%s: %s", file, m.Path)
			assert.Equal(t, m.Repr, nn.Repr(layer), file)
			assert.Equal(t, shapes(m), own(layer), "%s: %s", file, m.Path)
			made++
		}
	}
	assert.Greater(t, made, 30)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func shapes(m recordedModule) []string {
	var out []string
	for _, group := range []map[string][]any{m.Parameters, m.Buffers} {
		for name, v := range group {
			text, _ := json.Marshal(v[1])
			out = append(out, name+" "+v[0].(string)+" "+string(text))
		}
	}
	sort.Strings(out)
	return out
}

// own lists the tensors that are the module's and no child's.
func own(m nn.Module) []string {
	var out []string
	for name, x := range nn.StateDict(m) {
		if strings.Contains(name, ".") {
			continue
		}
		text, _ := json.Marshal(x.Shape())
		out = append(out, name+" torch."+x.DType().Name()+" "+string(text))
	}
	sort.Strings(out)
	return out
}
