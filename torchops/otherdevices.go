package torchops

import (
	_ "embed"
	"strings"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

//go:embed otherdevices.txt
var otherDevicesText string

// otherDevices maps the operators that have no kernel on the CPU to the devices that
// have one in PyTorch, which a libtorch of the CPU does not know: "CUDA, XPU".
var otherDevices = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(otherDevicesText) {
		if op, devices, ok := strings.Cut(strings.TrimSpace(line), " "); ok && op != "#" {
			all[op] = strings.ReplaceAll(devices, " ", ", ")
		}
	}
	return all
})

// withoutKernel says that an operator can run on neither CPU nor CUDA with this
// libtorch, and which devices have a kernel; nil where it can.
func withoutKernel(o *libtorch.Operator) error {
	devices, ok := otherDevices()[o.Schema().Op]
	if !ok || o.HasKernel(ir.DeviceCUDA) || o.HasKernel(ir.DeviceCPU) {
		return nil
	}
	return ir.Errorf(ir.ErrUnsupported, "operator %s has no kernel for the CPU; PyTorch has one for %s", o.Schema().Op, devices)
}

// withoutKernel is withoutKernel of the operators of all signatures.
func (p *public) withoutKernel() (err error) {
	for _, s := range p.signatures {
		if _, elsewhere := otherDevices()["aten::"+strings.TrimPrefix(s.op, "aten::")]; !elsewhere {
			return nil
		}
		o, missing := libtorch.Find("aten::" + strings.TrimPrefix(s.op, "aten::"))
		if missing != nil {
			return nil // said by the call
		}
		if err = withoutKernel(o); err == nil {
			return nil
		}
	}
	return err
}

// whereKernelsAre adds to the error of a missing kernel which devices have one, as far
// as libtorch did not say so.
func whereKernelsAre(op string, cause error) error {
	devices, ok := otherDevices()[op]
	if !ok || ir.ClassOf(cause) != ir.ErrNotImplemented {
		return cause
	}
	return ir.Errorf(ir.ErrNotImplemented, "%w PyTorch has a kernel for %s.", cause, devices)
}
