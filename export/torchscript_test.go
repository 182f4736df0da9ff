package export

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// scriptFile is a program that scripts/record_script.py wrote.
func scriptFile(name string) string { return filepath.Join("..", "script", "testdata", name+".pt") }

func TestOpenScript(t *testing.T) {
	s, err := OpenScript(scriptFile("values"))
	require.NoError(t, err)
	defer s.Close()
	assert.Equal(t, "__torch__.Values", s.Class)
	assert.Equal(t, "3", s.Version)
	assert.False(t, s.Mobile)
	var methods []string
	for _, m := range s.Methods {
		methods = append(methods, m.String())
	}
	assert.Equal(t, []string{
		"forward(x: Tensor, n: int=2, more: Optional[List[Tensor]]=None) -> Tuple[Tensor, int]",
		"counted(x: Tensor) -> List[int]",
		"doubled(named: Dict[str, Tensor], flag: bool, by: float) -> Dict[str, Tensor]",
		"label(i: int) -> str",
	}, methods)
	assert.Equal(t, []ScriptModule{{"", "__torch__.Values"}, {"fc", "__torch__.torch.nn.modules.linear.Linear"}}, s.Modules)
	assert.Equal(t, 3, s.Calls["aten::mul"])
	assert.Equal(t, 1, s.Calls["aten::linear"])
	assert.Equal(t, []string{"count"}, s.Assigned)
	assert.Empty(t, s.Unknown)
	assert.Empty(t, s.Warnings)
	assert.Contains(t, s.Sources["__torch__.py"], "class Values(Module):")
	var tensors []string
	for _, x := range s.Tensors() {
		data, err := x.Tensor.Bytes()
		require.NoError(t, err)
		tensors = append(tensors, fmt.Sprint(x.Name, " ", x.Kind, " ", x.Tensor.Sizes, " ", len(data)))
	}
	assert.Equal(t, []string{"count buffer [1] 4", "fc.weight parameter [2 3] 24", "fc.bias parameter [2] 8"}, tensors)
}

// scriptArchive is a TorchScript file of records.
func scriptArchive(t testing.TB, records map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range sortedKeys(records) {
		w, err := z.Create("m/" + name)
		require.NoError(t, err)
		_, err = w.Write([]byte(records[name]))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

func readScriptBytes(data []byte) (*Script, error) {
	return readScript(&span{r: bytes.NewReader(data), size: int64(len(data))}, nil)
}

const (
	noConstants = "\x80\x02)."
	emptyModule = "\x80\x02c__torch__\nM\n)\x81}b."
)

func TestScriptSource(t *testing.T) {
	tests := []struct {
		name, source string
		methods      []string
		calls        map[string]int
		unknown      []string
	}{
		{"nothing", "", nil, map[string]int{}, nil},
		{"of a library", "class M(Module):\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return ops.torchvision.nms(ops.quantized.relu6(x), \"torch.no(\")\n",
			[]string{"forward(x: Tensor) -> Tensor"}, map[string]int{"torchvision::nms": 1, "quantized::relu6": 1}, []string{"torchvision::nms"}},
		{"names that only look like operators", "class M(Module):\n  torch : Tensor\n  def f(self: __torch__.M) -> None:\n    return (self.torch).torch.add(mytorch.add(torch.device(\"cpu\"), torch.x))\n",
			[]string{"f() -> None"}, map[string]int{}, nil},
		{"defaults with brackets and strings", "class M(Module):\n  def f(self: __torch__.M,\n    a: str=\"),(\\\"\",\n    b: List[int]=[1, 2]) -> Tuple[int, int]:\n    pass\n",
			[]string{`f(a: str="),(\"", b: List[int]=[1, 2]) -> Tuple[int, int]`}, map[string]int{}, nil},
		{"another class in the file", "class N(Module):\n  def g(self: __torch__.N) -> int:\n    return 1\n", nil, map[string]int{}, nil},
		{"cut off", "class M(Module):\n  def f(self: __torch__.M,\n    a: str=\"", nil, map[string]int{}, nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s, err := readScriptBytes(scriptArchive(t, map[string]string{"data.pkl": emptyModule, "constants.pkl": noConstants, "code/__torch__.py": tc.source}))
			require.NoError(t, err)
			var methods []string
			for _, m := range s.Methods {
				methods = append(methods, m.String())
			}
			assert.Equal(t, tc.methods, methods)
			assert.Equal(t, tc.calls, s.Calls)
			assert.Equal(t, tc.unknown, s.Unknown)
		})
	}
}

func TestScriptRefuses(t *testing.T) {
	shared := "\x80\x02c__torch__\nM\nq\x00)\x81}bq\x01"
	for i := range 24 { // each holds the one before twice: 2^24 paths
		shared += fmt.Sprintf("0h\x00)\x81}(X\x01\x00\x00\x00ah%cX\x01\x00\x00\x00bh%cubq%c", i+1, i+1, i+2)
	}
	tests := []struct {
		name    string
		records map[string]string
		class   error
		says    string
	}{
		{"no module", map[string]string{"data.pkl": noConstants, "constants.pkl": noConstants}, ir.ErrFormat, "expected a module, got a tuple"},
		{"a module in itself", map[string]string{"data.pkl": "\x80\x02c__torch__\nM\n)\x81q\x00}X\x01\x00\x00\x00ah\x00sb.", "constants.pkl": noConstants}, ir.ErrFormat, "module a: holds itself"},
		{"modules shared beyond count", map[string]string{"data.pkl": strings.ReplaceAll(shared, "0h\x00", "h\x00") + ".", "constants.pkl": noConstants}, ir.ErrFormat, "expected at most 262144 attributes"},
		{"a class of Python", map[string]string{"data.pkl": "\x80\x02cos\nsystem\n)\x81}b.", "constants.pkl": noConstants}, ir.ErrUnsupported, "class os.system is not allowed"},
		{"no TorchScript", map[string]string{"data.pkl": noConstants}, ir.ErrFormat, "expected a TorchScript file, got one of the format torch.save"},
		{"code that is no text is a warning", map[string]string{"data.pkl": emptyModule, "constants.pkl": noConstants, "code/a.py": "\xff"}, nil, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			data := scriptArchive(t, tc.records)
			atMost(t, func() {
				s, err := readScriptBytes(data)
				if tc.class == nil {
					require.NoError(t, err)
					assert.Len(t, s.Warnings, 1)
					return
				}
				require.ErrorIs(t, err, tc.class)
				assert.ErrorContains(t, err, tc.says)
			})
		})
	}
}

func TestScriptRandomEdits(t *testing.T) {
	opened := 0
	for i, name := range []string{"values", "loop"} {
		whole, err := os.ReadFile(scriptFile(name))
		require.NoError(t, err)
		random := rand.New(rand.NewPCG(2, uint64(i)))
		for range 200 {
			data := damage(random, whole)
			atMost(t, func() {
				if s, err := readScriptBytes(data); err == nil {
					scriptHoldsTogether(t, s)
					opened++
				}
			})
		}
	}
	assert.NotZero(t, opened, "some damage is none")
}

func scriptHoldsTogether(t *testing.T, s *Script) {
	for _, x := range s.Tensors() {
		_, err := x.Tensor.Bytes()
		require.NoError(t, err, x.Name)
	}
	for _, m := range s.Methods {
		assert.True(t, isIdentifier(m.Name), m.Name)
	}
}

// FuzzScript reads objects and source of any kind.
func FuzzScript(f *testing.F) {
	for _, name := range []string{"values", "loop", "choice"} {
		s, err := zip.OpenReader(scriptFile(name))
		require.NoError(f, err)
		read := func(record string) []byte {
			r, err := s.Open(name + "/" + record)
			require.NoError(f, err)
			var b bytes.Buffer
			_, err = b.ReadFrom(r)
			require.NoError(f, err)
			return b.Bytes()
		}
		f.Add(read("data.pkl"), string(read("code/__torch__.py")))
		s.Close()
	}
	f.Fuzz(func(t *testing.T, pickle []byte, source string) {
		s, err := readScriptBytes(scriptArchive(t, map[string]string{
			"data.pkl": string(pickle), "constants.pkl": noConstants, "code/__torch__.py": source, "data/0": "01234567", "data/1": strings.Repeat("x", 64),
		}))
		if err == nil {
			scriptHoldsTogether(t, s)
		}
	})
}

func ExampleOpenScript() {
	s, err := OpenScript(scriptFile("values"), WithoutWeights())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	fmt.Println(s.Methods[0])
	for name, t := range s.State() {
		fmt.Println(name, t.Sizes)
	}
	// Output:
	// forward(x: Tensor, n: int=2, more: Optional[List[Tensor]]=None) -> Tuple[Tensor, int]
	// count [1]
	// fc.weight [2 3]
	// fc.bias [2]
}
