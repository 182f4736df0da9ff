package passes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/passes"
)

// Folding the batch norms of a saved network before it is served.
func ExampleFoldBatchNorm() {
	program, err := torchfx.Load("../examples/digits/testdata/digits.pt2")
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	report, err := passes.FoldBatchNorm(context.Background(), program.Module())
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range report.Folds {
		fmt.Printf("%s went into %s\n", f.Norm, f.Layer)
	}
	for _, k := range report.Kept {
		fmt.Printf("%s stays: %s\n", k.Norm, k.Why)
	}
}
