package torchfxdoc_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestMain(m *testing.M) { testenv.MainWithExamples(m) }

// must is for examples, which have nobody to return an error to.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// printCode prints the Python code of a module, without the empty lines around it.
func printCode(gm *ir.GraphModule) { fmt.Println(strings.TrimSpace(must(gm.Code()))) }

// run calls a graph module.
func run(gm *ir.GraphModule, args ...any) any {
	return must(interpreter.New(gm).Run(context.Background(), args...))
}

// close is torch.allclose with its usual tolerances.
func allClose(x, y any) bool {
	return must(torch.AllClose(x.(*torch.Tensor), y.(*torch.Tensor), 1e-5, 1e-8))
}
