package linalg_test

import (
	"fmt"
	"testing"

	"github.com/torchfx-go/torchfx/internal/testenv"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/torchops/linalg"
)

func TestMain(m *testing.M) { testenv.MainWithExamples(m) }

func Example() {
	x, _ := torch.From([]float32{4, 0, 0, 9}, 2, 2)
	sign, logabs := linalg.Slogdet(x)
	fmt.Println(sign, logabs)
	fmt.Println(linalg.MatrixNorm(x, torch.Kw("ord", "fro")))
	// Output:
	// tensor(1.) tensor(3.5835)
	// tensor(9.8489)
}
