package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// The embedded catalogue is what the libtorch that is set up says, if that is
// the same version.
func TestEmbeddedIsLive(t *testing.T) {
	testenv.Libtorch(t)
	text, version, err := live()
	require.NoError(t, err)
	if version != ir.Operators().Version() {
		t.Skipf("libtorch is %s, the catalogue %s", version, ir.Operators().Version())
	}
	committed, err := os.ReadFile("../../ir/catalogue_" + version + ".txt")
	require.NoError(t, err)
	if text == string(committed) {
		assert.Equal(t, 3483, strings.Count(text, "\n"))
		return
	}
	want, got := slices.Collect(strings.Lines(string(committed))), slices.Collect(strings.Lines(text))
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("live, not embedded: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("embedded, not live: %s", line)
		}
	}
}
