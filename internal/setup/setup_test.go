package setup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/install"
)

func TestFromNothing(t *testing.T) {
	m := newMachine(t)
	r, err := Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.True(t, r.Changed)
	assert.Equal(t, []string{"torch", "nvidia-cuda-runtime", "compiler"}, m.ran())

	rec, err := install.Read(m.home)
	require.NoError(t, err)
	assert.Equal(t, r.Record.Bridge, rec.Bridge)
	assert.Equal(t, install.Downloaded, rec.Source)
	assert.Equal(t, TorchVersion, rec.TorchVersion)
	assert.Equal(t, 7, rec.BridgeABI)
	assert.Equal(t, "fake++ 1.0", rec.Compiler)
	assert.Equal(t, "FAKE2", rec.Extra["cpu"])
	assert.Equal(t, "no: no driver", rec.Extra["cuda"])
	assert.False(t, rec.CUDA)
	assert.Equal(t, []string{
		"bridge/" + rec.BridgeKey + "/bridge.so",
		"install.json",
		"libtorch-2.15.0/.components/nvidia-cuda-runtime.json",
		"libtorch-2.15.0/.components/torch.json",
		"libtorch-2.15.0/nvidia/cu13/lib/libcudart.so.13",
		"libtorch-2.15.0/torch/include/ATen/core/dispatch/Dispatcher.h",
		"libtorch-2.15.0/torch/include/torch/csrc/api/include/torch/all.h",
		"libtorch-2.15.0/torch/include/torch/headeronly/version.h",
		"libtorch-2.15.0/torch/lib/" + libName("c10"),
		"libtorch-2.15.0/torch/lib/" + libName("torch_cpu"),
		"libtorch-2.15.0/torch-2.15.0.dist-info/licenses/LICENSE",
	}, m.files(), "only what is needed, and no wheel, stays")
}

func TestSecondCallDoesNothing(t *testing.T) {
	m := newMachine(t)
	first, err := Run(t.Context(), m.opts)
	require.NoError(t, err)
	m.ran()
	second, err := Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.False(t, second.Changed)
	assert.Empty(t, m.ran())
	assert.Equal(t, first.Record, second.Record)

	m.remove("g++")
	m.remove("python3")
	second, err = Run(t.Context(), m.opts)
	require.NoError(t, err, "what is set up needs no compiler and no Python any more")
	assert.False(t, second.Changed)
}

func TestDoesAgainOnlyWhatChanged(t *testing.T) {
	tests := []struct {
		name   string
		change func(m *machine)
		ran    []string
	}{
		{"sources", func(m *machine) {
			m.opts.bridge.sources = fstest.MapFS{"bridge.cc": {Data: []byte("source 2")}}
		}, []string{"compiler"}},
		{"compiler", func(m *machine) {
			m.program("g++", `[ "$1" = --version ] && echo "fake++ 2.0" && exit`+"\n"+compilerOK)
		}, []string{"compiler"}},
		{"bridge deleted", func(m *machine) {
			require.NoError(m.t, os.RemoveAll(filepath.Join(m.home, "bridge")))
		}, []string{"compiler"}},
		{"library cut", func(m *machine) {
			require.NoError(m.t, os.Truncate(filepath.Join(m.home, "libtorch-2.15.0", "torch", "lib", libName("c10")), 3))
		}, []string{"torch"}},
		{"header deleted", func(m *machine) {
			require.NoError(m.t, os.Remove(filepath.Join(m.home, "libtorch-2.15.0", "torch", "include", "torch", "headeronly", "version.h")))
		}, []string{"torch"}},
		{"record damaged", func(m *machine) {
			require.NoError(m.t, os.WriteFile(filepath.Join(m.home, install.FileName), []byte("{"), 0o644))
		}, nil},
		{"CUDA asked for", func(m *machine) { m.opts.CUDA = true }, []string{"nvidia-cublas"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := newMachine(t)
			_, err := Run(t.Context(), m.opts)
			require.NoError(t, err)
			m.ran()
			tc.change(m)
			r, err := Run(t.Context(), m.opts)
			require.NoError(t, err)
			assert.True(t, r.Changed)
			assert.ElementsMatch(t, tc.ran, m.ran())
			r, err = Run(t.Context(), m.opts)
			require.NoError(t, err)
			assert.False(t, r.Changed, "and then it is done")
		})
	}
}

func TestMovedHome(t *testing.T) {
	m := newMachine(t)
	_, err := Run(t.Context(), m.opts)
	require.NoError(t, err)
	m.ran()
	moved := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.Rename(m.home, moved))
	m.opts.Home = moved
	_, err = Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, []string{"compiler"}, m.ran(), "the bridge knows libtorch by its place")
}

func TestGoesOnWhereItStopped(t *testing.T) {
	m := newMachine(t)
	m.program("g++", `[ "$1" = --version ] && echo "fake++ 1.0" && exit; exit 1`)
	_, err := Run(t.Context(), m.opts)
	require.Error(t, err)
	assert.Equal(t, []string{"torch", "nvidia-cuda-runtime"}, m.ran())
	assert.NotContains(t, m.files(), install.FileName)

	m.program("g++", compilerOK)
	_, err = Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, []string{"compiler"}, m.ran())
}

func TestKeepsAWholeWheel(t *testing.T) {
	m := newMachine(t)
	w := m.opts.platform.cpu[0].wheel
	place := filepath.Join(m.home, "downloads", w.fileName())
	require.NoError(t, os.MkdirAll(filepath.Dir(place), 0o755))
	data, err := os.ReadFile(filepath.Join(m.wheels, "torch.whl"))
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(place, data[:len(data)/2], 0o644))
	_, err = Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, []string{"torch", "nvidia-cuda-runtime", "compiler"}, m.ran(), "half a wheel is fetched again")

	require.NoError(t, os.RemoveAll(m.home))
	require.NoError(t, os.MkdirAll(filepath.Dir(place), 0o755))
	require.NoError(t, os.WriteFile(place, data, 0o644))
	_, err = Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, []string{"nvidia-cuda-runtime", "compiler"}, m.ran(), "a whole one is not")
}

func TestInterrupted(t *testing.T) {
	m := newMachine(t)
	m.program("g++", `[ "$1" = --version ] && echo "fake++ 1.0" && exit
echo compiler >> "$FAKE_LOG"
`+tool(t, "/bin/sleep")+` 60`) // a child that holds the streams of the compiler open
	ctx, cancel := context.WithCancel(t.Context())
	var cancelled time.Time
	go func() {
		for ctx.Err() == nil {
			if data, _ := os.ReadFile(os.Getenv("FAKE_LOG")); strings.Contains(string(data), "compiler") {
				cancelled = time.Now()
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	_, err := Run(ctx, m.opts)
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "run torchfx setup again")
	assert.Less(t, time.Since(cancelled), 4*time.Second, "the compiler and its children are stopped, not waited for")
	assert.NotContains(t, m.files(), install.FileName)
	m.ran()

	m.program("g++", compilerOK)
	_, err = Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, []string{"compiler"}, m.ran())
}

func TestManyAtOnce(t *testing.T) {
	m := newMachine(t)
	m.program("g++", `[ "$1" = --version ] && echo "fake++ 1.0" && exit
`+tool(t, "/bin/sleep")+` 0.3
`+compilerOK)
	var wg sync.WaitGroup
	changed := make([]bool, 4)
	errs := make([]error, len(changed))
	for i := range changed {
		wg.Go(func() {
			r, err := Run(t.Context(), m.opts)
			errs[i] = err
			changed[i] = err == nil && r.Changed
		})
	}
	wg.Wait()
	n := 0
	for i := range changed {
		require.NoError(t, errs[i])
		if changed[i] {
			n++
		}
	}
	assert.Equal(t, 1, n, "one works, the others find its work")
	assert.Equal(t, []string{"torch", "nvidia-cuda-runtime", "compiler"}, m.ran())
	assert.Contains(t, m.log.text(), "another torchfx setup works in")
}

func TestGivenLibtorch(t *testing.T) {
	m := newMachine(t)
	torch := m.torchDir("2.11.3")
	for _, place := range []string{filepath.Dir(torch), torch} {
		t.Setenv("LIBTORCH", place)
		r, err := Run(t.Context(), m.opts)
		require.NoError(t, err)
		assert.Equal(t, install.Given, r.Record.Source)
		assert.Equal(t, torch, r.Record.TorchDir)
		assert.Equal(t, "2.11.3", r.Record.TorchVersion)
	}
	assert.Equal(t, []string{"compiler"}, m.ran(), "nothing is downloaded, and both places are one")
	assert.Contains(t, m.log.text(), "2.11.3 is not 2.15.0")

	t.Setenv("LIBTORCH", "")
	r, err := Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, install.Downloaded, r.Record.Source, "a variable that is gone is no longer followed")
}

func TestPythonsTorch(t *testing.T) {
	m := newMachine(t)
	dir := t.TempDir()
	put := func(version string) { writeTorch(t, dir, version) }
	m.program("python3", `[ "$1" = -c ] && echo '"`+filepath.Join(dir, "torch")+`"' && exit`+"\n"+pythonOK)

	put("2.14.0")
	r, err := Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, install.Downloaded, r.Record.Source, "another version is passed over")
	assert.Contains(t, m.log.text(), "expected version 2.15.0, got 2.14.0")
	require.NoError(t, os.RemoveAll(m.home))
	m.ran()

	put(TorchVersion)
	r, err = Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, install.Python, r.Record.Source)
	assert.Equal(t, []string{"compiler"}, m.ran())

	put("2.14.0") // upgraded under our feet
	r, err = Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, install.Downloaded, r.Record.Source)

	put(TorchVersion)
	require.NoError(t, os.RemoveAll(m.home))
	m.opts.Download = true
	r, err = Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.Equal(t, install.Downloaded, r.Record.Source, "--download passes Python by")
}

func TestTriedBeforeItIsRecorded(t *testing.T) {
	m := newMachine(t)
	try := m.opts.bridge.try
	m.opts.bridge.try = func(file, libDir string) (*Facts, error) {
		assert.FileExists(t, file)
		assert.FileExists(t, filepath.Join(libDir, libName("torch_cpu")))
		assert.NoFileExists(t, filepath.Join(m.home, install.FileName))
		return try(file, libDir)
	}
	_, err := Run(t.Context(), m.opts)
	require.NoError(t, err)
}
