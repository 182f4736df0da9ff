package setup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/install"
	"github.com/torchfx-go/torchfx/ir"
)

// Each failure names what is missing and the command that mends it, and leaves no
// record behind.
func TestFailures(t *testing.T) {
	offline := `WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError("<HTTPSConnection>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution")': /simple/torch/
ERROR: Could not find a version that satisfies the requirement torch==1 (from versions: none)
ERROR: No matching distribution found for torch==1`
	tests := []struct {
		name  string
		spoil func(m *machine)
		what  []string // parts of the message
		fix   string   // the command it must name
	}{
		{"no compiler", func(m *machine) { m.remove("g++") },
			[]string{"no C++ compiler", "g++", "clang++"}, "apt-get install g++"},
		{"CXX names nothing", func(m *machine) { m.t.Setenv("CXX", "no-such-compiler -m64") },
			[]string{"no C++ compiler", "no-such-compiler"}, "set CXX"},
		{"no Python", func(m *machine) { m.remove("python3") },
			[]string{"no Python", "python3"}, "apt-get install python3 python3-pip"},
		{"no pip", func(m *machine) { m.program("python3", pythonNoPip) },
			[]string{"no pip", "python3 is there"}, "python3 -m ensurepip"},
		{"no network", func(m *machine) { m.program("python3", pipFails(offline)) },
			[]string{"no network", "torch 1", "Temporary failure"}, "HTTPS_PROXY"},
		{"index without torch", func(m *machine) { m.program("python3", pipFails("ERROR: No matching distribution found for torch==1")) },
			[]string{"has no torch 1"}, "PIP_INDEX_URL"},
		{"pip sees a wrong hash", func(m *machine) {
			m.program("python3", pipFails("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE."))
		}, []string{"corrupted download", "torch 1"}, "torchfx setup"},
		{"we see a wrong hash", func(m *machine) { writeZip(m.t, filepath.Join(m.wheels, "torch.whl"), map[string]string{"a": "b"}) },
			[]string{"corrupted download", "expected SHA-256"}, "torchfx setup"},
		{"pip fails otherwise", func(m *machine) { m.program("python3", pipFails("ERROR: something new")) },
			[]string{"pip could not download", "something new"}, "torchfx setup"},
		{"pip leaves nothing", func(m *machine) { m.program("python3", `case "$1 $3" in "-m --version") echo "pip 1 x" ;; esac`) },
			[]string{"left no wheel"}, "python3 -m pip download"},
		{"disk too small", func(m *machine) {
			old := free
			free = func(string) (int64, error) { return 5e6, nil }
			m.t.Cleanup(func() { free = old })
		}, []string{"not enough disk", "5 MB are free"}, "TORCHFX_HOME="},
		{"disk full while downloading", func(m *machine) {
			m.program("python3", pipFails("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"))
		}, []string{"the disk is full"}, "TORCHFX_HOME="},
		{"disk full while compiling", func(m *machine) {
			m.program("g++", `echo "fatal error: error writing to /tmp/x.s: No space left on device" >&2; exit 1`)
		}, []string{"the disk is full"}, "TORCHFX_HOME="},
		{"old glibc", func(m *machine) { m.program("getconf", `echo "glibc 2.17"`) },
			[]string{"glibc is too old", "2.28", "2.17"}, "newer distribution"},
		{"old glibc by ldd", func(m *machine) {
			m.remove("getconf")
			m.program("ldd", `echo "ldd (Ubuntu GLIBC 2.27-3ubuntu1) 2.27"; echo Copyright`)
		}, []string{"glibc is too old", "2.27"}, "newer distribution"},
		{"musl", func(m *machine) {
			m.program("getconf", `echo "getconf: GNU_LIBC_VERSION: unknown variable" >&2; exit 1`)
			m.program("ldd", `echo "musl libc (x86_64)" >&2; echo "Version 1.2.5" >&2; exit 1`)
		}, []string{"musl"}, "glibc"},
		{"LIBTORCH is empty", func(m *machine) { m.t.Setenv("LIBTORCH", m.t.TempDir()) },
			[]string{"is not a libtorch"}, "unset LIBTORCH"},
		{"LIBTORCH without headers", func(m *machine) {
			dir := m.t.TempDir()
			require.NoError(m.t, os.Mkdir(filepath.Join(dir, "lib"), 0o755))
			for _, stem := range []string{"torch_cpu", "c10"} {
				require.NoError(m.t, os.WriteFile(filepath.Join(dir, "lib", libName(stem)), nil, 0o644))
			}
			m.t.Setenv("LIBTORCH", dir)
		}, []string{"is not a libtorch", "Dispatcher.h"}, "set LIBTORCH"},
		{"LIBTORCH too old", func(m *machine) { m.t.Setenv("LIBTORCH", m.torchDir("2.10.0")) },
			[]string{"wrong version", "expected 2.15.0", "got 2.10.0"}, "unset LIBTORCH"},
		{"LIBTORCH too new", func(m *machine) { m.t.Setenv("LIBTORCH", m.torchDir("2.16.0")) },
			[]string{"wrong version", "got 2.16.0"}, "unset LIBTORCH"},
		{"LIBTORCH without CUDA", func(m *machine) {
			m.t.Setenv("LIBTORCH", m.torchDir(TorchVersion))
			m.opts.CUDA = true
		}, []string{"has no CUDA"}, "--cuda --download"},
		{"CUDA where there is none", func(m *machine) {
			m.opts.platform.cuda = nil
			m.opts.CUDA = true
		}, []string{"there is no CUDA"}, "without --cuda"},
		{"compiler too old", func(m *machine) {
			m.program("g++", `[ "$1" = --version ] && echo "g++ 7.5" && exit; echo "g++: error: unrecognized command line option '-std=c++20'" >&2; exit 1`)
		}, []string{"too old", "g++ 7.5", "C++20"}, "apt-get install g++-12"},
		{"no memory", func(m *machine) {
			m.program("g++", `[ "$1" = --version ] && echo "g++ 12" && exit; echo "g++: fatal error: Killed signal terminated program cc1plus" >&2; exit 1`)
		}, []string{"not enough memory"}, "more memory"},
		{"error in the sources", func(m *machine) {
			m.program("g++", `[ "$1" = --version ] && echo "g++ 12" && exit; echo "bridge.cc:3: error: oh" >&2; exit 1`)
		}, []string{"does not compile", "g++ 12", "bridge.cc:3: error: oh"}, "compile.log"},
		{"compiler makes nothing", func(m *machine) { m.program("g++", "exit 0") },
			[]string{"made no library"}, "CXX"},
		{"home is a file", func(m *machine) { require.NoError(m.t, os.WriteFile(m.home, nil, 0o644)) },
			[]string{"cannot write in"}, "TORCHFX_HOME="},
		{"glibc seen when loading", func(m *machine) { m.loadFails("/lib/libc.so.6: version `GLIBC_2.38' not found") },
			[]string{"C library of this system is too old", "GLIBC_2.38"}, "newer distribution"},
		{"libstdc++ too old", func(m *machine) { m.loadFails("libstdc++.so.6: version `GLIBCXX_3.4.32' not found") },
			[]string{"C++ library of this system is older"}, "apt-get install libstdc++6"},
		{"library missing when loading", func(m *machine) {
			m.loadFails("libcupti.so.13: cannot open shared object file: No such file or directory")
		}, []string{"a library that it needs is not there", "libcupti.so.13"}, "--download"},
		{"mixed builds", func(m *machine) { m.loadFails("bridge.so: undefined symbol: _ZN3c10") },
			[]string{"different builds"}, "LIBTORCH"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := newMachine(t)
			tc.spoil(m)
			_, err := Run(t.Context(), m.opts)
			var f *Failure
			require.ErrorAs(t, err, &f)
			for _, part := range tc.what {
				assert.ErrorContains(t, err, part)
			}
			assert.ErrorContains(t, err, "fix: ")
			assert.Contains(t, strings.Join(f.Fix, "\n"), tc.fix)
			assert.NotNil(t, ir.ClassOf(err), "has a class")
			_, err = install.Read(m.home)
			assert.Error(t, err, "no record stays")
		})
	}
}

func TestFailureKeepsTheOldRecord(t *testing.T) {
	m := newMachine(t)
	first, err := Run(t.Context(), m.opts)
	require.NoError(t, err)
	m.program("g++", `[ "$1" = --version ] && echo "fake++ 2.0" && exit; exit 1`)
	_, err = Run(t.Context(), m.opts)
	require.Error(t, err)
	rec, err := install.Read(m.home)
	require.NoError(t, err)
	assert.Equal(t, first.Record, rec)
	assert.FileExists(t, rec.Bridge)
}

func TestPlatforms(t *testing.T) {
	for _, tc := range []struct {
		goos, goarch string
		tested       bool
	}{{"linux", "amd64", true}, {"linux", "arm64", false}, {"darwin", "arm64", false}} {
		p, err := currentPlatform(tc.goos, tc.goarch)
		require.NoError(t, err)
		assert.Equal(t, tc.tested, p.tested, "%s/%s", tc.goos, tc.goarch)
		for _, c := range append(p.cpu, p.cuda...) {
			assert.Len(t, c.wheel.sha256, 64, c.name)
			assert.Positive(t, c.wheel.size, c.name)
			assert.NotEmpty(t, c.wheel.platform, c.name)
		}
	}
	for _, other := range [][2]string{{"windows", "amd64"}, {"darwin", "amd64"}, {"linux", "386"}, {"freebsd", "amd64"}} {
		_, err := currentPlatform(other[0], other[1])
		require.Error(t, err)
		assert.ErrorContains(t, err, "does not run on "+other[0]+"/"+other[1])
	}
}

func (m *machine) loadFails(text string) {
	m.opts.bridge.try = func(string, string) (*Facts, error) { return nil, errors.New(text) }
}
