package rewriter_test

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/rewriter"
)

// module makes a module of code that torch.fx would emit.
func module(code string) *ir.GraphModule {
	g, err := ir.ParseCode(code)
	if err != nil {
		panic(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		panic(err)
	}
	return m
}

// x + 0 is x. Pattern and replacement are written as code; they may be graphs too.
func ExampleReplacePattern() {
	m := module(`
def forward(self, x):
    add = torch.add(x, 0)
    mul = torch.mul(add, x)
    return mul
`)
	pattern := `
def forward(self, a):
    add = torch.add(a, 0)
    return add
`
	identity := `
def forward(self, a):
    return a
`
	matches, err := rewriter.ReplacePattern(m, pattern, identity)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(matches), "match")
	fmt.Println(m.Graph())
	// Output:
	// 1 match
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %mul : [num_users=1] = call_function[target=torch.mul](args = (%x, %x), kwargs = {})
	//     return mul
}

// A replacement made for each match, from what the match captured: x ** n as a
// chain of products.
func ExampleReplace() {
	m := module(`
def forward(self, x):
    pow_1 = torch.pow(x, 3)
    pow_2 = torch.pow(pow_1, 40)
    return pow_2
`)
	pattern := `
def forward(self, a, n):
    pow_1 = torch.pow(a, n)
    return pow_1
`
	small := func(match *rewriter.Match, graph, pattern *ir.Graph) bool {
		n, ok := match.Inputs[1].(ir.Int)
		return ok && 1 < n && n < 5
	}
	products := func(match *rewriter.Match, graph, pattern *ir.Graph) (*ir.Graph, error) {
		g := ir.NewGraph()
		a := g.Placeholder("a")
		g.Placeholder("n")
		product := a
		for range match.Inputs[1].(ir.Int) - 1 {
			product = g.CallFunction(ir.FuncOf("torch.mul"), []ir.Arg{product, a})
		}
		g.Output(product)
		return g, nil
	}
	done, err := rewriter.Replace(m, pattern, rewriter.FilterBy(small), rewriter.WithFunc(products))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range done {
		fmt.Println("made", r.Made, "removed", r.Removed)
	}
	code, _ := m.Code()
	fmt.Println(strings.TrimSpace(code))
	// Output:
	// made [mul mul_1] removed [pow_1]
	// def forward(self, x):
	//     mul = torch.mul(x, x)
	//     mul_1 = torch.mul(mul, x);  mul = x = None
	//     pow_2 = torch.pow(mul_1, 40);  mul_1 = None
	//     return pow_2
}

// Why a pattern does not match.
func ExampleExplain() {
	m := module(`
def forward(self, x):
    relu = torch.relu(x)
    add = torch.add(relu, 2)
    sum_1 = add + relu
    return sum_1
`)
	pattern := `
def forward(self, a):
    add = torch.add(a, 0)
    return add
`
	identity := `
def forward(self, a):
    return a
`
	_, err := rewriter.Replace(m, pattern, rewriter.With(identity),
		rewriter.Explain(func(r rewriter.Reason) { fmt.Println(r) }))
	fmt.Println(err)
	// Output:
	// at add, against add: arg 1: expected 0, got 2
	// <nil>
}

// One pattern for all the ways to write a call.
func ExampleLooseArguments() {
	m := module(`
def forward(self, x, y):
    sum_1 = torch.sum(x, 1)
    sum_2 = torch.sum(y, keepdim = False, dim = 1)
    add = torch.add(sum_2, sum_1)
    return add
`)
	pattern := `
def forward(self, a, b):
    left = torch.sum(a, dim = 1)
    right = torch.sum(b, dim = 1)
    add = torch.add(left, right)
    return add
`
	replacement := `
def forward(self, a, b):
    add = torch.add(a, b)
    sum_1 = torch.sum(add, dim = 1)
    return sum_1
`
	matches, err := rewriter.Replace(m, pattern, rewriter.With(replacement), rewriter.LooseArguments())
	fmt.Println(len(matches), err)
	fmt.Println(m.Graph())
	// Output:
	// 1 <nil>
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %y : [num_users=1] = placeholder[target=y]
	//     %add_1 : [num_users=1] = call_function[target=torch.add](args = (%y, %x), kwargs = {})
	//     %sum_3 : [num_users=1] = call_function[target=torch.sum](args = (%add_1,), kwargs = {dim: 1})
	//     return sum_3
}

// The nodes behind names that the pattern gives.
func ExampleNameNodes() {
	pattern, err := ir.ParseCode(`
def forward(self, x, w):
    mm = torch.mm(x, w)
    relu = torch.relu(mm)
    return (relu, {'product': mm, 'activation': relu})
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := rewriter.NewMatcher(pattern, rewriter.NameNodes())
	if err != nil {
		fmt.Println(err)
		return
	}
	target := module(`
def forward(self, x, w1, w2):
    a = torch.mm(x, w1)
    b = torch.relu(a)
    c = torch.mm(b, w2)
    return c
`)
	matches, err := m.Match(target.Graph())
	fmt.Println(len(matches), err)
	fmt.Println(matches[0].Names["product"], matches[0].Names["activation"])
	// Output:
	// 1 <nil>
	// a b
}
