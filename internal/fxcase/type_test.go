package fxcase_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The programs with annotations. In Go a function has none, so that the
// signature given to a trace tells them.

type value = torch.Value

func TestTypeAnnotations(t *testing.T) {
	fxcase.Open(t, "type_annotations").Same(trace(func(x, y, z, l, d, t, a, c, n, s, p value) any {
		return ir.PyTuple{operator.Call("add", x, z), 2}
	}, "x: torch.Tensor, y: typing.Optional[torch.Tensor] = None, z: typing.Union[int, float] = 1, l: typing.List[torch.Tensor] = None, "+
		"d: typing.Dict[str, typing.Tuple[int, ...]] = None, t: typing.Tuple[()] = (), a: typing.Any = None, c: program.Custom = None, "+
		"n: None = None, s: str = 'a', p: torch.nn.modules.module.Module = None -> typing.Tuple[torch.Tensor, int]"))
}

func TestTypeAnnotationsPep585(t *testing.T) {
	fxcase.Open(t, "type_annotations_pep585").Same(trace(func(x, l, d, t, s, fs, n, k value) any {
		return []any{operator.Call("add", x, l.Index(0))}
	}, "x: torch.Tensor, l: list[torch.Tensor], d: dict[str, tuple[int, ...]], t: tuple[()], s: set[int], fs: frozenset[str], "+
		"n: list[list[int]], k: type[int] -> list[torch.Tensor]"))
}

func TestTypeAnnotationsUnion(t *testing.T) {
	fxcase.Open(t, "type_annotations_union").Same(trace(func(x, y, z, w, o value) any { return x },
		"x: int | None, y: torch.Tensor | int = 1, z: typing.Optional[typing.Dict[str, int]] = None, w: list[int | None] = None, "+
			"o: typing.Optional[dict[str, int | str]] = None -> int | None"))
}

func TestTypeAnnotationsStrings(t *testing.T) {
	fxcase.Open(t, "type_annotations_strings").Same(trace(func(x, y value) any { return operator.Call("add", x, y) },
		"x: 'torch.Tensor', y: 'int' = 3 -> 'torch.Tensor'"))
}

func TestTypeReturnOnly(t *testing.T) {
	fxcase.Open(t, "type_return_only").Same(trace(func(x value) any { return x }, "x -> torch.Tensor"))
}

func TestTypeReturnNone(t *testing.T) {
	fxcase.Open(t, "type_return_none").Same(trace(func(x value) { x.Method("add_", []any{1}) }, "x -> None"))
}

func TestTypeTensorType(t *testing.T) {
	fxcase.Open(t, "type_tensor_type").Same(trace(func(x, y *torch.Tensor) *torch.Tensor { return torch.Add(x, y) },
		"x: TensorType[(1, 2, 3, Dyn)], y: TensorType[(2,)] -> TensorType[(Dyn,)]"))
}

func TestTypeAnnotateValues(t *testing.T) {
	fxcase.Open(t, "type_annotate_values").Same(trace(func(x value) any {
		y := tracer.Annotate(x.Op("add", 1), "torch.Tensor")
		z := tracer.Annotate(y.Method("split", []any{2}), "typing.List[torch.Tensor]")
		return tracer.Annotate(z.Index(0), "torch.Tensor").Op("add", tracer.Annotate(3, "int"))
	}, "x"))
}

func TestTypeAnnotateTwice(t *testing.T) {
	c := fxcase.Open(t, "type_annotate_twice")
	_, err := trace(func(x value) any { return tracer.Annotate(x, "torch.Tensor") }, "x: torch.Tensor")
	c.Fails(err)
}

// What upstream cannot write, a list inside an annotation, is one global here.
func TestTypeCallable(t *testing.T) {
	fxcase.Open(t, "type_callable")
	gm, err := trace(func(x, fn value) any { return x }, "x, fn: typing.Callable[[int], int] = None")
	require.NoError(t, err)
	code, err := gm.Code()
	require.NoError(t, err)
	assert.Contains(t, code, "def forward(self, x, fn : typing_Callable")
	g, err := ir.ParseCode(code)
	require.NoError(t, err)
	assert.NotEmpty(t, g.Lookup("fn").Type())
}
