package interpreter

import (
	"context"
	"fmt"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// deviceConfig is what the options say about a device.
type deviceConfig struct {
	set         bool
	device      ir.Device
	hostResults bool
	graphs      int
}

// PlanDevice runs the plan on d, a GPU say. The module's tensors are copied there
// once, by [Compile], and the devices that its graph names become d; tensors that
// are on d already are shared, so that plans of a module that was loaded for the
// device hold its weights together. What the graph writes into a buffer the module
// does not see then, the plan's later runs do. The CPU is no device in this sense.
//
// A run has a stream of the device to itself, so that runs of several goroutines go
// on beside each other; [libtorch.SetDeviceWorkers] says how many. Arguments may be
// on the CPU or on d: those on the CPU are copied through pinned memory, and written
// back where the program writes into them. Results stay on d, where every stream may
// use them, unless [PlanHostResults] is given. Nothing waits for the device but the
// end of the run, once, and operators whose results are no tensors or whose sizes
// depend on elements; a fault of the device is told to the run that made it.
//
// [Compile] fails where d cannot be used, saying why, and for plans that record
// gradients.
func PlanDevice(d ir.Device) PlanOption {
	return planOption(func(c *planConfig) { c.device.set, c.device.device = true, d })
}

// PlanHostResults makes a plan on a device copy its results to the CPU. They lie in
// pinned memory, which is scarcer than other: what is kept for long is better copied.
func PlanHostResults() PlanOption {
	return planOption(func(c *planConfig) { c.device.hostResults = true })
}

// PlanCaptures makes a plan on a device capture up to n shape classes of its arguments
// as graphs of the device (CUDA graphs), for each worker: the work of a run is then
// given to the device by one call. That is worth it where kernels are so short that
// giving them takes longer. Default: 0.
//
// A class is captured when it has run three times, so [Plan.Warmup] comes before the
// first request. Its memory, that of the largest class and the arguments and results
// of each, stays with the plan. Classes beyond n, and those that cannot be captured,
// run step by step: [Plan.Captures] tells which and why. The numbers are the same, also
// the random ones as far as they are drawn by the device's own generator.
func PlanCaptures(n int) PlanOption {
	return planOption(func(c *planConfig) { c.device.graphs = n })
}

// A deviceSide is the part of a plan that belongs to its device.
type deviceSide struct {
	deviceConfig
	moved  []resource   // the module's tensors on the device, as far as they are copies
	frames []*planFrame // by worker, which alone uses it; nil for none yet
	why    string       // nothing is captured
}

// onDevice brings m to the device of the options and returns what runs there. Both
// are m's own side, nil and m, where there is none.
func (c *planConfig) onDevice(m *ir.GraphModule) (*deviceSide, *ir.GraphModule, error) {
	o := &c.device
	switch {
	case o.graphs < 0 || o.graphs > maxPlanGraphs:
		return nil, nil, ir.Errorf(ir.ErrValue, "compile: expected 0 to %d captures, got %d", maxPlanGraphs, o.graphs)
	case !o.set && (o.hostResults || o.graphs > 0):
		return nil, nil, ir.Errorf(ir.ErrValue, "compile: PlanHostResults and PlanCaptures: expected PlanDevice beside them")
	case !o.set || o.device.Kind() == ir.DeviceCPU:
		return nil, m, nil
	case o.device.Kind() == ir.DeviceMeta:
		return nil, nil, ir.Errorf(ir.ErrValue, "compile: expected a device that computes, got %s", o.device)
	case c.mode.Grad:
		return nil, nil, ir.Errorf(ir.ErrUnsupported, "compile: expected no gradients of a plan on %s", o.device)
	case c.mode.Stream != nil:
		return nil, nil, ir.Errorf(ir.ErrValue, "compile: expected a mode without a stream: a plan on a device chooses its own")
	}
	if o.device.Index() < 0 {
		o.device = ir.NewDevice(o.device.Kind(), 0)
	}
	if err := libtorch.CheckDevice(o.device); err != nil {
		return nil, nil, err
	}
	side := &deviceSide{deviceConfig: *o, frames: make([]*planFrame, libtorch.MaxDeviceWorkers)}
	v := &mover{device: o.device}
	moved, err := v.module(m)
	if err == nil && c.graph != nil && c.graph != m.Graph() {
		c.graph, err = v.graph(c.graph)
	} else {
		c.graph = nil
	}
	side.moved = v.made
	if err != nil {
		side.close()
		return nil, nil, err
	}
	return side, moved, nil
}

// maxPlanGraphs bounds [PlanCaptures]: each holds memory for good.
const maxPlanGraphs = 256

// program is what the bridge is told about the device. steps are those that it runs.
func (d *deviceSide) program(steps []planStep) *libtorch.PlanDevice {
	if d.graphs > 0 {
		d.why = uncapturable(steps)
		if info, err := libtorch.GetInfo(); d.why == "" && d.device.Kind() == ir.DeviceCUDA && err == nil {
			d.why = info.GraphsWhy
		}
	}
	p := &libtorch.PlanDevice{Device: d.device, HostResults: d.hostResults}
	if d.why == "" {
		p.Graphs = d.graphs
	}
	return p
}

// uncapturable says why no run of the steps can be captured in a graph, as far as it
// shows beforehand; "" for no reason.
func uncapturable(steps []planStep) string {
	for i := range steps {
		s := &steps[i]
		if s.Code == libtorch.PlanGo {
			return fmt.Sprintf("step %s is done by Go", s.site.path())
		}
		for k := range s.Calls {
			schema := s.Calls[k].Op.Schema()
			for _, t := range []struct {
				tag ir.Tags
				why string
			}{
				{ir.TagDataDependentOutput, "reads elements"},
				{ir.TagDynamicOutputShape, "has a result whose size depends on elements"},
				{ir.TagCUDAGraphUnsafe, "is marked as unsafe in graphs"},
			} {
				// What index gives depends on elements where a mask is among the indices, which
				// only a run shows: then its capture fails.
				if schema.Tags.Has(t.tag) && schema.Op != "aten::index.Tensor" {
					return fmt.Sprintf("step %s: %s %s", s.site.path(), schema.Op, t.why)
				}
			}
			for _, a := range s.Calls[k].Args {
				if _, ok := a.Const.(*libtorch.Generator); ok {
					return fmt.Sprintf("step %s draws from a generator of its own", s.site.path())
				}
			}
		}
	}
	return ""
}

// String is the line of [Plan.Dump].
func (d *deviceSide) String() string {
	parts := []string{"on " + d.device.String()}
	if d.hostResults {
		parts = append(parts, "results on the CPU")
	}
	switch {
	case d.why != "":
		parts = append(parts, "no graphs: "+d.why)
	case d.graphs > 0:
		parts = append(parts, fmt.Sprintf("graphs of up to %d shape classes a worker", d.graphs))
	}
	return strings.Join(parts, ", ")
}

// close frees what is on the device. It may be nil.
func (d *deviceSide) close() {
	if d == nil {
		return
	}
	for i, f := range d.frames {
		if f != nil {
			_ = f.native.Close()
			d.frames[i] = nil
		}
	}
	for _, t := range d.moved {
		_ = t.Close()
	}
	d.moved = nil
}

// runOnDevice runs the plan on a worker of its device.
func (p *Plan) runOnDevice(ctx context.Context, args []any) (out any, err error) {
	waited := libtorch.OnDevice(ctx, p.device.device, func(w *libtorch.DeviceWorker) { out, err = p.runOn(ctx, w, args) })
	if waited != nil {
		return nil, waited
	}
	return out, err
}

func (p *Plan) runOn(ctx context.Context, w *libtorch.DeviceWorker, args []any) (any, error) {
	f := p.device.frames[w.Index]
	if f == nil {
		made, err := p.newFrame(w.Stream)
		if err != nil {
			return nil, err
		}
		f = made
		p.device.frames[w.Index] = f
	}
	return f.run(ctx, args)
}

// Warmup runs the plan on args, as often as runs of their shapes still get faster: on
// the CPU until their memory is planned, on a device until libraries have chosen their
// kernels and graphs are captured, on each worker in turn. Results are closed. A
// service calls it with arguments of each shape that it expects, before it says that
// it is ready.
func (p *Plan) Warmup(ctx context.Context, args ...any) error {
	if err := p.given(ctx); err != nil {
		return err
	}
	leaves, err := p.graph.ProcessInputs(args, nil)
	if err != nil {
		return err
	}
	if p.device == nil {
		for range 2 {
			out, err := p.run(ctx, leaves)
			if err != nil {
				return err
			}
			closeAll(out)
		}
		return nil
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if err := p.admit(leaves); err != nil {
		return err
	}
	if leaves, err = pyValues(leaves); err != nil {
		return err
	}
	runs := 2
	if p.device.graphs > 0 && p.device.why == "" {
		runs = 5 // three, the capture, and a replay
	}
	return libtorch.OnEachWorker(ctx, p.device.device, func(w *libtorch.DeviceWorker) error {
		for range runs {
			out, err := p.runOn(ctx, w, leaves)
			if err != nil {
				return err
			}
			closeAll(out)
		}
		return nil
	})
}

// A PlanCapture is a shape class that a worker of a plan on a device has met.
type PlanCapture struct {
	Worker int
	libtorch.FrameGraph
}

// Captures tells what has become of the shape classes of a plan on a device, by worker,
// the most recent first, and why none is captured at all where that is so. It waits
// for the runs that are going on.
func (p *Plan) Captures(ctx context.Context) (classes []PlanCapture, why string, err error) {
	if err := p.given(ctx); err != nil {
		return nil, "", err
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	switch {
	case p.closed:
		return nil, "", ir.Errorf(ir.ErrClosed, "graphs: expected an open plan, got one that is closed")
	case p.device == nil:
		return nil, "the plan is not on a device", nil
	case p.device.graphs == 0:
		return nil, "no graphs are asked for", nil
	}
	err = libtorch.OnEachWorker(ctx, p.device.device, func(w *libtorch.DeviceWorker) error {
		f := p.device.frames[w.Index]
		if f == nil {
			return nil
		}
		graphs, err := f.native.Graphs()
		for _, g := range graphs {
			classes = append(classes, PlanCapture{w.Index, g})
		}
		return err
	})
	return classes, p.device.why, err
}
