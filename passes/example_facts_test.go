package passes_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// graphModule reads a function over attributes, for examples.
func graphModule(code string, attrs map[string]any) *ir.GraphModule {
	g, err := ir.ParseCode(code)
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(attrs, g)
	if err != nil {
		log.Fatal(err)
	}
	return m
}

// shaped notes what m's nodes yield for an x of two rows of four.
func shaped(m *ir.GraphModule) *ir.GraphModule {
	x, err := torch.From(make([]float32, 8), 2, 4)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	out, err := passes.ShapeProp(context.Background(), m, []any{x})
	if err != nil {
		log.Fatal(err)
	}
	closeTensors(out)
	return m
}

const flattened = `def forward(self, x):
    size = x.size(0)
    relu = torch.relu(x);  x = None
    view = relu.view(size, 2, 2);  relu = size = None
    neg = torch.neg(view);  view = None
    return neg`

func ExampleFetchAttrs() {
	a, err := passes.FetchAttrs(nn.NewMaxPool2d(3, torch.Kw("stride", 2)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Class)
	for _, name := range a.Names {
		fmt.Println(name, "=", ir.Repr(a.Attrs[name].(ir.Arg)))
	}
	// Output:
	// torch.nn.modules.pooling.MaxPool2d
	// kernel_size = 3
	// stride = 2
	// padding = 0
	// dilation = 1
	// return_indices = False
	// ceil_mode = False
}

func ExampleLiftAttrs() {
	m := graphModule("def forward(self, x):\n    pool = self.pool(x);  x = None\n    act = self.act(pool);  pool = None\n    return act",
		map[string]any{"pool": nn.NewMaxPool2d(2), "act": nn.NewReLU()})
	layers, err := passes.LiftAttrs(m)
	if err != nil {
		log.Fatal(err)
	}
	for n := range m.Graph().Nodes() {
		if a, ok := layers[n]; ok {
			fmt.Println(n, a.Class, strings.Join(a.Names, " "))
		}
	}
	// Output:
	// pool torch.nn.modules.pooling.MaxPool2d kernel_size stride padding dilation return_indices ceil_mode
	// act torch.nn.modules.activation.ReLU inplace
}

func ExampleSizeOfNode() {
	m := shaped(graphModule("def forward(self, x):\n    lin = self.lin(x);  x = None\n    return lin", map[string]any{"lin": nn.NewLinear(4, 3)}))
	size, err := passes.SizeOfNode(m, m.Graph().Lookup("lin"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(size.Output, "bytes of its value,", size.Total, "with the layer's weight and bias")
	// Output: 24 bytes of its value, 84 with the layer's weight and bias
}

func ExampleNodeSizes() {
	m := shaped(graphModule("def forward(self, x):\n    half = x.half();  x = None\n    relu = torch.relu(half);  half = None\n    return relu", nil))
	for n, size := range passes.NodeSizes(m) {
		fmt.Println(n, size.Output)
	}
	// Output:
	// x 32
	// half 16
	// relu 16
}

// onAccelerator takes everything but neg.
var onAccelerator = passes.SupportFunc(func(_ *ir.GraphModule, n *ir.Node) bool { return n.Name() != "neg" })

func ExampleAcceleratorNodes() {
	m := shaped(graphModule(flattened, nil))
	nodes, events := passes.AcceleratorNodes(m, onAccelerator, false)
	fmt.Println(nodes)
	for _, e := range events.Of(m.Graph().Lookup("neg")) {
		fmt.Println(e)
	}
	// Output:
	// [size relu view]
	// neg: init_cpu|operator_support #
}

// A size that the accelerator would hand to the host is computed by the host.
func ExampleMoveNonTensorNodes() {
	m := shaped(graphModule(flattened, nil))
	node := m.Graph().Lookup
	parts := []passes.SubgraphPart{
		{Accelerator: true, Nodes: []*ir.Node{node("size"), node("relu")}},
		{Nodes: []*ir.Node{node("view"), node("neg")}},
	}
	passes.MoveNonTensorNodes(parts)
	fmt.Println(parts[0].Nodes, parts[1].Nodes)
	// Output: [relu] [view neg size]
}

func ExampleSubmoduleInputs() {
	inner := graphModule("def forward(self, a):\n    neg = torch.neg(a);  a = None\n    return neg", nil)
	m := graphModule("def forward(self, x):\n    add = x + 1;  x = None\n    inner = self.inner(add);  add = None\n    return inner",
		map[string]any{"inner": inner})
	x, err := torch.From([]float32{1, 2}, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	inputs, err := passes.SubmoduleInputs(context.Background(), m, []any{x}, "inner")
	if err != nil {
		log.Fatal(err)
	}
	defer closeTensors(inputs["inner"])
	fmt.Println(inputs["inner"][0])
	// Output: tensor([2., 3.])
}

func ExampleApply() {
	m := graphModule("def forward(self, x):\n    relu = torch.relu(x)\n    dead = torch.neg(x)\n    return relu", nil)
	o, err := passes.Apply(m, "dead code", func(m *ir.GraphModule) error {
		m.Graph().EliminateDeadCode()
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("made", o.Created(), "erased", o.Erased())
	// Output: made [] erased [dead]
}

// A function of C++ may be called in several ways; one of Python has its own.
func ExampleSignaturesOf() {
	for _, s := range passes.SignaturesOf(ir.FuncOf("torch.relu")) {
		fmt.Println("torch.relu", s)
	}
	for _, s := range passes.SignaturesOf(ir.OverloadOf("aten::add.Tensor")) {
		fmt.Println("aten.add.Tensor", s)
	}
	fmt.Println(len(passes.SignaturesOf(ir.FuncOf("torch.nn.functional.relu"))))
	// Output:
	// torch.relu (input: Tensor)
	// torch.relu (input: Tensor, *, out: Tensor)
	// aten.add.Tensor (input: Tensor, other: Tensor, *, alpha: Scalar=1)
	// 0
}
