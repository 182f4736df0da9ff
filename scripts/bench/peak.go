package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A peak is the most float32 operations a second of one core: fused multiplications and
// additions of registers alone, see testdata/peak.cc. Direct convolutions and products
// of matrices cannot be faster.
type peak struct {
	loops []*fmaLoop // by what vectors the processor has
}

// A fmaLoop is the loop on vectors of one size.
type fmaLoop struct {
	bits   int
	rounds int64     // of a turn, some milliseconds
	took   []float64 // nanoseconds an operation, by turn
}

func newPeak() (*peak, error) {
	lib, err := testenv.BuildLibrary(filepath.Join("scripts", "bench", "testdata", "peak.cc"))
	if err != nil {
		return nil, err
	}
	if err := libtorch.OpenLibrary(lib); err != nil {
		return nil, err
	}
	p := &peak{}
	for _, bits := range []int{512, 256} {
		l := &fmaLoop{bits: bits, rounds: 1 << 20}
		took, err := l.run()
		if err != nil {
			return nil, err
		}
		if took > 0 {
			p.loops = append(p.loops, l)
		}
	}
	if len(p.loops) == 0 {
		return nil, errors.New("expected a processor with AVX2 or AVX-512, whose peak testdata/peak.cc knows how to reach")
	}
	return p, nil
}

// run is the nanoseconds an operation of one turn, 0 where there are no such vectors.
func (l *fmaLoop) run() (float64, error) {
	out, err := torch.Call("torchfx_peak::multiply_add", l.bits, l.rounds)
	if err != nil {
		return 0, err
	}
	both := out.(ir.PyTuple)
	if both[1] == int64(0) {
		return 0, nil
	}
	return float64(both[0].(int64)) / float64(both[1].(int64)), nil
}

// turn runs every loop once.
func (p *peak) turn() error {
	for _, l := range p.loops {
		took, err := l.run()
		if err != nil {
			return err
		}
		l.took = append(l.took, took)
	}
	return nil
}

// best is the peak of the turns so far: operations a nanosecond, which are GFLOP/s.
func (p *peak) best() (rate float64) {
	for _, l := range p.loops {
		rate = max(rate, 1/spreadOf(l.took).Minimum)
	}
	return rate
}

// table has a row for each size of vectors.
func (p *peak) table() string {
	var b strings.Builder
	b.WriteString("| vectors of | GFLOP/s, best turn | median |\n|---|---|---|\n")
	for _, l := range p.loops {
		s := spreadOf(l.took)
		fmt.Fprintf(&b, "| %d bits | %.1f | %.1f |\n", l.bits, 1/s.Minimum, 1/s.Median)
	}
	return b.String()
}

// measurePeak is the table of what one core can do at most.
func measurePeak(rounds int, spelled string) (string, error) {
	p, err := newPeak()
	if err != nil {
		return "", err
	}
	for range rounds {
		if err := p.turn(); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s; `%s`; fused multiplications and additions of float32 in registers, one core, CPU time of %d turns.\n\n%s", machineNow(), spelled, rounds, p.table()), nil
}
