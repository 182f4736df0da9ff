package special_test

import (
	"fmt"
	"testing"

	"github.com/torchfx-go/torchfx/internal/testenv"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/torchops/special"
)

func TestMain(m *testing.M) { testenv.MainWithExamples(m) }

func Example() {
	x, _ := torch.From([]float32{0, 1}, 2)
	fmt.Println(special.Entr(x), special.Expit(x))
	// Output:
	// tensor([0., -0.]) tensor([0.5000, 0.7311])
}
