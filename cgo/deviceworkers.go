package libtorch

import (
	"context"
	"runtime"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
)

// A DeviceWorker runs work on a device: a goroutine that is locked to its OS thread
// for life, and a stream. Libraries of a device keep handles for each thread and
// memory for each thread and stream, so that both must be few.
type DeviceWorker struct {
	Index  int // from 0, among those of the device
	Stream *Stream
	jobs   chan func()
}

// MaxDeviceWorkers bounds [SetDeviceWorkers]: more streams than the pool has would
// be the same ones again.
const MaxDeviceWorkers = 32

var devices struct {
	sync.Mutex
	workers int // of each device, 0 for the default
	of      map[ir.Device]*device
}

// A device holds its workers. Those that are free lie on a stack, so that little
// traffic keeps to few of them, whose memory is warm.
type device struct {
	all  []*DeviceWorker
	mu   sync.Mutex
	idle []*DeviceWorker
	free chan struct{} // as many as idle has
}

// SetDeviceWorkers sets how many runs go on at once on each device. Default: 4. Each
// has a stream, and memory of its own for what it runs. n is from 1 to
// [MaxDeviceWorkers]. It is for the start of a program, before a device is used.
func SetDeviceWorkers(n int) error {
	if n < 1 || n > MaxDeviceWorkers {
		return ir.Errorf(ir.ErrValue, "device workers: expected 1 to %d, got %d", MaxDeviceWorkers, n)
	}
	devices.Lock()
	defer devices.Unlock()
	if len(devices.of) > 0 {
		return ir.Errorf(ir.ErrRuntime, "device workers: expected to be set before a device is used")
	}
	devices.workers = n
	return nil
}

// OnDevice runs f on a worker of a device and returns when it has returned: on the
// one that was free last, after waiting for one or for the end of ctx, whose error
// it then returns. A panic of f is the caller's. f must not call OnDevice.
func OnDevice(ctx context.Context, d ir.Device, f func(w *DeviceWorker)) error {
	dev, err := deviceFor(d)
	if err != nil {
		return err
	}
	w, err := dev.take(ctx)
	if err != nil {
		return err
	}
	defer dev.give(w)
	w.do(f)
	return nil
}

// OnEachWorker runs f on all workers of a device, one after the other.
func OnEachWorker(ctx context.Context, d ir.Device, f func(w *DeviceWorker) error) error {
	dev, err := deviceFor(d)
	if err != nil {
		return err
	}
	var held []*DeviceWorker
	defer func() {
		for _, w := range held {
			dev.give(w)
		}
	}()
	for range dev.all {
		w, err := dev.take(ctx)
		if err != nil {
			return err
		}
		held = append(held, w)
		w.do(func(w *DeviceWorker) { err = f(w) })
		if err != nil {
			return err
		}
	}
	return nil
}

// deviceFor returns the workers of a device, which it starts where there are none.
func deviceFor(d ir.Device) (*device, error) {
	if err := CheckDevice(d); err != nil {
		return nil, err
	}
	devices.Lock()
	defer devices.Unlock()
	if dev := devices.of[d]; dev != nil {
		return dev, nil
	}
	n := devices.workers
	if n == 0 {
		n = 4
	}
	dev := &device{free: make(chan struct{}, n)}
	for i := range n {
		w := &DeviceWorker{Index: i, jobs: make(chan func())}
		go w.work()
		var err error
		w.do(func(w *DeviceWorker) { w.Stream, err = NewStream(d) }) // on the thread that it is for
		if err != nil {
			for _, started := range append(dev.all, w) {
				close(started.jobs)
			}
			return nil, err
		}
		dev.all = append(dev.all, w)
	}
	for _, w := range dev.all {
		dev.give(w)
	}
	if devices.of == nil {
		devices.of = map[ir.Device]*device{}
	}
	devices.of[d] = dev
	return dev, nil
}

func (d *device) take(ctx context.Context) (*DeviceWorker, error) {
	select {
	case <-d.free:
	default:
		select {
		case <-d.free:
		case <-ctx.Done():
			return nil, ir.Errorf(ir.ErrCancelled, "run: stopped while waiting for a worker of the device: %w", ctx.Err())
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	last := len(d.idle) - 1
	w := d.idle[last]
	d.idle = d.idle[:last]
	return w, nil
}

func (d *device) give(w *DeviceWorker) {
	d.mu.Lock()
	d.idle = append(d.idle, w)
	d.mu.Unlock()
	d.free <- struct{}{}
}

func (w *DeviceWorker) work() {
	runtime.LockOSThread()
	for job := range w.jobs {
		job()
	}
}

// do runs f on the worker's thread.
func (w *DeviceWorker) do(f func(w *DeviceWorker)) {
	done := make(chan any)
	w.jobs <- func() {
		var panicked any
		defer func() { done <- panicked }()
		defer func() { panicked = recover() }()
		f(w)
	}
	if panicked := <-done; panicked != nil {
		panic(panicked)
	}
}
