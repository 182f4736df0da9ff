package libtorch

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/install"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// What a process has opened stays open, so each way to open it is tried in a
// process of its own: this test binary, told what to do.
const helperVariable = "TORCHFX_TEST_OPEN"

func TestMain(m *testing.M) {
	if job := os.Getenv(helperVariable); job != "" {
		os.Exit(openAsTold(job))
	}
	os.Exit(m.Run())
}

// openAsTold opens "preload,bridge,libdir" and prints the class and the error.
func openAsTold(job string) int {
	preload, rest, _ := strings.Cut(job, ",")
	bridge, libDir, _ := strings.Cut(rest, ",")
	if preload != "" {
		if _, err := dlopen(preload); err == nil {
			fmt.Println("the preloaded library is a bridge")
			return 1
		}
	}
	err := OpenBridge(bridge, libDir)
	fmt.Println(ir.ClassOf(err))
	fmt.Println(err)
	return 0
}

func openElsewhere(t *testing.T, preload, bridge, libDir string) (class, text string) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), helperVariable+"="+preload+","+bridge+","+libDir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	class, text, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	return class, text
}

// stub compiles a C library.
func stub(t *testing.T, name, source string, args ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("SKIPPED, needs a C compiler")
	}
	dir := t.TempDir()
	src, lib := filepath.Join(dir, "stub.c"), filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(src, []byte(source), 0o600))
	wd, err := os.Getwd()
	require.NoError(t, err)
	out, err := exec.Command(cc, append([]string{"-shared", "-fPIC", "-I" + filepath.Join(wd, "bridge"), "-o", lib, src}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return lib
}

func TestBridgeOfAnotherVersion(t *testing.T) {
	tests := []struct {
		name, source, class, say string
	}{
		{"newer table", `{.abi = TFX_ABI + 1, .size = sizeof(tfx_api), .bridge_version = "9.9", .torch_compiled = "2.15.0", .torch_running = running}`,
			ir.ErrVersion.Error(), fmt.Sprintf("expected function table %d of torchfx %s, got %d of torchfx 9.9; run `torchfx setup`", ABI, BridgeVersion, ABI+1)},
		{"table of another size", `{.abi = TFX_ABI, .size = 8, .bridge_version = "9.9", .torch_compiled = "2.15.0", .torch_running = running}`,
			ir.ErrVersion.Error(), "bytes, got 8; run `torchfx setup`"},
		{"another libtorch", `{.abi = TFX_ABI, .size = sizeof(tfx_api), .bridge_version = "1", .torch_compiled = "2.14.1", .torch_running = running}`,
			ir.ErrVersion.Error(), "expected libtorch 2.14.1, which it was compiled for, got 2.15.0"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			lib := stub(t, BridgeName(), `#include "tfx.h"
static uint64_t running(void) { return (uint64_t)2 << 56 | (uint64_t)15 << 48; }
static const tfx_api api = `+tc.source+`;
const tfx_api* tfx_get_api(void) { return &api; }`)
			class, text := openElsewhere(t, "", lib, filepath.Dir(lib))
			assert.Equal(t, tc.class, class)
			assert.Contains(t, text, tc.say)
		})
	}
}

func TestBridgesThatDoNotLoad(t *testing.T) {
	class, text := openElsewhere(t, "", stub(t, "libother.so", "int x;"), t.TempDir())
	assert.Equal(t, ir.ErrVersion.Error(), class)
	assert.Contains(t, text, "not a bridge: no symbol tfx_get_api")

	class, text = openElsewhere(t, "", filepath.Join(t.TempDir(), "none.so"), t.TempDir())
	assert.Equal(t, ir.ErrMissing.Error(), class)
	assert.Contains(t, text, "run `torchfx setup`")

	class, text = openElsewhere(t, "", stub(t, "libundefined.so", "void gone(void); void f(void) { gone(); }"), t.TempDir())
	assert.Equal(t, ir.ErrVersion.Error(), class)
	assert.Contains(t, text, "undefined symbol: gone")
}

// TestTwoLibtorches has another library of libtorch's name in the process first.
func TestTwoLibtorches(t *testing.T) {
	r := testenv.Record(t)
	other := stub(t, "libtorch_cpu.so", "int x;")
	class, text := openElsewhere(t, other, r.Bridge, r.LibDir)
	assert.Equal(t, ir.ErrVersion.Error(), class)
	assert.Contains(t, text, "expected one copy in the process, got "+other)
	assert.Contains(t, text, r.LibDir)
}

func TestOpenIsIdempotent(t *testing.T) {
	r := testenv.Record(t)
	require.NoError(t, Open())
	require.NoError(t, Open())
	require.NoError(t, OpenDir(install.Home()))
	require.NoError(t, OpenBridge(r.Bridge, r.LibDir))
	err := OpenBridge(stub(t, BridgeName(), "int x;"), r.LibDir)
	require.ErrorIs(t, err, ir.ErrVersion)
	assert.ErrorContains(t, err, "expected one bridge in a process")
	require.ErrorIs(t, OpenDir(t.TempDir()), ir.ErrMissing)
	require.ErrorIs(t, SetSlots(4), ir.ErrRuntime)
	require.ErrorIs(t, SetSlots(0), ir.ErrValue)
}

func TestInfo(t *testing.T) {
	testenv.Libtorch(t)
	info, err := GetInfo()
	require.NoError(t, err)
	assert.Regexp(t, `^2\.\d+\.\d+`, info.TorchVersion)
	assert.NotEmpty(t, info.CPUCapability)
	assert.NotEmpty(t, info.BLAS)
	assert.NotEmpty(t, info.Config)
	assert.Equal(t, BridgeVersion, info.BridgeVersion)
	assert.Equal(t, info.CUDA, info.CUDAWhy == "", "CUDA, or why not")
	assert.Positive(t, info.Slots)
}

// TestSourcesSayTheSameVersions compares the constants of Go with the C header.
func TestSourcesSayTheSameVersions(t *testing.T) {
	header, err := fs.ReadFile(Sources(), "bridge/tfx.h")
	require.NoError(t, err)
	abi := regexp.MustCompile(`#define TFX_ABI (\d+)`).FindSubmatch(header)
	require.NotNil(t, abi)
	assert.Equal(t, strconv.Itoa(ABI), string(abi[1]))
	assert.True(t, bytes.Contains(header, []byte(`#define TFX_BRIDGE_VERSION "`+BridgeVersion+`"`)))
	_, err = fs.Stat(Sources(), "bridge/bridge.cc")
	require.NoError(t, err)
	_, err = fs.Stat(Sources(), "bridge/standin/nlohmann/json.hpp")
	require.NoError(t, err)
}

func TestVersions(t *testing.T) {
	assert.Equal(t, "2.15.0", version(2<<56|15<<48))
	for give, want := range map[string]string{"2.15.0": "2.15.0", "2.15.0+cpu": "2.15.0", "2.15.0a0": "2.15.0", "2.15.1.dev1": "2.15.1"} {
		assert.Equal(t, want, release(give), give)
	}
}

func TestOperatorLibrary(t *testing.T) {
	testOps(t)
	lib, err := testenv.BuildLibrary(filepath.Join("testdata", "ops.cc"))
	require.NoError(t, err)
	t.Chdir(filepath.Dir(lib))
	require.NoError(t, OpenLibrary(filepath.Base(lib)), "a second time does nothing; a bare name is a file of this folder")
	all, err := Operators()
	require.NoError(t, err)
	assert.NotNil(t, all.Lookup("tfxtest::state"))
	err = OpenLibrary(filepath.Join(t.TempDir(), "none.so"))
	require.ErrorIs(t, err, ir.ErrMissing)
	assert.ErrorContains(t, err, "none.so")
}
