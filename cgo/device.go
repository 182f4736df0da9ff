package libtorch

// #include "trampoline.h"
import "C"

import (
	"fmt"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
)

// DeviceCount opens libtorch and returns how many devices of a kind programs can
// use: 0 where libtorch is built without them, the driver is missing or it sees
// none. The CPU counts as one. It makes no context on a device.
func DeviceCount(kind ir.DeviceKind) (int, error) {
	if err := Open(); err != nil {
		return 0, err
	}
	if kind == ir.DeviceCPU {
		return 1, nil
	}
	c10, _ := ir.NewDevice(kind, -1).C10()
	return int(C.tfx_device_count(C.int32_t(c10))), nil
}

// CheckDevice opens libtorch and says what keeps a device from being used, nil for
// nothing. A tensor on it would fail with a missing kernel, or later.
func CheckDevice(d ir.Device) error {
	if d.Kind() == ir.DeviceCPU || d.Kind() == ir.DeviceMeta {
		return nil
	}
	n, err := DeviceCount(d.Kind())
	switch {
	case err != nil:
		return err
	case n == 0 && d.Kind() == ir.DeviceCUDA:
		return ir.Errorf(ir.ErrMissing, "device %s: no CUDA: %s; `torchfx setup --cuda` fetches libtorch's half, `torchfx doctor` says what is used", d, loaded.cudaWhy)
	case n == 0:
		return ir.Errorf(ir.ErrMissing, "device %s: no device: this libtorch has none of that kind", d)
	case d.Index() >= n:
		return ir.Errorf(ir.ErrValue, "device %s: expected an index below %d, the number of devices", d, n)
	}
	return faulty(d)
}

// A Stream is a queue of work on a device: what is given to one is done in order,
// and beside what is given to others. A value that was made on one must not be used
// on another without waiting; a [Mode] with a stream in it makes calls use it.
type Stream struct {
	device ir.Device
	id     int64
}

// Device is where the stream is, with an index.
func (s *Stream) Device() ir.Device { return s.device }

// NewStream takes a stream of a device from libtorch's pool, in which there are some
// thirty for each device, given in turn. It makes the device ready.
func NewStream(d ir.Device) (*Stream, error) {
	if err := CheckDevice(d); err != nil {
		return nil, err
	}
	kind, index := d.C10()
	var r reply
	if code := C.tfx_stream_new(C.int32_t(kind), C.int32_t(index), r.w(), replyWords, &r.out); code != 0 {
		return nil, deviceFault(d, r.fail("", code))
	}
	w := r.view()
	return &Stream{ir.NewDevice(d.Kind(), int(w[1])), int64(w[0])}, nil
}

// streamOnly is the mode that sets m's stream and nothing else, nil for none.
func (m *Mode) streamOnly() *Mode {
	if m == nil || m.Stream == nil {
		return nil
	}
	return &Mode{Stream: m.Stream}
}

// SynchronizeDevice waits until all that a device was given is done.
func SynchronizeDevice(d ir.Device) error {
	if err := CheckDevice(d); err != nil || d.Kind() == ir.DeviceCPU {
		return err
	}
	return synchronize(d)
}

func synchronize(d ir.Device) error {
	kind, index := d.C10()
	var r reply
	if code := C.tfx_device_synchronize(C.int32_t(kind), C.int32_t(index), r.w(), replyWords, &r.out); code != 0 {
		return r.fail("", code)
	}
	return nil
}

// DeviceMemory is what libtorch's allocator holds of a device's memory, in bytes.
type DeviceMemory struct {
	Allocated int64 // by tensors
	Peak      int64 // the most that Allocated was
	Reserved  int64 // from the device, for tensors now and later
	Inactive  int64 // reserved, free, and of a block in use, so that it cannot be given back
}

// MemoryOf tells what libtorch's allocator holds of a device's memory. Besides, the
// device's context and libraries take some that never comes back.
func MemoryOf(d ir.Device) (DeviceMemory, error) { return deviceMemory(d, false) }

// EmptyCache gives the device's memory back that libtorch reserves and no tensor uses,
// and returns what is left. It waits for the device: it is for the time after a peak,
// not for between runs.
func EmptyCache(d ir.Device) (DeviceMemory, error) { return deviceMemory(d, true) }

func deviceMemory(d ir.Device, trim bool) (DeviceMemory, error) {
	if d.Kind() == ir.DeviceCPU {
		return DeviceMemory{}, ir.Errorf(ir.ErrUnsupported, "memory of %s: expected a device with an allocator of its own", d)
	}
	if err := CheckDevice(d); err != nil {
		return DeviceMemory{}, err
	}
	kind, index := d.C10()
	var r reply
	if code := C.tfx_device_memory(C.int32_t(kind), C.int32_t(index), flag(trim), r.w(), replyWords, &r.out); code != 0 {
		return DeviceMemory{}, r.fail("", code)
	}
	w := words64(r.view())
	return DeviceMemory{Allocated: w[0], Peak: w[1], Reserved: w[2], Inactive: w[3]}, nil
}

// faults are the devices whose context is lost: after some errors every later call
// fails, mostly in the name of an innocent operator.
var faults struct {
	sync.Mutex
	of map[ir.Device]error
}

// faulty is the error of a device that was given up, nil for one that works.
func faulty(d ir.Device) error {
	faults.Lock()
	defer faults.Unlock()
	if cause := faults.of[d]; cause != nil {
		return ir.Errorf(ir.ErrRuntime, "device %s: lost by an earlier fault, until the process starts anew: %w", d, cause)
	}
	return nil
}

// deviceFault looks at an error of a run on a device: where the device has become
// useless, it is given up.
func deviceFault(d ir.Device, err error) error {
	e, ok := err.(*Error)
	if !ok || !e.Accelerator {
		return err
	}
	if again := synchronize(d); again == nil {
		return err
	}
	faults.Lock()
	defer faults.Unlock()
	if faults.of == nil {
		faults.of = map[ir.Device]error{}
	}
	if faults.of[d] == nil {
		faults.of[d] = err
	}
	return fmt.Errorf("device %s is lost: %w", d, err)
}
