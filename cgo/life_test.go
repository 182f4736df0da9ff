package libtorch

import (
	"bytes"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

func TestClosedTensorsSaySo(t *testing.T) {
	x := ones(t, 2)
	ref, err := x.Ref()
	require.NoError(t, err)
	assert.Equal(t, x.ID(), ref.ID())
	assert.True(t, IsAlias(x, ref))
	require.NoError(t, x.Close())
	require.NoError(t, x.Close())
	assert.True(t, x.Closed())
	assert.Equal(t, []float32{1, 1}, values(t, ref), "the other handle lives on")
	require.NoError(t, ref.Close())

	for name, use := range map[string]func(*Tensor) error{
		"info":      func(x *Tensor) error { _, err := x.Info(); return err },
		"ref":       func(x *Tensor) error { _, err := x.Ref(); return err },
		"data":      func(x *Tensor) error { _, err := x.DataPtr(); return err },
		"copy":      func(x *Tensor) error { _, err := x.CopyBytes(nil); return err },
		"view":      func(x *Tensor) error { _, err := View(x, ir.Float32, nil, nil, 0); return err },
		"set state": func(x *Tensor) error { return SetRNGState(x) },
		"remove batch": func(x *Tensor) error {
			_, err := RemoveBatchDim(&Mode{Vmap: []VmapLevel{{BatchSize: 1}}}, x, 1, 1, 0)
			return err
		},
	} {
		require.ErrorIs(t, use(x), ir.ErrClosed, name)
		require.ErrorIs(t, use(nil), ir.ErrClosed, name)
	}
	assert.Zero(t, x.ID())
	assert.False(t, IsAlias(x, ref))
	assert.True(t, (*Tensor)(nil).Closed())
	require.NoError(t, (*Tensor)(nil).Close())
}

// TestCloseDuringACall closes an argument while its operator runs: the memory has
// to last until the kernel has read it.
func TestCloseDuringACall(t *testing.T) {
	testOps(t)
	for range 10 {
		x := ones(t, 1000)
		started := make(chan struct{})
		var got []any
		var wg sync.WaitGroup
		wg.Go(func() {
			close(started)
			var err error
			got, err = find(t, "tfxtest::nap").Call(nil, []any{x, int64(5)})
			if err != nil {
				require.ErrorIs(t, err, ir.ErrClosed)
			}
		})
		<-started
		time.Sleep(time.Millisecond)
		require.NoError(t, x.Close())
		wg.Wait()
		if got != nil {
			for _, v := range values(t, got[0]) {
				require.InDelta(t, 1, v, 0)
			}
			closeAll(got)
		}
	}
}

// TestCloseRaces closes and uses one tensor from many goroutines.
func TestCloseRaces(t *testing.T) {
	op := find(t, "aten::neg")
	for range 50 {
		x := ones(t, 8)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if i%2 == 0 {
					_ = x.Close()
					return
				}
				res, err := op.Call(nil, []any{x})
				if err != nil {
					assert.ErrorIs(t, err, ir.ErrClosed)
				}
				closeAll(res)
			})
		}
		wg.Wait()
	}
}

func TestLiveTensorsAreCounted(t *testing.T) {
	testenv.Libtorch(t)
	settle()
	count, size := LiveTensors()
	x, err := NewTensor(ir.UInt8, []int64{1 << 20}, make([]byte, 1<<20))
	require.NoError(t, err)
	view := call(t, nil, "aten::slice.Tensor", x, int64(0), int64(0), int64(10), int64(1))[0].(*Tensor)
	c, b := LiveTensors()
	assert.Equal(t, count+2, c)
	assert.Equal(t, size+1<<20, b, "the view counts its handle alone")
	same := call(t, nil, "aten::add_.Scalar", x, int64(1), int64(1))[0].(*Tensor)
	parts := call(t, nil, "aten::unsafe_chunk", x, int64(2), int64(0))[0].([]*Tensor)
	c, b = LiveTensors()
	assert.Equal(t, count+5, c)
	assert.Equal(t, size+1<<20, b, "an argument that comes back is counted once, chunks are views")
	pair := call(t, nil, "aten::sort", x, int64(0), false)
	_, b = LiveTensors()
	assert.Equal(t, size+10<<20, b, "two results of their own, one of int64")
	closeAll([]any{view, same, parts, pair})
	require.NoError(t, x.Close())
	c, b = LiveTensors()
	assert.Equal(t, count, c)
	assert.Equal(t, size, b)
}

// settle lets the collector take what earlier tests left.
func settle() {
	for range 3 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
}

// How far a program may grow that closes nothing: by the slack, once more before
// callers wait, once more while the collection runs; and by what the C allocator
// keeps, which is little for small tensors and a few rounds for large ones.
const (
	unclosedBound      = 3*minSlack + 64<<20
	unclosedLargeBound = 3*minSlack + 4*minSlack + 64<<20
)

// TestUnclosedTensorsStayBounded makes a million small tensors and closes none.
func TestUnclosedTensorsStayBounded(t *testing.T) {
	x := ones(t, 8)
	op := find(t, "aten::neg")
	n := 1_000_000
	if debug {
		n = 200
	}
	settle()
	before := resident(t)
	peak := before
	for i := range n {
		if _, err := op.Call(nil, []any{x}); err != nil {
			t.Fatal(err)
		}
		if i%10_000 == 0 {
			peak = max(peak, resident(t))
		}
	}
	t.Logf("%d unclosed tensors: peak %d MiB over the start", n, (peak-before)>>20)
	assert.Less(t, peak-before, int64(unclosedBound)*instrumented)
}

// TestUnclosedLargeTensorsStayBounded makes 3 GiB of tensors of 8 MiB, which are
// nothing to Go's collector.
func TestUnclosedLargeTensorsStayBounded(t *testing.T) {
	op := find(t, "aten::ones")
	args := []any{[]int64{2 << 20}, nil, nil, nil, nil}
	n := 400
	if debug {
		n = 20
	}
	settle()
	before := resident(t)
	peak := before
	for range n {
		if _, err := op.Call(nil, args); err != nil {
			t.Fatal(err)
		}
		peak = max(peak, resident(t))
	}
	t.Logf("%d unclosed tensors of 8 MiB: peak %d MiB over the start, %d forced collections", n, (peak-before)>>20, forced.Load())
	assert.Less(t, peak-before, int64(unclosedLargeBound)*instrumented)
}

func TestProfileShowsWhereTensorsCameFrom(t *testing.T) {
	testenv.Libtorch(t)
	before := profile.Count()
	ProfileTensors(true)
	x := ones(t, 1)
	ProfileTensors(false)
	y := ones(t, 1)
	assert.Equal(t, before+1, profile.Count())
	var text bytes.Buffer
	require.NoError(t, profile.WriteTo(&text, 1))
	assert.Contains(t, text.String(), "TestProfileShowsWhereTensorsCameFrom")
	require.NoError(t, y.Close())
	assert.Equal(t, before+1, profile.Count())
	require.NoError(t, x.Close())
	assert.Equal(t, before, profile.Count())
}

// TestCollectorFreesWhatIsLost drops handles and waits for the net, including the
// release of borrowed memory.
func TestCollectorFreesWhatIsLost(t *testing.T) {
	testenv.Libtorch(t)
	settle()
	count, _ := LiveTensors()
	released := make(chan struct{})
	func() {
		_, err := FromMemory(make([]byte, 16), ir.UInt8, []int64{16}, []int64{1}, 0, func() { close(released) })
		require.NoError(t, err)
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-released:
			after, _ := LiveTensors()
			assert.LessOrEqual(t, after, count)
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatal("a lost tensor was never released")
}
