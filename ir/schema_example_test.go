package ir_test

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
)

func ExampleParseSchema() {
	s, err := ir.ParseSchema("aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range s.Args {
		fmt.Printf("%-6s %-6s default=%v keyword=%t\n", a.Name, a.Type, a.Default, a.KeywordOnly)
	}
	_, err = ir.ParseSchema("aten::add(Tensor self, Tensr other) -> Tensor")
	fmt.Println(err)
	// Output:
	// self   Tensor default=<nil> keyword=false
	// other  Tensor default=<nil> keyword=false
	// alpha  Scalar default=1 keyword=true
	// out    Tensor default=<nil> keyword=true
	// schema: column 24: expected a type, got "Tensr"
}

func ExampleCatalogue() {
	c := ir.Operators()
	fmt.Println(c.Len(), "operators of libtorch", c.Version())
	s := c.Lookup("aten::relu")
	fmt.Println(s)
	fmt.Println(s.Tags)
	fmt.Println(c.Nearest("aten::rellu"))

	// Operators of a library of one's own lie over the others.
	own, err := ir.ParseSchema("mylib::swiglu(Tensor x, Tensor gate) -> Tensor")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.With(own).Lookup("mylib::swiglu").Args[1].Name)
	// Output:
	// 3483 operators of libtorch 2.15.0
	// aten::relu(Tensor self) -> Tensor
	// core pointwise pt2_compliant_tag
	// aten::relu
	// gate
}

func ExampleSchema_Effects() {
	for _, op := range []string{"aten::relu", "aten::relu_", "aten::view", "aten::rand", "aten::batch_norm"} {
		e := ir.Operators().Lookup(op).Effects()
		fmt.Printf("%-17s pure=%t writes=%v view=%t random=%t\n", op, e.Pure(), e.Writes, e.View, e.Random)
	}
	// A batch norm writes its running statistics only when it trains.
	e := ir.Operators().Lookup("aten::batch_norm").Effects()
	fmt.Println("updates", e.Updates, "where argument", e.Flag, "is true")
	// Output:
	// aten::relu        pure=true writes=[] view=false random=false
	// aten::relu_       pure=false writes=[0] view=false random=false
	// aten::view        pure=true writes=[] view=true random=false
	// aten::rand        pure=false writes=[] view=false random=true
	// aten::batch_norm  pure=false writes=[] view=false random=false
	// updates [3 4] where argument 5 is true
}
