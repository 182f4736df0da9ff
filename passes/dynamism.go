package passes

import (
	"fmt"
	"maps"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Varying tells what differs among examples of a program's inputs: for every number
// in them whether it does, for every tensor which of its dimensions do. Examples are
// dicts, map[string]any or *ir.PyDict; in them stand lists, tuples, objects and modules
// of package nn, whose tensors count. Keys are the paths as guards write them,
// "L['x'][0]"; a dimension that an example has not differs by that alone in nothing.
// Same as torch.fx.experimental._dynamism.track_dynamism_across_examples.
func Varying(examples ...any) map[string][]bool {
	seen := map[string][]map[any]bool{}
	for _, e := range examples {
		varyingLeaves("L", e, func(path string, values []any) {
			for i, v := range values {
				if i == len(seen[path]) {
					seen[path] = append(seen[path], map[any]bool{})
				}
				seen[path][i][v] = true
			}
		})
	}
	out := make(map[string][]bool, len(seen))
	for path, dims := range seen {
		out[path] = make([]bool, len(dims))
		for i, values := range dims {
			out[path][i] = len(values) > 1
		}
	}
	return out
}

// varyingLeaves calls found with the numbers and shapes in a value.
func varyingLeaves(path string, v any, found func(path string, values []any)) {
	list := func(items []any) {
		for i, item := range items {
			varyingLeaves(fmt.Sprintf("%s[%d]", path, i), item, found)
		}
	}
	at := func(key string) string { return path + "[" + ir.Repr(ir.Str(key)) + "]" }
	switch v := v.(type) {
	case int, int64, float64, bool:
		found(path, []any{v})
	case *torch.Tensor:
		sizes := []any{}
		for _, n := range v.Shape() {
			sizes = append(sizes, n)
		}
		found(path, sizes)
	case []any:
		list(v)
	case ir.PyTuple:
		list(v)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			varyingLeaves(at(key), v[key], found)
		}
	case *ir.PyDict:
		for key, item := range v.All() {
			varyingLeaves(at(fmt.Sprint(key)), item, found)
		}
	case *ir.PyObject:
		for i, field := range v.Fields {
			varyingLeaves(at(field), v.Values[i], found)
		}
	case nn.Module:
		for t := range nn.Tensors(v) {
			if t.Tensor != nil {
				varyingLeaves(at(t.Name), t.Tensor, found)
			}
		}
	}
}
