package devicetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// A Device is what tests run on.
type Device struct {
	ir.Device
	Standin bool
	Graphs  bool // whether graphs can be captured
}

// Workers is how many workers the device has.
const Workers = 3

var opened struct {
	once   sync.Once
	device Device
	err    error
}

// Open returns the device, and says in the test's log where it is the stand-in.
func Open(t testing.TB) Device {
	t.Helper()
	testenv.Libtorch(t)
	opened.once.Do(func() { opened.device, opened.err = open(t) })
	require.NoError(t, opened.err)
	if opened.device.Standin {
		t.Log("no CUDA device: on the stand-in")
	}
	return opened.device
}

// required makes a missing GPU a failure, where tests must run on one.
const required = "TORCHFX_REQUIRE_CUDA"

// NeedCUDA skips a test where there is no GPU.
func NeedCUDA(t testing.TB) ir.Device {
	t.Helper()
	testenv.Libtorch(t)
	if n, err := libtorch.DeviceCount(ir.DeviceCUDA); err != nil || n == 0 {
		if os.Getenv(required) == "1" {
			t.Fatalf("no CUDA device, and %s=1", required)
		}
		t.Skip("no CUDA device")
	}
	return ir.NewDevice(ir.DeviceCUDA, 0)
}

func open(t testing.TB) (Device, error) {
	if err := libtorch.SetDeviceWorkers(Workers); err != nil {
		return Device{}, err
	}
	n, err := libtorch.DeviceCount(ir.DeviceCUDA)
	if err != nil {
		return Device{}, err
	}
	if n > 0 {
		info, err := libtorch.GetInfo()
		return Device{Device: ir.NewDevice(ir.DeviceCUDA, 0), Graphs: info.Graphs}, err
	}
	if os.Getenv(required) == "1" {
		info, _ := libtorch.GetInfo()
		return Device{}, ir.Errorf(ir.ErrMissing, "no CUDA device, and %s=1: %s", required, info.CUDAWhy)
	}
	lib, err := testenv.BuildLibrary(filepath.Join(testenv.Root(t), "internal", "devicetest", "testdata", "standin.cc"))
	if err != nil {
		return Device{}, err
	}
	if err := libtorch.OpenLibrary(lib); err != nil {
		return Device{}, err
	}
	return Device{Device: ir.NewDevice(ir.DevicePrivateUse1, 0), Standin: true, Graphs: true}, libtorch.OpenGraphs(lib)
}

// NeedGraphs skips a test where nothing captures.
func (d Device) NeedGraphs(t testing.TB) {
	t.Helper()
	if !d.Graphs {
		info, err := libtorch.GetInfo()
		require.NoError(t, err)
		t.Skipf("no CUDA graphs: %s", info.GraphsWhy)
	}
}

// Counts are the counters of the stand-in.
type Counts struct {
	EventWaits  int64 // of the host for an event
	StreamWaits int64 // of the host for a stream or the device
	Reads       int64 // of an element by the host
	Kernels     int64
	Replays     int64 // of graphs
	Pinned      int64 // copies through pinned memory that nobody waits for
	Plain       int64 // copies that the host waits for
	Live        int64 // bytes of the device that are in use
	Streams     int64 // that were used
}

// Counts returns the counters; a test that asks is skipped on a GPU.
func (d Device) Counts(t testing.TB) Counts {
	t.Helper()
	if !d.Standin {
		t.Skip("a GPU does not count: only the stand-in does")
	}
	op, err := libtorch.Find("standin::count")
	require.NoError(t, err)
	out, err := op.Call(nil, nil)
	require.NoError(t, err)
	n := out[0].([]int64)
	return Counts{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]}
}

// Since returns how much the counters have grown.
func (c Counts) Since(before Counts) Counts {
	return Counts{
		c.EventWaits - before.EventWaits, c.StreamWaits - before.StreamWaits, c.Reads - before.Reads, c.Kernels - before.Kernels,
		c.Replays - before.Replays, c.Pinned - before.Pinned, c.Plain - before.Plain, c.Live - before.Live, c.Streams - before.Streams,
	}
}

// apart is set in the process that [Apart] starts.
const apart = "TORCHFX_DEVICE_TEST"

// Apart runs the test in a process of its own and returns false there, so that what it
// does with the device nobody else sees. Where it returns true, the test is done.
func Apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(apart) == "1" {
		return false
	}
	testenv.Libtorch(t)
	timeout := 20 * time.Minute
	if end, ok := t.Deadline(); ok { // before that, so that it is the one to say where it hangs
		timeout = time.Until(end) - 5*time.Second
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout="+timeout.String())
	cmd.Env = append(os.Environ(), apart+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("in a process of its own: %v\n%s", err, out)
	}
	t.Logf("in a process of its own:\n%s", out)
	return true
}
