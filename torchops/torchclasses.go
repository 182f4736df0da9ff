package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Classes of torch that graphs call to make a value.

func init() {
	define("torch.Size", "iterable?", func(m *libtorch.Mode, a []any) (any, error) {
		x, err := iterate(m, a[0])
		if err != nil {
			return nil, err
		}
		for i, v := range x {
			n, err := indexNumber(m, v)
			if err != nil {
				return nil, ir.Errorf(ir.ErrType, "torch.Size() takes an iterable of 'int' (item %d is '%s')", i, typeName(v))
			}
			x[i] = n
		}
		return ir.PyTuple(x), nil
	})
	define("torch.device", "device, index?", func(_ *libtorch.Mode, a []any) (any, error) {
		device := a[0]
		if n, ok := device.(int64); ok && a[1] == nil {
			return ir.NewDevice(ir.DeviceCUDA, int(n)), nil // of the accelerator that is there
		}
		if s, ok := device.(string); ok {
			d, err := ir.ParseDevice(s)
			if err != nil {
				return nil, err
			}
			device = d
		}
		d, ok := device.(ir.Device)
		if !ok {
			return nil, ir.Errorf(ir.ErrType, "device(): argument 'type' (position 1) must be str, not %s", typeName(device))
		}
		if a[1] == nil {
			return d, nil
		}
		n, ok := a[1].(int64)
		switch {
		case !ok:
			return nil, ir.Errorf(ir.ErrType, "device(): argument 'index' (position 2) must be int, not %s", typeName(a[1]))
		case d.Index() >= 0:
			return nil, ir.Errorf(ir.ErrRuntime, "type (string) must not include an index because index was passed explicitly: %v", d)
		case n < 0:
			return nil, ir.Errorf(ir.ErrRuntime, "Device index must not be negative, got %d", n)
		}
		return ir.NewDevice(d.Kind(), int(n)), nil
	})
}
