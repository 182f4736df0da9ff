package torchfx_test

import (
	"context"
	"fmt"
	"log"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func ExampleLoad() {
	program, err := torchfx.Load("testdata/model.pt2")
	if err != nil {
		log.Fatal(err) // all that is wrong with the file, or how to install libtorch
	}
	defer program.Close()

	x, err := torch.From([]float32{1, 2, 3, 4}, 1, 4)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	out, err := program.Run(context.Background(), x)
	if err != nil {
		log.Fatal(err)
	}
	y := out.(*torch.Tensor)
	defer y.Close()
	fmt.Println(y)
}

// The graph is the program's own: what is changed in it, the next run does.
func ExampleProgram_Module() {
	program, err := torchfx.Load("testdata/model.pt2")
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	relu, gelu := ir.OverloadOf("aten::relu"), ir.OverloadOf("aten::gelu")
	for n := range program.Module().Graph().Nodes() {
		if n.Func() == relu {
			if err := n.SetTarget(gelu); err != nil {
				log.Fatal(err)
			}
		}
	}
}
