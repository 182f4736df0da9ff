package ir

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// walkAll visits keys of dicts, and namedtuples, too.
func walkAll(a Arg, f func(Arg)) {
	switch a := a.(type) {
	case NamedTuple:
		f(a.Type)
		for _, x := range a.items {
			walkAll(x, f)
		}
	case Tuple:
		for _, x := range a.items {
			walkAll(x, f)
		}
	case List:
		for _, x := range a.items {
			walkAll(x, f)
		}
	case Slice:
		walkAll(a.Start, f)
		walkAll(a.Stop, f)
		walkAll(a.Step, f)
	case Dict:
		for _, p := range a.pairs {
			walkAll(p.Key, f)
			walkAll(p.Value, f)
		}
	default:
		f(a)
	}
}

// An argMaker draws arguments of all kinds.
type argMaker struct {
	t     *rapid.T
	nodes []*Node
}

var codeFuncs = []string{
	"torch.relu", "torch.nn.functional.relu", "torch._C._nn.gelu", "torch.ops.aten.add.Tensor", "torch.ops.aten.add", "torch.ops.higher_order.cond",
	"len", "getattr", "int", "math.sqrt", "operator.abs", "operator.contains", "program.helper", "program.deep.er", "torch.Tensor.add", "torch.device",
}

func (m *argMaker) arg(depth int, label string) Arg {
	t := m.t
	kinds := 16
	if depth > 0 {
		kinds = 22
	}
	switch rapid.IntRange(0, kinds).Draw(t, label) {
	case 0, 1, 2, 3:
		if len(m.nodes) > 0 {
			return rapid.SampledFrom(m.nodes).Draw(t, "node")
		}
		return None{}
	case 4:
		return Int(rapid.Int64().Draw(t, "int"))
	case 5:
		return Float(rapid.Float64().Draw(t, "float"))
	case 6:
		return Str(rapid.String().Draw(t, "str"))
	case 7:
		return Bool(rapid.Bool().Draw(t, "bool"))
	case 8:
		return rapid.SampledFrom([]Arg{
			Float(math.Inf(1)), Float(math.Inf(-1)), Float(math.NaN()), Float(math.Copysign(0, -1)), BigInt("-123456789012345678901234567890"),
			Complex(1 + 2i), Complex(complex(0, 1)), Complex(complex(math.Copysign(0, -1), 2)), Complex(complex(math.NaN(), math.Inf(-1))), Complex(complex(1.5, -1e300)),
		}).Draw(t, "number")
	case 9:
		return rapid.SampledFrom([]Arg{Float16, BFloat16, Bool8, Strided, Sparse, ChannelsLast, ContiguousFormat, NewDevice(DeviceCUDA, 3), NewDevice(DeviceCPU, -1)}).Draw(t, "torch")
	case 10:
		return Range{0, 3, 1}
	case 11:
		return Ellipsis{}
	case 12:
		return FuncOf(rapid.SampledFrom(codeFuncs).Draw(t, "func"))
	case 13:
		return Enum{Class: FuncOf("program.Color"), Member: "RED", Value: Int(1)}
	case 14:
		return Str(rapid.SampledFrom([]string{"it's", `both ' and "`, "\x00\n\r\t\\", "\u200b\ud7ff", "😀", "\xff\xfe"}).Draw(t, "text"))
	case 17:
		return TupleOf(m.args(depth-1, 3)...)
	case 18:
		return ListOf(m.args(depth-1, 3)...)
	case 19:
		var pairs []Pair
		for i, v := range m.plain(depth-1, 3) {
			pairs = append(pairs, Pair{[]Arg{Str("k"), Int(1), TupleOf(Int(1), None{})}[i], v})
		}
		return DictOf(pairs...)
	case 20:
		return Slice{m.arg(depth-1, "start"), m.arg(depth-1, "stop"), None{}}
	case 21:
		return NamedTupleOf(FuncOf("program.Pair"), []string{"first", "second"}, m.plain(depth-1, 2)...)
	}
	return None{}
}

func (m *argMaker) args(depth, most int) []Arg {
	var args []Arg
	for range rapid.IntRange(0, most).Draw(m.t, "count") {
		args = append(args, m.arg(depth, "kind"))
	}
	return args
}

// plain draws what dicts and namedtuples print so that Python reads it.
func (m *argMaker) plain(depth, n int) []Arg {
	var args []Arg
	for range n {
		a := m.arg(max(depth, 0), "plain")
		bad := false
		walkAll(a, func(leaf Arg) {
			switch leaf.(type) {
			case Enum, *Func:
				bad = true
			case Complex:
				bad = true // its repr does not tell zeros apart
			}
		})
		if bad {
			a = None{}
		}
		args = append(args, a)
	}
	return args
}

var codeTypes = []string{
	"", "", "", "torch.Tensor", "int", "typing.List[torch.Tensor]", "typing.Optional[int]", "int | None", "typing.Tuple[int, ...]", "dict[str, tuple[int, ...]]",
	"'torch.Tensor'", "program.Pair", "typing.Tuple[()]", "typing.Any", "collections.abc.Sequence[int]", "NoneType", "TensorType[(1, Dyn)]",
}

// drawGraph draws a graph of all that code can say.
func drawGraph(t *rapid.T) *Graph {
	g := NewGraph()
	m := &argMaker{t: t}
	names := []string{"x", "input", "len", "*args", "**kwargs", "add_1", "_", "y", "é"}
	for i := range rapid.IntRange(0, 5).Draw(t, "parameters") {
		opts := []NodeOption{WithType(rapid.SampledFrom(codeTypes).Draw(t, "type"))}
		if rapid.Bool().Draw(t, "default") {
			opts = append(opts, Default(m.arg(1, "default value")))
		}
		defer func(n *Node) { m.nodes = append(m.nodes, n) }(g.Placeholder(names[(i*2+len(names))%len(names)], opts...))
	}
	m.nodes = g.Find(Placeholder, nil)
	for range rapid.IntRange(0, 12).Draw(t, "nodes") {
		var kwargs []Keyword
		for _, k := range []string{"dim", "out"}[:rapid.IntRange(0, 2).Draw(t, "keywords")] {
			kwargs = append(kwargs, Kw(k, m.arg(2, "keyword")))
		}
		opts := []NodeOption{WithType(rapid.SampledFrom(codeTypes).Draw(t, "type")), Kwargs(kwargs...)}
		var n *Node
		switch rapid.IntRange(0, 6).Draw(t, "op") {
		case 0, 1:
			f := FuncOf(rapid.SampledFrom(codeFuncs).Draw(t, "function"))
			args := m.args(2, 3)
			if f == getattrFunc && len(args) == 2 {
				args = args[:1] // printed as an attribute, without keywords
			}
			n = g.CallFunction(f, args, opts...)
			if rapid.Bool().Draw(t, "wrapped") && f.kind == PythonFunc && !fromTorch(f.pythonName()) {
				for _, o := range g.Find(CallFunction, f) {
					o.meta.Set(MetaIsWrapped, true)
				}
			}
			if rapid.Bool().Draw(t, "boxed") && len(args) > 0 && f != getattrFunc {
				n.meta.Set(MetaBoxedArgs, []int{len(args) - 1})
			}
		case 2:
			name := rapid.SampledFrom([]string{"add", "getitem", "pow", "eq", "matmul", "rshift"}).Draw(t, "operator")
			n = g.CallFunction(FuncOf("operator."+name), []Arg{m.operand("left"), m.operand("right")}, opts[0])
		case 3:
			name := rapid.SampledFrom([]string{"neg", "pos", "invert"}).Draw(t, "unary")
			n = g.CallFunction(FuncOf("operator."+name), []Arg{m.operand("value")}, opts[0])
		case 4:
			if len(m.nodes) == 0 {
				continue
			}
			if rapid.Bool().Draw(t, "setitem") {
				n = g.CallFunction(FuncOf("operator.setitem"), []Arg{m.nodes[0], m.arg(2, "index"), m.arg(2, "value")}, opts[0])
			} else {
				n = g.CallFunction(FuncOf("operator.iadd"), []Arg{m.nodes[len(m.nodes)-1], m.arg(2, "value")}, opts[0])
			}
		case 5:
			path := rapid.SampledFrom([]string{"lin", "layers.0.weight", "a b.1", `q"uote\.x`, "class.in", "0"}).Draw(t, "path")
			if rapid.Bool().Draw(t, "call") {
				n = g.CallModule(path, m.args(2, 3), opts...)
			} else {
				n = g.GetAttr(path, opts[0])
			}
		case 6:
			if len(m.nodes) == 0 {
				continue
			}
			recv := rapid.SampledFrom(m.nodes).Draw(t, "receiver")
			if rapid.Bool().Draw(t, "getattr") {
				attr := rapid.SampledFrom([]string{"shape", "a b", "it's", "in"}).Draw(t, "attribute")
				n = g.CallFunction(getattrFunc, []Arg{recv, Str(attr)}, opts[0])
			} else {
				method := rapid.SampledFrom([]string{"relu", "a.b", "0.run", "__add__"}).Draw(t, "method")
				n = g.CallMethod(method, append([]Arg{recv}, m.args(2, 3)...), opts...)
			}
		}
		m.nodes = append(m.nodes, n)
	}
	if rapid.Bool().Draw(t, "output") {
		g.Output(m.arg(3, "result"), WithType(rapid.SampledFrom(codeTypes).Draw(t, "type")))
	}
	return g
}

// operand draws what an operator may stand beside.
func (m *argMaker) operand(label string) Arg {
	a := m.arg(2, label)
	if f, ok := a.(*Func); ok && f == FuncOf("getattr") {
		return None{} // getattr + x would begin a path
	}
	return a
}

// TestParsePrinted reads what random graphs print: an equal graph, with the same
// text.
func TestParsePrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		if err := g.Lint(); err != nil {
			t.Fatal(err)
		}
		code, err := g.PythonCode("self")
		if err != nil {
			t.Skip(err)
		}
		opts := []ParseOption{WithGlobals(code.Globals...), WithFields("program.Pair", "first", "second")}
		got, err := ParseCode(code.Source, opts...)
		if err != nil {
			t.Fatalf("%v in\n%s", err, code.Source)
		}
		if err := Equal(got, g); err != nil {
			t.Fatalf("%v in\n%s", err, code.Source)
		}
		again, err := got.PythonCode("self")
		if err != nil {
			t.Fatal(err)
		}
		if again.Source != code.Source {
			t.Fatalf("expected\n%s\ngot\n%s", code.Source, again.Source)
		}
		for name, o := range map[string][]CodeOption{"expanded": {Expanded()}, "verbose": {Verbose()}, "record": {RecordFunc()}, "colored": {Colored(), Verbose()}} {
			other, err := g.PythonCode("self", o...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ParseCode(other.Source, opts...)
			if err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, other.Source)
			}
			if err := Equal(got, g); err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, other.Source)
			}
		}
	})
}

// BenchmarkParseCode reads chains of calls; the time is linear in the nodes.
func BenchmarkParseCode(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g, _ := chain(n)
			code, err := g.PythonCode("self")
			require.NoError(b, err)
			b.SetBytes(int64(len(code.Source)))
			b.ReportAllocs()
			for b.Loop() {
				got, err := ParseCode(code.Source)
				if err != nil || got.Len() != g.Len() {
					b.Fatal(err)
				}
			}
		})
	}
}
