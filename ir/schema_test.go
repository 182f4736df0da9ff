package ir

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSchemasThatPythonRegisters(t *testing.T) {
	data, err := os.ReadFile("testdata/schema/python.txt")
	require.NoError(t, err)
	n := 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		s, err := ParseSchema(line)
		require.NoError(t, err, line)
		assert.Equal(t, line, s.String())
		n++
	}
	assert.Equal(t, 141, n)
}

// Texts as people write them, and what PyTorch prints for them.
func TestSchemaSpelling(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"spaces", " aten::f ( Tensor  x , int[ 2 ] k = 3 )->Tensor", "aten::f(Tensor x, int[2] k=3) -> Tensor"},
		{"one number for a list", "a::f(SymInt[3] s=1) -> ()", "a::f(SymInt[3] s=[1, 1, 1]) -> ()"},
		{"one number for a list of one", "a::f(int[1] s=0) -> ()", "a::f(int[1] s=[0]) -> ()"},
		{"list", "a::f(int[] d=[0,1]) -> ()", "a::f(int[] d=[0, 1]) -> ()"},
		{"equal items", "a::f(int[2] d=[1,1]) -> ()", "a::f(int[2] d=1) -> ()"},
		{"empty list", "a::f(int[2] d=[]) -> ()", "a::f(int[2] d=[]) -> ()"},
		{"list of bool", "a::f(bool[2] m=[True,False]) -> ()", "a::f(bool[2] m=[True, False]) -> ()"},
		{"names", "a::f(MemoryFormat m=contiguous_format, Layout l=strided, int reduction=Mean) -> ()", "a::f(MemoryFormat m=0, Layout l=0, int reduction=1) -> ()"},
		{"dtype names", "a::f(ScalarType a=long, ScalarType b=float, ScalarType c=bfloat16, int d=long) -> ()", "a::f(ScalarType a=4, ScalarType b=6, ScalarType c=15, int d=4) -> ()"},
		{"small float", "a::f(float eps=1e-05) -> ()", "a::f(float eps=1.0000000000000001e-05) -> ()"},
		{"whole float", "a::f(float a=1, float b=-2.0, Scalar c=1, Scalar d=1.0, float? e=1) -> ()", "a::f(float a=1., float b=-2., Scalar c=1, Scalar d=1., float? e=1) -> ()"},
		{"minus zero", "a::f(float a=-0.0, float b=1e10, float c=1e9, float d=0.1) -> ()", "a::f(float a=-0., float b=10000000000, float c=1000000000., float d=0.10000000000000001) -> ()"},
		{"long int", "a::f(int end=9223372036854775807, int start=-9223372036854775808) -> ()", "a::f(int end=9223372036854775807, int start=-9223372036854775808) -> ()"},
		{"strings", `a::f(str a='sum', str b="it's", str c='\n\t\101\\') -> ()`, `a::f(str a="sum", str b="it\'s", str c="\n\tA\\") -> ()`},
		{"bytes", "a::f(str a=\"\x01\xff\") -> ()", `a::f(str a="\001\377") -> ()`},
		{"device", `a::f(Device d="cuda:1", Device? e=None) -> ()`, `a::f(Device d="cuda:1", Device? e=None) -> ()`},
		{"complex", "a::f(Scalar x=2j) -> ()", "a::f(Scalar x=2.j) -> ()"},
		{"keyword only", "a::f(Tensor x, *, int k, Tensor(a!) out) -> Tensor(a!)", "a::f(Tensor x, *, int k, Tensor(a!) out) -> Tensor(a!)"},
		{"aliases", "a::f(Tensor(a|b) x, Tensor(c! -> c|*) y, Tensor(*) z, Tensor(d)? w) -> Tensor(a|b)", "a::f(Tensor(a|b) x, Tensor(c! -> c|*) y, Tensor(*) z, Tensor(d)? w) -> Tensor(a|b)"},
		{"alias of items", "a::f(Tensor(a!)[] x, Tensor[](b!) y) -> Tensor(a!)[]", "a::f(Tensor(a!)[] x, Tensor[](b!) y) -> Tensor(a!)[]"},
		{"fresh alias", "a::f(Tensor! x, Tensor! y) -> ()", "a::f(Tensor! x, Tensor! y) -> ()"},
		{"optionals", "a::f(Tensor?[] x, int[]? y, Tensor[]?[] z, int?? w) -> Tensor?", "a::f(Tensor?[] x, int[]? y, Tensor[]?[] z, int? w) -> Tensor?"},
		{"one tuple", "a::f(t x) -> ((str, t)[])", "a::f(t x) -> ((str, t)[])"},
		{"several", "a::f((int, int) p) -> (Tensor values, Tensor indices)", "a::f((int, int) p) -> (Tensor values, Tensor indices)"},
		{"one in parentheses", "a::f() -> (Tensor)", "a::f() -> Tensor"},
		{"dict and future", "a::f(Dict(str, Tensor) d) -> Future(t)", "a::f(Dict(str, Tensor) d) -> Future(t)"},
		{"class", "a::f(__torch__.torch.classes.c10d.ProcessGroup g) -> Any", "a::f(__torch__.torch.classes.c10d.ProcessGroup g) -> Any"},
		{"dots", "a::f(int x, ...) -> ...", "a::f(int x, ...) -> ..."},
		{"dots alone", "a::f(...) -> (int, ...)", "a::f(...) -> (int, ...)"},
		{"no namespace", "f.ov(int x) -> ()", "f.ov(int x) -> ()"},
		{"nested namespace", "a::b::f(int self) -> ()", "a::b::f(int self) -> ()"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s, err := ParseSchema(tc.text)
			require.NoError(t, err)
			assert.Equal(t, tc.want, s.String())
			again, err := ParseSchema(s.String())
			require.NoError(t, err)
			assert.Equal(t, s, again)
		})
	}
}

func TestSchemaErrors(t *testing.T) {
	deep := strings.Repeat("(", 30) + "int" + strings.Repeat(")", 30)
	tests := []struct{ name, text, want string }{
		{"empty", "", "schema: column 1: expected an operator name, got the end"},
		{"no arguments", "aten::f", `schema: column 8: expected "(", got the end`},
		{"no overload", "aten::f.(int x) -> ()", `schema: column 9: expected an overload name, got "("`},
		{"reserved overload", "aten::f.default(int x) -> ()", `schema: column 9: expected no overload name or one that is not reserved, got "default"`},
		{"unnamed argument", "aten::f(Tensor) -> ()", `schema: column 15: expected an argument name, got ")"`},
		{"unknown type", "aten::f(Tensr x) -> ()", `schema: column 9: expected a type, got "Tensr"`},
		{"missing comma", "aten::f(int x int y) -> ()", `schema: column 15: expected ",", got "int"`},
		{"no returns", "aten::f(int x)", `schema: column 15: expected "->", got the end`},
		{"text behind", "aten::f(int x) -> () {", `schema: column 22: expected the end, got "{"`},
		{"second star", "aten::f(*, int x, *, int y) -> ()", `schema: column 19: expected an argument, got "*"`},
		{"default of a return", "aten::f() -> int x=1", `schema: column 19: expected the end, got "="`},
		{"number too long", "aten::f(int x=99999999999999999999) -> ()", `schema: column 15: expected a number, got "99999999999999999999"`},
		{"unknown word", "aten::f(int x=Sum) -> ()", `schema: column 15: expected a default value, got "Sum"`},
		{"dtype name where none fits", "aten::f(int x=float16) -> ()", `schema: column 15: expected a default value, got "float16"`},
		{"unknown dtype number", "aten::f(ScalarType x=99) -> ()", `schema: column 22: dtype: c10 number 99 is unknown`},
		{"one number for an open list", "aten::f(int[] x=1) -> ()", `schema: column 17: expected a list or None, got "1"`},
		{"list too long", "aten::f(int[9999999] x) -> ()", `schema: column 13: expected a length from 1 to 1024, got "9999999"`},
		{"open string", `aten::f(str x="a) -> ()`, `schema: column 15: expected a closed string, got """`},
		{"bad escape", `aten::f(str x="\q") -> ()`, `schema: column 17: expected an escape sequence, got "q"`},
		{"octal too large", `aten::f(str x="\777") -> ()`, `schema: column 17: expected an escape sequence, got "777"`},
		{"too deep", "aten::f(" + deep + " x) -> ()", `schema: column 26: expected types nested at most 16 deep, got "("`},
		{"too deep in lists", "aten::f(int" + strings.Repeat("[]", 30) + " x) -> ()", `schema: column 46: expected types nested at most 16 deep, got "["`},
		{"not UTF-8", "aten::f(\xff) -> ()", "schema: column 9: expected a type, got \"\uFFFD\""},
		{"too long", strings.Repeat("a", 1<<17), "schema: expected at most 65536 bytes, got 131072"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s, err := ParseSchema(tc.text)
			assert.Nil(t, s)
			assert.EqualError(t, err, tc.want)
			assert.ErrorIs(t, err, ErrSyntax)
		})
	}
}

func TestSchemaQueries(t *testing.T) {
	s, err := ParseSchema("aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)")
	require.NoError(t, err)
	assert.Equal(t, []string{"aten", "aten::add", "out"}, []string{s.Namespace(), s.Name(), s.Overload()})
	assert.True(t, s.IsOut())
	assert.Equal(t, 2, s.Positional())
	i, ok := s.Arg("alpha")
	assert.True(t, ok)
	assert.Equal(t, Int(1), s.Args[i].Default)
	assert.Equal(t, "Scalar alpha=1", s.Args[i].String())
	_, ok = s.Arg("beta")
	assert.False(t, ok)
	assert.Nil(t, s.Args[0].Default)

	s, err = ParseSchema("relu(Tensor?[] self, int[2] d=7) -> Tensor")
	require.NoError(t, err)
	assert.Equal(t, []string{"", "relu", ""}, []string{s.Namespace(), s.Name(), s.Overload()})
	assert.False(t, s.IsOut())
	assert.True(t, s.Args[0].Type.HasTensor())
	assert.False(t, s.Args[0].Type.Optional())
	assert.False(t, s.Args[1].Type.HasTensor())
	assert.Equal(t, IntList(7, 7), s.Args[1].Default)
	assert.Equal(t, "int[2]", s.Args[1].Type.String())
}

func TestEveryOutTagIsAnOutSchema(t *testing.T) {
	for s := range Operators().All() {
		if s.Tags.Has(TagOut) {
			written := len(s.Effects().Writes) > 0
			assert.True(t, written, s.Op)
		}
	}
}

func TestParseTags(t *testing.T) {
	tags, err := ParseTags([]string{"core", "view_copy", "core"})
	require.NoError(t, err)
	assert.Equal(t, TagCore|TagViewCopy, tags)
	assert.Equal(t, "core view_copy", tags.String())
	tags, err = ParseTags([]string{"core", "from_the_future"})
	assert.ErrorIs(t, err, ErrUnsupported)
	assert.Equal(t, TagCore, tags, "the known ones are kept")
}

// schemaTypes draws types of every shape that the grammar has.
func schemaTypes(depth int) *rapid.Generator[Type] {
	return rapid.Custom(func(t *rapid.T) Type {
		kinds := []TypeKind{TypeTensor, TypeInt, TypeSymInt, TypeFloat, TypeBool, TypeScalar, TypeStr, TypeDType, TypeLayout,
			TypeMemoryFormat, TypeDevice, TypeGenerator, TypeStream, TypeAny, TypeClass, TypeVar}
		if depth > 0 {
			kinds = append(kinds, TypeOptional, TypeList, TypeTuple, TypeDict, TypeFuture)
		}
		typ := Type{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		elem := func() Type { return schemaTypes(depth-1).Draw(t, "elem") }
		switch typ.Kind {
		case TypeOptional:
			e := elem()
			for e.Kind == TypeOptional {
				e = *e.Elem
			}
			typ.Elem = &e
		case TypeList:
			e := elem()
			typ.Elem, typ.Len = &e, rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "len")
		case TypeFuture:
			e := elem()
			typ.Elem = &e
		case TypeTuple:
			typ.Elems = []Type{elem(), elem()}
		case TypeDict:
			typ.Elems = []Type{elem(), elem()}
		case TypeClass:
			typ.Name = "__torch__.torch.classes.ns.C"
		case TypeVar:
			typ.Name = "t1"
		}
		return typ
	})
}

func schemaDefault(t *rapid.T, typ Type) Arg {
	if typ.Kind == TypeOptional && rapid.Bool().Draw(t, "none") {
		return None{}
	}
	switch e := typ.Required(); e.Kind {
	case TypeInt, TypeSymInt, TypeScalar:
		return Int(rapid.Int64().Draw(t, "int"))
	case TypeFloat:
		return Float(rapid.Float64().Draw(t, "float"))
	case TypeBool:
		return Bool(rapid.Bool().Draw(t, "bool"))
	case TypeStr:
		return Str(rapid.String().Draw(t, "str"))
	case TypeDType:
		return rapid.SampledFrom(DTypes()).Draw(t, "dtype")
	case TypeDevice:
		return NewDevice(DeviceCUDA, rapid.IntRange(-1, 9).Draw(t, "device"))
	case TypeList:
		items := make([]Arg, rapid.IntRange(0, 3).Draw(t, "n"))
		for i := range items {
			if items[i] = schemaDefault(t, *e.Elem); items[i] == nil {
				return nil
			}
			if _, nested := items[i].(List); nested {
				return nil // the grammar has no list of lists as default
			}
		}
		return ListOf(items...)
	}
	return nil
}

// Whatever prints is read back as the same schema.
func TestSchemaPrintsAndParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Schema{Op: "ns::op.overload"}
		n := rapid.IntRange(0, 4).Draw(t, "args")
		for i := range n {
			p := Param{Name: "a" + string(rune('0'+i)), Type: schemaTypes(3).Draw(t, "type"), KeywordOnly: i >= 2}
			if rapid.Bool().Draw(t, "alias") && p.Type.Kind == TypeTensor {
				p.Alias = &Alias{Before: []string{"a"}, Write: rapid.Bool().Draw(t, "write")}
			}
			if rapid.Bool().Draw(t, "default") {
				p.Default = schemaDefault(t, p.Type)
			}
			s.Args = append(s.Args, p)
		}
		for range rapid.IntRange(0, 3).Draw(t, "returns") {
			s.Returns = append(s.Returns, Param{Type: schemaTypes(2).Draw(t, "return")})
		}
		s.VarReturns = rapid.Bool().Draw(t, "dots")
		got, err := ParseSchema(s.String())
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if got.String() != s.String() {
			t.Fatalf("%s\n%s", s, got)
		}
		for i := range s.Args {
			if a, b := s.Args[i].Default, got.Args[i].Default; a != nil && !EqualArgs(a, b) {
				t.Fatalf("%s: default %v came back as %v", s, a, b)
			}
		}
	})
}

func FuzzParseSchema(f *testing.F) {
	for _, op := range []string{"aten::add.out", "aten::convolution", "aten::_test_string_default", "aten::get_gradients", "static_runtime::VarTupleUnpack"} {
		f.Add(Operators().Lookup(op).String())
	}
	f.Add("a::f(Tensor(a! -> *)[] x, int[2]? k=[1,1], *, float e=1e-05, ...) -> ((str, t)[])")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSchema(text)
		if err != nil {
			return
		}
		printed := s.String()
		again, err := ParseSchema(printed)
		if err != nil {
			t.Fatalf("%q printed as %q: %v", text, printed, err)
		}
		if again.String() != printed {
			t.Fatalf("%q printed as %q, then as %q", text, printed, again)
		}
	})
}
