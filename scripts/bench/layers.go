package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/torchfx-go/torchfx"
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A kernel is one of a region on oneDNN.
type kernel struct {
	what   string // with oneDNN's name of its code
	shapes string // of what it reads, its weights and its result
	flop   float64
	took   []float64 // nanoseconds, by turn
}

// A regionRun is a region of a frozen network with what it is run on.
type regionRun struct {
	class           *libtorch.RegionClass
	inputs, outputs []*libtorch.Tensor
	ns              []uint64
	kernels         []*kernel
}

// exported is the folder of a network, for one image or row, that -networks has exported.
func exported(network string) (string, error) {
	folder := filepath.Join(benchFolder("networks"), network+"-b1")
	if _, err := os.Stat(folder); err != nil {
		return "", fmt.Errorf("%s is not exported; `go run ./scripts/bench -networks %s -executors frozen -batch 1 -threads 1` does that: %w", network, network, err)
	}
	return folder, nil
}

// measureLayers is the table of what the kernels of a frozen network's regions reach of
// the peak of the core. The peak, the kernels and the whole plan are measured in turns.
func measureLayers(network string, rounds int, spelled string) (string, error) {
	folder, err := exported(network)
	if err != nil {
		return "", err
	}
	inputs, _, err := readInputs(folder)
	if err != nil {
		return "", err
	}
	top, err := newPeak()
	if err != nil {
		return "", err
	}
	p, err := torchfx.Load(filepath.Join(folder, "program.pt2"))
	if err != nil {
		return "", err
	}
	defer p.Close()
	if _, err := p.Freeze(context.Background()); err != nil {
		return "", err
	}
	plan, err := p.Compile()
	if err != nil {
		return "", err
	}
	defer plan.Close()
	regions, err := regionsOf(p, inputs)
	if err != nil {
		return "", err
	}
	if len(regions) == 0 {
		return "", fmt.Errorf("%s: expected regions on oneDNN, got none: it was measured to be slower here, or is not set up", network)
	}
	whole := timed(plan.Run, inputs)
	if _, err := whole(2); err != nil { // a shape is met, and planned
		return "", err
	}
	var runs []float64
	for range rounds {
		if err := top.turn(); err != nil {
			return "", err
		}
		for _, r := range regions {
			if err := r.turn(); err != nil {
				return "", err
			}
		}
		took, err := whole(1)
		if err != nil {
			return "", err
		}
		runs = append(runs, float64(took.Nanoseconds()))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s; `%s`; %s frozen, batch 1, one thread; the least of %d turns of each kernel, by the clock.\n\n%s\n", machineNow(), spelled, network, rounds, top.table())
	tableOfLayers(&b, regions, top.best(), spreadOf(runs))
	for _, r := range regions {
		err = errors.Join(err, r.class.Close())
	}
	return b.String(), err
}

// regionsOf prepares the regions of a frozen program for what they are given in a run.
func regionsOf(p *torchfx.Program, inputs []any) (regions []*regionRun, err error) {
	m := p.Module()
	take := interpreter.Around(interpreter.Default{}, func(r *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
		v, _ := m.Attr(n.Target().String())
		d, ok := v.(*interpreter.Delegated)
		if n.Op() != ir.CallModule || !ok {
			return run()
		}
		args, _, err := r.Args(n)
		if err != nil {
			return nil, err
		}
		region, err := newRegionRun(d.Region(), args)
		if err != nil {
			return nil, err
		}
		regions = append(regions, region)
		return run()
	})
	out, err := interpreter.New(m, interpreter.WithHandler(take)).Run(context.Background(), inputs...)
	if err != nil {
		return nil, err
	}
	return regions, out.(*torch.Tensor).Close()
}

func newRegionRun(region *libtorch.Region, args []any) (*regionRun, error) {
	r := &regionRun{}
	for _, a := range args {
		t, ok := a.(*torch.Tensor)
		if !ok {
			return nil, fmt.Errorf("expected regions that take tensors, got %T", a)
		}
		h, err := t.Handle()
		if err != nil {
			return nil, err
		}
		if h, err = h.Ref(); err != nil {
			return nil, err
		}
		r.inputs = append(r.inputs, h)
	}
	var err error
	if r.class, err = region.Prepare(r.inputs, 1); err != nil {
		return nil, err
	}
	if r.outputs, err = r.class.Run(context.Background(), r.inputs); err != nil {
		return nil, err
	}
	r.ns = make([]uint64, r.class.Kernels)
	for i := range r.ns {
		r.kernels = append(r.kernels, readKernel(r.class.DescribeKernel(i)))
	}
	return r, nil
}

// turn runs the region once.
func (r *regionRun) turn() error {
	if err := r.class.RunInto(context.Background(), r.inputs, r.outputs, nil, r.ns); err != nil {
		return err
	}
	for i, ns := range r.ns {
		r.kernels[i].took = append(r.kernels[i].took, float64(ns))
	}
	return nil
}

var (
	numbersOfNodes = regexp.MustCompile(` \d+`)
	sizesOf        = regexp.MustCompile(`  (x|second|weight|result) \[([\d, ]+)\]`)
)

// readKernel reads the line of [libtorch.RegionClass.DescribeKernel]: what it does with
// which nodes, oneDNN's name, and sizes and places of what it reads and writes.
func readKernel(line string) *kernel {
	what, rest, _ := strings.Cut(line, "  ")
	name, _, _ := strings.Cut(rest, "  ")
	k := &kernel{what: numbersOfNodes.ReplaceAllString(what, "") + ", " + name}
	sizes := map[string][]int{}
	var shapes []string
	for _, m := range sizesOf.FindAllStringSubmatch(line, -1) {
		for text := range strings.SplitSeq(m[2], ", ") {
			n, _ := strconv.Atoi(text)
			sizes[m[1]] = append(sizes[m[1]], n)
		}
		shapes = append(shapes, strings.ReplaceAll(m[2], ", ", "x"))
	}
	k.shapes = strings.Join(shapes, " · ")
	x, weight, result := sizes["x"], sizes["weight"], sizes["result"]
	switch {
	case len(x) == 0 || len(weight) == 0:
	case strings.HasPrefix(k.what, "convolution"):
		k.flop = convolutionFLOP(x, weight, result)
	case strings.HasPrefix(k.what, "linear"):
		k.flop = 2 * product(result) * float64(x[len(x)-1])
	}
	return k
}

// convolutionFLOP is what a convolution multiplies and adds: weights that meet zeros around
// the input are not counted, which kernels leave out, too. Strides and paddings follow
// from the sizes, where nothing is dilated and both sides are padded alike.
func convolutionFLOP(x, weight, result []int) float64 {
	spatial := len(x) - 2
	flop := 2 * product(result[:2]) * product(weight[len(weight)-spatial-1:len(weight)-spatial])
	for d := range spatial {
		in, kernel, out := x[2+d], weight[len(weight)-spatial+d], result[2+d]
		stride := max((in+out/2)/out, 1)
		padding := max((out-1)*stride+kernel-in+1, 0) / 2
		met := 0
		for o := range out {
			first := o*stride - padding
			met += min(first+kernel, in) - max(first, 0)
		}
		flop *= float64(met)
	}
	return flop
}

func product(sizes []int) float64 {
	n := 1.0
	for _, s := range sizes {
		n *= float64(s)
	}
	return n
}

// A layerRow is kernels that are alike.
type layerRow struct {
	*kernel
	count int
	ns    float64 // of all, the least of each
}

// tableOfLayers writes a row for kernels that are alike, and what they come to.
func tableOfLayers(b *strings.Builder, regions []*regionRun, peak float64, run spread) {
	var rows []*layerRow
	by := map[string]*layerRow{}
	all := layerRow{kernel: &kernel{}}
	var bound float64 // nanoseconds in kernels that do nothing that is counted
	for _, r := range regions {
		for _, k := range r.kernels {
			row := by[k.what+k.shapes]
			if row == nil {
				row = &layerRow{kernel: k}
				by[k.what+k.shapes] = row
				rows = append(rows, row)
			}
			least := spreadOf(k.took).Minimum
			row.count++
			row.ns += least
			all.count++
			all.ns += least
			all.flop += k.flop
			if k.flop == 0 {
				bound += least
			}
		}
	}
	b.WriteString("| kernels | | reads · weight · result | GFLOP | ms | GFLOP/s | of the peak |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		if r.flop == 0 {
			fmt.Fprintf(b, "| %d | %s | %s | - | %.3f | - | - |\n", r.count, r.what, r.shapes, r.ns/1e6)
			continue
		}
		flop := r.flop * float64(r.count)
		fmt.Fprintf(b, "| %d | %s | %s | %.3f | %.3f | %.1f | %.2f |\n", r.count, r.what, r.shapes, flop/1e9, r.ns/1e6, flop/r.ns, flop/r.ns/peak)
	}
	fmt.Fprintf(b, "| %d | all | | %.3f | %.3f | %.1f | %.2f |\n", all.count, all.flop/1e9, all.ns/1e6, all.flop/all.ns, all.flop/all.ns/peak)
	fmt.Fprintf(b, "\nAt the peak of the core the %.2f GFLOP take %s; the kernels take %s, of which %s in those that move and pool; the plan's run %s of CPU time, median %s.\n",
		all.flop/1e9, ms(all.flop/peak), ms(all.ns), ms(bound), ms(run.Minimum), ms(run.Median))
}

func ms(ns float64) string {
	return fmt.Sprintf("%.1f ms", ns/float64(time.Millisecond))
}
