package passes

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

func TestChoices(t *testing.T) {
	testenv.Libtorch(t)
	name := filepath.Join(t.TempDir(), "choices.json")
	c, err := OpenChoices(name)
	require.NoError(t, err)
	asked := 0
	ways := func(m *measured) error {
		asked++
		small, large := m.call("aten::ones", []int{4}), m.call("aten::ones", []int{1 << 20})
		m.way("slow", "aten::sin", large)
		m.way("fast", "aten::sin", small)
		return m.err
	}
	for range 2 {
		choice, err := c.choose("a key", 1, ways)
		require.NoError(t, err)
		assert.Equal(t, "fast", choice.Way)
		assert.Less(t, choice.Nanos["fast"], choice.Nanos["slow"])
	}
	require.NoError(t, c.Save(name))
	again, err := OpenChoices(name)
	require.NoError(t, err)
	assert.Equal(t, c.All(), again.All())
	choice, err := again.choose("a key", 1, ways)
	require.NoError(t, err)
	assert.Equal(t, "fast", choice.Way)
	assert.Equal(t, 1, asked, "measured once")
	_, err = c.choose("another", 1, func(m *measured) error { m.way("none", "aten::nosuch"); return nil })
	require.Error(t, err)
	assert.False(t, math.IsInf(choice.Nanos["slow"], 1))
}

// The second process that freezes a network finds in the file what the first one measured,
// and writes nothing.
func TestKeepChoices(t *testing.T) {
	testenv.Libtorch(t)
	name := filepath.Join(t.TempDir(), "choices.json")
	freeze := func(into string, opts ...FreezeOption) (*Frozen, error) {
		g, err := ir.ParseCode("def forward(self, x):\n    w = self.w\n    c = torch.conv2d(x, w)\n    r = c.relu()\n    return r")
		require.NoError(t, err)
		gm, err := ir.NewGraphModule(map[string]any{"w": randn(t, 8, 8, 3, 3)}, g)
		require.NoError(t, err)
		return Freeze(t.Context(), gm, append(opts, FreezeArgs(randn(t, 1, 8, 10, 12)), KeepChoices(into))...)
	}
	frozen, err := freeze(name)
	require.NoError(t, err)
	defer frozen.Close()
	first, err := OpenChoices(name)
	require.NoError(t, err)
	require.NotEmpty(t, first.All())
	written, err := os.Stat(name)
	require.NoError(t, err)
	again, err := freeze(name)
	require.NoError(t, err)
	defer again.Close()
	assert.Equal(t, frozen.Report, again.Report)
	after, err := os.Stat(name)
	require.NoError(t, err)
	assert.Equal(t, written.ModTime(), after.ModTime())

	require.NoError(t, os.WriteFile(name, []byte("no choices"), 0o600))
	_, err = freeze(name)
	require.ErrorIs(t, err, ir.ErrFormat)
	_, err = freeze(filepath.Join(name, "below a file"))
	require.Error(t, err)
}
