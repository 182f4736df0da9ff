package libtorch

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/ir"
)

// A network is the convolutional part of one, built for two executors at once: as a
// region, and as the calls of libtorch's packed operators (oneDNN behind
// mkldnn::_convolution_pointwise, channels last, activations and residual sums
// inside), which is what freezing makes of it without a delegate.
type network struct {
	tb      testing.TB
	p       delegate.Program
	weights []*Tensor                   // the region's constants
	calls   []func(v []*Tensor) *Tensor // of libtorch, on the values so far
	values  []delegate.Value
	sizes   [][]int64
	x       *Tensor
}

func newNetwork(tb testing.TB, layouts delegate.Layouts, sizes ...int64) *network {
	n := &network{tb: tb, x: one(tb, "aten::clone", random(tb, 1, sizes...), ir.ChannelsLast)}
	n.p.Layouts = layouts
	n.values, n.sizes = []delegate.Value{n.p.Input()}, [][]int64{sizes}
	return n
}

// add makes a value and returns its number.
func (n *network) add(v delegate.Value, sizes []int64, f func(v []*Tensor) *Tensor) int {
	n.values, n.sizes, n.calls = append(n.values, v), append(n.sizes, sizes), append(n.calls, f)
	return len(n.values) - 1
}

// conv is a convolution with bias, a residual (a value or 0) and an activation
// ("", "relu", "relu6").
func (n *network) conv(x int, out, kernel, stride, groups int64, act string, residual int) int {
	tb, in := n.tb, n.sizes[x]
	pad := kernel / 2
	g := delegate.Convolution{Stride: []int64{stride, stride}, Padding: []int64{pad, pad}, Groups: groups}
	w := random(tb, uint64(len(n.weights)+7), out, in[1]/groups, kernel, kernel)
	scale := 1 / float64(kernel*kernel*in[1]/groups)
	w = one(tb, "aten::mul.Scalar", w, scale)
	b := random(tb, uint64(len(n.weights)+8), out)
	n.weights = append(n.weights, w, b)
	y := n.p.Convolution(n.values[x], n.p.Constant(), n.p.Constant(), g)
	if residual > 0 {
		y = n.p.Add(y, n.values[residual])
	}
	var scalars []any
	algorithm, attr := any(nil), any("none")
	switch act {
	case "relu":
		y, attr = n.p.Activation(y, delegate.ReLU), "relu"
	case "relu6":
		y, attr, scalars = n.p.Eltwise(delegate.Clip, y, 0, 6), "hardtanh", []any{0.0, 6.0}
	}
	size := func(v int64) int64 { return (v+2*pad-kernel)/stride + 1 }
	sizes := []int64{in[0], out, size(in[2]), size(in[3])}
	padding, strides, dilation := []int64{pad, pad}, []int64{stride, stride}, []int64{1, 1}
	packed := one(tb, "mkldnn::_reorder_convolution_weight", w, padding, strides, dilation, groups, in)
	plain, binary := find(tb, "mkldnn::_convolution_pointwise"), find(tb, "mkldnn::_convolution_pointwise.binary")
	return n.add(y, sizes, func(v []*Tensor) *Tensor {
		var out []any
		var err error
		if residual > 0 {
			unary := any(nil)
			if act != "" {
				unary = attr
			}
			out, err = binary.Call(nil, []any{v[x], v[residual], packed, b, padding, strides, dilation, groups, "add", nil, unary, scalars, nil})
		} else {
			out, err = plain.Call(nil, []any{v[x], packed, b, padding, strides, dilation, groups, attr, scalars, algorithm})
		}
		require.NoError(tb, err)
		return out[0].(*Tensor)
	})
}

func (n *network) maxPool(x int) int {
	in := n.sizes[x]
	w := delegate.Window{Kernel: []int64{3, 3}, Stride: []int64{2, 2}, Padding: []int64{1, 1}}
	pool := find(n.tb, "aten::max_pool2d_with_indices")
	return n.add(n.p.Pool(n.values[x], delegate.MaxPool, w), []int64{in[0], in[1], (in[2] + 1) / 2, (in[3] + 1) / 2}, func(v []*Tensor) *Tensor {
		out, err := pool.Call(nil, []any{v[x], w.Kernel, w.Stride, w.Padding, []int64{1, 1}, false})
		require.NoError(n.tb, err)
		_ = out[1].(*Tensor).Close()
		return out[0].(*Tensor)
	})
}

// region compiles and prepares what was built, with the last value as output.
func (n *network) region(threads int) *RegionClass {
	n.p.Output(n.values[len(n.values)-1], delegate.Fastest)
	r, err := openDelegate(n.tb).Compile(&n.p, n.weights)
	require.NoError(n.tb, err)
	n.tb.Cleanup(func() { _ = r.Close() })
	c, err := r.Prepare([]*Tensor{n.x}, threads)
	require.NoError(n.tb, err)
	n.tb.Cleanup(func() { _ = c.Close() })
	return c
}

// packed runs libtorch's calls and returns the last value.
func (n *network) packed() *Tensor {
	v := []*Tensor{n.x}
	for _, f := range n.calls {
		v = append(v, f(v))
	}
	closeTensors(v[1 : len(v)-1])
	return v[len(v)-1]
}

// mobileNet is torchvision's mobilenet_v2 up to its pooling.
func mobileNet(tb testing.TB, layouts delegate.Layouts, batch int64) *network {
	n := newNetwork(tb, layouts, batch, 3, 224, 224)
	x := n.conv(0, 32, 3, 2, 1, "relu6", 0)
	for _, s := range [][4]int64{{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}} {
		for i := range s[2] {
			stride := s[3]
			if i > 0 {
				stride = 1
			}
			in, y := n.sizes[x][1], x
			hidden := in * s[0]
			if s[0] != 1 {
				y = n.conv(y, hidden, 1, 1, 1, "relu6", 0)
			}
			y = n.conv(y, hidden, 3, stride, hidden, "relu6", 0)
			residual := 0
			if stride == 1 && in == s[1] {
				residual = x
			}
			x = n.conv(y, s[1], 1, 1, 1, "", residual)
		}
	}
	n.conv(x, 1280, 1, 1, 1, "relu6", 0)
	return n
}

// resNet is torchvision's resnet50 up to its pooling.
func resNet(tb testing.TB, layouts delegate.Layouts, batch int64) *network {
	n := newNetwork(tb, layouts, batch, 3, 224, 224)
	x := n.maxPool(n.conv(0, 64, 7, 2, 1, "relu", 0))
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := int64(64) << stage
		for i := range blocks {
			stride := int64(1)
			if i == 0 && stage > 0 {
				stride = 2
			}
			skip := x
			if i == 0 {
				skip = n.conv(x, 4*width, 1, stride, 1, "", 0)
			}
			y := n.conv(x, width, 1, 1, 1, "relu", 0)
			y = n.conv(y, width, 3, stride, 1, "relu", 0)
			x = n.conv(y, 4*width, 1, 1, 1, "relu", skip)
		}
	}
	return n
}

var networks = map[string]func(testing.TB, delegate.Layouts, int64) *network{"mobilenet_v2": mobileNet, "resnet50": resNet}

// TestNetworksComputeWhatPackedOperatorsDo compares whole networks: some fifty
// convolutions with bounded weights, each within the tolerance of its sums.
func TestNetworksComputeWhatPackedOperatorsDo(t *testing.T) {
	openDelegate(t)
	for name, build := range networks {
		for _, layouts := range []delegate.Layouts{delegate.AnyLayout, delegate.ChannelsLastLayout, delegate.Measured} {
			t.Run(fmt.Sprintf("%s %d", name, layouts), func(t *testing.T) {
				n := build(t, layouts, 1)
				c := n.region(1)
				want := n.packed()
				defer want.Close()
				got, err := c.Run(t.Context(), []*Tensor{n.x})
				require.NoError(t, err)
				defer closeTensors(got)
				requireClose(t, want, got[0], 1e-5, c)
			})
		}
	}
}

// cpuTime is what the calling thread has used of its processor, to the nanosecond:
// getrusage counts ticks.
func cpuTime(tb testing.TB) time.Duration {
	const threadClock = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&t)), 0)
	require.Zero(tb, errno)
	return time.Duration(t.Nano())
}

// BenchmarkNetworks runs a network's convolutions as a region and through
// libtorch's packed operators, in turns, and reports the least processor time of each in
// milliseconds and their ratio. With TORCHFX_KERNELS=1 it prints what each kernel
// of the region takes.
//
//	go test ./cgo -run '^$' -bench Networks -benchtime 20x
func BenchmarkNetworks(b *testing.B) {
	openDelegate(b)
	for name, build := range networks {
		for _, layouts := range []delegate.Layouts{delegate.AnyLayout, delegate.ChannelsLastLayout, delegate.BlockedLayout} {
			b.Run(fmt.Sprintf("%s/layouts=%d", name, layouts), func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				n := build(b, layouts, 1)
				c := n.region(1)
				out, err := c.Run(b.Context(), []*Tensor{n.x})
				require.NoError(b, err)
				scratch := make([]byte, c.Scratch+64)
				at := unsafe.Pointer(&scratch[(64-uintptr(unsafe.Pointer(&scratch[0]))%64)%64])
				ns, least := make([]uint64, c.Kernels), slices.Repeat([]uint64{1 << 62}, c.Kernels)
				region, packed := time.Hour, time.Hour
				for b.Loop() {
					start := cpuTime(b)
					require.NoError(b, c.RunInto(b.Context(), []*Tensor{n.x}, out, at, ns))
					middle := cpuTime(b)
					_ = n.packed().Close()
					region, packed = min(region, middle-start), min(packed, cpuTime(b)-middle)
					for i := range ns {
						least[i] = min(least[i], ns[i])
					}
				}
				b.ReportMetric(float64(region.Microseconds())/1000, "region-ms")
				b.ReportMetric(float64(packed.Microseconds())/1000, "packed-ms")
				b.ReportMetric(float64(packed)/float64(region), "times")
				b.ReportMetric(0, "ns/op")
				if os.Getenv("TORCHFX_KERNELS") != "" {
					var text strings.Builder
					var sum uint64
					for i := range least {
						fmt.Fprintf(&text, "%8.1f us  %s\n", float64(least[i])/1000, c.DescribeKernel(i))
						sum += least[i]
					}
					b.Logf("%d us in kernels\n%s", sum/1000, text.String())
				}
			})
		}
	}
}

// BenchmarkLinears does the products of a transformer, with gelu where it has one,
// as a region and by mkl::_mkl_linear, in turns, and reports 10^9 operations a second of
// processor time.
//
//	go test ./cgo -run '^$' -bench Linears -benchtime 50x
func BenchmarkLinears(b *testing.B) {
	d := openDelegate(b)
	for _, s := range []struct {
		m, k, n int64
		gelu    bool
	}{{128, 768, 768, false}, {128, 768, 3072, true}, {128, 3072, 768, false}, {1, 2048, 1000, false}, {8, 2048, 1000, false}} {
		b.Run(fmt.Sprintf("%dx%dx%d", s.m, s.k, s.n), func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			x, w, bias := random(b, 1, s.m, s.k), random(b, 2, s.n, s.k), random(b, 3, s.n)
			var p delegate.Program
			y := p.Linear(p.Input(), p.Constant(), p.Constant())
			if s.gelu {
				y = p.Activation(y, delegate.GELU)
			}
			p.Output(y, delegate.Contiguous)
			r, err := d.Compile(&p, []*Tensor{w, bias})
			require.NoError(b, err)
			defer r.Close()
			c, err := r.Prepare([]*Tensor{x}, 1)
			require.NoError(b, err)
			defer c.Close()
			packed := one(b, "mkl::_mkl_reorder_linear_weight", w, s.m)
			linear, gelu := find(b, "mkl::_mkl_linear"), find(b, "aten::gelu")
			region, mkl := time.Hour, time.Hour
			for b.Loop() {
				start := cpuTime(b)
				out, err := c.Run(b.Context(), []*Tensor{x})
				require.NoError(b, err)
				middle := cpuTime(b)
				closeTensors(out)
				other := cpuTime(b)
				y, err := linear.Call(nil, []any{x, packed, w, bias, s.m})
				require.NoError(b, err)
				if s.gelu {
					z, err := gelu.Call(nil, []any{y[0], "none"})
					require.NoError(b, err)
					closeAll(z)
				}
				closeAll(y)
				region, mkl = min(region, middle-start), min(mkl, cpuTime(b)-other)
			}
			work := 2 * float64(s.m*s.k*s.n)
			b.ReportMetric(work/float64(region), "region-GFLOP/s")
			b.ReportMetric(work/float64(mkl), "mkl-GFLOP/s")
			b.ReportMetric(float64(mkl)/float64(region), "times")
			b.ReportMetric(0, "ns/op")
			b.Log(c.Describe())
		})
	}
}
