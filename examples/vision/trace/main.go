// Command trace prints the graph of a network of package vision as torch.fx prints
// that of torchvision's, and runs it.
//
//	go run ./examples/vision/trace -model densenet121
//	go run ./examples/vision/trace -model resnet18 -weights resnet18.safetensors
//
// Weights are a state dict that Python saved, with torch.save(net.state_dict(), file)
// or with safetensors.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/examples/vision"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "trace:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("trace", flag.ContinueOnError)
	name := flags.String("model", "resnet18", "one of "+strings.Join(vision.Names, ", "))
	weights := flags.String("weights", "", "a state dict of torchvision's model; without one, weights are random")
	train := flags.Bool("train", false, "trace in training mode")
	if err := flags.Parse(args); err != nil {
		return err
	}
	model, err := vision.New(*name)
	if err != nil {
		return err
	}
	nn.Train(model, *train)
	if *weights != "" {
		if _, err := torchfx.LoadState(model, *weights); err != nil {
			return err
		}
	}
	gm, err := torchfx.SymbolicTrace(model)
	if err != nil {
		return err
	}
	code, err := gm.Code()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, strings.TrimSpace(code))
	if *train {
		return nil
	}
	return classify(w, gm.ClassName(), interpreter.New(gm))
}

// classify runs a network on a picture of noise and prints the likeliest classes.
func classify(w io.Writer, name string, in *interpreter.Interpreter) error {
	s := torch.NewScope()
	defer s.Close()
	if err := torch.ManualSeed(0); err != nil {
		return err
	}
	out, err := in.Run(context.Background(), torch.Randn(1, 3, 224, 224, torch.In(s)))
	if err != nil {
		return err
	}
	scores := out.(*torch.Tensor)
	s.Add(scores)
	values, err := torch.Data[float32](scores)
	if err != nil {
		return err
	}
	classes := make([]int, len(values))
	for i := range classes {
		classes[i] = i
	}
	slices.SortFunc(classes, func(a, b int) int {
		if values[a] > values[b] {
			return -1
		}
		return 1
	})
	fmt.Fprintf(w, "\n%s on noise:\n", name)
	for _, c := range classes[:5] {
		fmt.Fprintf(w, "  class %3d  %9.4f\n", c, values[c])
	}
	return nil
}
