package passes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Choices are what was measured: which of several ways to compute a layer of certain
// sizes is the fastest on this machine. They may be shared by any number of
// goroutines, and be kept in a file.
type Choices struct {
	mu     sync.Mutex
	fixed  string // not measured: the way that is taken where there is one
	chosen map[string]Choice
	more   bool // than was opened or saved
}

// A Choice is the outcome of one measurement.
type Choice struct {
	Way   string             `json:"way"`   // the one that is taken
	Nanos map[string]float64 `json:"nanos"` // a call of each, the shortest seen
}

// String tells the times, "plain 12.0 µs, packed 9.1 µs".
func (c Choice) String() string {
	parts := []string{}
	for _, name := range slices.Sorted(maps.Keys(c.Nanos)) {
		parts = append(parts, fmt.Sprintf("%s %.1f µs", name, c.Nanos[name]/1e3))
	}
	return strings.Join(parts, ", ")
}

// processChoices are what Freeze measures unless it is told otherwise.
var processChoices = NewChoices()

// NewChoices returns choices of which nothing is measured yet.
func NewChoices() *Choices { return &Choices{chosen: map[string]Choice{}} }

// Unmeasured returns choices that take what is packed wherever there is a kernel for
// it, and regions wherever there is a delegate for them, so that the outcome does not
// depend on times.
func Unmeasured() *Choices {
	c := NewChoices()
	c.fixed = wayPacked
	return c
}

// A choicesFile is the text form of choices.
type choicesFile struct {
	Machine string            `json:"machine"`
	Choices map[string]Choice `json:"choices"`
}

// OpenChoices reads choices from a file that Save wrote. There are none yet where the
// file is not there or where it is of another machine or another libtorch; a file that
// is something else is an error of class ir.ErrFormat.
func OpenChoices(name string) (*Choices, error) {
	c := NewChoices()
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	var file choicesFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, ir.Errorf(ir.ErrFormat, "%s: expected measured choices, got %w", name, err)
	}
	if file.Machine == thisMachine() && file.Choices != nil {
		c.chosen = file.Choices
	}
	return c, nil
}

// Save writes the choices to a file, whole or not at all.
func (c *Choices) Save(name string) error {
	c.mu.Lock()
	data, err := json.MarshalIndent(choicesFile{thisMachine(), c.chosen}, "", "\t")
	c.mu.Unlock()
	if err != nil {
		return err
	}
	made, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = made.Write(append(data, '\n'))
	if err = errors.Join(err, made.Close()); err == nil {
		err = os.Rename(made.Name(), name)
	}
	if err != nil {
		_ = os.Remove(made.Name())
	}
	return err
}

// openChoices opens the file that KeepChoices names.
func (f *freezer) openChoices() (err error) {
	if f.file != "" {
		f.choices, err = OpenChoices(f.file)
	}
	return err
}

// saveChoices writes the file where something was measured that it has not.
func (f *freezer) saveChoices() error {
	if f.file == "" {
		return nil
	}
	f.choices.mu.Lock()
	more := f.choices.more
	f.choices.mu.Unlock()
	if !more {
		return nil
	}
	return f.choices.Save(f.file)
}

// All returns what was measured, by what was asked.
func (c *Choices) All() map[string]Choice {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.chosen)
}

// thisMachine tells machines apart between which times do not carry over.
func thisMachine() string {
	capability, version := "", ""
	if info, err := libtorch.GetInfo(); err == nil {
		capability, version = info.CPUCapability, info.TorchVersion
	}
	model := ""
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %s, %s, %d processors, libtorch %s", runtime.GOARCH, model, capability, runtime.NumCPU(), version)
}

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
	margin float64 // of the first way's time that another has to save
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

// choose returns the way that was measured to be the fastest for what key describes,
// and measures where that was not done yet. ways makes them; the first is taken
// unless another is faster by the margin, a twentieth unless ways says otherwise.
func (c *Choices) choose(key string, threads int, ways func(*measured) error) (Choice, error) {
	if c.fixed != "" {
		return Choice{Way: c.fixed}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock() // two measurements at once would disturb each other
	key = withThreads(key, threads)
	if found, ok := c.chosen[key]; ok {
		return found, nil
	}
	m := &measured{mode: &libtorch.Mode{Threads: threads}, margin: 0.05}
	defer m.close()
	if err := ways(m); err != nil {
		return Choice{}, err
	}
	nanos, err := m.measure()
	if err != nil {
		return Choice{}, err
	}
	first := m.ways[0].name
	choice := Choice{Way: first, Nanos: nanos}
	for _, w := range m.ways[1:] {
		if nanos[w.name] < (1-m.margin)*nanos[first] && (choice.Way == first || nanos[w.name] < nanos[choice.Way]) {
			choice.Way = w.name
		}
	}
	c.chosen[key], c.more = choice, true
	return choice, nil
}

// known returns what was measured of key before.
func (c *Choices) known(key string, threads int) (Choice, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.chosen[withThreads(key, threads)]
	return found, ok
}

func withThreads(key string, threads int) string { return fmt.Sprintf("%s, %d threads", key, threads) }

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
	times := make([]int, len(m.ways))
	shortest := map[string]float64{}
	for i, w := range m.ways {
		if err := m.run(w); err != nil { // kernels are made at the first call
			return nil, err
		}
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
