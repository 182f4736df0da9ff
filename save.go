package torchfx

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A SaveOption changes what [Save] and [Program.Save] do.
type SaveOption func(*saveConfig)

type saveConfig struct {
	from      *export.Program
	device    *ir.Device
	keepShape bool
	extra     map[string][]byte
	write     []export.WriteOption
	lower     func(*ir.GraphModule) (*ir.GraphModule, error)
}

// SavedFrom names the program that a module came from, see [export.LiftFrom].
// Default: for [Program.Save] the program itself, else none.
func SavedFrom(p *export.Program) SaveOption { return func(c *saveConfig) { c.from = p } }

// WithExtraFiles puts files beside the program, under their names; those of the
// program that it came from stay, unless they have the same name.
func WithExtraFiles(files map[string][]byte) SaveOption {
	return func(c *saveConfig) { c.extra = files }
}

// KeepShapes writes what the meta of nodes says of their values, and does not
// compute it anew. Default: values without meta, and those whose meta is not true
// any more, are described by a run without elements.
func KeepShapes() SaveOption { return func(c *saveConfig) { c.keepShape = true } }

// LoweredOn lowers the graph to ATen operators first, by [passes.Lower] on args: what a
// traced model needs. Default: the graph has ATen operators.
func LoweredOn(args []any, opts ...passes.LowerOption) SaveOption {
	return func(c *saveConfig) {
		c.lower = func(m *ir.GraphModule) (*ir.GraphModule, error) {
			return passes.Lower(context.Background(), m, args, opts...)
		}
	}
}

// SaveProgress has f called as the file is written, with bytes done and bytes
// altogether.
func SaveProgress(f func(done, total int64)) SaveOption {
	return func(c *saveConfig) { c.write = append(c.write, export.Progress(f)) }
}

// Save writes m as a .pt2 file that torch.export.load accepts and whose `.module()`
// computes what m does. m is a module as [Program.Module] gives it, rewritten or
// not, or another whose graph consists of ATen operators, with torch or nn tensors
// as attributes. It is not changed.
//
//   - The file appears whole or not at all; it may be the one that the program was
//     loaded from. All that a file cannot say is reported at once, before.
//   - Shapes in the file follow the rewritten graph. Sizes stay symbolic where they
//     depend on the inputs; where that cannot be found out, the nodes are named in the
//     error.
//   - A tensor that requires a gradient is a parameter and any other a buffer, where
//     no program says what it was.
//   - A region that a delegate computes is written as its twin, by libtorch's operators.
//   - Functions of Python (torch.relu) and modules are lowered to ATen first, see
//     [LoweredOn].
//
// See [export.Save] and [export.Lift] for what is written and refused.
func Save(path string, m *ir.GraphModule, opts ...SaveOption) error {
	if err := ir.CheckOptions("save", opts); err != nil {
		return err
	}
	if m == nil {
		return ir.Errorf(ir.ErrInput, "save: expected a graph module, got nil")
	}
	var c saveConfig
	for _, o := range opts {
		o(&c)
	}
	p, err := c.program(m)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	err = export.Save(path, []*export.Program{p}, c.write...)
	runtime.KeepAlive(m) // its tensors lend their memory to the writer
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return nil
}

// Save writes the program as it is now, with its changed graph and state, as a
// .pt2 file; see the function [Save]. It waits for nothing: state that runs write
// meanwhile is written as it is met.
func (p *Program) Save(path string, opts ...SaveOption) error {
	if err := p.enter("Save"); err != nil {
		return err
	}
	defer p.mu.RUnlock()
	module := p.module.Load()
	if module == nil {
		return ir.Errorf(ir.ErrUnsupported, "save %s: only the signature of the program was read", path)
	}
	own := []SaveOption{SavedFrom(p.state.file), func(c *saveConfig) { c.device = p.config.device }}
	return Save(path, module, append(own, opts...)...)
}

// program makes the program that is written of m.
func (c *saveConfig) program(m *ir.GraphModule) (*export.Program, error) {
	if c.lower != nil {
		var err error
		if m, err = c.lower(m); err != nil {
			return nil, err
		}
	}
	m = m.Clone()
	if _, err := passes.InlineRegions(m); err != nil {
		return nil, err
	}
	if c.device != nil {
		moveValues(m, *c.device)
	}
	if !c.keepShape {
		passes.RefreshValues(context.Background(), m, c.bound)
	}
	lift := []export.LiftOption{export.LiftTensors((&lender{storages: map[memory]*export.Storage{}}).tensor)}
	if c.from != nil {
		lift = append(lift, export.LiftFrom(c.from))
	}
	if operators, err := libtorch.Operators(); err == nil {
		lift = append(lift, export.LiftOperators(operators))
	}
	p, err := export.Lift(m, lift...)
	if err != nil {
		return nil, err
	}
	if len(c.extra) > 0 {
		all := map[string][]byte{}
		for _, files := range []map[string][]byte{p.Extra, c.extra} {
			for name, data := range files {
				all[name] = data
			}
		}
		p.Extra = all
	}
	return p, nil
}

// bound is what the program's ranges say of a symbol.
func (c *saveConfig) bound(symbol string) (least, greatest int64) {
	if c.from != nil {
		for _, r := range c.from.Ranges {
			if r.Text == symbol {
				return r.Min, r.Max
			}
		}
	}
	return math.MinInt64, math.MaxInt64
}

// A lender makes tensors for the writer over the memory of libtorch's, which is not
// copied where it is the host's. Tensors that share memory share it there too.
type lender struct{ storages map[memory]*export.Storage }

// A memory is a storage of libtorch's, by its device, address and length.
type memory struct {
	on    ir.Device
	at    uintptr
	bytes int64
}

func (l *lender) tensor(path string, v any) (*export.Tensor, error) {
	t, ok := v.(*torch.Tensor)
	if !ok {
		return nil, ir.Errorf(ir.ErrUnsupported, "expected a tensor, got %T: lower modules to ATen first", v)
	}
	h, err := t.Handle()
	if err != nil {
		return nil, err
	}
	info, err := h.Info()
	if err != nil {
		return nil, err
	}
	out := &export.Tensor{DType: info.DType, Device: info.Device, Sizes: info.Sizes, Strides: info.Strides, Offset: info.Offset, RequiresGrad: info.RequiresGrad}
	out.Parameter = info.RequiresGrad // what the program came from knows better, see export.LiftFrom
	switch {
	case info.Layout != ir.Strided || info.DType.IsQuantized():
		return nil, ir.Errorf(ir.ErrUnsupported, "expected a strided tensor, got %s of layout %s", info.DType, info.Layout)
	case info.Conj || info.Neg:
		return nil, ir.Errorf(ir.ErrUnsupported, "expected plain elements, got some that are conjugated or negated when read: clone the tensor")
	case info.Device.Kind() == ir.DeviceMeta || !info.HasStorage:
		return nil, ir.Errorf(ir.ErrUnsupported, "expected a tensor with elements, got one on device %s", info.Device)
	}
	first, err := h.DataPtr()
	if err != nil {
		return nil, err
	}
	if first == nil || info.StorageBytes == 0 {
		out.Storage = export.NewStorage(nil)
		return out, nil
	}
	width := int64(info.DType.Size())
	base := unsafe.Add(first, -info.Offset*width)
	key := memory{info.Device, uintptr(base), info.StorageBytes}
	switch {
	case l.storages[key] != nil:
	case info.Device.Kind() == ir.DeviceCPU:
		l.storages[key] = export.NewStorage(unsafe.Slice((*byte)(base), info.StorageBytes))
	default:
		if l.storages[key], err = copied(t, info.StorageBytes/width); err != nil {
			return nil, err
		}
	}
	out.Storage = l.storages[key]
	return out, nil
}

// copied brings the n elements of a tensor's whole storage to the host.
func copied(t *torch.Tensor, n int64) (*export.Storage, error) {
	whole, err := torch.Call("aten::as_strided", t, []int64{n}, []int64{1}, 0)
	if err != nil {
		return nil, err
	}
	all := whole.(*torch.Tensor)
	defer func() { _ = all.Close() }()
	data, err := all.Bytes()
	if err != nil {
		return nil, err
	}
	return export.NewStorage(data), nil
}

// moveValues makes the values of a module's graphs those of a device.
func moveValues(m *ir.GraphModule, d ir.Device) {
	var moved func(v any) any
	moved = func(v any) any {
		switch v := v.(type) {
		case ir.TensorMeta:
			v.Device = d
			return v
		case []any:
			items := make([]any, len(v))
			for i, item := range v {
				items[i] = moved(item)
			}
			return items
		}
		return v
	}
	for n := range m.Graph().Nodes() {
		if v := n.Meta().Get(ir.MetaVal); v != nil {
			n.Meta().Set(ir.MetaVal, moved(v))
		}
	}
	for _, v := range m.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok {
			moveValues(sub, d)
		}
	}
}

// Compile plans m for production; see interpreter.Compile.
func Compile(m *ir.GraphModule, opts ...interpreter.PlanOption) (*interpreter.Plan, error) {
	return interpreter.Compile(m, opts...)
}
