package interpreter_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// reluGraph is relu(x + y).
func reluGraph() *ir.GraphModule {
	g, err := ir.ParseCode("def forward(self, x, y):\n    sum_1 = torch.add(x, y)\n    relu = torch.relu(sum_1)\n    return relu")
	if err != nil {
		panic(err)
	}
	gm, err := ir.NewGraphModule(nil, g)
	if err != nil {
		panic(err)
	}
	return gm
}

// Where intermediate results lie is known once a shape has been run.
func ExamplePlan_Dump() {
	plan, err := interpreter.Compile(reluGraph(), interpreter.PlanFusion(false))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer plan.Close()
	x := torch.Ones([]int{8, 8})
	defer x.Close()
	if err := plan.Warmup(context.Background(), x, x); err != nil {
		fmt.Println(err)
		return
	}
	text, err := plan.Dump()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, memory, _ := strings.Cut(text, "shape class ")
	fmt.Print("shape class ", memory)
	// Output:
	// shape class 0: f32[8, 8], f32[8, 8]; threads 1
	// 1 results of 256 bytes in a block of 256 bytes
	// step  node   slot  value      offset  bytes  taken  written by
	// 0     sum_1  %2    f32[8, 8]  0       256    0–1    out variant
}

// A plan asks a check of its caller's about the inputs before anything runs.
func ExamplePlanCheck() {
	square := func(leaves []any) error {
		if x, ok := leaves[0].(*torch.Tensor); ok && len(x.Shape()) == 2 {
			return nil
		}
		return ir.Errorf(ir.ErrInput, "x: expected a matrix, got %s", torch.Describe(leaves[0]))
	}
	plan, err := interpreter.Compile(reluGraph(), interpreter.PlanCheck(square), interpreter.WithThreads(1), interpreter.WithWorkers(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer plan.Close()
	_, err = plan.Run(context.Background(), 3, 4)
	fmt.Println(err, errors.Is(err, ir.ErrInput))
	// Output: x: expected a matrix, got 3 true
}

// The error of a node names it, with what it was given.
func ExampleNodeError() {
	x, y := torch.Ones([]int{2, 3}), torch.Ones([]int{4})
	defer x.Close()
	defer y.Close()
	_, err := interpreter.New(reluGraph()).Run(context.Background(), x, y)
	var failed *interpreter.NodeError
	if errors.As(err, &failed) {
		fmt.Println("node", failed.Node)
	}
	fmt.Println(errors.Is(err, ir.ErrRuntime))
	// Output:
	// node sum_1
	// true
}

// A long run tells how far it is.
func ExampleOnProgress() {
	in := interpreter.New(productGraph(), interpreter.OnProgress(func(done, total int) { fmt.Println(done, "of", total) }))
	if _, err := in.Run(context.Background(), 3, 4); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0 of 5
	// 1 of 5
	// 2 of 5
	// 3 of 5
	// 4 of 5
	// 5 of 5
}

// A file that is no package is refused before anything of it is loaded.
func ExampleOpenAOTI() {
	_, err := interpreter.OpenAOTI(filepath.Join("..", "examples", "digits", "testdata", "digits.pt2"), interpreter.WithWorkers(2))
	fmt.Println(errors.Is(err, ir.ErrInput))
	// Output: true
}
