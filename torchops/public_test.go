package torchops

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// deprecated are the lines of calls in an old order of arguments, which Python
// takes with a warning and this package does not.
var deprecated = []int{8668}

// TestRecordedPublicCalls replays the recorded calls of the functions and methods
// that this package knows by their Python names.
func TestRecordedPublicCalls(t *testing.T) {
	testenv.Libtorch(t)
	dir := testenv.Fixtures(t, "ops")
	data := readTensors(t, filepath.Join(dir, "tensors.safetensors"))
	file, err := os.Open(filepath.Join(dir, "public.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	passed, unknown := 0, 0
	for n := 1; lines.Scan(); n++ {
		if n%every != 0 {
			continue
		}
		var c recordedCall
		decoder := json.NewDecoder(strings.NewReader(lines.Text()))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&c))
		_, out := c.Kwargs["out"]
		_, grad := c.Kwargs["requires_grad"]
		if _, known := implementations.Load(ir.FuncOf(c.Fn)); !known || out || grad || slices.Contains(deprecated, n) {
			unknown++
			continue
		}
		if d := replay(data, &c); d != "" {
			assert.Failf(t, "another result", "line %d, %s: %s", n, c.Fn, d)
			continue
		}
		passed++
	}
	require.NoError(t, lines.Err())
	if every == 1 {
		require.Greater(t, passed, 2200)
	}
	t.Logf("%d calls passed, %d are of functions not known here", passed, unknown)
}
