package parity_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/parity"
)

func ExampleCompare() {
	want, _ := binary.Append(nil, binary.NativeEndian, []float32{1, 2, 4})
	got, _ := binary.Append(nil, binary.NativeEndian, []float32{1, 2, 4.0000005})
	d, err := parity.Compare(ir.Float32, got, want, parity.DefaultTolerance(ir.Float32))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d outside, %d step away\n", d.Outside, d.Total, d.ULPs)
	// Output: 0 of 3 outside, 1 step away
}

// Replaying cases from a program of one's own, as `torchfx parity` does.
func ExampleRun() {
	report, err := parity.Run(context.Background(), []string{"testdata/cases"}, parity.Options{
		Jobs: 2,
		Done: func(r parity.Result) { _ = parity.WriteResult(os.Stdout, r) },
	})
	if err != nil {
		log.Fatal(err)
	}
	if report.Count(parity.Failed) > 0 {
		log.Fatal(parity.WriteReport(os.Stderr, report))
	}
}
