package ir_test

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
)

// A program was exported with forward(point, scale=...), where point is a
// namedtuple. Any Go value of that form will do.
func ExampleTreeSpec_FlattenCall() {
	point := &ir.TreeSpec{
		Type: "collections.namedtuple", Class: "geometry.Point", Fields: []string{"left", "right"},
		Children: []*ir.TreeSpec{ir.Leaf(), ir.Leaf()},
	}
	in := ir.TupleSpec(ir.TupleSpec(point), ir.DictSpec([]string{"scale"}, ir.Leaf()))
	names := []string{"point", "scale"}
	fmt.Println(in.CallNames(names))

	leaves, err := in.FlattenCall([]any{struct{ Left, Right int }{1, 2}}, map[string]any{"scale": 0.5}, names)
	fmt.Println(leaves, err)
	_, err = in.FlattenCall([]any{map[string]any{"left": 1}}, map[string]any{"scale": 0.5}, names)
	fmt.Println(err)
	// Output:
	// [point.left point.right scale]
	// [1 2 0.5] <nil>
	// point: expected geometry.Point with the fields left, right: missing field 'right'
}

func ExampleTreeSpec_Unflatten() {
	out, err := ir.ParseTreeSpec(`[1, {"type": "builtins.tuple", "context": "null", "children_spec": [`+
		`{"type": null, "context": null, "children_spec": []}, `+
		`{"type": "builtins.dict", "context": "[\"loss\"]", "children_spec": [{"type": null, "context": null, "children_spec": []}]}]}]`, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := out.Unflatten([]any{"logits", 0.25})
	if err != nil {
		fmt.Println(err)
		return
	}
	tuple := v.(ir.PyTuple)
	loss, _ := tuple[1].(*ir.PyDict).Get("loss")
	fmt.Println(tuple[0], loss)
	// Output:
	// logits 0.25
}
