package passes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/cgo/delegate"
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
	Way   string             `json:"way"`   // the one that is taken, "" where nothing was measured
	Nanos map[string]float64 `json:"nanos"` // a call of each, the shortest seen
	From  Origin             `json:"-"`     // how it is known
}

// An Origin says how a choice is known.
type Origin uint8

// The origins.
const (
	FromMeasuring Origin = iota // measured when it was asked for
	FromBefore                  // measured before, in this process
	FromFile                    // read by [OpenChoices]
)

// String tells an origin: "from the file".
func (o Origin) String() string {
	switch o {
	case FromBefore:
		return "measured before"
	case FromFile:
		return "from the file"
	}
	return "measured"
}

// String tells the way that is taken, the times and how they are known: "packed 9.1 µs
// against plain 12.0 µs, measured". It is empty where nothing was measured.
func (c Choice) String() string {
	if len(c.Nanos) == 0 {
		return ""
	}
	time := func(name string) string {
		if nanos := c.Nanos[name]; nanos < 1e6 {
			return fmt.Sprintf("%s %.1f µs", name, nanos/1e3)
		}
		return fmt.Sprintf("%s %.2f ms", name, c.Nanos[name]/1e6)
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(c.Nanos)) {
		if name != c.Way {
			others = append(others, time(name))
		}
	}
	return fmt.Sprintf("%s against %s, %s", time(c.Way), strings.Join(others, ", "), c.From)
}

// after is text with what was measured behind it.
func (c Choice) after(text string) string {
	if measured := c.String(); measured != "" {
		text += ": " + measured
	}
	return text
}

// isOf reports whether these ways and no others were measured. A choice that another
// release made between other ways, or that somebody made up, is none.
func (c Choice) isOf(ways []string) bool {
	for _, name := range ways {
		if _, ok := c.Nanos[name]; !ok {
			return false
		}
	}
	return len(c.Nanos) == len(ways) && slices.Contains(ways, c.Way)
}

// A Chosen is a choice that [Freeze] made.
type Chosen struct {
	Rewrite string
	What    string // what was measured: a layer or a region by its sizes
	Choice
}

// processChoices are what Freeze measures unless it is told otherwise.
var processChoices = NewChoices()

// NewChoices returns choices of which nothing is measured yet.
func NewChoices() *Choices { return &Choices{chosen: map[string]Choice{}} }

// Unmeasured returns choices that take what is packed wherever there is a kernel for
// it, and regions wherever there is a delegate for them, with values as each of its
// kernels likes, so that the outcome does not depend on times.
func Unmeasured() *Choices {
	c := NewChoices()
	c.fixed = wayPacked
	return c
}

// All returns what was measured, by what was asked.
func (c *Choices) All() map[string]Choice {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.chosen)
}

// choose returns which of some ways was measured to be the fastest for what key describes,
// and measures where that was not done yet. add makes them; the first of the names is
// taken unless another is faster by the margin, a twentieth unless add says otherwise.
func (c *Choices) choose(key string, threads int, ways []string, add func(*measured) error) (Choice, error) {
	if c.fixed != "" {
		return Choice{Way: c.fixed}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock() // two measurements at once would disturb each other
	key = withThreads(key, threads)
	if found, ok := c.find(key, ways); ok {
		return found, nil
	}
	m := &measured{mode: &libtorch.Mode{Threads: threads}, margin: 0.05}
	defer m.close()
	if err := add(m); err != nil {
		return Choice{}, err
	}
	nanos, err := m.measure()
	if err != nil {
		return Choice{}, err
	}
	first := ways[0]
	choice := Choice{Way: first, Nanos: nanos}
	for _, name := range ways[1:] {
		if nanos[name] < (1-m.margin)*nanos[first] && (choice.Way == first || nanos[name] < nanos[choice.Way]) {
			choice.Way = name
		}
	}
	c.chosen[key], c.more = choice, true
	return choice, nil
}

// known returns what was measured of key before.
func (c *Choices) known(key string, threads int, ways []string) (Choice, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(withThreads(key, threads), ways)
}

// note keeps what somebody else measured of key.
func (c *Choices) note(key string, threads int, choice Choice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chosen[withThreads(key, threads)], c.more = choice, true
}

func (c *Choices) find(key string, ways []string) (Choice, bool) {
	found, ok := c.chosen[key]
	if !ok || !found.isOf(ways) {
		return Choice{}, false
	}
	if found.From == FromMeasuring {
		found.From = FromBefore
	}
	return found, true
}

func withThreads(key string, threads int) string { return fmt.Sprintf("%s, %d threads", key, threads) }

// choose is [Choices.choose], with the choice noted in the report.
func (f *freezer) choose(key string, ways []string, add func(*measured) error) (Choice, error) {
	choice, err := f.choices.choose(key, f.threads, ways, func(m *measured) error {
		m.ready = f.canKeep
		return add(m)
	})
	if err == nil {
		f.chose(key, choice)
	}
	return choice, err
}

// known is [Choices.known], with the choice noted in the report.
func (f *freezer) known(key string, ways []string) (Choice, bool) {
	choice, ok := f.choices.known(key, f.threads, ways)
	if ok {
		f.chose(key, choice)
	}
	return choice, ok
}

func (f *freezer) chose(key string, choice Choice) {
	if len(choice.Nanos) > 0 {
		f.report.Choices = append(f.report.Choices, Chosen{f.rewrite, withThreads(key, f.threads), choice})
	}
}

// layoutWays are those between which a delegate measures.
var layoutWays = []string{delegate.BlockedLayout.String(), delegate.ChannelsLastLayout.String()}

// layoutsOf returns how the values of a region are to lie: as was measured before, or as
// the delegate measures.
func (f *freezer) layoutsOf(key string) (delegate.Layouts, Choice) {
	if f.choices.fixed != "" {
		return delegate.AnyLayout, Choice{}
	}
	choice, _ := f.known(key, layoutWays)
	for _, l := range []delegate.Layouts{delegate.BlockedLayout, delegate.ChannelsLastLayout} {
		if choice.Way == l.String() {
			return l, choice
		}
	}
	return delegate.Measured, choice
}

// noteLayouts keeps what a delegate measured of the layouts of a region, if it did.
func (f *freezer) noteLayouts(key string, l libtorch.RegionLayouts) Choice {
	choice := Choice{Way: l.Taken.String(), Nanos: map[string]float64{}}
	for layouts, took := range l.Times {
		choice.Nanos[layouts.String()] = float64(took)
	}
	if !choice.isOf(layoutWays) {
		return Choice{}
	}
	f.choices.note(key, f.threads, choice)
	f.chose(key, choice)
	return choice
}
