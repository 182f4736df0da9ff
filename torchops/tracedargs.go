package torchops

import (
	"cmp"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// What Python refuses of a call before it is recorded: the parser of C++ looks at the
// arguments first, and takes a traced value anywhere (FunctionParameter::check).

// A standIn takes the place of a traced value among the arguments that a parser sees.
type standIn struct{}

// checkTraced refuses a call of a function that no signature takes, whatever the traced
// values turn out to be.
func checkTraced(f *ir.Func, args []any, kw []Kwarg) {
	impl := implementationOf(f)
	if impl == nil {
		return
	}
	p := cmp.Or(impl.public, impl.parser)
	if p == nil || p.method {
		return
	}
	plain := make([]any, len(args))
	for i, a := range args {
		plain[i] = withStandIns(a)
	}
	named := make([]Kwarg, len(kw))
	for i, k := range kw {
		named[i] = Kwarg{k.Name, withStandIns(k.Value)}
	}
	b := bindings.Get().(*binding)
	defer b.put()
	b.values = make([]any, p.most)
	_, err := p.choose(b, plain, named)
	mustNot(f.Name(), err)
}

// withStandIns is a value as a run has it, with stand-ins for what is traced.
func withStandIns(v any) any {
	if _, traced := ValueOf(v); traced {
		return standIn{}
	}
	switch v := v.(type) {
	case []any:
		return listOf(v, withStandIns)
	case ir.PyTuple:
		return ir.PyTuple(listOf(v, withStandIns))
	case List:
		return listOf(v, func(t *Tensor) any { return withStandIns(t) })
	case []*Tensor:
		return listOf(v, func(t *Tensor) any { return withStandIns(t) })
	case []SymInt:
		return listOf(v, func(n SymInt) any { return withStandIns(n) })
	case []Value:
		return listOf(v, func(n Value) any { return withStandIns(n) })
	}
	plain, err := normalize(v)
	if err != nil {
		return standIn{}
	}
	switch plain.(type) {
	case nil, bool, int64, uint64, float64, complex128, string, *Tensor, []any, ir.PyTuple, *ir.PyDict, ir.Slice, ir.Ellipsis,
		ir.DType, ir.Device, ir.Layout, ir.MemoryFormat, *ir.Func, *Generator:
		return plain
	}
	return standIn{} // the tracer says what becomes of it
}

func isStandIn(v any) bool { _, is := v.(standIn); return is }

// operands are how many the functions of Python's operator module take that a trace
// records.
func operands(f *ir.Func) (n int, known bool) {
	switch name := f.Base(); name {
	case "neg", "pos", "abs", "invert", "inv":
		return 1, true
	case "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "matmul",
		"eq", "ne", "lt", "le", "gt", "ge", "getitem":
		return 2, true
	default:
		return 2, plainOperators[name] != ""
	}
}

// checkOperands refuses a wrong number of operands.
func checkOperands(f *ir.Func, got int) {
	n, known := operands(f)
	if !known || n == got {
		return
	}
	if n == 1 {
		mustNot(f.Name(), typeErrorf("_operator.%s() takes exactly one argument (%d given)", f.Base(), got))
	}
	mustNot(f.Name(), typeErrorf("%s expected %d arguments, got %d", f.Base(), n, got))
}

// plainOperators are the augmented assignments, which a proxy does not have: Python
// takes the operator itself; and one with two names.
var plainOperators = map[string]string{}

func init() {
	for name := range strings.FieldsSeq("add sub mul truediv floordiv mod pow lshift rshift and or xor matmul") {
		plain := name
		if name == "and" || name == "or" {
			plain += "_"
		}
		plainOperators["i"+name] = plain
	}
	plainOperators["inv"] = "invert"
	plainOperators["concat"], plainOperators["iconcat"] = "add", "add"
}
