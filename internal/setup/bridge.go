package setup

import (
	"io/fs"
	"strings"

	"github.com/torchfx-go/torchfx/internal/install"
	"github.com/torchfx-go/torchfx/ir"
)

// A library is what there is to compile.
type library struct {
	what    string // for messages: "the bridge"
	name    string // file name
	sources fs.FS
	// steps are the compiler's command lines without the compiler, run one after
	// the other in the folder of the sources, against headers and a folder of libraries
	steps func(includeDirs []string, libDir, out string) [][]string
}

// A bridge is the library between Go and libtorch, and how to see that it works.
type bridge struct {
	library
	abi    int
	graphs *library // which captures CUDA graphs, and lies beside the bridge; nil for none
	// try loads a compiled bridge with the libtorch in libDir and runs an operator
	try func(file, libDir string) (*Facts, error)
}

// explainLoad turns what the loader says about a library it cannot load into what
// to do about it.
func explainLoad(err error, rec *install.Record) error {
	text := err.Error()
	f := &Failure{What: "libtorch in " + rec.LibDir + " does not load", Err: err}
	switch {
	case strings.Contains(text, "GLIBCXX_") || strings.Contains(text, "CXXABI_"):
		f.What += ": the C++ library of this system is older than the compiler's or libtorch's"
		f.Fix = []string{"apt-get install libstdc++6, or a newer distribution", "CXX=/usr/bin/g++ torchfx setup, the system's own compiler"}
	case strings.Contains(text, "GLIBC_"):
		f.What += ": the C library of this system is too old"
		f.Fix = []string{"use a newer distribution (Debian 10, Ubuntu 20.04, RHEL 8 or newer)"}
	case strings.Contains(text, "cannot open shared object file") || strings.Contains(text, "Library not loaded"):
		f.What += ": a library that it needs is not there"
		f.Fix = []string{"torchfx setup --download, which brings all of them", "install the library that is named"}
	case strings.Contains(text, "undefined symbol") || strings.Contains(text, "Symbol not found"):
		f.What += ": headers and libraries are of different builds"
		f.Fix = []string{"set LIBTORCH to a folder of one build", "torchfx setup --download"}
	default:
		f.Fix = []string{"torchfx doctor", "torchfx setup --download"}
	}
	if ir.ClassOf(err) == ir.ErrVersion {
		f.Fix = []string{"torchfx setup --download, which takes libtorch " + TorchVersion}
	}
	return f
}
