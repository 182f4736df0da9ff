package tracer

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// PH in [Concrete] leaves an argument symbolic, as torch.fx.PH does.
var PH = placeholderMark{}

type placeholderMark struct{}

var (
	fnEq           = ir.FuncOf("operator.eq")
	fnAssert       = ir.FuncOf("torch._assert")
	fnAssertIsNone = ir.FuncOf("torch.fx._symbolic_trace._assert_is_none")
)

// arguments makes the placeholders and what the traced function gets for them.
func (t *Tracer) arguments(ft reflect.Type, params []nn.Param) ([]reflect.Value, error) {
	if params == nil {
		params = defaultParams(ft)
	}
	if len(params) != ft.NumIn() {
		return nil, ir.Errorf(ir.ErrTrace, "trace: expected a name for each of %d parameters, got %d: %v", ft.NumIn(), len(params), params)
	}
	for name := range t.config.concrete {
		if !hasParam(params, name) {
			return nil, ir.Errorf(ir.ErrTrace, "trace: concrete argument %q is no parameter; they are %v", name, params)
		}
	}
	in := make([]reflect.Value, ft.NumIn())
	err := t.protect(func() {
		for i, p := range params {
			in[i] = t.argument(ft.In(i), p)
		}
	})
	return in, err
}

func hasParam(params []nn.Param, name string) bool {
	for _, p := range params {
		if p.Name == name {
			return true
		}
	}
	return false
}

// defaultParams names parameters that nobody named: x, or arg0, arg1 and so on.
func defaultParams(ft reflect.Type) []nn.Param {
	if ft.NumIn() == 1 {
		return []nn.Param{{Name: "x"}}
	}
	params := make([]nn.Param, ft.NumIn())
	for i := range params {
		params[i].Name = fmt.Sprintf("arg%d", i)
	}
	return params
}

// argument makes the placeholder of one parameter and its value.
func (t *Tracer) argument(want reflect.Type, p nn.Param) reflect.Value {
	value, concrete := t.config.concrete[p.Name]
	if concrete && value != any(PH) {
		return t.specialise(want, p, value)
	}
	if strings.HasPrefix(p.Name, "*") {
		fail("parameter %s: a variadic parameter cannot stand for a node; give it by Concrete", p.Name)
	}
	name := p.Name
	if concrete {
		name += "_1"
	}
	n := t.placeholder(name, p)
	v := torch.NewValue(t, n)
	switch want {
	case reflect.TypeFor[torch.Value](), reflect.TypeFor[any]():
		return reflect.ValueOf(v)
	case tensorType, reflect.TypeFor[torch.SymInt](), reflect.TypeFor[torch.Tensors](), reflect.TypeFor[torch.Seq]():
		return torch.Convert(v, want)
	}
	fail("parameter %s: a %s cannot stand for a node; give it by Concrete", p.Name, want)
	return reflect.Value{}
}

func (t *Tracer) placeholder(name string, p nn.Param) *ir.Node {
	if p.Default != nil {
		return t.graph.Placeholder(name, ir.Default(p.Default))
	}
	return t.graph.Placeholder(name)
}

// specialise fixes a parameter to a value: the placeholder stays, and the graph
// checks that a caller gives what was fixed.
func (t *Tracer) specialise(want reflect.Type, p nn.Param, value any) reflect.Value {
	n := t.placeholder(p.Name+"_1", p)
	switch value.(type) {
	case nil:
		t.graph.CallFunction(fnAssertIsNone, []ir.Arg{n, ir.Str(p.Name + " has been specialized to have value None but got another value")})
		return torch.Convert(nil, want)
	}
	if a := t.lower(value); isScalar(a) {
		text := fmt.Sprintf("%s has been specialized to have value %s but got another value", p.Name, strings.Trim(ir.Repr(a), "'"))
		eq := t.graph.CallFunction(fnEq, []ir.Arg{n, a})
		t.graph.CallFunction(fnAssert, []ir.Arg{eq, ir.Str(text)})
	}
	return torch.Convert(value, want)
}

func isScalar(a ir.Arg) bool {
	switch a.(type) {
	case ir.Bool, ir.Int, ir.Float, ir.Complex, ir.Str:
		return true
	}
	return false
}
