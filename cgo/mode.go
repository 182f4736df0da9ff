package libtorch

// #include "trampoline.h"
import "C"

import (
	"github.com/torchfx-go/torchfx/ir"
)

// A Mode is what a call needs of libtorch's per-thread state. It is set inside
// the call and gone after it. The zero Mode records no gradients, makes ordinary
// tensors and uses one thread; a nil one is the mode of [Mode.Within] around the
// call, outside one the zero Mode. A Mode may be shared by
// calls on any goroutine; it must not change while one runs.
type Mode struct {
	Grad      bool        // record gradients
	Inference bool        // torch.inference_mode: results can be used in it alone; not together with Grad
	Threads   int         // how many threads one kernel may use; 0 is 1
	Autocast  *Autocast   // torch.autocast, nil for none
	Vmap      []VmapLevel // open levels of torch.vmap, the outermost first, at most 8
	// Stream is where the work of a device goes, nil for the device's usual stream. It
	// also makes the device the current one.
	Stream *Stream
	// Observe, where it is not nil, is told of each operator that is called in this
	// mode, before it runs and on the goroutine that calls it.
	Observe func(*Operator)
}

// Autocast is one region of torch.autocast.
type Autocast struct {
	Device   ir.DeviceKind
	DType    ir.DType // InvalidDType is the device's own: bfloat16 on the CPU, float16 elsewhere
	Disabled bool     // autocast(enabled=False), which ends an outer region
	NoCache  bool     // cast weights again at each use
}

// A VmapLevel is one torch.vmap that is open around a call.
type VmapLevel struct {
	BatchSize  int64
	Randomness Randomness
}

// Randomness is what a random operator does under torch.vmap.
type Randomness uint8

// The choices, with the numbers of at::functorch::RandomnessType.
const (
	RandomnessError     Randomness = iota // random operators fail
	RandomnessSame                        // one draw for the whole batch
	RandomnessDifferent                   // one draw for each element
)

// ParseRandomness reads "error", "same" or "different".
func ParseRandomness(s string) (Randomness, error) {
	for i, name := range [...]string{"error", "same", "different"} {
		if s == name {
			return Randomness(i), nil
		}
	}
	return 0, ir.Errorf(ir.ErrValue, "randomness: expected error, same or different, got %q", s)
}

// MaxThreads bounds [Mode].Threads.
const MaxThreads = 1024

func (m *Mode) threads() int {
	if m == nil {
		return 1
	}
	return max(m.Threads, 1)
}

// Check reports what every call in the mode m would refuse.
func (m *Mode) Check() error {
	var c C.tfx_mode
	_, err := m.encode(&c)
	return err
}

// encode fills c and returns it, or nil for the default mode.
func (m *Mode) encode(c *C.tfx_mode) (*C.tfx_mode, error) {
	if m == nil || !m.Grad && !m.Inference && m.Threads <= 1 && m.Threads >= 0 && m.Autocast == nil && len(m.Vmap) == 0 && m.Stream == nil {
		return nil, nil
	}
	if m.Threads < 0 || m.Threads > MaxThreads {
		return nil, ir.Errorf(ir.ErrValue, "mode: expected 0 to %d threads, got %d", MaxThreads, m.Threads)
	}
	if m.Grad && m.Inference {
		return nil, ir.Errorf(ir.ErrValue, "mode: expected gradients or inference mode, got both")
	}
	c.threads = C.int32_t(m.threads())
	if m.Grad {
		c.flags |= C.TFX_GRAD
	}
	if m.Inference {
		c.flags |= C.TFX_INFERENCE
	}
	if a := m.Autocast; a != nil {
		dtype := a.DType
		if dtype == ir.InvalidDType {
			dtype = ir.Float16
			if a.Device == ir.DeviceCPU {
				dtype = ir.BFloat16
			}
		}
		if !dtype.Valid() {
			return nil, ir.Errorf(ir.ErrValue, "mode: expected a dtype for autocast, got %v", dtype)
		}
		kind, _ := ir.NewDevice(a.Device, -1).C10()
		c.autocast_device, c.autocast_dtype = C.int32_t(kind), C.int32_t(dtype.C10())
		c.flags |= C.TFX_AUTOCAST
		if !a.Disabled {
			c.flags |= C.TFX_AUTOCAST_ENABLED
		}
		if a.NoCache {
			c.flags |= C.TFX_AUTOCAST_NO_CACHE
		}
	}
	if len(m.Vmap) > C.TFX_MAX_VMAP {
		return nil, ir.Errorf(ir.ErrUnsupported, "mode: expected at most %d levels of vmap, got %d", C.TFX_MAX_VMAP, len(m.Vmap))
	}
	for i, level := range m.Vmap {
		if level.BatchSize < 0 || level.Randomness > RandomnessDifferent {
			return nil, ir.Errorf(ir.ErrValue, "mode: expected a batch size and a randomness for vmap level %d, got %d and %d", i+1, level.BatchSize, level.Randomness)
		}
		c.vmap_size[i], c.vmap_randomness[i] = C.int64_t(level.BatchSize), C.int64_t(level.Randomness)
	}
	c.vmap_levels = C.int32_t(len(m.Vmap))
	if m.Stream != nil {
		kind, index := m.Stream.device.C10()
		c.device, c.device_index, c.stream = C.int32_t(kind), C.int32_t(index), C.int64_t(m.Stream.id)
		c.flags |= C.TFX_STREAM
	}
	return c, nil
}
