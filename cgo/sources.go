package libtorch

import (
	"embed"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
)

// The version of the function table between Go and C++, and of the bridge for
// people. bridge/tfx.h holds the same numbers; a test compares them.
const (
	ABI           = 17
	BridgeVersion = "0.1.0"
)

//go:embed delegate/tfx_delegate.h delegate/onednn/*.cc delegate/onednn/*.h
var delegateSources embed.FS

// DelegateSources returns the C++ sources of the delegate on oneDNN, for set-up to
// write out and compile.
func DelegateSources() fs.FS {
	sub, err := fs.Sub(delegateSources, "delegate")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// DelegateName is the file name of the compiled delegate. oneDNN is published for
// Linux alone.
const DelegateName = "libtorchfx_onednn.so"

// DelegateCompileSteps is [CompileSteps] for the delegate: one call of some ten
// seconds. includeDirs hold oneDNN's headers, libDir its library, which is looked for
// at run time beside the delegate. Neither libtorch nor an OpenMP runtime is linked:
// the one that oneDNN names is libtorch's, which is in the process before.
func DelegateCompileSteps(includeDirs []string, libDir, out string) [][]string {
	args := []string{"-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-DNDEBUG", "-w", "-I."}
	for _, dir := range includeDirs {
		args = append(args, "-isystem", dir)
	}
	args = append(args, "onednn/delegate.cc", "-shared", "-o", out, filepath.Join(libDir, "libdnnl.so.3"))
	// a run path of the old kind holds for what oneDNN needs itself, too
	return [][]string{append(args, "-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN")}
}

//go:embed bridge/*.cc bridge/*.h bridge/standin/*.h bridge/standin/*/*.h bridge/standin/nlohmann/*.hpp delegate/tfx_delegate.h
var sources embed.FS

// Sources returns the C++ sources of the bridge, for set-up to write out and
// compile: bridge/bridge.cc, which includes most of the rest, bridge/lanes.cc, and
// bridge/graphs.cc, which is a library of its own.
func Sources() fs.FS { return sources }

// BridgeName returns the file name of the compiled bridge.
func BridgeName() string {
	if runtime.GOOS == "darwin" {
		return "libtorchfx_bridge.dylib"
	}
	return "libtorchfx_bridge.so"
}

// CompileSteps returns the arguments of the calls of a C++20 compiler that build
// the bridge from [Sources], written out into the working directory of the
// compiler: one translation unit with all of libtorch's headers, some twenty
// seconds; lanes.cc once for each instruction set that libtorch has kernels for,
// a few seconds each; and the link. includeDirs are libtorch's; libDir holds
// libtorch_cpu and libc10 and becomes the run path of the library, so that no
// environment variable is needed; out is the file to write.
//
// libtorch_cpu names CUDA's runtime libraries; they are found at run time by
// libtorch's own run path and need not be there to compile.
func CompileSteps(includeDirs []string, libDir, out string) [][]string {
	common := []string{"-std=c++20", "-O2", "-fPIC", "-fno-plt", "-fvisibility=hidden", "-DNDEBUG", "-w"}
	for _, dir := range includeDirs {
		common = append(common, "-isystem", dir)
	}
	common = append(common, "-idirafter", "bridge/standin")
	var steps [][]string
	link := []string{"-shared", "-o", out}
	unit := func(source, object string, flags ...string) {
		steps = append(steps, slices.Concat(common, flags, []string{"-c", source, "-o", object}))
		link = append(link, object)
	}
	unit("bridge/bridge.cc", "bridge.o")
	// In the order of what they need of a processor: of a function that several
	// of them hold, an inline one of a header, the linker keeps the first.
	for _, set := range instructionSets() {
		flags := append([]string{"-DCPU_CAPABILITY=" + set.name, "-DCPU_CAPABILITY_" + set.name}, set.flags...)
		unit("bridge/lanes.cc", "lanes_"+set.name+".o", flags...)
	}
	link = append(link, "-L"+libDir, "-Wl,-rpath,"+libDir)
	if runtime.GOOS != "darwin" {
		// Keep both libraries named even where a linker drops what it thinks unused,
		// fail here rather than at run time when a symbol is missing from them, and
		// do not follow what they name themselves.
		link = append(link, "-Wl,--no-as-needed", "-Wl,-z,defs", "-Wl,--unresolved-symbols=ignore-in-shared-libs")
	}
	if runtime.GOOS != "darwin" {
		// Programs that AOTInductor compiled name libtorch.so beside libtorch_cpu.so. It is
		// an empty library that only pulls the others in, and the bridge stands for it.
		link = append(link, "-Wl,-soname,libtorch.so")
	}
	link = append(link, "-ltorch_cpu", "-lc10")
	if runtime.GOOS != "darwin" {
		link = append(link, "-ldl")
	}
	return append(steps, link)
}

// GraphsName is the file name of the library that captures CUDA graphs, which lies
// beside the bridge where it could be compiled.
const GraphsName = "libtorchfx_graphs.so"

// GraphsSteps is [CompileSteps] for that library: it needs libtorch's CUDA half and,
// among includeDirs, the headers of CUDA's runtime, as the package nvidia-cuda-runtime
// of the Python index has them. What that lacks of CUDA's compiler stands in the folder
// standin.
func GraphsSteps(includeDirs []string, libDir, out string) [][]string {
	args := []string{"-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-DNDEBUG", "-w"}
	for _, dir := range includeDirs {
		args = append(args, "-isystem", dir)
	}
	args = append(args, "-idirafter", "bridge/standin", "bridge/graphs.cc", "-shared", "-o", out,
		"-L"+libDir, "-Wl,-rpath,"+libDir, "-Wl,--no-as-needed", "-Wl,-z,defs", "-Wl,--unresolved-symbols=ignore-in-shared-libs",
		"-ltorch_cuda", "-lc10_cuda", "-ltorch_cpu", "-lc10")
	return [][]string{args}
}

// An instructionSet is one that libtorch has kernels for, by the name of the
// macro CPU_CAPABILITY in its headers, with the flags that it compiles them with.
type instructionSet struct {
	name  string
	flags []string
}

func instructionSets() []instructionSet {
	sets := []instructionSet{{name: "DEFAULT"}}
	if runtime.GOARCH == "amd64" {
		sets = append(sets,
			instructionSet{"AVX2", []string{"-mavx2", "-mfma", "-mf16c"}},
			instructionSet{"AVX512", []string{"-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma", "-mf16c"}})
	}
	return sets
}
