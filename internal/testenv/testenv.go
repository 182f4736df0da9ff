// Package testenv finds what tests need outside the module: a set-up libtorch and
// the recorded cases. It is for tests alone; programs look for libtorch as package
// install says.
//
// A test whose needs are not met is skipped with a message that says what is
// missing and how to get it. TORCHFX_REQUIRE_LIBTORCH=1 and
// TORCHFX_REQUIRE_FIXTURES=1 turn these skips into failures.
package testenv

import (
	"cmp"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/torchfx-go/torchfx/internal/install"
)

// Root returns the root folder of the module.
func Root(tb testing.TB) string {
	tb.Helper()
	root, err := root()
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return root
}

var root = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", os.ErrNotExist
		}
		dir = up
	}
})

// home points TORCHFX_HOME to third_party in the module's root, unless it is set,
// and reports whether libtorch is set up there.
var home = sync.OnceValue(func() error {
	if os.Getenv("TORCHFX_HOME") == "" {
		dir, err := root()
		if err != nil {
			return err
		}
		if err := os.Setenv("TORCHFX_HOME", filepath.Join(dir, "third_party")); err != nil {
			return err
		}
	}
	_, err := install.Read(install.Home())
	return err
})

// Libtorch makes the libtorch of the checkout the one that is opened, and skips
// the test where there is none.
func Libtorch(tb testing.TB) {
	tb.Helper()
	if err := home(); err != nil {
		miss(tb, "TORCHFX_REQUIRE_LIBTORCH", "SKIPPED, needs libtorch: %v", err)
	}
}

// Delegate returns the library of the delegate that is set up, and skips the test
// where there is none; TORCHFX_REQUIRE_DELEGATE=1 makes that a failure.
func Delegate(tb testing.TB) string {
	tb.Helper()
	r := Record(tb)
	if r.Delegate == "" {
		miss(tb, "TORCHFX_REQUIRE_DELEGATE", "SKIPPED, needs the delegate on oneDNN: %s", cmp.Or(r.DelegateNote, "run `torchfx setup`"))
	}
	return r.Delegate
}

// Record is [Libtorch], and returns what set-up wrote.
func Record(tb testing.TB) *install.Record {
	tb.Helper()
	Libtorch(tb)
	r, err := install.Read(install.Home())
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return r
}

// Fixtures returns the folder of recorded cases below the one that
// TORCHFX_FIXTURES names, ../shared/fixtures beside the module's root by default,
// and skips the test where it is not there.
func Fixtures(tb testing.TB, elem ...string) string {
	tb.Helper()
	base := os.Getenv("TORCHFX_FIXTURES")
	if base == "" {
		base = filepath.Join(Root(tb), "..", "shared", "fixtures")
	}
	dir := filepath.Join(append([]string{base}, elem...)...)
	if _, err := os.Stat(dir); err != nil {
		miss(tb, "TORCHFX_REQUIRE_FIXTURES", "SKIPPED, needs recorded cases in %s; TORCHFX_FIXTURES names their folder", dir)
	}
	return dir
}

func miss(tb testing.TB, variable, format string, args ...any) {
	tb.Helper()
	if os.Getenv(variable) == "1" {
		tb.Fatalf(format, args...)
	}
	tb.Skipf(format, args...)
}

// Python returns the interpreter that TORCHFX_PYTHON names, which has PyTorch,
// torchvision and safetensors, or skips the test. `make reference-test` sets it.
func Python(tb testing.TB) string {
	tb.Helper()
	python := os.Getenv("TORCHFX_PYTHON")
	if python == "" {
		tb.Skip("TORCHFX_PYTHON names no Python with PyTorch; see make reference-test")
	}
	return python
}
