// Command readme is the program of the README: it loads a network that PyTorch
// saved, rewrites its graph, and runs it.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func main() {
	model, err := torchfx.Load("examples/digits/testdata/digits.pt2")
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()

	graph := model.Module().Graph()
	for n := range graph.Nodes() {
		if n.Func() == ir.OverloadOf("aten::relu") {
			if err := n.SetTarget(ir.OverloadOf("aten::gelu")); err != nil {
				log.Fatal(err)
			}
		}
	}
	fmt.Println(graph)

	images, err := torch.From(make([]float32, 2*8*8), 2, 1, 8, 8)
	if err != nil {
		log.Fatal(err)
	}
	scores, err := model.Run(context.Background(), images)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(scores)
}
