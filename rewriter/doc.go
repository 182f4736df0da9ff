// Package rewriter finds patterns in graphs and replaces them.
//
// A pattern is a small graph: its placeholders match anything, its other nodes
// match nodes that call the same thing, and the values that it returns are what a
// replacement must return too. Patterns are graphs, graph modules and Python code
// text, never Go functions: the front door (package torchfx) traces those first.
//
//	matches, err := rewriter.ReplacePattern(module,
//		"def forward(self, x):\n    y = torch.add(x, 0)\n    return y",
//		"def forward(self, x):\n    return x")
//
// Code text has one call a line, each with a name for its result, as generated code
// has it. Targets are compared as they are: a program of torch.export calls operators
// of ATen, so a pattern for it says torch.ops.aten.relu.default, where torch.relu
// matches nothing. In a Go function that is torchops.CallTensor by the operator's name, where
// torchops.Relu is torch.relu; passes.Lower makes the operators of a traced function that
// calls such, and [Explain] says of each place why it does not match:
//
//	pattern := func(x *torch.Tensor) *torch.Tensor {
//		return torch.CallTensor("torch.ops.aten.relu.default", nil, x)
//	}
//
// No match is no error: look at how many came back.
//
// Without options a pattern matches what torch.fx's SubgraphMatcher matches, in
// the same order; [NewMatcher] lists the rules. Options look further:
// [LooseArguments] compares calls by the parameters of the operator,
// [Commutative] takes operands in both orders, [IgnoreLiterals], [NameMatch] and
// [NameNodes] are torch.fx's own. [Explain] tells why a place did not match.
//
// [Replace] checks a replacement before it changes anything, so that a graph is
// either rewritten at a match or as it was; it reports the nodes that it made
// and removed. It knows no tensors and cannot compare numbers: that pattern and
// replacement compute the same is the caller's to know. It moves no step with an
// effect and refuses a match whose inputs are written in the middle of it, as far
// as that shows without knowing what is a view of what.
//
// A [Matcher] may be shared by goroutines; the module being rewritten may not.
package rewriter
