package gosource

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A form is a Go function or method for a call. params has a letter for each
// positional argument: t a tensor, a any value, i a literal int, l a literal list
// of tensors. kw says whether keywords may follow as torch.Kw.
type form struct {
	path   string // of the package, "" for a method
	name   string
	params string
	kw     bool
}

// forms are the functions that have a Go function of their own, and the methods
// of tensors, by Python's name. The result of each is a tensor.
var forms = func() map[string]form {
	all := map[string]form{}
	add := func(path, prefix, params string, kw bool, names ...string) {
		for _, pair := range names {
			python, name, ok := strings.Cut(pair, ":")
			if !ok {
				name = upperCamel(python)
			}
			all[prefix+python] = form{path, name, params, kw}
		}
	}
	add(pathTorch, "torch.", "t", false, "abs", "exp", "log", "neg", "relu", "sigmoid", "sqrt", "tanh")
	add(pathTorch, "torch.", "ta", false, "add", "sub", "mul", "div")
	add(pathTorch, "torch.", "tt", false, "matmul:MatMul")
	add(pathTorch, "torch.", "ti", false, "softmax")
	add(pathTorch, "torch.", "tii", false, "flatten")
	add(pathTorch, "torch.", "li", false, "cat", "stack")

	add(pathOperator, "operator.", "oa", false, "add", "sub", "mul", "truediv:TrueDiv", "floordiv:FloorDiv", "mod", "pow",
		"and_:And", "or_:Or", "xor", "lshift:LShift", "rshift:RShift", "eq", "ne", "lt", "le", "gt", "ge")
	add(pathOperator, "operator.", "tt", false, "matmul:MatMul")
	add(pathOperator, "operator.", "o", false, "neg", "pos", "abs", "invert")

	f := "torch.nn.functional."
	add(pathFunctional, f, "t", true, "relu", "relu6", "gelu", "silu", "mish", "elu", "selu", "celu", "glu", "leaky_relu", "hardswish", "hardsigmoid",
		"hardtanh", "softplus", "softsign", "tanhshrink", "softmax", "log_softmax", "dropout", "dropout2d", "normalize", "interpolate")
	add(pathFunctional, f, "ta", true, "layer_norm", "rms_norm", "group_norm", "max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d",
		"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "pad", "pixel_shuffle", "unfold")
	add(pathFunctional, f, "tt", true, "linear", "conv1d", "conv2d", "conv3d", "conv_transpose2d", "embedding", "mse_loss", "l1_loss", "cross_entropy", "nll_loss", "prelu")
	add(pathFunctional, f, "ttt", true, "batch_norm", "scaled_dot_product_attention", "bilinear")

	add("", ".", "", false, "neg", "abs", "exp", "log", "sqrt", "relu", "sigmoid", "tanh", "contiguous", "clone", "detach")
	add("", ".", "a", false, "add", "sub", "mul", "div", "pow", "eq", "ne", "lt", "le", "gt", "ge")
	add("", ".", "t", false, "matmul:MatMul")
	add("", ".", "i", false, "softmax", "squeeze", "unsqueeze")
	add("", ".", "ii", false, "flatten", "transpose")
	add("", ".", "", true, "clamp")
	return all
}()

// formOf returns the form that has room for the call.
func (u *unit) formOf(n *ir.Node) (f form, args []ir.Arg, ok bool) {
	args = n.Args()
	switch n.Op() {
	case ir.CallFunction:
		f, ok = forms[n.Func().Name()]
	case ir.CallMethod:
		f, ok = forms["."+n.Target().String()]
		if len(args) == 0 {
			return f, nil, false
		}
		args = args[1:]
	}
	if !ok || len(args) != len(f.params) || len(n.Kwargs()) > 0 && !f.kw {
		return f, nil, false
	}
	for i, a := range args {
		switch node, isNode := a.(*ir.Node); f.params[i] {
		case 't':
			ok = ok && isNode
		case 'o': // an operator on numbers is no tensor
			known, there := u.values[node]
			ok = ok && isNode && (node.Op() == ir.GetAttr && u.value(node).tensor || there && known.tensor)
		case 'i':
			number, isInt := a.(ir.Int)
			ok = ok && isInt && int64(number) == int64(int32(number))
		case 'l':
			list, isList := a.(ir.List)
			ok = ok && isList
			if isList {
				for _, item := range list.All() {
					_, isNode := item.(*ir.Node)
					ok = ok && isNode
				}
			}
		}
	}
	return f, args, ok
}

// demands lists the nodes that the typed call for n needs as tensors.
func (u *unit) demands(n *ir.Node) (tensors []*ir.Node) {
	f, args, ok := u.formOf(n)
	if n.Op() == ir.CallModule {
		if args, ok = u.typedModule(n); ok {
			f.params = strings.Repeat("t", len(args))
		}
	}
	if !ok {
		return nil
	}
	if n.Op() == ir.CallMethod {
		if m, isNode := n.Arg(0).(*ir.Node); isNode {
			tensors = append(tensors, m)
		}
	}
	for i, a := range args {
		if m, isNode := a.(*ir.Node); isNode && f.params[i] == 't' {
			tensors = append(tensors, m)
		}
	}
	return tensors
}

// call writes a call, by a typed form where there is room in one.
func (u *unit) call(n *ir.Node) value {
	if f, args, ok := u.formOf(n); ok {
		return value{u.typed(n, f, args), true}
	}
	switch n.Op() {
	case ir.CallModule:
		return u.callModule(n)
	case ir.CallMethod:
		name := n.Target().String()
		if len(n.Args()) == 0 {
			u.file.fault(n, "expected a receiver, got no argument")
			return value{}
		}
		if !torch.Implemented(ir.FuncOf("torch.Tensor." + name)) {
			u.file.fault(n, "expected a method that has an implementation here")
		}
		u.file.helpers["method"] = true
		return value{fmt.Sprintf("method(%q, %s)", name, u.arguments(n, n.Args(), n.Kwargs())), false}
	}
	f := n.Func()
	switch {
	case f.Kind() == ir.HigherOrder:
		u.file.fault(n, "expected cond, while_loop, invoke_subgraph or an operator that wraps a call, on graphs that are attributes")
	case strings.Contains(f.Name(), "vmap_"):
		u.file.fault(n, "expected a function of values, got one that changes how others are run")
	case f.Op() == "" && !torch.Implemented(f):
		u.file.fault(n, "expected a function that has an implementation here")
	}
	if strings.HasPrefix(f.Name(), "torch.nn.functional.") {
		u.file.blank[pathFunctional] = true
	}
	u.file.helpers["call"] = true
	args := u.arguments(n, n.Args(), n.Kwargs())
	if args != "" {
		args = ", " + args
	}
	return value{"call(" + u.file.function(f) + args + ")", false}
}

// typed writes a call of a Go function or method.
func (u *unit) typed(n *ir.Node, f form, args []ir.Arg) string {
	texts := make([]string, len(args))
	for i, a := range args {
		switch f.params[i] {
		case 't':
			texts[i] = u.tensor(n, a)
		case 'l':
			var items []string
			for _, item := range a.(ir.List).All() {
				items = append(items, u.tensor(n, item))
			}
			texts[i] = u.file.use(pathTorch) + ".List{" + strings.Join(items, ", ") + "}"
		default:
			texts[i] = u.literal(n, a)
		}
	}
	for _, k := range n.Kwargs() {
		texts = append(texts, u.keyword(n, k))
	}
	var receiver string
	if f.path != "" {
		receiver = u.file.use(f.path)
	} else {
		receiver = u.tensor(n, n.Arg(0))
	}
	return receiver + "." + f.name + "(" + strings.Join(texts, ", ") + ")"
}

func (u *unit) keyword(n *ir.Node, k ir.Keyword) string {
	return fmt.Sprintf("%s.Kw(%q, %s)", u.file.use(pathTorch), k.Name, u.literal(n, k.Value))
}

func (u *unit) arguments(n *ir.Node, args []ir.Arg, kwargs []ir.Keyword) string {
	texts := make([]string, 0, len(args)+len(kwargs))
	for _, a := range args {
		texts = append(texts, u.literal(n, a))
	}
	for _, k := range kwargs {
		texts = append(texts, u.keyword(n, k))
	}
	return strings.Join(texts, ", ")
}

var tensorType = reflect.TypeFor[*torch.Tensor]()

// typedModule reports whether Forward of a layer takes the arguments of n as
// tensors and returns one.
func (u *unit) typedModule(n *ir.Node) (args []ir.Arg, ok bool) {
	fd := u.byPath[n.Target().String()]
	if fd == nil || fd.module == nil || len(n.Kwargs()) > 0 {
		return nil, false
	}
	forward, ok := fd.module.MethodByName("Forward")
	if !ok || forward.Type.IsVariadic() || forward.Type.NumIn() != 1+len(n.Args()) || forward.Type.NumOut() != 1 || forward.Type.Out(0) != tensorType {
		return nil, false
	}
	for i, a := range n.Args() {
		if _, isNode := a.(*ir.Node); !isNode || forward.Type.In(i+1) != tensorType {
			return nil, false
		}
	}
	return n.Args(), true
}

func (u *unit) callModule(n *ir.Node) value {
	fd := u.byPath[n.Target().String()]
	switch {
	case fd.graph != nil:
		return u.callGraph(n, fd.graph, "m."+fd.name, n.Args(), n.Kwargs())
	case fd.guards:
		u.file.helpers["check"] = true
		code := "check(m." + fd.name
		if args := u.arguments(n, n.Args(), n.Kwargs()); args != "" {
			code += ", " + args
		}
		fmt.Fprintf(&u.body, "\t%s)\n", code)
		return value{}
	}
	if args, ok := u.typedModule(n); ok {
		texts := make([]string, len(args))
		for i, a := range args {
			texts[i] = u.tensor(n, a)
		}
		return value{"m." + fd.name + ".Forward(" + strings.Join(texts, ", ") + ")", true}
	}
	u.file.helpers["module"] = true
	args := u.arguments(n, n.Args(), n.Kwargs())
	if args != "" {
		args = ", " + args
	}
	return value{"module(m." + fd.name + args + ")", false}
}

// callGraph writes the call of another unit's Forward.
func (u *unit) callGraph(n *ir.Node, g *unit, receiver string, args []ir.Arg, kwargs []ir.Keyword) value {
	if _, plain := g.m.Graph().CodeGen().(ir.PlainCodeGen); !plain {
		u.file.fault(n, "expected a graph module with a plain signature, got one that takes containers apart")
		return value{}
	}
	texts := make([]string, len(g.params))
	for i, p := range g.params {
		var a ir.Arg
		switch {
		case i < len(args):
			a = args[i]
		default:
			for _, k := range kwargs {
				if k.Name == p.node.Target().String() {
					a = k.Value
				}
			}
			if a == nil && len(p.node.Args()) > 0 {
				a = p.node.Arg(0)
			}
		}
		if a == nil {
			u.file.fault(n, "expected an argument for parameter %s of the graph, got none", p.node.Target())
			return value{}
		}
		if p.tensor {
			texts[i] = u.tensor(n, a)
		} else {
			texts[i] = u.literal(n, a)
		}
	}
	if len(args) > len(g.params) {
		u.file.fault(n, "expected %d arguments for the graph, got %d", len(g.params), len(args))
	}
	return value{receiver + ".Forward(" + strings.Join(texts, ", ") + ")", g.result}
}
