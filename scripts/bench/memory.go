package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/torchfx-go/torchfx"
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// measureMemory tells what a frozen network holds in memory, stage after stage, in
// this process, which should have done nothing else: the program loaded, frozen and
// compiled, its first runs, and so many more in four parts. The last lines compare
// the peak of a run with the weights and the largest set of values that are live at
// once, and the parts with each other: behind the first, memory is to stay what it is.
//
// What counts is memory of the process's own and the pages of the program's file, in
// which weights stay that no rewrite changed; code of libraries is not counted. It
// counts from where a network of one convolution has been frozen and run, and with it
// all is there that the first network of a process needs once: the schemas of
// operators, and the kernels' own tables.
//
// choices is a file of measured choices, "" for none: with one that is complete, as a
// service has it from its second start on, nothing is measured.
func measureMemory(folder, choices string, runs int) error {
	file, err := filepath.EvalSymlinks(filepath.Join(folder, "program.pt2"))
	if err != nil {
		return err
	}
	if _, err := libtorch.Operators(); err != nil {
		return err
	}
	stage := func(name string) memory {
		m := readMemory(file)
		fmt.Printf("| %s | %.1f | %.1f | %.1f | %.1f |\n", name, mb(m.private), mb(m.program), mb(m.code), mb(m.peak))
		return m
	}
	fmt.Printf("| after | private | program | code | peak of all |\n|---|---|---|---|---|\n")
	stage("libtorch opened")
	if err := firstNetwork(); err != nil {
		return err
	}
	settle()
	base := stage("a small network")
	p, err := torchfx.Load(file)
	if err != nil {
		return err
	}
	defer p.Close()
	stage("Load")
	var opts []passes.FreezeOption
	if choices != "" {
		opts = append(opts, passes.KeepChoices(choices))
	}
	if _, err := p.Freeze(context.Background(), opts...); err != nil {
		return err
	}
	frozen := stage("Freeze")
	plan, err := p.Compile()
	if err != nil {
		return err
	}
	defer plan.Close()
	inputs, _, err := readInputs(folder)
	if err != nil {
		return err
	}
	run := func(n int) error {
		for range n {
			if err := once(plan.Run, inputs, func(*torch.Tensor) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	}
	for range 2 {
		if err := run(1); err != nil {
			return err
		}
		stage("Compile and a run")
	}
	settle()
	stage("the collector")
	settle() // what reading took is no run's
	const parts = 4
	var parted [parts]memory
	for i := range parts {
		if err := run(runs / parts); err != nil {
			return err
		}
		parted[i] = stage(fmt.Sprintf("%d runs more", runs/parts*(i+1)))
	}
	last := parted[parts-1]
	// of the program as it was: regions keep weights and values of theirs to themselves
	original, err := torchfx.Load(file)
	if err != nil {
		return err
	}
	defer original.Close()
	weights, live, err := footprint(original, inputs)
	if err != nil {
		return err
	}
	// the peak is of all together, of which code does not change
	grown := last.peak - last.code - base.private
	fmt.Printf("\nweights %.1f MB, largest live set %.1f MB; peak of runs %.1f MB: %.2f times both together\n", mb(weights), mb(live), mb(grown), float64(grown)/float64(weights+live))
	freezing := frozen.peak - base.code - base.private
	fmt.Printf("peak of Load and Freeze %.1f MB: %.2f times the weights\n", mb(freezing), float64(freezing)/float64(weights))
	fmt.Printf("the last %d of %d runs: %+.1f MB private\n", runs-runs/parts, runs, mb(last.private-parted[0].private))
	return nil
}

// settle gives back what is free, and begins a new peak.
func settle() {
	debug.FreeOSMemory()
	libtorch.TrimMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// firstNetwork runs a small network.
func firstNetwork() error {
	frozen, err := smallNetwork()
	if err != nil {
		return err
	}
	defer frozen.Close()
	plan, err := interpreter.Compile(frozen.Module)
	if err != nil {
		return err
	}
	defer plan.Close()
	x := torch.Ones([]int{1, 16, 32, 32})
	defer x.Close()
	for range 3 {
		if err := once(plan.Run, []any{x}, func(*torch.Tensor) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// smallNetwork is a convolution and a linear layer, frozen.
func smallNetwork(opts ...passes.FreezeOption) (*passes.Frozen, error) {
	weight := func(sizes ...int) *torch.Tensor { return torch.Ones(sizes) }
	attrs := map[string]any{"w": weight(16, 16, 3, 3), "b": weight(16), "v": weight(16, 16)}
	g := ir.NewGraph()
	call := func(name string, args ...ir.Arg) *ir.Node { return g.CallFunction(ir.FuncOf("torch."+name), args) }
	y := call("conv2d", g.Placeholder("x"), g.GetAttr("w"), g.GetAttr("b"), ir.IntList(1, 1), ir.IntList(1, 1))
	g.Output(call("nn.functional.linear", call("mean", call("relu", y), ir.IntList(2, 3)), g.GetAttr("v")))
	gm, err := ir.NewGraphModule(attrs, g)
	if err != nil {
		return nil, err
	}
	x := weight(1, 16, 32, 32)
	defer x.Close()
	// lowered on x, which notes the sizes that layers are packed for
	frozen, err := passes.Freeze(context.Background(), gm, append(opts, passes.FreezeArgs(x), passes.ReleaseOriginals())...)
	if err == nil && len(frozen.Report.Applied) == 0 {
		err = fmt.Errorf("freeze: expected layers to be packed:\n%w", errors.Join(frozen.Close(), errors.New(frozen.Report.String())))
	}
	return frozen, err
}

// footprint returns the bytes of the program's weights, and of the values that a run
// holds at most at once when each goes after its last use.
func footprint(p *torchfx.Program, inputs []any) (weights, live int64, err error) {
	m := p.Module()
	for _, v := range m.Attrs() {
		if t, ok := v.(*torch.Tensor); ok {
			weights += int64(t.Numel() * t.DType().Size())
		}
	}
	_, before := torch.LiveTensors()
	h := &liveSet{}
	in := interpreter.New(m, interpreter.WithHandler(h))
	out, err := in.Run(context.Background(), inputs...)
	if err != nil {
		return 0, 0, err
	}
	return weights, h.most - before, out.(*torch.Tensor).Close()
}

// liveSet notes how many bytes are live at most behind a node.
type liveSet struct {
	interpreter.Default
	most int64
}

func (l *liveSet) RunNode(r *interpreter.Run, n *ir.Node) (any, error) {
	v, err := l.Default.RunNode(r, n)
	_, bytes := torch.LiveTensors()
	l.most = max(l.most, bytes)
	return v, err
}

// A memory is what a process holds, in bytes: its own, the pages of a program's file,
// of libraries, and the most of all together since settle.
type memory struct{ private, program, code, peak int64 }

// readMemory makes no garbage to speak of, which would be a part of what it reads.
func readMemory(program string) (m memory) {
	eachLine("/proc/self/status", func(line []byte) {
		field(line, "VmHWM:", &m.peak)
		field(line, "RssAnon:", &m.private)
		field(line, "RssFile:", &m.code)
	})
	within := false
	var changed int64
	eachLine("/proc/self/smaps", func(line []byte) {
		// a mapping begins with its addresses and ends with its file
		if first, _, _ := bytes.Cut(line, []byte(" ")); bytes.IndexByte(first, '-') > 0 {
			within = bytes.HasSuffix(line, []byte(program))
		}
		if within {
			field(line, "Rss:", &m.program)
			field(line, "Anonymous:", &changed)
		}
	})
	m.program -= changed
	m.code -= m.program
	return m
}

// field adds the size of a line of that name, in bytes.
func field(line []byte, name string, into *int64) {
	rest, ok := bytes.CutPrefix(line, []byte(name))
	if !ok {
		return
	}
	var kB int64
	for _, c := range rest {
		if c >= '0' && c <= '9' {
			kB = 10*kB + int64(c-'0')
		}
	}
	*into += kB << 10
}

// eachLine calls f with the lines of a file, which hold until the next.
func eachLine(file string, f func(line []byte)) {
	r, err := os.Open(file)
	if err != nil {
		return
	}
	defer r.Close()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		f(lines.Bytes())
	}
}

func mb(bytes int64) float64 { return float64(bytes) / 1e6 }
