package testenv

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/torchfx-go/torchfx/internal/install"
)

// MainWithExamples is a TestMain for packages whose examples need libtorch: it
// leaves them out where libtorch is not set up, since an example cannot skip
// itself. Without TORCHFX_HOME it looks in the module's third_party.
func MainWithExamples(m *testing.M) {
	flag.Parse()
	if dir, err := root(); err == nil && os.Getenv("TORCHFX_HOME") == "" {
		os.Setenv("TORCHFX_HOME", filepath.Join(dir, "third_party"))
	}
	run := flag.Lookup("test.run")
	if _, err := install.Read(install.Home()); err != nil && run.Value.String() == "" && os.Getenv("TORCHFX_REQUIRE_LIBTORCH") != "1" {
		fmt.Printf("SKIPPED the examples, which need libtorch: %v\n", err)
		_ = run.Value.Set("^(Test|Fuzz)")
	}
	os.Exit(m.Run())
}
