// Command bench measures this module against PyTorch and onnxruntime, all in turn
// within one run of the command.
//
//	go run ./scripts/bench [-rounds n]                what an operator costs
//	go run ./scripts/bench -networks all [-load all]  networks; runs from many goroutines
//	go run ./scripts/bench -small                     operators on small tensors, by this module alone
//	go run ./scripts/bench -soak 100000               one plan, 64 goroutines, 50 shapes
//	go run ./scripts/bench -calls 10000000            an operator, 64 goroutines, results left to the collector
//	go run ./scripts/bench -memory resnet50           what a frozen network holds in memory
//
// Operators: a Plan and an Interpreter against a bare C++ loop in the same process and
// against PyTorch from Python. Networks: each executor in a process of its own, see
// package worker; -executors, -batch and -threads choose among them.
//
// It prints Markdown tables; -write FILE.md puts them between the markers of that file
// or of FILE-tables.md, and what they were made of into FILE.json, from which plots are
// drawn and -tables writes the tables again.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/install"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	_ "github.com/torchfx-go/torchfx/nn/functional"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command() error {
	chains := flag.Bool("chains", false, "measure what operators cost; the default where nothing else is chosen")
	rounds := flag.Int("rounds", 30, "how often each contender is measured on chains, all in turn")
	networks := flag.String("networks", "", "measure networks: names with commas between, or all")
	networkRounds := flag.Int("network-rounds", 10, "how often each executor runs a network, all in turn")
	load := flag.String("load", "", "measure networks under runs from 1, 2, 8 and 64 goroutines: names, or all")
	who := flag.String("executors", "all", "names with commas between; all; or quick: this module's and Python eager, no compiler")
	batch := flag.String("batch", "1,8", "sizes of batches of networks")
	threads := flag.String("threads", "1,2", "numbers of threads that one run of a network may use")
	write := flag.String("write", "", "file whose sections between the markers are replaced")
	resume := flag.Bool("resume", false, "leave out cells of networks that the JSON beside -write has of each executor")
	small := flag.Bool("small", false, "measure instead what operators on small tensors cost this module's executors")
	soaked := flag.Int("soak", 0, "run one plan so often from 64 goroutines instead, and watch memory and threads")
	calls := flag.Int("calls", 0, "call an operator so often from 64 goroutines instead, and watch memory and threads")
	footprint := flag.String("memory", "", "tell instead what this network, frozen, holds in memory, stage after stage")
	choices := flag.String("choices", "", "for -memory: file of measured choices that Freeze takes and completes")
	tables := flag.String("tables", "", "measure nothing: write the tables of this file again, from the JSON beside it")
	serve := flag.String("worker", "", "be the worker of this executor, for the folder given")
	flag.Parse()
	if *tables != "" {
		r, err := readResults(*tables)
		if err != nil {
			return err
		}
		return r.replaceSections(*tables)
	}
	if *soaked > 0 {
		return soak(*soaked)
	}
	if *calls > 0 {
		return soakCalls(*calls)
	}
	if *footprint != "" {
		return measureMemory(filepath.Join(benchFolder("networks"), *footprint+"-b1"), *choices)
	}
	counts := map[string][]int{}
	for name, list := range map[string]string{"batch": *batch, "threads": *threads} {
		for text := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return fmt.Errorf("-%s: expected numbers with commas between, got %q", name, list)
			}
			counts[name] = append(counts[name], n)
		}
	}
	if *serve != "" {
		return serveNetwork(flag.Arg(0), *serve, counts["threads"][0])
	}
	g := &grid{batch: counts["batch"], threads: counts["threads"], rounds: *networkRounds}
	var err error
	if g.executors, err = executorsOf(*who); err != nil {
		return err
	}
	spelled := "go run ./scripts/bench " + strings.Join(os.Args[1:], " ")
	if *small {
		table, err := measureSmall(*rounds, spelled)
		fmt.Print(table)
		if err == nil && *write != "" {
			err = replaceSection(*write, " -small", table)
		}
		return err
	}
	r := &results{}
	var failed error // of networks: the others count all the same
	if *chains || *networks == "" && *load == "" {
		if r.Chains, err = measureChains(*rounds, *who != "quick"); err != nil {
			return err
		}
		r.Chains.Command = spelled
		fmt.Print(r.Chains.table())
	}
	if *networks != "" {
		if g.networks, err = chosen(*networks, networkNames); err != nil {
			return err
		}
		if *resume {
			if g.before, err = readResults(*write); err != nil {
				return err
			}
		}
		report := &networkReport{Machine: machineNow(), Command: spelled}
		r.Networks = append(r.Networks, report)
		failed = errors.Join(failed, g.measureNetworks(report, func() error {
			if *write == "" {
				return nil
			}
			return r.save(*write)
		}))
		fmt.Print(report.table())
	}
	if *load != "" {
		if g.networks, err = chosen(*load, networkNames); err != nil {
			return err
		}
		r.Load, err = g.measureLoad()
		failed = errors.Join(failed, err)
		r.Load.Command = spelled
		fmt.Print(r.Load.table())
	}
	if *write == "" {
		return failed
	}
	return errors.Join(failed, r.write(*write))
}

// A contender runs a chain so often and returns how long that took.
type contender struct {
	name string
	ops  int // operators of one run
	run  func(times int) (time.Duration, error)
	took []float64 // nanoseconds an operator, by round
}

// A chain is one benchmark.
type chain struct {
	title      string
	operators  int
	contenders []*contender
	aims       []aim
}

// An aim is how many times as long as another a contender is to take at least; where
// it is below one, the other may take longer by the inverse.
type aim struct {
	Slow string  `json:"slow"`
	Fast string  `json:"fast"`
	Aim  float64 `json:"aim"`
}

// Names of contenders: what takes a compiler, and so a while; and what a Plan without
// fusion is held against.
const (
	compiled = "Python torch.compile with freezing"
	bareLoop = "bare C++ loop of out variants"
)

// measureChains is what operators cost, against torch.compile too on demand.
func measureChains(rounds int, compile bool) (*chainReport, error) {
	py, err := startPython("chains.py")
	if err != nil {
		return nil, err
	}
	defer py.close()
	pointwise, err := pointwiseChain(py)
	if err != nil {
		return nil, err
	}
	linears, err := linearChain(py)
	if err != nil {
		return nil, err
	}
	chains := []*chain{pointwise, linears}
	for _, c := range large {
		chain, err := c.chain(py)
		if err != nil {
			return nil, err
		}
		chains = append(chains, chain)
	}
	report := &chainReport{Machine: machineNow() + "; " + py.version}
	for _, c := range chains {
		if !compile {
			c.contenders = slices.DeleteFunc(c.contenders, func(x *contender) bool { return x.name == compiled })
		}
		if err := c.measure(rounds); err != nil {
			return nil, err
		}
		result := chainResult{Title: c.title, Aims: c.aims}
		for _, x := range c.contenders {
			result.Rows = append(result.Rows, chainRow{x.name, spreadOf(x.took)})
		}
		report.Chains = append(report.Chains, result)
	}
	return report, nil
}

// measure runs every contender in turn, each for some ten milliseconds. One run that is
// not measured begins a turn: by the one before, the allocator may have given back to
// the system what this one is to use.
func (c *chain) measure(rounds int) error {
	times := map[*contender]int{}
	for _, x := range c.contenders { // warm, and find how often
		// the first runs compile, look at what is done and plan it
		if _, err := x.run(3); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		n := 1
		for {
			took, err := x.run(n)
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			if took > 10*time.Millisecond {
				break
			}
			n *= 2
		}
		times[x] = n
	}
	for range rounds {
		for _, x := range c.contenders {
			if _, err := x.run(1); err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			took, err := x.run(times[x])
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			x.took = append(x.took, float64(took.Nanoseconds())/float64(times[x]*x.ops))
		}
	}
	return nil
}

// pointwiseChain is 64 pointwise operators on 64 elements.
func pointwiseChain(py *python) (*chain, error) {
	const n = 64
	c := &chain{title: "Chain of 64 pointwise operators (add, mul, sub, maximum) on 64 elements", operators: n}
	x, y, err := vectors(64)
	if err != nil {
		return nil, err
	}
	gm, err := pointwiseGraph(n)
	if err != nil {
		return nil, err
	}
	if err := c.addGo(gm, x, y); err != nil {
		return nil, err
	}
	single, err := pointwiseGraph(1)
	if err != nil {
		return nil, err
	}
	if err := c.addFixed(single, x, y); err != nil {
		return nil, err
	}
	if err := c.addApart(gm, x, y); err != nil {
		return nil, err
	}
	lib, err := testenv.BuildLibrary(filepath.Join("scripts", "bench", "testdata", "bare.cc"))
	if err != nil {
		return nil, err
	}
	if err := libtorch.OpenLibrary(lib); err != nil {
		return nil, err
	}
	for _, below := range []bool{true, false} {
		name := bareLoop
		if !below {
			name += ", through the autograd layer"
		}
		c.contenders = append(c.contenders, &contender{name: name, ops: n, run: func(times int) (time.Duration, error) {
			ns, err := torch.Call("torchfx_bench::chain", x, y, n, times, below)
			if err != nil {
				return 0, err
			}
			return time.Duration(ns.(int64)), nil
		}})
	}
	c.addPython(py, "pointwise")
	c.addCompiled(py, "pointwise")
	c.aims = []aim{
		{bareLoop, "Plan without fusion", 1 / 1.2},
		{"Python eager", "Plan", 2.5},
		{"Python eager", "Plan without fusion", 2.5},
		{"Python torch.fx GraphModule", "Plan", 4},
		{"Python torch.fx GraphModule", "Plan without fusion", 4},
		{"Python torch.fx Interpreter", "Plan", 25},
		{"Python torch.fx Interpreter", "Plan without fusion", 25},
		{"Python torch.fx Interpreter", "Interpreter", 8},
		{compiled, "Plan", 1},
	}
	return c, nil
}

func pointwiseGraph(n int) (*ir.GraphModule, error) {
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	last := x
	for i := range n {
		last = g.CallFunction(ir.FuncOf("torch."+[]string{"add", "mul", "sub", "maximum"}[i%4]), []ir.Arg{last, y})
	}
	g.Output(last)
	return ir.NewGraphModule(nil, g)
}

// linearChain is 32 linear layers of 64 on one row.
func linearChain(py *python) (*chain, error) {
	const n = 32
	c := &chain{title: "Chain of 32 linear layers, 1x64x64", operators: n}
	x, err := uniform(1, 64)
	if err != nil {
		return nil, err
	}
	w, err := uniform(64, 64)
	if err != nil {
		return nil, err
	}
	bias, err := uniform(64)
	if err != nil {
		return nil, err
	}
	g := ir.NewGraph()
	last, weight, b := g.Placeholder("x"), g.Placeholder("w"), g.Placeholder("b")
	for range n {
		last = g.CallFunction(ir.FuncOf("torch._C._nn.linear"), []ir.Arg{last, weight, b})
	}
	g.Output(last)
	gm, err := ir.NewGraphModule(nil, g)
	if err != nil {
		return nil, err
	}
	if err := c.addGo(gm, x, w, bias); err != nil {
		return nil, err
	}
	c.addPython(py, "linears")
	return c, nil
}

// addGo adds the two executors of this module, and a graph module that is called as
// a model calls its parts.
func (c *chain) addGo(gm *ir.GraphModule, args ...any) error {
	plan, err := interpreter.Compile(gm)
	if err != nil {
		return err
	}
	module := interpreter.AsModule(gm)
	called := func(_ context.Context, args ...any) (any, error) { return module.Forward(args...), nil }
	c.contenders = append(c.contenders,
		&contender{name: "Plan", ops: c.operators, run: timed(plan.Run, args)},
		&contender{name: "Interpreter", ops: c.operators, run: timed(interpreter.New(gm).Run, args)},
		&contender{name: "graph module, called", ops: c.operators, run: timed(called, args)})
	return nil
}

// addFixed adds a run of one operator: what a run costs beside its operators.
func (c *chain) addFixed(gm *ir.GraphModule, args ...any) error {
	plan, err := interpreter.Compile(gm)
	if err != nil {
		return err
	}
	c.contenders = append(c.contenders, &contender{name: "Plan of one operator, a whole run", ops: 1, run: timed(plan.Run, args)})
	return nil
}

// addApart adds a Plan that does every operator by itself.
func (c *chain) addApart(gm *ir.GraphModule, args ...any) error {
	plan, err := interpreter.Compile(gm, interpreter.PlanFusion(false))
	if err != nil {
		return err
	}
	c.contenders = append(c.contenders, &contender{name: "Plan without fusion", ops: c.operators, run: timed(plan.Run, args)})
	return nil
}

func timed(run func(context.Context, ...any) (any, error), args []any) func(int) (time.Duration, error) {
	return func(times int) (time.Duration, error) {
		ctx := context.Background()
		start := cpuTime()
		for range times {
			out, err := run(ctx, args...)
			if err != nil {
				return 0, err
			}
			if err := out.(*torch.Tensor).Close(); err != nil {
				return 0, err
			}
		}
		return cpuTime() - start, nil
	}
}

// cpuTime is what the process has used. It does not count the time that others
// have had the processor, but does count the collector's.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (c *chain) addPython(py *python, name string) {
	for _, x := range []struct{ key, title string }{
		{"eager", "Python eager"}, {"graph_module", "Python torch.fx GraphModule"}, {"interpreter", "Python torch.fx Interpreter"},
	} {
		c.contenders = append(c.contenders, &contender{name: x.title, ops: c.operators, run: func(times int) (time.Duration, error) {
			return py.run(name+"/"+x.key, times)
		}})
	}
}

func (c *chain) addCompiled(py *python, name string) {
	c.contenders = append(c.contenders, &contender{name: compiled, ops: c.operators, run: func(times int) (time.Duration, error) {
		return py.run(name+"/compile", times)
	}})
}

func vectors(n int) (x, y any, err error) {
	if x, err = uniform(n); err != nil {
		return nil, nil, err
	}
	y, err = uniform(n)
	return x, y, err
}

func uniform(sizes ...int) (any, error) { return torch.Call("aten::rand", sizes) }

// A python is the other side, in a process of its own.
type python struct {
	cmd     *exec.Cmd
	in      *bufio.Writer
	out     *bufio.Scanner
	closeIn func() error
	version string
}

func startPython(script string, args ...string) (*python, error) {
	exe := filepath.Join(install.Home(), "reference", "bin", "python")
	if _, err := os.Stat(exe); err != nil {
		return nil, fmt.Errorf("the Python reference is not there; run make reference: %w", err)
	}
	cmd := exec.Command(exe, append([]string{filepath.Join("scripts", "bench", script)}, args...)...)
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
	p := &python{cmd: cmd, in: bufio.NewWriter(in), out: bufio.NewScanner(out), closeIn: in.Close}
	if !p.out.Scan() {
		return nil, errors.New("the Python side did not start")
	}
	p.version = "PyTorch " + strings.TrimPrefix(p.out.Text(), "ready ")
	return p, nil
}

func (p *python) run(name string, times int) (time.Duration, error) {
	fmt.Fprintf(p.in, "%s %d\n", name, times)
	if err := p.in.Flush(); err != nil {
		return 0, err
	}
	if !p.out.Scan() {
		return 0, errors.New("the Python side has ended")
	}
	ns, err := strconv.ParseInt(p.out.Text(), 10, 64)
	return time.Duration(ns), err
}

func (p *python) close() {
	_ = p.closeIn()
	_ = p.cmd.Wait()
}

// machine describes the processor.
func machine() string {
	model := runtime.GOARCH
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	capability := ""
	if info, err := libtorch.GetInfo(); err == nil {
		capability = ", " + info.CPUCapability
	}
	return fmt.Sprintf("%s%s, %d processors, %s", model, capability, runtime.NumCPU(), runtime.Version())
}

// machineNow is the machine and how many others wanted its processors as measuring began.
func machineNow() string {
	data, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(data), " ")
	return fmt.Sprintf("Machine: %s, load %s at the start", machine(), load)
}
