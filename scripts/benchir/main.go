// Benchir times the work on large graphs here and in torch.fx, side by side:
//
//	go run ./scripts/benchir --python third_party/reference/bin/python --out docs/bench-ir.md
//
// Both sides make the same graphs, take turns in one run, and must make the same
// texts. It prints the least and the median time of each step and their ratios,
// and fails where a step that must be ten times faster is not.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/rewriter"
)

// A step is one kind of work on a graph of n nodes.
type step struct {
	name    string
	must    bool                                                     // ten times faster than torch.fx
	alone   bool                                                     // torch.fx has nothing like it
	slow    bool                                                     // torch.fx takes time quadratic in the nodes: on small graphs alone
	prepare func(g *ir.Graph) (run func() error, text func() string) // what is timed, and the text of its result
}

func steps(kind string, n int) []step {
	nothing := func() string { return "" }
	return []step{
		{name: "build", must: true, prepare: func(*ir.Graph) (func() error, func() string) {
			var made *ir.Graph
			return func() error { made = graphs[kind](n); return nil }, func() string { return made.String() }
		}},
		{name: "copy", must: true, prepare: func(g *ir.Graph) (func() error, func() string) {
			var made *ir.Graph
			return func() error { made = g.Clone(); return nil }, func() string { return made.String() }
		}},
		{name: "lint", must: true, prepare: func(g *ir.Graph) (func() error, func() string) {
			return func() error { return g.Lint() }, nothing
		}},
		{name: "print", prepare: func(g *ir.Graph) (func() error, func() string) {
			var text string
			return func() error { text = g.String(); return nil }, func() string { return text }
		}},
		{name: "code", must: true, prepare: func(g *ir.Graph) (func() error, func() string) {
			var code *ir.PythonCode
			return func() (err error) { code, err = g.PythonCode("self"); return err }, func() string { return code.Source }
		}},
		{name: "parse", alone: true, prepare: func(g *ir.Graph) (func() error, func() string) {
			code, err := g.PythonCode("self")
			if err != nil {
				return func() error { return err }, nothing
			}
			return func() error { _, err := ir.ParseCode(code.Source); return err }, nothing
		}},
		{name: "dce", prepare: func(g *ir.Graph) (func() error, func() string) {
			c := g.Clone()
			return func() error { _, err := c.EliminateDeadCode(); return err }, func() string { return c.String() }
		}},
		{name: "replace", must: true, slow: true, prepare: func(g *ir.Graph) (func() error, func() string) {
			m, err := ir.NewGraphModule(nil, g.Clone())
			if err != nil {
				return func() error { return err }, nothing
			}
			return func() error {
				if _, err := rewriter.ReplacePattern(m, pattern, replacement); err != nil {
					return err
				}
				_, err := m.Code() // torch.fx makes it as well
				return err
			}, func() string { return m.Graph().String() }
		}},
	}
}

// A worker is the Python side.
type worker struct {
	in    io.Writer
	out   *bufio.Scanner
	about struct{ Torch, Python string }
}

func start(python string) (*worker, error) {
	cmd := exec.Command(python, "scripts/bench_ir.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &worker{in: in, out: bufio.NewScanner(out)}
	if !w.out.Scan() {
		return nil, fmt.Errorf("%s: expected a greeting, got the end", python)
	}
	return w, json.Unmarshal(w.out.Bytes(), &w.about)
}

func (w *worker) time(step, kind string, n int) (time.Duration, string, error) {
	if _, err := fmt.Fprintln(w.in, step, kind, n); err != nil {
		return 0, "", err
	}
	if !w.out.Scan() {
		return 0, "", fmt.Errorf("python: expected an answer to %s %s %d, got the end", step, kind, n)
	}
	var answer struct {
		Seconds float64
		Text    string
	}
	err := json.Unmarshal(w.out.Bytes(), &answer)
	return time.Duration(answer.Seconds * 1e9), answer.Text, err
}

// A row is what was measured of one step.
type row struct {
	step
	kind         string
	nodes        int
	here, python []time.Duration
}

func (r *row) ratio(of func([]time.Duration) time.Duration) float64 {
	return float64(of(r.python)) / float64(of(r.here))
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func main() {
	log.SetFlags(0)
	python := flag.String("python", "third_party/reference/bin/python", "a Python with torch")
	rounds := flag.Int("rounds", 7, "how often each side does each step")
	out := flag.String("out", "", "also write the result as a Markdown page to this file")
	flag.Parse()
	rows, about, err := measure(*python, *rounds)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(table(rows))
	if *out != "" {
		if err := os.WriteFile(*out, page(rows, about, *rounds), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	for _, r := range rows {
		if r.must && len(r.python) > 0 && r.ratio(slices.Min[[]time.Duration]) < 10 {
			log.Fatalf("%s of %s, %d nodes: expected ten times torch.fx's speed, got %.1f", r.name, r.kind, r.nodes, r.ratio(slices.Min[[]time.Duration]))
		}
	}
}

func measure(python string, rounds int) (rows []*row, about string, err error) {
	w, err := start(python)
	if err != nil {
		return nil, "", fmt.Errorf("%w (make reference installs it)", err)
	}
	for _, kind := range []string{"chain", "dag"} {
		for _, n := range []int{10_000, 100_000} {
			g := graphs[kind](n)
			here := make([]*row, 0, 8)
			for _, s := range steps(kind, n) {
				here = append(here, &row{step: s, kind: kind, nodes: n})
			}
			for range rounds {
				for _, r := range here {
					if err := r.once(w, g); err != nil {
						return nil, "", fmt.Errorf("%s of %s, %d nodes: %w", r.name, kind, n, err)
					}
				}
			}
			rows = append(rows, here...)
		}
	}
	return rows, fmt.Sprintf("%s, torch %s, Python %s", runtime.Version(), w.about.Torch, w.about.Python), nil
}

// enough is how long a step takes here before its time is believed: a shorter one is
// repeated and the mean counts, since the first run after torch.fx's turn is that of a
// process whose memory has been given back.
const enough = 50 * time.Millisecond

// once lets both sides do the step once.
func (r *row) once(w *worker, g *ir.Graph) error {
	var text func() string
	var took time.Duration
	var err error
	times := time.Duration(0)
	runtime.GC()
	for err == nil && took < enough {
		var run func() error
		run, text = r.prepare(g)
		start := time.Now()
		err = run()
		took += time.Since(start)
		times++
	}
	r.here = append(r.here, took/times)
	if err != nil || r.alone || r.slow && r.nodes > 10_000 {
		return err
	}
	theirs, digest, err := w.time(r.name, r.kind, r.nodes)
	if err != nil {
		return err
	}
	r.python = append(r.python, theirs)
	if sum := sha256.Sum256([]byte(text())); hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("expected the text that torch.fx makes, got another")
	}
	return nil
}

func table(rows []*row) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| graph | nodes | step | here, ns a node: least, median | torch.fx: least, median | ratio: least, median |")
	fmt.Fprintln(&b, "| --- | ---: | --- | ---: | ---: | ---: |")
	for _, r := range rows {
		each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(r.nodes) }
		there, ratio := "", ""
		if len(r.python) > 0 {
			there = fmt.Sprintf("%.0f, %.0f", each(slices.Min(r.python)), each(median(r.python)))
			ratio = fmt.Sprintf("%.1f, %.1f", r.ratio(slices.Min[[]time.Duration]), r.ratio(median))
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %.0f, %.0f | %s | %s |\n", r.kind, r.nodes, r.name, each(slices.Min(r.here)), each(median(r.here)), there, ratio)
	}
	return b.String()
}

func page(rows []*row, about string, rounds int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Large graphs: time against torch.fx

Made by `+"`make bench-ir`"+`, which needs the Python reference of `+"`make reference`"+`; scripts/benchir has the graphs and the steps.

Both sides make the same graphs and take turns in one run, %d rounds. The texts that they make are compared, byte for byte. `+"`chain`"+` is
add, relu and neg one after the other, with one value that every add reads; `+"`dag`"+` has values with several users, lists, literals, keyword
arguments and dead nodes. Collectors run between the steps and stay on. A step that is shorter than 50 ms here is repeated, and the mean counts.

- replace: one pattern of two nodes, a third (`+"`chain`"+`) or a ninth (`+"`dag`"+`) of the graph's nodes match; the generated text is part of it on both sides,
  compiling the text is not. torch.fx's time grows with the square of the nodes, so it does not take part at 100,000: one run of the chain took nine minutes.
- parse: from the generated text; torch.fx has no reader.
- dce: the copy that it changes is made before.

Machine: %s. %s.

`, rounds, machine(), about)
	b.WriteString(table(rows))
	return b.Bytes()
}

// machine says what this ran on.
func machine() string {
	model := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, shared with other work", model, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
