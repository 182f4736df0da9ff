package passes

import (
	_ "embed"
	"reflect"
	"strings"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
)

// annotationsText is what torch.nn's classes and functions say of themselves.
//
//go:embed annotations.txt
var annotationsText string

type annotationTable struct {
	classes   map[string]string   // "Linear" -> "torch.nn.modules.linear.Linear"
	constants map[string][]string // qualified name of a class -> its __constants__
	returns   map[string]string   // qualified name of a class or function -> type of what it returns
}

var annotations = sync.OnceValue(func() *annotationTable {
	t := &annotationTable{map[string]string{}, map[string][]string{}, map[string]string{}}
	for line := range strings.Lines(annotationsText) {
		switch f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); {
		case f[0] == "class" && len(f) == 4:
			t.classes[f[1][strings.LastIndexByte(f[1], '.')+1:]] = f[1]
			t.constants[f[1]] = strings.Fields(f[2])
			t.returns[f[1]] = f[3]
		case f[0] == "function" && len(f) == 3:
			t.returns[f[1]] = f[2]
		}
	}
	return t
})

// moduleClass returns the Python class of a module, "" where nobody says.
func moduleClass(v any) string {
	switch v := v.(type) {
	case interface{ Type() string }:
		return v.Type()
	case *ir.GraphModule:
		return "torch.fx.graph_module." + v.ClassName()
	case nn.Module:
		if nn.IsLayer(v) {
			return annotations().classes[reflect.TypeOf(v).Elem().Name()]
		}
	}
	return ""
}

// AnnotateTypes gives the nodes of m's graph that have no type the one that
// PyTorch's source tells: of calls of torch.nn.functional and of layers of
// torch.nn by their annotations, and torch.Tensor for reads of tensors. Follows
// torch.fx.experimental.schema_type_annotation.AnnotateTypesWithSchema.
func AnnotateTypes(m *ir.GraphModule) {
	t := annotations()
	for n := range m.Graph().Nodes() {
		if n.Type() != "" {
			continue
		}
		path := n.Target().String()
		switch n.Op() {
		case ir.CallFunction:
			n.SetType(t.returns[path])
		case ir.CallModule:
			v, _ := m.Attr(path)
			n.SetType(t.returns[moduleClass(v)])
		case ir.GetAttr:
			v, _ := m.Attr(path)
			switch v.(type) {
			case ir.TensorLike, interface{ DType() ir.DType }:
				n.SetType("torch.Tensor")
			}
		}
	}
}

// operators are the functions of torch that Python's operators are for tensors.
var operators = func() map[*ir.Func]*ir.Func {
	set := map[*ir.Func]*ir.Func{}
	for _, pair := range strings.Fields(`add:add mul:mul sub:sub div:truediv floor_divide:floordiv remainder:mod
eq:eq ne:ne lt:lt le:le gt:gt ge:ge`) {
		f, op, _ := strings.Cut(pair, ":")
		set[ir.FuncOf("torch."+f)] = ir.FuncOf("operator." + op)
	}
	return set
}()

// NormalizeOperators writes calls of torch.add, mul, sub, div, floor_divide,
// remainder and the comparisons as Python's operators, so that programs which
// spell them differently become the same, and annotates types, see
// [AnnotateTypes]. A call with other than two arguments, or with keyword
// arguments, stays as it is: torch.div(x, y, rounding_mode="floor") is no x / y,
// which torch.fx makes of it. Nodes whose operator has another name are renamed.
// Follows torch.fx.experimental.normalize.NormalizeOperators.
func NormalizeOperators(m *ir.GraphModule) error {
	if m == nil {
		return ir.Errorf(ir.ErrInput, "normalize operators: expected a graph module, got nil")
	}
	for n := range m.Graph().Nodes() {
		op := operators[n.Func()]
		if n.Op() != ir.CallFunction || op == nil || len(n.Args()) != 2 || len(n.Kwargs()) > 0 {
			continue
		}
		old := n.Func().Base()
		if err := n.SetTarget(op); err != nil {
			return err
		}
		if op.Base() != old {
			n.Rename(op.Base())
		}
	}
	AnnotateTypes(m)
	return nil
}
