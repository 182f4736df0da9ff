package setup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/install"
)

// withDelegate gives the machine's platform a delegate of a few bytes.
func (m *machine) withDelegate() *regionLibrary {
	d := &regionLibrary{
		library: library{"the delegate", "delegate.so", fstest.MapFS{"bridge.cc": {Data: []byte("delegate 1")}},
			func(includeDirs []string, libDir, out string) [][]string {
				return [][]string{{"-I" + includeDirs[0], "-L" + libDir, "-o", out}}
			}},
		kernels: []component{{
			name:  "kernels",
			wheel: m.wheel("kernels", map[string]string{"data/lib/libkernels.so.3": "kernels", "data/lib/libkernels.so": "left out"}),
			keep:  func(file string) bool { return strings.HasSuffix(file, ".so.3") },
		}},
		dir: "kernels-1", include: "data/include", lib: "data/lib",
		try: func(string) (string, error) { return "kernels 1.0", nil },
	}
	m.opts.platform.delegate = d
	return d
}

func TestDelegateIsMadeBesideTheBridge(t *testing.T) {
	m := newMachine(t)
	m.withDelegate()
	r, err := Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, []string{"torch", "nvidia-cuda-runtime", "compiler", "kernels", "compiler"}, m.ran())
	assert.Equal(t, "kernels 1.0", r.Record.Extra["delegate"])
	dir := filepath.Join(m.home, "delegate", r.Record.DelegateKey)
	assert.Equal(t, filepath.Join(dir, "delegate.so"), r.Record.Delegate)
	data, err := os.ReadFile(filepath.Join(dir, "libkernels.so.3"))
	require.NoError(t, err, "what it needs lies beside it")
	assert.Equal(t, "kernels", string(data))
	assert.NotContains(t, m.files(), "kernels-1/data/lib/libkernels.so")

	moved := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.Rename(m.home, moved))
	rec, err := install.Read(moved)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(moved, "delegate", rec.DelegateKey, "delegate.so"), rec.Delegate)
	_, err = os.ReadFile(filepath.Join(filepath.Dir(rec.Delegate), "libkernels.so.3"))
	assert.NoError(t, err, "the links move with the home")
}

func TestDelegateIsMadeAgainByItself(t *testing.T) {
	tests := []struct {
		name   string
		change func(m *machine, d *regionLibrary)
		ran    []string
	}{
		{"nothing", func(*machine, *regionLibrary) {}, nil},
		{"its sources", func(_ *machine, d *regionLibrary) {
			d.sources = fstest.MapFS{"bridge.cc": {Data: []byte("delegate 2")}}
		}, []string{"compiler"}},
		{"the bridge's sources", func(m *machine, _ *regionLibrary) {
			m.opts.bridge.sources = fstest.MapFS{"bridge.cc": {Data: []byte("source 2")}}
		}, []string{"compiler"}},
		{"deleted", func(m *machine, _ *regionLibrary) {
			require.NoError(m.t, os.RemoveAll(filepath.Join(m.home, "delegate")))
		}, []string{"compiler"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := newMachine(t)
			d := m.withDelegate()
			_, err := Run(t.Context(), m.opts)
			require.NoError(t, err)
			m.ran()
			tc.change(m, d)
			r, err := Run(t.Context(), m.opts)
			require.NoError(t, err)
			assert.ElementsMatch(t, tc.ran, m.ran())
			assert.Equal(t, tc.ran != nil, r.Changed)
			assert.Equal(t, "kernels 1.0", r.Record.Extra["delegate"])
			r, err = Run(t.Context(), m.opts)
			require.NoError(t, err)
			assert.False(t, r.Changed, "and then it is done")
		})
	}
}

// TestWithoutDelegate is what goes wrong with the delegate: the set-up succeeds,
// says why in a line, and tries again when it is called again.
func TestWithoutDelegate(t *testing.T) {
	tests := []struct {
		name   string
		change func(m *machine, d *regionLibrary)
		mend   func(m *machine, d *regionLibrary)
		say    string
	}{
		{"cannot be downloaded", func(m *machine, _ *regionLibrary) {
			require.NoError(m.t, os.Rename(filepath.Join(m.wheels, "kernels.whl"), filepath.Join(m.wheels, "away")))
		}, func(m *machine, _ *regionLibrary) {
			require.NoError(m.t, os.Rename(filepath.Join(m.wheels, "away"), filepath.Join(m.wheels, "kernels.whl")))
		}, "pip could not download kernels 1"},
		{"is not what it should be", func(_ *machine, d *regionLibrary) { d.kernels[0].wheel.sha256 = strings.Repeat("0", 64) },
			func(_ *machine, d *regionLibrary) { d.kernels[0].wheel.sha256 = "" }, "corrupted download: kernels 1 is not the official file"},
		{"does not compile", func(_ *machine, d *regionLibrary) { d.sources = fstest.MapFS{} },
			func(_ *machine, d *regionLibrary) {
				d.sources = fstest.MapFS{"bridge.cc": {Data: []byte("delegate 1")}}
			}, "the delegate does not compile with g++ (fake++ 1.0)"},
		{"does not run", func(_ *machine, d *regionLibrary) {
			d.try = func(string) (string, error) { return "", errors.New("illegal\ninstruction") }
		}, func(_ *machine, d *regionLibrary) {
			d.try = func(string) (string, error) { return "kernels 1.0", nil }
		}, "illegal instruction"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := newMachine(t)
			d := m.withDelegate()
			sum := d.kernels[0].wheel.sha256
			tc.change(m, d)
			r, err := Run(t.Context(), m.opts)
			require.NoError(t, err)
			assert.Empty(t, r.Record.Delegate)
			assert.Contains(t, r.Record.DelegateNote, tc.say)
			assert.NotContains(t, r.Record.DelegateNote, "\n")
			assert.Contains(t, m.log.text(), "delegate: none, libtorch runs everything: "+r.Record.DelegateNote)
			assert.FileExists(t, r.Record.Bridge)
			diagnosis := Diagnose(t.Context(), m.opts)
			assert.True(t, diagnosis.OK, "%v", diagnosis.Problems)
			assert.Equal(t, "none: "+r.Record.DelegateNote, diagnosis.Delegate)

			tc.mend(m, d)
			if d.kernels[0].wheel.sha256 == "" {
				d.kernels[0].wheel.sha256 = sum
			}
			r, err = Run(t.Context(), m.opts)
			require.NoError(t, err)
			assert.NotEmpty(t, r.Record.Delegate)
			assert.Empty(t, r.Record.DelegateNote)
		})
	}
}

func TestDelegateLeftOut(t *testing.T) {
	m := newMachine(t)
	m.withDelegate()
	m.opts.NoDelegate = true
	r, err := Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, []string{"torch", "nvidia-cuda-runtime", "compiler"}, m.ran())
	assert.Equal(t, leftOut, r.Record.DelegateNote)
	r, err = Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.False(t, r.Changed)
	m.opts.NoDelegate = false
	assert.Empty(t, Diagnose(t.Context(), m.opts).Notes, "it is as it was asked for")
	r, err = Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, "kernels 1.0", r.Record.Extra["delegate"])
}
