package libtorch

// #include "trampoline.h"
// #include <stdlib.h>
import "C"

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/torchfx-go/torchfx/internal/install"
	"github.com/torchfx-go/torchfx/ir"
)

// loaded is what the process opened; a library is never closed again.
var (
	loading sync.Mutex
	ready   atomic.Bool
	loaded  struct {
		bridge, libDir string
		version        string // of the running libtorch
		cuda           int    // devices
		cudaWhy        string // why there is none
		graphsWhy      string // why no CUDA graphs are captured
		released       *uint64
	}
)

// Open opens libtorch through the bridge that set-up built. Everything in this
// package that needs libtorch calls it, so a program needs to only where it wants
// the error early. It is idempotent and safe for concurrent use; a failure is
// tried again by the next call.
//
// The error wraps [ir.ErrMissing] where nothing is set up, naming the command
// that does it, and [ir.ErrVersion] where the bridge, libtorch and this program
// do not fit each other. Opening takes about half a second and 115 MB.
func Open() error {
	if ready.Load() {
		return nil
	}
	return OpenDir(install.Home())
}

// OpenDir is [Open] for the home folder dir, which holds install.json.
func OpenDir(dir string) error {
	r, err := install.Read(dir)
	if err != nil {
		return err
	}
	return OpenBridge(r.Bridge, r.LibDir)
}

// OpenBridge is [Open] for a bridge and the folder of the libtorch that it was
// linked against, before there is a record of them.
func OpenBridge(bridge, libDir string) error {
	loading.Lock()
	defer loading.Unlock()
	if ready.Load() {
		if !sameFile(bridge, loaded.bridge) {
			return ir.Errorf(ir.ErrVersion, "open %s: expected one bridge in a process, got a second one beside %s", bridge, loaded.bridge)
		}
		return nil
	}
	if _, err := os.Stat(bridge); err != nil {
		return ir.Errorf(ir.ErrMissing, "bridge: not there; run `torchfx setup`: %w", err)
	}
	if err := oneLibtorch(libDir); err != nil {
		return err
	}
	restore := boundSpinning()
	table, err := dlopen(bridge)
	restore()
	if err != nil {
		return err
	}
	if err := fits(bridge, table); err != nil {
		return err
	}
	if err := oneLibtorch(libDir); err != nil {
		return err
	}
	C.tfx_use(table)
	running := version(uint64(C.tfx_torch_running()))
	compiled := C.GoString(table.torch_compiled)
	if release(compiled) != running {
		return ir.Errorf(ir.ErrVersion, "bridge %s: expected libtorch %s, which it was compiled for, got %s in %s; run `torchfx setup`",
			bridge, compiled, running, libDir)
	}
	loaded.bridge, loaded.libDir, loaded.version = bridge, libDir, compiled
	loaded.released = (*uint64)(unsafe.Pointer(table.released))
	loaded.cuda, loaded.cudaWhy = openCUDA(libDir)
	loaded.graphsWhy = "there is no CUDA"
	if loaded.cuda > 0 {
		loaded.graphsWhy = openGraphs(bridge)
	}
	ready.Store(true)
	return nil
}

// spins is how often a thread of libgomp's looks for work before it sleeps: a millisecond
// at most. By itself libgomp has three times as many, in which the threads of a team that
// are done keep processors from those that are not, where there are fewer of them than
// threads. With a hundredth of it threads sleep between two kernels of a run, and Linux
// wakes them on the processor of the thread that has work for them.
const spins = "100000"

// boundSpinning tells libgomp, which reads the environment when it is loaded, unless
// somebody has said something. restore takes it back, so that no child inherits it.
func boundSpinning() (restore func()) {
	const count = "GOMP_SPINCOUNT"
	for _, name := range []string{count, "OMP_WAIT_POLICY"} {
		if _, said := os.LookupEnv(name); said {
			return func() {}
		}
	}
	if err := os.Setenv(count, spins); err != nil {
		return func() {} // faster or slower, never wrong
	}
	return func() { _ = os.Unsetenv(count) }
}

func dlopen(path string) (*C.tfx_api, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	msg := (*C.char)(C.calloc(1, 4096))
	defer C.free(unsafe.Pointer(msg))
	table := C.tfx_open(name, msg, 4096)
	if table == nil {
		text := C.GoString(msg)
		class := ir.ErrVersion
		if strings.Contains(text, "cannot open shared object file") {
			class = ir.ErrMissing
		}
		return nil, ir.Errorf(class, "bridge: it does not load with the libtorch that it finds; run `torchfx setup`: %s", text)
	}
	return table, nil
}

// fits checks the function table before anything in it is called.
func fits(bridge string, table *C.tfx_api) error {
	switch {
	case table.abi != ABI:
		return ir.Errorf(ir.ErrVersion, "bridge %s: expected function table %d of torchfx %s, got %d of torchfx %s; run `torchfx setup`",
			bridge, ABI, BridgeVersion, uint32(table.abi), C.GoString(table.bridge_version))
	case uintptr(table.size) != unsafe.Sizeof(*table):
		return ir.Errorf(ir.ErrVersion, "bridge %s: expected a function table of %d bytes, got %d; run `torchfx setup`",
			bridge, unsafe.Sizeof(*table), uint32(table.size))
	}
	return nil
}

// oneLibtorch refuses a process in which two copies of libtorch would meet: they
// register the same operators and share symbols, and fail later and elsewhere.
func oneLibtorch(libDir string) error {
	name := "libtorch_cpu.so"
	if _, err := os.Stat(filepath.Join(libDir, "libtorch_cpu.dylib")); err == nil {
		name = "libtorch_cpu.dylib"
	}
	want := filepath.Join(libDir, name)
	for _, image := range images(name) {
		if !sameFile(image, want) {
			return ir.Errorf(ir.ErrVersion, "libtorch: expected one copy in the process, got %s beside %s; link both users against one of them",
				image, want)
		}
	}
	return nil
}

// images lists the loaded libraries of a file name.
func images(name string) []string {
	const room = 1 << 14
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	buf := (*C.char)(C.calloc(1, room))
	defer C.free(unsafe.Pointer(buf))
	C.tfx_find_images(cname, buf, room)
	return strings.FieldsFunc(C.GoString(buf), func(r rune) bool { return r == '\n' })
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
