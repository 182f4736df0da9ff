package functional_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/torchfx-go/torchfx/internal/install"
)

// TestMain leaves out the examples where libtorch is not set up, since an example
// cannot skip itself.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("TORCHFX_HOME") == "" {
		if home, err := filepath.Abs("../../third_party"); err == nil {
			os.Setenv("TORCHFX_HOME", home)
		}
	}
	if _, err := install.Read(install.Home()); err != nil && flag.Lookup("test.run").Value.String() == "" {
		fmt.Printf("SKIPPED the examples, which need libtorch: %v\n", err)
		flag.Set("test.run", "^(Test|Fuzz)")
	}
	os.Exit(m.Run())
}
