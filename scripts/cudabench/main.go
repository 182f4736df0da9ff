// Command cudabench measures plans on a GPU: step by step, captured as CUDA graphs,
// and on the CPU beside them. With -write the table goes into a page of the
// documentation, between its marks.
//
//	go run ./scripts/cudabench [-rounds n] [-device cuda:0] [-write docs/performance.md]
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func main() {
	rounds := flag.Int("rounds", 200, "runs of each on the device, interleaved; every tenth on the CPU, too")
	name := flag.String("device", "cuda:0", "the device")
	library := flag.String("library", "", "library to open first, which brings the device and its graphs")
	page := flag.String("write", "", "page that the table goes into")
	flag.Parse()
	table, err := "", open(*library)
	if err == nil {
		table, err = measure(*name, *rounds)
	}
	if err == nil && *page != "" {
		err = write(*page, table)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cudabench:", err)
		os.Exit(1)
	}
}

func open(library string) error {
	if library == "" {
		return nil
	}
	if err := libtorch.OpenLibrary(library); err != nil {
		return err
	}
	return libtorch.OpenGraphs(library)
}

// A network is a module and what it is run on.
type network struct {
	name   string
	module *ir.GraphModule
	input  *torch.Tensor
}

func measure(name string, rounds int) (string, error) {
	d, err := ir.ParseDevice(name)
	if err != nil {
		return "", err
	}
	if err := libtorch.CheckDevice(d); err != nil {
		return "", err
	}
	info, err := libtorch.GetInfo()
	if err != nil {
		return "", err
	}
	networks, err := all()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	say := func(format string, args ...any) { // as it comes, too: what was measured is not lost with what was not
		fmt.Fprintf(io.MultiWriter(&b, os.Stdout), format, args...)
	}
	say("libtorch %s, %s; arguments from and results to the host; `go run ./scripts/cudabench -rounds %d`; microseconds of wall time a run, minimum / median of interleaved runs.\n\n", info.TorchVersion, d, rounds)
	say("| | CPU, one thread | GPU, step by step | GPU, captured | step by step against captured | 4 goroutines, captured, a run | MB of the GPU |\n|---|---|---|---|---|---|---|\n")
	for _, n := range networks {
		line, err := n.measure(d, rounds)
		if err != nil {
			return "", fmt.Errorf("%s: %w", n.name, err)
		}
		say("%s", line)
	}
	return b.String(), nil
}

func (n *network) measure(d ir.Device, rounds int) (string, error) {
	ctx := context.Background()
	if _, err := libtorch.EmptyCache(d); err != nil {
		return "", err
	}
	var plans []*interpreter.Plan
	for _, opts := range [][]interpreter.PlanOption{
		nil,
		{interpreter.PlanDevice(d), interpreter.PlanHostResults()},
		{interpreter.PlanDevice(d), interpreter.PlanHostResults(), interpreter.PlanCaptures(1)},
	} {
		p, err := interpreter.Compile(n.module, opts...)
		if err != nil {
			return "", err
		}
		defer p.Close()
		if err := p.Warmup(ctx, n.input); err != nil {
			return "", err
		}
		plans = append(plans, p)
	}
	classes, why, err := plans[2].Captures(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range classes {
		if c.State != libtorch.GraphCaptured {
			why = c.Why
		}
	}
	times := make([][]float64, len(plans))
	for round := range rounds {
		for i, p := range plans {
			if i == 0 && round%10 != 0 {
				continue
			}
			took, err := once(ctx, p, n.input)
			if err != nil {
				return "", err
			}
			times[i] = append(times[i], took)
		}
	}
	cells := make([]string, len(plans))
	least := make([]float64, len(plans))
	for i := range times {
		slices.Sort(times[i])
		least[i] = times[i][0]
		cells[i] = fmt.Sprintf("%.0f / %.0f", least[i], times[i][len(times[i])/2])
	}
	if why != "" {
		cells[2] += " (not captured: " + why + ")"
	}
	start := time.Now()
	var wg sync.WaitGroup
	errs := make(chan error, 4)
	for range 4 {
		wg.Go(func() {
			for range rounds {
				if _, err := once(ctx, plans[2], n.input); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		return "", err
	}
	together := float64(time.Since(start).Microseconds()) / float64(4*rounds)
	mem, err := libtorch.MemoryOf(d)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %.2f | %.0f | %d |\n", n.name, cells[0], cells[1], cells[2], least[1]/least[2], together, mem.Reserved/1e6), nil
}

// once is the time of one run in microseconds.
func once(ctx context.Context, p *interpreter.Plan, x *torch.Tensor) (float64, error) {
	start := time.Now()
	out, err := p.Run(ctx, x)
	took := float64(time.Since(start).Nanoseconds()) / 1e3
	if t, ok := out.(*torch.Tensor); ok {
		_ = t.Close()
	}
	return took, err
}

// all are the networks: two that are bound by launches, two by computing.
func all() ([]*network, error) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(scale float64, shape ...int) *torch.Tensor {
		n := 1
		for _, s := range shape {
			n *= s
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(scale * r.NormFloat64())
		}
		t, err := torch.From(data, shape...)
		if err != nil {
			panic(err) // the shapes are above
		}
		return t
	}
	chain := func(steps int, step string) string {
		var b strings.Builder
		b.WriteString("def forward(self, x):\n    w = self.w\n    v0 = x\n")
		for i := range steps {
			fmt.Fprintf(&b, "    v%d = "+step+"\n", i+1, i)
		}
		fmt.Fprintf(&b, "    return v%d\n", steps)
		return b.String()
	}
	var conv strings.Builder
	conv.WriteString("def forward(self, x):\n    stem_w = self.stem\n    w = self.w\n    stem = torch.ops.aten.conv2d.default(x, stem_w, None, [4, 4], [3, 3])\n    v0 = torch.ops.aten.relu.default(stem)\n")
	for i := range 16 {
		fmt.Fprintf(&conv, "    c%d = torch.ops.aten.conv2d.default(v%d, w, None, [1, 1], [1, 1])\n    s%d = torch.ops.aten.add.Tensor(c%d, v%d)\n    v%d = torch.ops.aten.relu.default(s%d)\n", i, i, i, i, i, i+1, i)
	}
	conv.WriteString("    return v16\n")
	var networks []*network
	for _, n := range []struct {
		name, code string
		attrs      map[string]any
		input      *torch.Tensor
	}{
		{"64 pointwise operators, 64 elements", chain(64, "torch.ops.aten.add.Tensor(v%d, w)"), map[string]any{"w": random(1, 64)}, random(1, 64)},
		{"32 linear layers, 1x512x512", chain(32, "torch.ops.aten.linear.default(v%d, w)"), map[string]any{"w": random(0.04, 512, 512)}, random(1, 1, 512)},
		{"32 linear layers, 256x2048x2048", chain(32, "torch.ops.aten.linear.default(v%d, w)"), map[string]any{"w": random(0.02, 2048, 2048)}, random(1, 256, 2048)},
		{"16 residual convolutions of 64 channels, 224x224", conv.String(), map[string]any{"stem": random(0.1, 64, 3, 7, 7), "w": random(0.04, 64, 64, 3, 3)}, random(1, 1, 3, 224, 224)},
	} {
		g, err := ir.ParseCode(n.code)
		if err != nil {
			return nil, err
		}
		m, err := ir.NewGraphModule(n.attrs, g)
		if err != nil {
			return nil, err
		}
		networks = append(networks, &network{n.name, m, n.input})
	}
	return networks, nil
}

const (
	begin = "<!-- begin of scripts/cudabench -->\n"
	end   = "<!-- end of scripts/cudabench -->\n"
)

// write replaces what stands between the marks.
func write(page, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		return fmt.Errorf("%s: expected the marks %q and %q", page, begin, end)
	}
	return os.WriteFile(page, slices.Concat(before, []byte(begin), []byte(table), []byte(end), after), 0o644)
}
