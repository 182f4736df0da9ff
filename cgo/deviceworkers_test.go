package libtorch

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// someWorkers are workers of no device.
func someWorkers(t *testing.T, n int) *device {
	t.Helper()
	d := &device{free: make(chan struct{}, n)}
	for i := range n {
		w := &DeviceWorker{Index: i, jobs: make(chan func())}
		go w.work()
		t.Cleanup(func() { close(w.jobs) })
		d.all = append(d.all, w)
		d.give(w)
	}
	return d
}

func TestTheWorkerThatWasFreeLastIsTaken(t *testing.T) {
	d := someWorkers(t, 3)
	first, err := d.take(t.Context())
	require.NoError(t, err)
	d.give(first)
	for range 5 {
		w, err := d.take(t.Context())
		require.NoError(t, err)
		assert.Equal(t, first.Index, w.Index)
		d.give(w)
	}
}

func TestAWorkerDoesOneThingAtATime(t *testing.T) {
	d := someWorkers(t, 2)
	var inside [2]atomic.Int32
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			w, err := d.take(context.Background())
			if !assert.NoError(t, err) {
				return
			}
			defer d.give(w)
			w.do(func(w *DeviceWorker) {
				assert.Equal(t, int32(1), inside[w.Index].Add(1))
				inside[w.Index].Add(-1)
			})
		})
	}
	wg.Wait()
}

func TestAWaitForAWorkerEndsWithTheContext(t *testing.T) {
	d := someWorkers(t, 1)
	w, err := d.take(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = d.take(ctx)
	require.ErrorIs(t, err, ir.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)
	d.give(w)
	_, err = d.take(ctx)
	require.NoError(t, err, "one that is free needs no waiting")
}

func TestAPanicOnAWorkerIsTheCallers(t *testing.T) {
	d := someWorkers(t, 1)
	w, err := d.take(t.Context())
	require.NoError(t, err)
	assert.PanicsWithValue(t, "of the job", func() { w.do(func(*DeviceWorker) { panic("of the job") }) })
	done := false
	w.do(func(*DeviceWorker) { done = true })
	assert.True(t, done, "the worker goes on")
}

func TestDevicesThatAreNotThere(t *testing.T) {
	testenv.Libtorch(t)
	n, err := DeviceCount(ir.DeviceCUDA)
	require.NoError(t, err)
	if n > 0 {
		t.Skip("there is a CUDA device")
	}
	cuda := ir.NewDevice(ir.DeviceCUDA, 0)
	for name, f := range map[string]func() error{
		"check":       func() error { return CheckDevice(cuda) },
		"stream":      func() error { _, err := NewStream(cuda); return err },
		"workers":     func() error { return OnDevice(t.Context(), cuda, func(*DeviceWorker) { t.Error("ran") }) },
		"memory":      func() error { _, err := MemoryOf(cuda); return err },
		"cache":       func() error { _, err := EmptyCache(cuda); return err },
		"synchronize": func() error { return SynchronizeDevice(cuda) },
	} {
		err := f()
		require.ErrorIs(t, err, ir.ErrMissing, name)
		require.ErrorContains(t, err, "device cuda:0: no CUDA: ", name)
		require.ErrorContains(t, err, "torchfx setup --cuda", name)
	}
	xpu := ir.NewDevice(ir.DeviceXPU, 0)
	require.EqualError(t, CheckDevice(xpu), "device xpu:0: no device: this libtorch has none of that kind")
	require.NoError(t, CheckDevice(ir.Device{}))
	_, err = MemoryOf(ir.Device{})
	require.ErrorIs(t, err, ir.ErrUnsupported)

	for _, n := range []int{0, MaxDeviceWorkers + 1} {
		require.ErrorIs(t, SetDeviceWorkers(n), ir.ErrValue)
	}
	require.NoError(t, SetDeviceWorkers(2), "no device was used")

	info, err := GetInfo()
	require.NoError(t, err)
	assert.False(t, info.Graphs)
	assert.Equal(t, "there is no CUDA", info.GraphsWhy)
}

func TestFaultsOfADevice(t *testing.T) {
	d := ir.NewDevice(ir.DeviceCUDA, 7)
	other := ir.Errorf(ir.ErrValue, "another error")
	assert.Equal(t, other, deviceFault(d, other), "only what the device says counts")
	plain := failure("aten::mm", 1, "shapes")
	assert.Equal(t, plain, deviceFault(d, plain))
	require.NoError(t, faulty(d))

	testenv.Libtorch(t)
	require.NoError(t, Open())
	// of a device that cannot even wait any more
	lost := deviceFault(d, failure("aten::mm", 8, "CUDA error: an illegal memory access was encountered"))
	require.ErrorContains(t, lost, "device cuda:7 is lost: CUDA error")
	require.EqualError(t, faulty(d), "device cuda:7: lost by an earlier fault, until the process starts anew: CUDA error: an illegal memory access was encountered")
	require.NoError(t, faulty(ir.NewDevice(ir.DeviceCUDA, 6)))
	faults.Lock()
	delete(faults.of, d)
	faults.Unlock()
}
