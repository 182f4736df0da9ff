package export_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
)

// A program is changed and written; torch.export.load opens the file.
func ExampleSave() {
	p, err := export.Open("testdata/programs/linear.pt2")
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	p.Extra = map[string][]byte{"labels.txt": []byte("cat\ndog\n")}
	dir, err := os.MkdirTemp("", "torchfx")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "changed.pt2")
	if err := export.Save(path, []*export.Program{p}); err != nil {
		log.Fatal(err) // all that cannot be written, and no file
	}
	q, err := export.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()
	fmt.Printf("%s, %q", q.Writer, q.Extra["labels.txt"])
	// Output: torchfx, "cat\ndog\n"
}

// The module of a program is rewritten and becomes a program again.
func ExampleLift() {
	p, err := export.Open("testdata/programs/linear.pt2")
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	m, err := p.Module()
	if err != nil {
		log.Fatal(err)
	}
	linear := m.Graph().Find(ir.CallFunction, ir.OverloadOf("aten::linear"))[0]
	restore, err := m.Graph().InsertAfter(linear)
	if err != nil {
		log.Fatal(err)
	}
	relu := m.Graph().CallFunction(ir.OverloadOf("aten::relu"), nil)
	restore()
	linear.ReplaceAllUsesWith(relu)
	relu.SetArgs(linear)
	relu.Meta().Set(ir.MetaVal, linear.Meta().Get(ir.MetaVal)) // Save asks what each value is
	changed, err := export.Lift(m, export.LiftFrom(p))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(changed.Graph)
	// Output:
	// graph():
	//     %p_l_weight : [num_users=1] = placeholder[target=p_l_weight]
	//     %p_l_bias : [num_users=1] = placeholder[target=p_l_bias]
	//     %x : [num_users=1] = placeholder[target=x]
	//     %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_l_weight, %p_l_bias), kwargs = {})
	//     %relu_default : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%linear,), kwargs = {})
	//     return (relu_default,)
}
