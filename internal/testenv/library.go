package testenv

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/torchfx-go/torchfx/internal/install"
)

// FixtureOperators returns a library of the operators that the recorded programs
// custom_op, custom_op_mutating, auto_functionalized and effect_token call. It is
// for libtorch.OpenLibrary.
func FixtureOperators(tb testing.TB) string {
	tb.Helper()
	Libtorch(tb)
	lib, err := BuildLibrary(filepath.Join(Root(tb), "internal", "testenv", "testdata", "fixtures.cc"))
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return lib
}

// PointwiseDelegate returns a library that is a delegate for tests: it knows of some
// pointwise operations, whose bits are libtorch's. It is for libtorch.OpenDelegateFile.
func PointwiseDelegate(tb testing.TB) string {
	tb.Helper()
	Libtorch(tb)
	lib, err := BuildLibrary(filepath.Join(Root(tb), "internal", "testenv", "testdata", "delegate.cc"))
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return lib
}

var ownInclude = regexp.MustCompile(`(?m)^#include "(.*)"`)

// BuildLibrary compiles one C++ file against the libtorch that is set up and
// returns the shared library. What was compiled before from the same source, with
// the same headers beside it, and for the same libtorch is returned at once.
func BuildLibrary(source string) (string, error) {
	if err := home(); err != nil {
		return "", err
	}
	r, err := install.Read(install.Home())
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	for _, m := range ownInclude.FindAllSubmatch(text, -1) {
		header, err := os.ReadFile(filepath.Join(filepath.Dir(source), filepath.FromSlash(string(m[1]))))
		if err != nil {
			return "", err
		}
		text = append(text, header...)
	}
	sum := sha256.Sum256(append(text, r.TorchVersion+r.LibDir...))
	dir := filepath.Join(install.Home(), "bridge", "test-"+hex.EncodeToString(sum[:8]))
	lib := filepath.Join(dir, "lib"+strings.TrimSuffix(filepath.Base(source), ".cc")+".so")
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	made := lib + "." + strconv.Itoa(os.Getpid()) // renamed when whole: packages are tested side by side
	args := []string{"-std=c++20", "-O1", "-fPIC", "-shared", "-w"}
	for _, inc := range r.IncludeDirs {
		args = append(args, "-isystem", inc)
	}
	args = append(args, source, "-o", made, "-L"+r.LibDir, "-Wl,-rpath,"+r.LibDir, "-ltorch_cpu", "-lc10",
		"-Wl,--unresolved-symbols=ignore-in-shared-libs")
	if log, err := exec.Command("c++", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile %s: %w\n%s", source, err, log)
	}
	return lib, os.Rename(made, lib)
}
