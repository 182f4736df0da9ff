package torchops

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// deeper calls f with so many frames of 1 KiB under it.
func deeper(n int, f func()) int {
	var room [128]int
	if n == 0 {
		f()
		return room[0]
	}
	return deeper(n-1, f) + room[n%len(room)]
}

// Typed calls from many goroutines, on stacks that grow between and in the calls, with
// tensors that are closed by others while they are in use, and errors in between: each
// call gives its result or says that a tensor is closed.
func TestTypedCallsUnderStress(t *testing.T) {
	testenv.Libtorch(t)
	var wg sync.WaitGroup
	for seed := range 64 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(seed)))
			for range 30 {
				x := Full([]int{2, 3}, float64(seed))
				view := x.Select(1, 1)
				closes := make(chan struct{})
				go func() {
					defer close(closes)
					_ = x.Close()
					_ = x.Close()
				}()
				deeper(r.IntN(50), func() {
					dims := []int{0, 1}
					y, err := Try(func() *Tensor { return Sum(x, dims, Kw("keepdim", true)) })
					if err == nil {
						assert.Equal(t, []int{1, 1}, y.Shape())
						_ = y.Close()
					} else {
						assert.ErrorIs(t, err, ir.ErrClosed)
					}
					_, err = Try(func() *Tensor { return MatMul(view, Ones(3)) })
					assert.Error(t, err)
					deeper(r.IntN(50), func() {
						z := Cat(List{view, view}, Kw("dim", 0))
						got, err := Data[float32](z)
						assert.NoError(t, err)
						assert.Equal(t, []float32{float32(seed), float32(seed), float32(seed), float32(seed)}, got)
						_ = z.Close()
					})
				})
				<-closes
				_, err := Try(func() *Tensor { return Add(x, 1) })
				assert.ErrorIs(t, err, ir.ErrClosed)
				assert.Equal(t, []int{2}, view.Shape())
				_ = view.Close()
				if r.IntN(10) == 0 {
					runtime.GC()
				}
			}
		})
	}
	wg.Wait()
}

// A panic of a caller in the middle of its arguments leaves nothing in use.
func TestPanicsBetweenArguments(t *testing.T) {
	testenv.Libtorch(t)
	x := Ones(2)
	stop := errors.New("stop")
	for range 100 {
		require.PanicsWithError(t, stop.Error(), func() { Cat(List{x, func() *Tensor { panic(stop) }()}) })
	}
	require.NoError(t, x.Close())
	assert.True(t, x.handle.Closed())
}
