package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// networkNames are those of networks.py.
var networkNames = []string{"resnet18", "resnet50", "mobilenet_v2", "vit_b_16", "bert-base", "llama-2-layers", "lstm"}

// tolerance is how far from Python's eager results, relative to the largest magnitude,
// an executor's may be before a comparison of times means nothing.
const tolerance = 1e-3

// A grid is what networks are measured with.
type grid struct {
	networks       []string
	executors      []executor
	batch, threads []int
	rounds         int
	before         *results // whose cells are left out; nil for none
}

// each prepares every network and starts its executors, and calls f for each batch and
// number of threads with those that work. Why others do not is noted. What fails does
// not keep the rest from being measured; after an interrupt what is going on is
// finished, and nothing more begun.
func (g *grid) each(f func(c cell, running []*contestant) error) (notes []string, err error) {
	if slices.ContainsFunc(g.executors, func(e executor) bool { return e.side == onnxSide }) {
		if err := buildOnnx(); err != nil {
			return nil, err
		}
	}
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, network := range g.networks {
		for _, batch := range g.batch {
			for _, threads := range g.threads {
				c := cell{network, batch, threads}
				if g.before.has(c, g.executors) {
					continue
				}
				if interrupted.Err() != nil {
					return append(notes, fmt.Sprintf("Interrupted before %s.", c)), err
				}
				absent, failed := g.measure(c, f)
				notes = append(notes, absent...)
				if failed != nil {
					failed = fmt.Errorf("%s: %w", c, failed)
					notes = append(notes, "Failed: "+failed.Error())
					err = errors.Join(err, failed)
				}
			}
		}
	}
	return notes, err
}

// A cell is one network under one load.
type cell struct {
	Network string `json:"network"`
	Batch   int    `json:"batch"`
	Threads int    `json:"threads"`
}

func (c cell) String() string {
	return fmt.Sprintf("%s, batch %d, %d threads", c.Network, c.Batch, c.Threads)
}

// A contestant is an executor with a network loaded.
type contestant struct {
	executor
	*process
}

func (g *grid) takes(name string) bool {
	return slices.ContainsFunc(g.executors, func(e executor) bool { return e.name == name })
}

func (g *grid) measure(c cell, f func(cell, []*contestant) error) (notes []string, err error) {
	var files []string
	for _, e := range g.executors {
		if file := e.file(c.Threads); file != "" && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	folder, missing, err := prepare(c.Network, c.Batch, files)
	if err != nil {
		return nil, err
	}
	if g.takes("plan") && g.takes("go-interpreter") {
		if err := sameBits(folder, c.Threads); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
	}
	var running []*contestant
	defer func() {
		for _, r := range running {
			r.close()
		}
	}()
	for _, e := range g.executors {
		why, ok := missing[e.file(c.Threads)]
		if !ok {
			p, err := e.start(folder, c.Threads)
			var absent errAbsent
			switch {
			case errors.As(err, &absent):
				why, ok = string(absent), true
			case err != nil:
				return nil, fmt.Errorf("%s: %w", e.name, err)
			default:
				running = append(running, &contestant{e, p})
				if !(p.difference <= tolerance) {
					return nil, fmt.Errorf("%s: expected results within %g of Python's eager ones, got %g", e.name, tolerance, p.difference)
				}
			}
		}
		if ok {
			notes = append(notes, fmt.Sprintf("%s: %s does not work here: %s", c, e.title, why))
		}
	}
	return notes, f(c, running)
}

// fallAsleep is how long threads of the executor before have to fall asleep. Those of
// onnxruntime spin for some 30 ms after a run, those of libgomp for some milliseconds,
// and keep a processor from whoever is next.
const fallAsleep = 100 * time.Millisecond

// A measurement is what one executor took for one cell.
type measurement struct {
	cell
	Executor   string  `json:"executor"`
	Title      string  `json:"title"`
	Wall       spread  `json:"wall_ms"`
	CPU        spread  `json:"cpu_ms"`
	Peak       float64 `json:"peak_mb"` // above what was resident before the network was loaded
	Difference float64 `json:"difference"`
}

// A spread is the least and the middle of what was measured.
type spread struct {
	Minimum float64 `json:"minimum"`
	Median  float64 `json:"median"`
}

func spreadOf(x []float64) spread {
	slices.Sort(x)
	return spread{x[0], x[len(x)/2]}
}

// A networkReport is the result of one run of the command.
type networkReport struct {
	Command  string        `json:"command"`
	Machine  string        `json:"machine"`
	Versions []string      `json:"versions"`
	Results  []measurement `json:"results"`
	Notes    []string      `json:"notes,omitempty"`
}

// measureNetworks runs every executor in turn, once a round, after one round that only
// warms them, and calls done after each cell.
func (g *grid) measureNetworks(report *networkReport, done func() error) (err error) {
	report.Notes, err = g.each(func(c cell, running []*contestant) error {
		wall, cpu := make([][]float64, len(running)), make([][]float64, len(running))
		for round := -1; round < g.rounds; round++ {
			for i, r := range running {
				if c.Threads > 1 {
					time.Sleep(fallAsleep)
				}
				w, p, err := r.run(1)
				if err != nil {
					return fmt.Errorf("%s: %w", r.name, err)
				}
				if round >= 0 {
					wall[i], cpu[i] = append(wall[i], milliseconds(w)), append(cpu[i], milliseconds(p))
				}
			}
		}
		for i, r := range running {
			var peak int64
			if err := r.ask("memory", &peak); err != nil {
				return err
			}
			m := measurement{c, r.name, r.title, spreadOf(wall[i]), spreadOf(cpu[i]), float64(peak-r.base) / 1e6, r.difference}
			report.Results = append(report.Results, m)
			if !slices.Contains(report.Versions, r.version) {
				report.Versions = append(report.Versions, r.version)
			}
			fmt.Fprintf(os.Stderr, "%s: %s: CPU %.2f / %.2f ms, wall %.2f / %.2f ms, %.0f MB\n", c, r.title, m.CPU.Minimum, m.CPU.Median, m.Wall.Minimum, m.Wall.Median, m.Peak)
		}
		return done()
	})
	return err
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// A loadResult is what one executor does under so many goroutines.
type loadResult struct {
	cell
	Title      string  `json:"title"`
	Goroutines int     `json:"goroutines"`
	PerSecond  float64 `json:"runs_per_second"` // the most of all rounds
	P50        float64 `json:"p50_ms"`          // of that round
	P99        float64 `json:"p99_ms"`          // of that round
}

// A loadReport is throughput and latency under load.
type loadReport struct {
	Command string       `json:"command"`
	Machine string       `json:"machine"`
	Results []loadResult `json:"results"`
	Notes   []string     `json:"notes,omitempty"`
}

// measureLoad calls every executor that takes it from 1, 2, 8 and 64 goroutines, for a
// second each in turn.
func (g *grid) measureLoad() (*loadReport, error) {
	report := &loadReport{Machine: machineNow()}
	loaded := *g
	loaded.executors = slices.DeleteFunc(slices.Clone(g.executors), func(e executor) bool { return !e.loads })
	loaded.batch, loaded.threads = []int{1}, []int{1}
	var err error
	report.Notes, err = loaded.each(func(c cell, running []*contestant) error {
		for _, goroutines := range []int{1, 2, 8, 64} {
			best := make([]loadResult, len(running))
			for range min(g.rounds, 5) {
				for i, r := range running {
					var runs, wall, p50, p99 int64
					if err := r.ask(fmt.Sprintf("load %d 1000", goroutines), &runs, &wall, &p50, &p99); err != nil {
						return fmt.Errorf("%s: %w", r.name, err)
					}
					if rate := float64(runs) / (float64(wall) / 1e9); rate > best[i].PerSecond {
						best[i] = loadResult{c, r.title, goroutines, rate, float64(p50) / 1e6, float64(p99) / 1e6}
					}
				}
			}
			report.Results = append(report.Results, best...)
		}
		return nil
	})
	return report, err
}

// chosen splits a flag's list and checks it against what there is; all is everything.
func chosen(list string, all []string) ([]string, error) {
	if list == "all" {
		return all, nil
	}
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("expected one of %s, got %q", strings.Join(all, ", "), name)
		}
		names = append(names, name)
	}
	return names, nil
}
