package passes_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// A pipeline of two stages: what reads only x first, the rest behind it.
func ExampleSplit() {
	g, err := ir.ParseCode(`def forward(self, x, y):
    relu = torch.relu(x);  x = None
    add = relu + y;  y = None
    mul = add * relu;  add = relu = None
    return mul`)
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	s, err := passes.Split(m, func(n *ir.Node) int {
		if n.Name() == "relu" {
			return 0
		}
		return 1
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Module.Graph())
	for _, p := range s.Parts {
		fmt.Println(p.Name, p.Module.Graph())
	}
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %y : [num_users=1] = placeholder[target=y]
	//     %submod_0 : [num_users=1] = call_module[target=submod_0](args = (%x,), kwargs = {})
	//     %submod_1 : [num_users=1] = call_module[target=submod_1](args = (%submod_0, %y), kwargs = {})
	//     return submod_1
	// submod_0 graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
	//     return relu
	// submod_1 graph():
	//     %relu : [num_users=2] = placeholder[target=relu]
	//     %y : [num_users=1] = placeholder[target=y]
	//     %add : [num_users=1] = call_function[target=operator.add](args = (%relu, %y), kwargs = {})
	//     %mul : [num_users=1] = call_function[target=operator.mul](args = (%add, %relu), kwargs = {})
	//     return mul
}

// A backend takes additions: they become one call, except where a path leads out
// and back.
func ExamplePartitioner() {
	g, err := ir.ParseCode(`def forward(self, x, y):
    add = x + y
    add_1 = add + x;  x = None
    relu = torch.relu(add_1);  add_1 = None
    add_2 = relu + y;  relu = y = None
    return (add, add_2)`)
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	p := passes.NewPartitioner(m, passes.Targets{"operator.add": nil}, passes.AllowSingleNodes())
	fmt.Println(p.Propose())
	if _, err := p.PartitionAndFuse(); err != nil {
		log.Fatal(err)
	}
	code, err := m.Code()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.TrimSpace(code))
	// Output:
	// [[add_2] [add add_1]]
	// def forward(self, x, y):
	//     fused_1 = self.fused_1(x, y);  x = None
	//     getitem = fused_1[0]
	//     getitem_1 = fused_1[1];  fused_1 = None
	//     relu = torch.relu(getitem_1);  getitem_1 = None
	//     fused_0 = self.fused_0(relu, y);  relu = y = None
	//     return (getitem, fused_0)
}
