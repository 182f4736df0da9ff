package libtorch

// #include "trampoline.h"
// #include <stdlib.h>
import "C"

import (
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// A ScriptGraph is the code of a method of a [Script], with what it calls inlined.
type ScriptGraph struct {
	Defaults []ScriptDefault // of the arguments, in their order
	Body     *ScriptBlock    // its first input is the module
}

// A ScriptDefault is the default of an argument.
type ScriptDefault struct {
	Given bool // there is one
	Value any
}

// A ScriptBlock is a list of nodes with its own inputs and results.
type ScriptBlock struct {
	Inputs  []ScriptValue
	Nodes   []*ScriptNode
	Results []int64 // numbers of values
}

// A ScriptValue is what a node or block defines, once in a graph.
type ScriptValue struct {
	ID   int64
	Name string // in the code, "" where it has none
	Type string // as TorchScript writes it
}

// A ScriptNode is one operation of TorchScript.
type ScriptNode struct {
	Kind     string  // "aten::add", "prim::If"
	Overload string  // of an operator
	Inputs   []int64 // numbers of values
	Outputs  []ScriptValue
	Blocks   []*ScriptBlock // the bodies of a condition or loop
	Source   string         // "model.py:12", "" where it is not known
	Attr     string         // qualified name of the attribute that is read or set
	Given    bool           // Value is one: of a constant, or of an attribute that is no module
	Value    any            // of the kinds of [Operator.Call], tuples as ir.PyTuple
}

// Graph returns the code of a method. Tensors in it share the program's memory; they
// are let go with the graph.
func (s *Script) Graph(method string) (*ScriptGraph, error) {
	if s.methods[method] == nil {
		return nil, ir.Errorf(ir.ErrMissing, "TorchScript: expected one of the methods %q, got %q", s.names, method)
	}
	p, ok := s.object.ptr()
	if !ok {
		return nil, closedError("TorchScript module")
	}
	defer s.object.unuse()
	name := C.CString(method)
	defer C.free(unsafe.Pointer(name))
	var r reply
	if code := C.tfx_script_graph(C.uint64_t(p), name, r.w(), replyWords, &r.out); code != 0 {
		return nil, r.fail("TorchScript "+method, code)
	}
	defer r.done()
	d := decoder{w: r.view(), tuples: true}
	v := d.value(nil)
	if d.err != nil {
		return nil, d.err
	}
	whole := v.(ir.PyTuple)
	g := &ScriptGraph{Body: scriptBlock(whole[1])}
	for _, item := range whole[0].([]any) {
		value := item.(ir.PyTuple)
		if len(value) == 0 {
			g.Defaults = append(g.Defaults, ScriptDefault{})
			continue
		}
		g.Defaults = append(g.Defaults, ScriptDefault{true, value[0]})
	}
	return g, nil
}

// scriptBlock reads what scriptgraph.h writes.
func scriptBlock(v any) *ScriptBlock {
	t := v.(ir.PyTuple)
	b := &ScriptBlock{Inputs: scriptValues(t[0]), Results: t[2].([]int64)}
	for _, item := range t[1].([]any) {
		t := item.(ir.PyTuple)
		n := &ScriptNode{
			Kind: t[0].(string), Overload: t[1].(string), Inputs: t[2].([]int64),
			Outputs: scriptValues(t[3]), Source: t[5].(string),
		}
		for _, block := range t[4].([]any) {
			n.Blocks = append(n.Blocks, scriptBlock(block))
		}
		own := t[6].(ir.PyTuple)
		if n.Kind != "prim::Constant" && len(own) > 0 {
			n.Attr = own[0].(string)
			own = own[1:]
		}
		if len(own) > 0 {
			n.Given, n.Value = true, own[0]
		}
		b.Nodes = append(b.Nodes, n)
	}
	return b
}

func scriptValues(v any) []ScriptValue {
	var all []ScriptValue
	for _, item := range v.([]any) {
		t := item.(ir.PyTuple)
		all = append(all, ScriptValue{t[0].(int64), t[1].(string), t[2].(string)})
	}
	return all
}
