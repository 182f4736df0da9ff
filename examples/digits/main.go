// Command digits is the demo of torchfx: a network that PyTorch trained and saved
// reads handwritten digits from Go, before and after a rewrite of its graph.
//
//	go run ./examples/digits
//
// It loads digits.pt2, which scripts/train_digits.py made, prints its graph,
// folds the batch norms into the layers before them, prints the graph again, and
// runs 300 digits that the network has never seen in batches of several sizes.
// Where libtorch is not set up, it does that first.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func main() {
	data := flag.String("data", filepath.Join("examples", "digits", "testdata"), "`folder` of digits.pt2 and digits.safetensors")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := setUp(ctx, os.Stdout)
	if err == nil {
		err = demo(ctx, os.Stdout, *data)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "digits:", err)
		os.Exit(1)
	}
}

// demo does all that the package comment says, but for the set-up.
func demo(ctx context.Context, out io.Writer, dir string) (err error) {
	s, err := readScans(dir)
	if err != nil {
		return fmt.Errorf("%w\n(run it from the root of the repository, or give -data)", err)
	}
	program, err := torchfx.Load(filepath.Join(dir, "digits.pt2"))
	if err != nil {
		return err
	}
	defer func() {
		if e := program.Close(); err == nil {
			err = e
		}
	}()
	module := program.Module()

	fmt.Fprintf(out, "The program as PyTorch saved it:\n\n%s\n\n", module.Graph())
	before, err := measure(ctx, program, s)
	if err != nil {
		return err
	}

	report, err := passes.FoldBatchNorm(ctx, module)
	if err != nil {
		return err
	}
	defer closeFolded(module, report)
	if _, err := module.Graph().EliminateDeadCode(); err != nil {
		return err
	}
	if err := module.Graph().Lint(); err != nil {
		return err
	}
	fmt.Fprintf(out, "Folding batch norms:\n\n%s\nThe program after that:\n\n%s\n\n", report, module.Graph())
	after, err := measure(ctx, program, s)
	if err != nil {
		return err
	}

	fmt.Fprintf(out, "Some of the %d digits, and what the network reads:\n\n%s\n", s.len(), gallery(s, after[0].answers))
	writeTable(out, before, after, s.len())
	return nil
}

// closeFolded frees the parameters that folding made.
func closeFolded(module attributes, report *passes.BatchNormReport) {
	for _, f := range report.Folds {
		for _, path := range []string{f.Weight, f.Bias} {
			v, _ := module.Attr(path)
			if t, ok := v.(*torch.Tensor); ok {
				t.Close()
			}
		}
	}
}

type attributes interface{ Attr(path string) (any, bool) }
