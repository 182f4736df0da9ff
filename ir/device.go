package ir

import (
	"strconv"
	"strings"
)

// A Device is where a tensor lives: a kind and, for some, an index. The zero
// value is the CPU without an index, as Python's torch.device("cpu").
type Device struct {
	kind  DeviceKind
	index int16 // index + 1; 0 means that none was given
}

// A DeviceKind is the type part of a device.
type DeviceKind uint8

// The kinds of device that Python can name, those that programs name first.
const (
	DeviceCPU DeviceKind = iota
	DeviceCUDA
	DeviceMeta
	DeviceMPS
	DeviceXPU
	DeviceXLA
	DeviceHPU
	DeviceMTIA
	DevicePrivateUse1
	DeviceMKLDNN
	DeviceOpenGL
	DeviceOpenCL
	DeviceIDEEP
	DeviceHIP
	DeviceFPGA
	DeviceMAIA
	DeviceVulkan
	DeviceVE
	DeviceLazy
	DeviceIPU
	numDeviceKinds
)

// Source of the numbers: c10/core/DeviceType.h of 2.15.0.
var deviceKinds = [numDeviceKinds]struct {
	name string
	c10  int8
}{
	DeviceCPU: {"cpu", 0}, DeviceCUDA: {"cuda", 1}, DeviceXLA: {"xla", 9}, DeviceXPU: {"xpu", 12}, DeviceMPS: {"mps", 13},
	DeviceMeta: {"meta", 14}, DeviceHPU: {"hpu", 15}, DeviceMTIA: {"mtia", 19}, DevicePrivateUse1: {"privateuseone", 20},
	DeviceMKLDNN: {"mkldnn", 2}, DeviceOpenGL: {"opengl", 3}, DeviceOpenCL: {"opencl", 4}, DeviceIDEEP: {"ideep", 5},
	DeviceHIP: {"hip", 6}, DeviceFPGA: {"fpga", 7}, DeviceMAIA: {"maia", 8}, DeviceVulkan: {"vulkan", 10}, DeviceVE: {"ve", 16},
	DeviceLazy: {"lazy", 17}, DeviceIPU: {"ipu", 18},
}

// NewDevice returns a device with an index up to 127, as c10 counts them; a
// negative index means none.
func NewDevice(kind DeviceKind, index int) Device {
	return Device{kind, int16(min(max(index, -1), 127) + 1)}
}

// ParseDevice reads "cpu", "cuda" or "cuda:1".
func ParseDevice(s string) (Device, error) {
	name, number, indexed := strings.Cut(s, ":")
	for k := range numDeviceKinds {
		if deviceKinds[k].name != name {
			continue
		}
		if !indexed {
			return NewDevice(k, -1), nil
		}
		if n, err := strconv.ParseUint(number, 10, 7); err == nil && (number == "0" || number[0] != '0') {
			return NewDevice(k, int(n)), nil
		}
		return Device{}, Errorf(ErrRuntime, "device %q: expected an index from 0 to 127 after the colon", s)
	}
	return Device{}, Errorf(ErrRuntime, "device %q: unknown kind of device; expected cpu, cuda, meta, mps, xpu, xla, hpu, mtia or privateuseone", s)
}

// DeviceFromC10 returns the device with c10's numbers; index -1 means none.
func DeviceFromC10(kind, index int) (Device, error) {
	for k := range numDeviceKinds {
		if int(deviceKinds[k].c10) == kind {
			return NewDevice(k, index), nil
		}
	}
	return Device{}, Errorf(ErrUnsupported, "device: c10 number %d is unknown", kind)
}

// Kind returns the type part.
func (d Device) Kind() DeviceKind { return d.kind }

// Index returns the index, or -1 where none was given.
func (d Device) Index() int { return int(d.index) - 1 }

// C10 returns the numbers that c10::Device uses; kind is -1 for one that is unknown.
func (d Device) C10() (kind, index int) {
	if d.kind >= numDeviceKinds {
		return -1, d.Index()
	}
	return int(deviceKinds[d.kind].c10), d.Index()
}

// String returns what Python's str does: "cuda:0".
func (d Device) String() string {
	if d.Index() < 0 {
		return d.kind.String()
	}
	return d.kind.String() + ":" + strconv.Itoa(d.Index())
}

// String returns "cpu", "cuda" and so on.
func (k DeviceKind) String() string {
	if k < numDeviceKinds {
		return deviceKinds[k].name
	}
	return "device kind " + strconv.Itoa(int(k))
}
