package torchfx_test

import (
	"context"
	"fmt"
	"log"

	"github.com/torchfx-go/torchfx"
	F "github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A program of torch.export calls operators of ATen by their overloads, so a pattern for it
// does the same, by torchops.CallTensor. One that calls torch.Relu is lowered to them first.
func ExampleReplacePattern_exported() {
	program, err := torchfx.Load("examples/digits/testdata/digits.pt2")
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	replacement := func(x *torch.Tensor) *torch.Tensor {
		return torch.CallTensor("torch.ops.aten.silu.default", nil, x)
	}

	// torch.relu is another function than the operator: there is none in the program.
	matches, err := torchfx.ReplacePattern(program.Module(), func(x *torch.Tensor) *torch.Tensor { return torch.Relu(x) }, replacement)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("torch.Relu:", len(matches))

	matches, err = torchfx.ReplacePattern(program.Module(), func(x *torch.Tensor) *torch.Tensor {
		return torch.CallTensor("torch.ops.aten.relu.default", nil, x)
	}, replacement)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("torch.ops.aten.relu.default:", len(matches))

	// Lower records the operators that a traced pattern makes of an example of its inputs.
	pattern, err := torchfx.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return F.Silu(x) })
	if err != nil {
		log.Fatal(err)
	}
	x := torch.Ones([]int{1})
	defer x.Close()
	lowered, err := passes.Lower(context.Background(), pattern, []any{x})
	if err != nil {
		log.Fatal(err)
	}
	matches, err = torchfx.ReplacePattern(program.Module(), lowered.Graph(), func(x *torch.Tensor) *torch.Tensor {
		return torch.CallTensor("torch.ops.aten.relu.default", nil, x)
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("lowered:", len(matches))
	// Output:
	// torch.Relu: 0
	// torch.ops.aten.relu.default: 4
	// lowered: 4
}
