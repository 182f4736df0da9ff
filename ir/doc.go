// Package ir holds the graphs of torch.fx: programs as lists of nodes in
// execution order, with the rules that keep them consistent, and the text forms
// in which PyTorch's users read them.
//
// # Graphs and nodes
//
// A [Graph] is a list of nodes; a [Node] has one of six opcodes:
//
//	opcode         Target                Args, Kwargs        its value
//	placeholder    parameter name        the default, if any argument of the call
//	get_attr       dotted path           none                parameter, buffer, submodule
//	call_function  [*Func]               operands            what the function returns
//	call_module    dotted path           operands            what the module's forward returns
//	call_method    method name           receiver, operands  what the method returns
//	output         "output"              one argument        the result of the graph
//
// A node is its pointer. Its name is unique in the graph and for people only; it
// follows torch.fx's rules ("add", "add_1"), so that texts compare. What a node
// reads are its operands, arguments of type [Arg]: nodes, literals, and
// containers of these, all immutable. The other direction, [Node.Users], is kept
// in step by the setters ([Node.SetArgs], [Node.UpdateKwarg],
// [Node.ReplaceAllUsesWith], …), and there is no way around them.
//
// A function is a name: [FuncOf]("torch.relu"), [OverloadOf]("aten::add.Tensor").
// Two mentions of one name are one pointer. The package knows what PyTorch's
// operators take, return, alias and write, by their schemas ([Operators],
// [Schema.Effects]), and how none of them computes.
//
// A [GraphModule] is a graph with the attributes that its targets name: weights,
// submodules, other graph modules. They are opaque here; package interpreter
// runs them, package export reads and writes them.
//
// What PyTorch says of values without computing them is here too: [TensorMeta]
// with sizes that may be symbolic ([Expr]), and the nesting of arguments and
// results ([TreeSpec]).
//
// # Texts
//
// [Graph.String], [Graph.Tabular], [GraphModule.Code], [GraphModule.Readable] and
// [Graph.PythonCode] give the same text, byte for byte, as torch.fx 2.15; the
// tests replay recorded graphs. [ParseCode] reads the code back into a graph.
// [Graph.JSON] is for programs.
//
// # Invariants
//
// [Graph.Lint] checks them: operands belong to the graph and come before their
// readers, names are unique, attributes that targets name are there. Edits keep
// users and names right by themselves; order and attributes are the editor's
// part, so call Lint after a change. [Equal] compares two graphs and explains
// the first difference.
//
// Walks ([Graph.Nodes], [Graph.Backward]) tolerate any edit in their course. The
// cost of an edit does not depend on the size of the graph; [Node.Before] takes
// constant time.
//
// # Concurrency, errors, dependencies
//
// Graphs and modules may be read by many goroutines; changing one needs
// exclusive access. Errors have a [Class] for errors.Is. The package uses the
// standard library alone and no cgo.
package ir
