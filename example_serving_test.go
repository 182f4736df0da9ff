package torchfx_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A program is frozen, planned and closed; the plan goes on, from any goroutine.
func ExampleProgram_Compile() {
	ctx := context.Background()
	program, err := torchfx.Load(digits)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := program.Freeze(ctx); err != nil {
		fmt.Println(err)
		return
	}
	plan, err := program.Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer plan.Close()
	_ = program.Close()

	images := torch.Ones([]int{2, 1, 8, 8})
	defer images.Close()
	if err := plan.Warmup(ctx, images); err != nil {
		fmt.Println(err)
		return
	}
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			out, err := plan.Run(ctx, images)
			if err != nil {
				fmt.Println(err)
				return
			}
			scores := out.(*torch.Tensor)
			defer scores.Close()
			fmt.Println(scores.Shape())
		})
	}
	wait.Wait()
	// Output:
	// [2 10]
	// [2 10]
	// [2 10]
}

// Classes of errors tell whose fault it is.
func ExampleProgram_Run() {
	program, err := torchfx.Load(digits)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer program.Close()
	wide := torch.Ones([]int{1, 1, 8, 9})
	defer wide.Close()
	_, err = program.Run(context.Background(), wide)
	fmt.Println(err, errors.Is(err, ir.ErrInput))
	_, err = program.Run(context.Background(), []float32{1, 2, 3})
	fmt.Println(err, errors.Is(err, ir.ErrInput))

	right := torch.Ones([]int{1, 1, 8, 8})
	defer right.Close()
	late, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	_, err = program.Run(late, right)
	fmt.Println(errors.Is(err, ir.ErrCancelled), errors.Is(err, context.DeadlineExceeded))

	_, err = torchfx.Load("README.md")
	fmt.Println(err)
	// Output:
	// image: dimension 3 is 9, expected 8 true
	// image: expected a tensor, got a list true
	// true true
	// README.md: not a zip archive; a .pt2 file that torch.export.save wrote is one
}

// A saved program calls ATen operators, and so do patterns for it: in text each call has a
// line. Whether numbers stay is asked of both on the same input.
func ExampleReplacePattern_savedProgram() {
	ctx := context.Background()
	program, err := torchfx.Load(digits)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer program.Close()
	images := torch.Ones([]int{2, 1, 8, 8})
	defer images.Close()
	before, err := program.Run(ctx, images)
	if err != nil {
		fmt.Println(err)
		return
	}
	matches, err := torchfx.ReplacePattern(program.Module(),
		"def pattern(x):\n    y = torch.ops.aten.relu.default(x)\n    return y",
		"def replacement(x):\n    y = torch.ops.aten.clamp_min.default(x, 0)\n    return y")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(matches), "places")
	after, err := program.Run(ctx, images)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(torch.Equal(before.(*torch.Tensor), after.(*torch.Tensor)))
	// Output:
	// 4 places
	// true <nil>
}
