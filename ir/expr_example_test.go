package ir_test

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
)

func ExampleParseExpr() {
	e, err := ir.ParseExpr("Add(FloorDiv(Symbol('s77', positive=True, integer=True), Integer(2)), Integer(1))")
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := e.Eval(func(symbol string) (ir.Arg, bool) { return ir.Int(7), symbol == "s77" })
	fmt.Println(e, "=", n, err)

	_, err = ir.ParseExpr("__import__('os').system('true')") // a text of a hostile file
	fmt.Println(err)
	// Output:
	// ((s77//2)) + 1 = 4 <nil>
	// expression: column 1: expected a known function, got "__import__"
}

func ExampleParseGuard() {
	guard, err := ir.ParseGuard("L['z'].size()[0] == (2*L['x'].size()[1])")
	if err != nil {
		fmt.Println(err)
		return
	}
	sizes := map[string][]int64{"x": {3, 5}, "z": {10}}
	for _, symbol := range guard.Symbols() {
		place, _ := ir.ParseGuardPlace(symbol)
		fmt.Println(place.Path, place.Of, place.Dim)
	}
	holds, err := guard.Eval(func(symbol string) (ir.Arg, bool) {
		place, err := ir.ParseGuardPlace(symbol)
		if err != nil {
			return nil, false
		}
		name := string(place.Path[0].(ir.Str))
		return ir.Int(sizes[name][place.Dim]), true
	})
	fmt.Println(holds, err)
	// Output:
	// [z] size 0
	// [x] size 1
	// true <nil>
}
