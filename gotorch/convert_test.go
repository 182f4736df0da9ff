//go:build gotorch

package gotorch_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	gt "github.com/wangkuiyi/gotorch"

	"github.com/torchfx-go/torchfx/gotorch"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func data(t *testing.T, x *torch.Tensor) []float32 {
	t.Helper()
	all, err := torch.Data[float32](x)
	require.NoError(t, err)
	return all
}

// id is the identity of the TensorImpl.
func id(t *testing.T, x *torch.Tensor) uintptr {
	t.Helper()
	h, err := x.Handle()
	require.NoError(t, err)
	return h.ID()
}

func TestTensorsAreShared(t *testing.T) {
	theirs := gt.Full([]int64{2, 3}, 7, false)
	ours, err := gotorch.FromGotorch(theirs)
	require.NoError(t, err)
	defer ours.Close()
	assert.Equal(t, []int{2, 3}, ours.Shape())
	assert.Equal(t, []float32{7, 7, 7, 7, 7, 7}, data(t, ours))

	_, err = torch.Call("aten::fill_.Scalar", ours, 5)
	require.NoError(t, err)
	assert.True(t, gt.Equal(theirs, gt.Full([]int64{2, 3}, 5, false)), "what we write, gotorch sees")
	theirs.AddI(theirs, 1)
	assert.Equal(t, []float32{10, 10, 10, 10, 10, 10}, data(t, ours), "what gotorch writes, we see")

	back, err := gotorch.ToGotorch(ours)
	require.NoError(t, err)
	again, err := gotorch.FromGotorch(back)
	require.NoError(t, err)
	defer again.Close()
	assert.Equal(t, id(t, ours), id(t, again), "one tensor, there and back")
	runtime.KeepAlive(theirs)
}

func TestViewsKeepTheirStrides(t *testing.T) {
	x := torch.Randn(4, 3)
	transposed := x.Transpose(0, 1)
	theirs, err := gotorch.ToGotorch(transposed)
	require.NoError(t, err)
	assert.Equal(t, []int64{3, 4}, theirs.Shape())
	ours, err := gotorch.FromGotorch(theirs)
	require.NoError(t, err)
	defer ours.Close()
	assert.Equal(t, []int{1, 3}, ours.Strides())
	same(t, transposed, ours)
}

// Either side may go first, by Close or by the collector.
func TestLifetimes(t *testing.T) {
	x, err := torch.From([]float32{1, 2, 3}, 3)
	require.NoError(t, err)
	theirs, err := gotorch.ToGotorch(x)
	require.NoError(t, err)
	require.NoError(t, x.Close())
	assert.Equal(t, []int64{3}, theirs.Shape())
	ours, err := gotorch.FromGotorch(theirs)
	require.NoError(t, err)
	defer ours.Close()

	freed := make(chan struct{})
	runtime.AddCleanup(theirs.T, func(c chan struct{}) { close(c) }, freed)
	waitFor(t, freed) // theirs is not used any more
	assert.Equal(t, []float32{1, 2, 3}, data(t, ours))
}

// waitFor collects until done is closed, and until finalizers have run.
func waitFor(t *testing.T, done <-chan struct{}) {
	t.Helper()
	for range 1000 {
		runtime.GC()
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
	t.Fatal("expected a tensor of gotorch to be freed")
}

// Round trips leave no references: the memory goes when the last side lets go.
func TestNothingIsLeftBehind(t *testing.T) {
	released := make(chan struct{})
	func() {
		x, err := torch.FromMemory(make([]byte, 32), torch.Float32, []int{8}, []int{1}, 0, func() { close(released) })
		require.NoError(t, err)
		defer x.Close()
		for range 100 {
			theirs, err := gotorch.ToGotorch(x)
			require.NoError(t, err)
			ours, err := gotorch.FromGotorch(theirs)
			require.NoError(t, err)
			require.NoError(t, ours.Close())
		}
	}()
	for range 1000 {
		runtime.GC()
		torch.Zeros(1).Close() // a call collects what libtorch has dropped
		select {
		case <-released:
			return
		case <-time.After(time.Millisecond):
		}
	}
	t.Fatal("expected the memory to be released, got a reference left")
}

func TestWhatIsNoTensor(t *testing.T) {
	closed := torch.Zeros(2)
	require.NoError(t, closed.Close())
	undefined := gt.Full([]int64{2}, 1, false)
	tests := []struct {
		name  string
		call  func() error
		class error
	}{
		{"zero", func() error { _, err := gotorch.FromGotorch(gt.Tensor{}); return err }, ir.ErrType},
		{"undefined", func() error { _, err := gotorch.FromGotorch(undefined.Grad()); return err }, ir.ErrType},
		{"nil", func() error { _, err := gotorch.ToGotorch(nil); return err }, ir.ErrType},
		{"closed", func() error { _, err := gotorch.ToGotorch(closed); return err }, ir.ErrClosed},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { require.ErrorIs(t, tc.call(), tc.class) })
	}
}

// On one core gotorch alone ends the process as it starts; this package lets it.
func TestOneCore(t *testing.T) {
	if err := exec.Command("taskset", "-c", "0", "true").Run(); err != nil {
		t.Skip("taskset cannot bind a process to the first core here:", err)
	}
	cmd := exec.Command("taskset", "-c", "0", os.Args[0], "-test.run=^TestTensorsAreShared$", "-test.v")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: TestTensorsAreShared")
}
