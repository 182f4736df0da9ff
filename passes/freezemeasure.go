package passes

import (
	"math"
	"runtime"
	"time"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// The ways to compute a layer.
const (
	wayPlain  = "plain"  // the operator as it is
	wayPacked = "packed" // oneDNN's, on packed weights
	wayMKL    = "mkl"    // MKL's, on packed weights
)

// A measured is a set of ways to compute the same, with what they need.
type measured struct {
	calculator
	mode   *libtorch.Mode
	ways   []way
	margin float64      // of the first way's time that another has to save
	ready  func() error // called when all ways are known to run, before times are taken; nil for nothing
}

// A way is calls of operators, each with its arguments, or something else to do.
type way struct {
	name  string
	calls []operatorCall
	do    func() error
}

type operatorCall struct {
	op   string
	args []any
}

// way adds one that begins with a call.
func (m *measured) way(name, op string, args ...any) {
	m.ways = append(m.ways, way{name: name, calls: []operatorCall{{op, args}}})
}

// then adds a call to a way.
func (m *measured) then(name, op string, args ...any) {
	for i := range m.ways {
		if m.ways[i].name == name {
			m.ways[i].calls = append(m.ways[i].calls, operatorCall{op, args})
		}
	}
}

func (m *measured) run(w way) error {
	if w.do != nil {
		return w.do()
	}
	for _, c := range w.calls {
		var named []torch.Kwarg
		args := c.args
		for len(args) > 0 {
			k, ok := args[len(args)-1].(torch.Kwarg)
			if !ok {
				break
			}
			named, args = append(named, k), args[:len(args)-1]
		}
		v, err := torch.CallMode(m.mode, c.op, args, named)
		if err != nil {
			return err
		}
		if t, ok := v.(*torch.Tensor); ok {
			t.Close()
		}
	}
	return nil
}

// measure runs the ways in turn, so that what else the machine does hits all alike,
// and returns the shortest time of each: the processor's where kernels run on the
// calling thread alone.
func (m *measured) measure() (map[string]float64, error) {
	const (
		batch  = 500 * time.Microsecond // at least
		enough = 30 * time.Millisecond  // for a way
		rounds = 9
	)
	clock := wallTime
	if m.mode.Threads == 1 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		clock = threadTime
	}
	for _, w := range m.ways {
		if err := m.run(w); err != nil { // kernels are made at the first call
			return nil, err
		}
	}
	if m.ready != nil {
		if err := m.ready(); err != nil {
			return nil, err
		}
	}
	times := make([]int, len(m.ways))
	shortest := map[string]float64{}
	for i, w := range m.ways {
		start := clock()
		if err := m.run(w); err != nil {
			return nil, err
		}
		times[i] = int(max(1, batch/max(clock()-start, time.Microsecond)))
		shortest[w.name] = math.Inf(1)
	}
	begin := clock()
	for round := 0; round < rounds && (round < 3 || clock()-begin < enough*time.Duration(len(m.ways))); round++ {
		for i, w := range m.ways {
			start := clock()
			for range times[i] {
				if err := m.run(w); err != nil {
					return nil, err
				}
			}
			shortest[w.name] = min(shortest[w.name], float64(clock()-start)/float64(times[i]))
		}
	}
	return shortest, nil
}

var began = time.Now()

func wallTime() time.Duration { return time.Since(began) }
