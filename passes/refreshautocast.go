package passes

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

var autocast = ir.FuncOf("torch.ops.higher_order.wrap_with_autocast")

// regionOf reads the region that a call of autocast makes:
// wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, *operands). ok is
// false for one of another device than the CPU, which casts tensors of that device alone:
// there is none to run it on without elements.
func regionOf(call *ir.Node) (a *libtorch.Autocast, ok bool) {
	device, _ := call.Arg(0).(ir.Str)
	enabled, isBool := call.Arg(2).(ir.Bool)
	if d, err := ir.ParseDevice(string(device)); err != nil || d.Kind() != ir.DeviceCPU || !isBool {
		return nil, false
	}
	a = &libtorch.Autocast{Device: ir.DeviceCPU, Disabled: !bool(enabled)}
	a.DType, _ = call.Arg(1).(ir.DType) // None is the device's own
	return a, true
}

// inRegion runs in a region of autocast.
func inRegion(a *libtorch.Autocast) ShapeOption { return func(p *shapeProp) { p.mode.Autocast = a } }

// underAutocast calls run such that the tensors that it makes have no elements and say
// that they are on the CPU: autocast leaves those of the device meta alone.
func underAutocast(run func()) {
	v, err := torch.Call("aten::empty_strided", []int64{0}, []int64{1}, torch.Kw("device", ir.NewDevice(ir.DeviceMeta, -1)))
	if err != nil {
		return
	}
	first := v.(*torch.Tensor)
	defer first.Close()
	h, err := first.Handle()
	if err != nil {
		return
	}
	events, err := libtorch.Record(libtorch.Recording{Bare: []*libtorch.Tensor{h}}, nil, run)
	if err == nil {
		libtorch.CloseRecorded(events)
	}
}
