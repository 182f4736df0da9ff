package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/torchfx-go/torchfx"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// batchSizes are those that the demo runs; 300 is all digits at once.
var batchSizes = []int{1, 7, 32, 300}

// A measurement is one pass over all digits.
type measurement struct {
	batch    int
	answers  []int
	right    int     // answers that are what the writer meant
	largest  float64 // difference of an output from PyTorch's
	perImage time.Duration
}

// passesOver is how often all digits are run; the fastest pass counts, since the
// first ones warm up and the machine has other things to do.
const passesOver = 3

// measure runs all digits in batches of each size.
func measure(ctx context.Context, program *torchfx.Program, s *scans) ([]measurement, error) {
	var all []measurement
	for _, size := range batchSizes {
		var fastest measurement
		for i := range passesOver {
			m, err := onePass(ctx, program, s, size)
			if err != nil {
				return nil, err
			}
			if i == 0 || m.perImage < fastest.perImage {
				fastest = m
			}
		}
		all = append(all, fastest)
	}
	return all, nil
}

func onePass(ctx context.Context, program *torchfx.Program, s *scans, size int) (measurement, error) {
	m := measurement{batch: size}
	var took time.Duration
	for first := 0; first < s.len(); first += size {
		n := min(size, s.len()-first)
		start := time.Now()
		outputs, err := classify(ctx, program, s.images[first*pixels:(first+n)*pixels], n)
		if err != nil {
			return m, fmt.Errorf("batch of %d: %w", n, err)
		}
		took += time.Since(start)
		m.take(s, first, outputs)
	}
	m.perImage = took / time.Duration(s.len())
	return m, nil
}

// classify runs one batch; the result is [n, 10].
func classify(ctx context.Context, program *torchfx.Program, images []float32, n int) ([]float32, error) {
	x, err := torch.From(images, n, 1, side, side)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	y, err := program.Run(ctx, x)
	if err != nil {
		return nil, err
	}
	t, ok := y.(*torch.Tensor)
	if !ok {
		return nil, fmt.Errorf("expected one tensor, got %T", y)
	}
	defer t.Close()
	return torch.Data[float32](t)
}

// take compares the outputs of a batch with the labels and with PyTorch.
func (m *measurement) take(s *scans, first int, outputs []float32) {
	for i, x := range outputs {
		m.largest = max(m.largest, math.Abs(float64(x)-float64(s.outputs[first*classes+i])))
	}
	for i := 0; i < len(outputs); i += classes {
		answer := best(outputs[i : i+classes])
		if int64(answer) == s.labels[first+i/classes] {
			m.right++
		}
		m.answers = append(m.answers, answer)
	}
}

// writeTable sets the measurements before and after the rewrite side by side.
func writeTable(out io.Writer, before, after []measurement, total int) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tbatch norms as saved\t\t\tfolded\t\t\t")
	fmt.Fprintln(t, "batch\tright\tdifference\ttime/image\tright\tdifference\ttime/image\t")
	for i, b := range before {
		a := after[i]
		fmt.Fprintf(t, "%d\t%d\t%.1e\t%s\t%d\t%.1e\t%s\t\n", b.batch,
			b.right, b.largest, b.perImage.Round(time.Microsecond), a.right, a.largest, a.perImage.Round(time.Microsecond))
	}
	_ = t.Flush()
	last := after[len(after)-1]
	fmt.Fprintf(out, "\n%d of %d right (%.1f %%). The difference is the largest of any output from the one that PyTorch recorded.\n",
		last.right, total, 100*float64(last.right)/float64(total))
}
