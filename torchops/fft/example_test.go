package fft_test

import (
	"fmt"
	"testing"

	"github.com/torchfx-go/torchfx/internal/testenv"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/torchops/fft"
)

func TestMain(m *testing.M) { testenv.MainWithExamples(m) }

func Example() {
	x, _ := torch.From([]float32{1, 2, 3, 4}, 4)
	fmt.Println(fft.Irfft(fft.Rfft(x, torch.Kw("norm", "ortho")), torch.Kw("norm", "ortho")))
	// Output:
	// tensor([1., 2., 3., 4.])
}
