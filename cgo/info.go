package libtorch

// #include "trampoline.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"
)

// Info says what was opened.
type Info struct {
	TorchVersion  string // "2.15.0"
	Dir           string // folder of libtorch's libraries
	Bridge        string // path of the bridge
	BridgeVersion string
	CPUCapability string // "AVX2": which of libtorch's own vector kernels run
	BLAS          string // "MKL 2024.2…", or what the build names
	OneDNN        string // its version, "" where it is not in
	Slots         int    // operator calls that run at once, see [SetSlots]
	Threads       int    // threads of one kernel on this OS thread outside a call, which nothing here changes: 1
	CUDA          bool   // whether a CUDA device can be used
	CUDADevices   int
	CUDAWhy       string // why not, or ""
	Graphs        bool   // whether CUDA graphs can be captured, see [PlanDevice]
	GraphsWhy     string // why not, or ""
	Config        string // libtorch's own description of its build, many lines
}

// GetInfo opens libtorch and describes it.
func GetInfo() (Info, error) {
	if err := Open(); err != nil {
		return Info{}, err
	}
	var r reply
	if code := C.tfx_info(r.w(), replyWords, &r.out); code != 0 {
		return Info{}, r.fail("", code)
	}
	facts, config, _ := strings.Cut(r.one(), "\n\n")
	fact := map[string]string{}
	for line := range strings.Lines(facts) {
		k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		fact[k] = v
	}
	info := Info{
		TorchVersion: loaded.version, Dir: loaded.libDir, Bridge: loaded.bridge, BridgeVersion: BridgeVersion,
		CPUCapability: fact["cpu"], OneDNN: fact["mkldnn_version"], Slots: int(slots.size.Load()),
		CUDA: loaded.cuda > 0, CUDADevices: loaded.cuda, CUDAWhy: loaded.cudaWhy,
		Graphs: loaded.graphsWhy == "", GraphsWhy: loaded.graphsWhy, Config: config,
	}
	info.Threads, _ = strconv.Atoi(fact["threads"])
	info.BLAS = buildSetting(config, "BLAS_INFO")
	if fact["mkl"] == "1" {
		info.BLAS = firstLine(fact["mkl_version"])
	}
	info.OneDNN = firstLine(info.OneDNN)
	return info, nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.TrimSpace(s)
}

// buildSetting finds "KEY=value," in the build settings of the configuration.
func buildSetting(config, key string) string {
	_, rest, ok := strings.Cut(config, key+"=")
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, ",")
	return strings.TrimSpace(value)
}

// Warnings returns what libtorch warned about since the last call, each text
// once, at most the last 64. libtorch would print them; a library does not.
func Warnings() []string {
	if !ready.Load() {
		return nil
	}
	var r reply
	if code := C.tfx_warnings(r.w(), replyWords, &r.out); code != 0 {
		r.done()
		return nil
	}
	return strings.FieldsFunc(r.one(), func(c rune) bool { return c == 0 })
}

// SetDeterministic makes operators without a deterministic algorithm fail, or
// only warn, as torch.use_deterministic_algorithms does. It holds for the whole
// process: libtorch has no narrower switch.
func SetDeterministic(on, warnOnly bool) error {
	if err := Open(); err != nil {
		return err
	}
	var r reply
	if code := C.tfx_set_deterministic(flag(on), flag(warnOnly), r.w(), replyWords, &r.out); code != 0 {
		return r.fail("", code)
	}
	return nil
}

func flag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

// openCUDA opens libtorch's CUDA half where it lies beside libtorch_cpu and the
// driver sees a device; without one it costs nothing. It returns the number of
// devices, or 0 and the reason.
func openCUDA(libDir string) (devices int, why string) {
	half := filepath.Join(libDir, "libtorch_cuda.so")
	if _, err := os.Stat(half); err != nil {
		return 0, fmt.Sprintf("this libtorch is built for the CPU alone: no libtorch_cuda in %s", libDir)
	}
	if runtime.GOOS == "darwin" {
		return 0, "CUDA does not exist on macOS"
	}
	var code C.int
	switch n := C.tfx_cuda_driver(&code); {
	case n == -1:
		return 0, "no NVIDIA driver: libcuda.so.1 is not found"
	case n == -2:
		return 0, fmt.Sprintf("the NVIDIA driver reports error %d%s", int(code), driverErrors[int(code)])
	case n == 0:
		return 0, "the NVIDIA driver sees no device"
	}
	path := C.CString(half)
	defer C.free(unsafe.Pointer(path))
	var r reply
	if code := C.tfx_open_cuda(path, r.w(), replyWords, &r.out); code != 0 {
		err := r.fail("", code)
		return 0, fmt.Sprintf("libtorch_cuda does not load: %v", err)
	}
	n := int(r.view()[1])
	r.done()
	if n == 0 {
		return 0, "libtorch sees no CUDA device, although the driver does: its version may be too old for this libtorch"
	}
	return n, ""
}

// openGraphs opens the library that captures CUDA graphs, which set-up compiles where
// it finds the headers of CUDA's runtime, and returns why it cannot be used.
func openGraphs(bridge string) (why string) {
	path := filepath.Join(filepath.Dir(bridge), GraphsName)
	if _, err := os.Stat(path); err != nil {
		return "the library for them is not compiled: `torchfx setup` does it where CUDA's runtime headers are"
	}
	if err := openGraphsLibrary(path); err != nil {
		return fmt.Sprintf("%s does not load: %v", path, err)
	}
	return ""
}

// OpenGraphs opens a library that captures graphs on a kind of device, as
// bridge/graphs.h describes. That for CUDA is opened with libtorch; another is for
// devices that a library brings.
func OpenGraphs(path string) error {
	if err := Open(); err != nil {
		return err
	}
	return openGraphsLibrary(path)
}

func openGraphsLibrary(path string) error {
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	var r reply
	if code := C.tfx_open_graphs(cpath, r.w(), replyWords, &r.out); code != 0 {
		return r.fail("", code)
	}
	return nil
}

// Source: CUresult in cuda.h, those that a start meets.
var driverErrors = map[int]string{
	3: " (not initialised)", 34: " (stub library)", 100: " (no device)", 101: " (invalid device)",
	802: " (system not ready)", 803: " (driver and library versions do not fit)", 804: " (compatibility mode not supported)", 999: " (unknown)",
}
