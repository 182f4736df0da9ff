package libtorch

import (
	"embed"
	"io/fs"
	"runtime"
)

// The version of the function table between Go and C++, and of the bridge for
// people. bridge/tfx.h holds the same numbers; a test compares them.
const (
	ABI           = 7
	BridgeVersion = "0.1.0"
)

//go:embed bridge/*.cc bridge/*.h bridge/standin/nlohmann/*.hpp
var sources embed.FS

// Sources returns the C++ sources of the bridge, for set-up to write out and
// compile: bridge.cc at the root, which includes the rest.
func Sources() fs.FS {
	sub, err := fs.Sub(sources, "bridge")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// BridgeName returns the file name of the compiled bridge.
func BridgeName() string {
	if runtime.GOOS == "darwin" {
		return "libtorchfx_bridge.dylib"
	}
	return "libtorchfx_bridge.so"
}

// CompileArgs returns the arguments for a C++20 compiler that build the bridge
// from [Sources], written out into the working directory of the compiler:
// one translation unit, about ten seconds. includeDirs are libtorch's; libDir
// holds libtorch_cpu and libc10 and becomes the run path of the library, so that
// no environment variable is needed; out is the file to write.
//
// libtorch_cpu names CUDA's runtime libraries; they are found at run time by
// libtorch's own run path and need not be there to compile.
func CompileArgs(includeDirs []string, libDir, out string) []string {
	args := []string{"-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-DNDEBUG", "-w"}
	for _, dir := range includeDirs {
		args = append(args, "-isystem", dir)
	}
	args = append(args, "-idirafter", "standin", "-o", out, "bridge.cc", "-L"+libDir, "-Wl,-rpath,"+libDir)
	if runtime.GOOS != "darwin" {
		// Keep both libraries named even where a linker drops what it thinks unused,
		// fail here rather than at run time when a symbol is missing from them, and
		// do not follow what they name themselves.
		args = append(args, "-Wl,--no-as-needed", "-Wl,-z,defs", "-Wl,--unresolved-symbols=ignore-in-shared-libs")
	}
	if runtime.GOOS != "darwin" {
		// Programs that AOTInductor compiled name libtorch.so beside libtorch_cpu.so. It is
		// an empty library that only pulls the others in, and the bridge stands for it.
		args = append(args, "-Wl,-soname,libtorch.so")
	}
	args = append(args, "-ltorch_cpu", "-lc10")
	if runtime.GOOS != "darwin" {
		args = append(args, "-ldl")
	}
	return args
}
