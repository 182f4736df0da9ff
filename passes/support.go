package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// An OperatorSupport says which calls a backend can compute.
type OperatorSupport interface {
	// Supported reports whether the backend takes n, a call in the graph of m.
	Supported(m *ir.GraphModule, n *ir.Node) bool
}

// A SupportFunc is a function as an [OperatorSupport].
type SupportFunc func(m *ir.GraphModule, n *ir.Node) bool

// Supported calls f.
func (f SupportFunc) Supported(m *ir.GraphModule, n *ir.Node) bool { return f(m, n) }

// DTypes are the dtypes that a backend takes as the arguments of a call. nil
// stands for any dtype; an argument that is no node, or beyond Args, is not
// looked at.
type DTypes struct {
	Args   [][]ir.DType          // by position
	Kwargs map[string][]ir.DType // by keyword
}

// Targets supports the calls whose targets it holds: qualified names of
// functions, names of methods, and Python classes of modules, as
// [TargetName] gives them. A nil value takes arguments of any dtype; otherwise
// those of nodes without a known dtype are refused. Same as
// torch.fx.passes.operator_support.OperatorSupport, except that only calls are
// supported.
type Targets map[string]*DTypes

// Supported reports whether n is a call of one of the targets.
func (t Targets) Supported(m *ir.GraphModule, n *ir.Node) bool {
	if !isCall(n) {
		return false
	}
	want, ok := t[TargetName(m, n)]
	if !ok || want == nil {
		return ok
	}
	takes := func(a ir.Arg, dtypes []ir.DType) bool {
		input, isNode := a.(*ir.Node)
		return dtypes == nil || !isNode || slices.Contains(dtypes, dtypeOf(input))
	}
	for i, dtypes := range want.Args {
		if i < len(n.Args()) && !takes(n.Arg(i), dtypes) {
			return false
		}
	}
	for name, dtypes := range want.Kwargs {
		if a, ok := n.Kwarg(name); ok && !takes(a, dtypes) {
			return false
		}
	}
	return true
}

// TargetName returns what a call calls: the qualified name of a function, the
// name of a method, the Python class of a module: of a layer of package nn, a
// graph module, or what a method Type() string returns. Another module is called by
// its path.
func TargetName(m *ir.GraphModule, n *ir.Node) string {
	if n.Op() == ir.CallModule {
		v, _ := m.Attr(n.Target().String())
		if class := moduleClass(v); class != "" {
			return class
		}
	}
	return n.Target().String()
}

// dtypeOf returns the dtype that meta knows for a node's value,
// [ir.InvalidDType] where it knows none.
func dtypeOf(n *ir.Node) ir.DType {
	for _, key := range []string{ir.MetaTensorMeta, ir.MetaVal, ir.MetaExampleValue} {
		if t, ok := n.Meta().Get(key).(ir.TensorMeta); ok {
			return t.DType
		}
	}
	return ir.InvalidDType
}

// AllOf supports what every one of the given does.
func AllOf(supports ...OperatorSupport) OperatorSupport {
	return SupportFunc(func(m *ir.GraphModule, n *ir.Node) bool {
		return !slices.ContainsFunc(supports, func(s OperatorSupport) bool { return !s.Supported(m, n) })
	})
}

// AnyOf supports what one of the given does.
func AnyOf(supports ...OperatorSupport) OperatorSupport {
	return SupportFunc(func(m *ir.GraphModule, n *ir.Node) bool {
		return slices.ContainsFunc(supports, func(s OperatorSupport) bool { return s.Supported(m, n) })
	})
}

// DeclineInputDType supports the calls that read no value of a dtype.
func DeclineInputDType(d ir.DType) OperatorSupport {
	return SupportFunc(func(_ *ir.GraphModule, n *ir.Node) bool {
		return !slices.ContainsFunc(n.Inputs(), func(m *ir.Node) bool { return dtypeOf(m) == d })
	})
}

// DeclineNames supports the calls that have none of these names.
func DeclineNames(names ...string) OperatorSupport {
	return SupportFunc(func(_ *ir.GraphModule, n *ir.Node) bool { return !slices.Contains(names, n.Name()) })
}
