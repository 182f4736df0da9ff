package parity

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	libtorch "github.com/torchfx-go/torchfx/cgo"
)

// A Status is how a case went.
type Status string

// The ways a case goes.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// A Result is what became of one case.
type Result struct {
	Case   string        `json:"case"`             // name, as [Case.Name]
	Kind   Kind          `json:"kind"`             // layout of the case
	Status Status        `json:"status"`           //
	Note   string        `json:"note,omitempty"`   // what was compared, or the reason of a skip
	Faults []string      `json:"faults,omitempty"` // what is wrong beside values that differ, a sentence each
	Told   []string      `json:"told,omitempty"`   // messages with which the case was rightly refused
	Diffs  []Diff        `json:"diffs,omitempty"`  // values that differ
	Took   time.Duration `json:"took_ns"`
}

// A Diff is one value that is not what was recorded.
type Diff struct {
	Set     int    // input set
	Value   string // "output 0", "state bn.running_mean", "input 1"
	Problem string // what differs where it is not the elements: "dtype: expected float32, got float64"
	Distance
	Node  string // the node that makes the value, with its operator; "" where no single one does
	First string // the first node whose recorded value differs, "" where no node values were recorded
}

// An Options says what [Run] replays and how. The zero value replays all cases
// on as many goroutines as there are processors.
type Options struct {
	Jobs int            // cases replayed at the same time; 0: the number of processors
	Only *regexp.Regexp // replays only cases whose name matches; nil: all
	// Libraries of custom operators to open first. Programs that call other custom
	// operators must be refused, as without a library.
	Libraries []string
	Done      func(Result) // called with each result in the order of the cases, as soon as those before it are there
}

// A Report holds the results of all cases, in order.
type Report struct {
	Results []Result
	Took    time.Duration
}

// Count returns how many cases went a way.
func (r *Report) Count(s Status) int {
	n := 0
	for _, res := range r.Results {
		if res.Status == s {
			n++
		}
	}
	return n
}

// Run replays the cases in and below paths.
//
// It fails when a path is missing or holds no case, when libtorch is needed and
// not set up, and when ctx ends, which is looked at between the nodes of the
// running programs. What a case does wrong is no error but a Result.
func Run(ctx context.Context, paths []string, opts Options) (*Report, error) {
	start := time.Now()
	cases, err := Find(paths, opts.Only)
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		if !c.needsLibtorch() {
			continue
		}
		if err := openLibtorch(opts.Libraries); err != nil {
			return nil, err
		}
		break
	}
	report := &Report{Results: make([]Result, len(cases))}
	ordered := &ordered{done: opts.Done, results: report.Results, ready: make([]bool, len(cases))}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(jobs(opts.Jobs))
	for i, c := range cases {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			res := c.replay(ctx)
			if err := ctx.Err(); err != nil {
				return err // what was cut off tells nothing
			}
			ordered.put(i, res)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	report.Took = time.Since(start)
	return report, nil
}

func openLibtorch(libraries []string) error {
	if err := libtorch.Open(); err != nil {
		return err
	}
	for _, lib := range libraries {
		if err := libtorch.OpenLibrary(lib); err != nil {
			return err
		}
	}
	return nil
}

func jobs(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// ordered hands out results in order although they come in any.
type ordered struct {
	mu      sync.Mutex
	done    func(Result)
	results []Result
	ready   []bool
	next    int
}

func (o *ordered) put(i int, r Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.results[i], o.ready[i] = r, true
	for ; o.next < len(o.ready) && o.ready[o.next]; o.next++ {
		if o.done != nil {
			o.done(o.results[o.next])
		}
	}
}

// needsLibtorch reports whether a replay runs anything.
func (c *Case) needsLibtorch() bool {
	if c.Kind == FX {
		return fileExists(filepath.Join(c.Dir, "io.json"))
	}
	return c.err == nil && (c.Kind == Operators || c.Kind == Program || c.meta.Must != mustFailLoad)
}

// replay runs one case and says how it went.
func (c *Case) replay(ctx context.Context) Result {
	start := time.Now()
	res := &Result{Case: c.Name, Kind: c.Kind}
	switch {
	case c.err != nil:
		res.fault("%v", c.err)
	case c.Kind == FX:
		c.replayFX(ctx, res)
	case c.Kind == Operators:
		c.replayCalls(ctx, res)
	case c.Kind == BadFile:
		c.replayBad(ctx, res)
	default:
		c.replayProgram(ctx, res)
	}
	switch {
	case res.Status == Skipped:
	case len(res.Faults)+len(res.Diffs) > 0:
		res.Status = Failed
	default:
		res.Status = Passed
	}
	res.Took = time.Since(start)
	return *res
}

// fault notes something wrong.
func (r *Result) fault(format string, args ...any) {
	r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
}
