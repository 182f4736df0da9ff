package compare

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	F "github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// Model traces one of the models that the tests generate code for, and returns
// arguments for it.
func Model(name string) (*ir.GraphModule, []any, error) {
	make, ok := models[name]
	if !ok {
		return nil, nil, fmt.Errorf("model %q: unknown", name)
	}
	if err := torch.ManualSeed(1); err != nil {
		return nil, nil, err
	}
	var gm *ir.GraphModule
	root, opts := make()
	gm, err := tracer.SymbolicTrace(root, opts...)
	if err != nil {
		return nil, nil, err
	}
	args, err := torch.Try(func() []any { return []any{torch.Randn(2, 4), torch.Randn(2, 4)} })
	return gm, args[:len(gm.Graph().Find(ir.Placeholder, nil))], err
}

// Models are the names that [Model] knows.
func Models() []string {
	var names []string
	for name := range models {
		names = append(names, name)
	}
	return names
}

var models = map[string]func() (root any, opts []tracer.Option){
	"first": func() (any, []tracer.Option) {
		return &First{Param: torch.Rand(3, 4).Select(0, 0), Linear: nn.NewLinear(4, 5)}, nil
	},
	"functions": func() (any, []tracer.Option) {
		return func(x, y *torch.Tensor) any {
			z := torch.Cat(torch.List{x, torch.Relu(y)}, 1)
			a, b := z.Chunk(2, 1).Unpack2()
			n := z.Size(0)
			w := F.Gelu(operator.Mul(a, 2.5)).View(n, -1)
			total := torch.Dispatch(ir.CallFunction, ir.FuncOf("torch.sum"), []any{w}, []torch.Kwarg{torch.Kw("dim", []int{1}), torch.Kw("keepdim", true)})
			part := operator.GetItem(b, ir.PyTuple{torch.Slice(nil, nil, nil), torch.Slice(1, 3, nil)})
			return []any{torch.Softmax(w, -1), total, map[string]any{"part": part, "n": n}, nil, F.LayerNorm(x, []int{4}, torch.Kw("eps", 1e-3))}
		}, []tracer.Option{tracer.Signature("x, y")}
	},
	"layers": func() (any, []tracer.Option) {
		return &layers{Body: nn.NewSequential(nn.NewLinear(4, 6), nn.NewGELU(), nn.NewLinear(6, 4)), Norm: nn.NewLayerNorm(4)}, nil
	},
}

// First is the module of torch.fx's first page.
type First struct {
	nn.Base `forward:"x"`
	Param   *torch.Tensor
	Linear  *nn.Linear
}

// Forward is linear(x + param).clamp(min=0.0, max=1.0).
func (m *First) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Linear.Forward(operator.Add(x, m.Param)).Clamp(torch.Kw("min", 0.0), torch.Kw("max", 1.0))
}

type layers struct {
	nn.Base `forward:"x"`
	Body    *nn.Sequential
	Norm    *nn.LayerNorm
}

func (m *layers) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Norm.Forward(operator.Add(m.Body.Forward(x), x))
}
