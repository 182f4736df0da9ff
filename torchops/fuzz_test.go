package torchops

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// A fuzzed reads arguments out of bytes.
type fuzzed struct {
	data    []byte
	tensors []*Tensor
}

func (f *fuzzed) next() int {
	if len(f.data) == 0 {
		return 0
	}
	b := f.data[0]
	f.data = f.data[1:]
	return int(b)
}

func (f *fuzzed) value(depth int) any {
	switch k := f.next(); k % 18 {
	case 0:
		return nil
	case 1:
		return int64(int8(f.next()))
	case 2:
		return float64(f.next()) / 2
	case 3:
		return k > 127
	case 4:
		return complex(1, float64(k))
	case 5:
		return []string{"", "mean", "cpu", "torch.FloatTensor", "a"}[k%5]
	case 6, 7, 8:
		return f.tensors[k%len(f.tensors)]
	case 9, 10:
		if depth > 3 {
			return []any{}
		}
		list := make([]any, f.next()%4)
		for i := range list {
			list[i] = f.value(depth + 1)
		}
		if k%2 == 0 {
			return ir.PyTuple(list)
		}
		return list
	case 11:
		return ir.DType(k % 30)
	case 12:
		return ir.Slice{Start: ir.Opaque{Value: f.value(4)}, Stop: ir.None{}, Step: ir.Int(k % 3)}
	case 13:
		return ir.Ellipsis{}
	case 14:
		return CPU
	case 15:
		return ir.Layout(k % 9)
	case 16:
		return ir.FuncOf([]string{"builtins.float", "builtins.int", "torch.Tensor"}[k%3])
	}
	return uint64(1) << 63
}

// FuzzResolution matches arbitrary arguments with the signatures of every name and
// converts what is accepted, without calling the operators; and calls the functions
// that are computed on this side. None panics, and every error has a class.
func FuzzResolution(f *testing.F) {
	testenv.Libtorch(f)
	tensors := fuzzTensors(f)
	names := Names()
	for _, name := range []string{"torch.add", "torch.sum", "torch.Tensor.view", "torch.conv2d", "torch.cat", "operator.getitem", "torch.tensor", "math.comb"} {
		for i, known := range names {
			if known == name {
				f.Add(uint16(i), []byte{6, 1, 2, 9, 1, 1, 3}, uint8(2), uint8(1))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, data []byte, n, kwargs uint8) {
		tryCall(t, names[int(which)%len(names)], &fuzzed{data, tensors}, int(n), int(kwargs))
	})
}

// The same over all names, a few calls each.
func TestResolutionOfAllNames(t *testing.T) {
	testenv.Libtorch(t)
	random := rand.New(rand.NewPCG(1, 2))
	tensors := fuzzTensors(t)
	for _, name := range Names() {
		for range 4 {
			data := make([]byte, 24)
			for i := range data {
				data[i] = byte(random.Uint32())
			}
			tryCall(t, name, &fuzzed{data, tensors}, random.IntN(6), random.IntN(3))
		}
	}
}

var fuzzKeywords = []string{"dim", "axis", "out", "dtype", "input", "other", "foo", "keepdims"}

func tryCall(t *testing.T, name string, in *fuzzed, n, kwargs int) {
	args := make([]any, n%6)
	for i := range args {
		args[i] = in.value(0)
	}
	var kw []Kwarg
	for range kwargs % 3 {
		kw = append(kw, Kw(fuzzKeywords[in.next()%len(fuzzKeywords)], in.value(0)))
	}
	var err error
	if lines, ok := signatureIndex()[name]; ok {
		err = tryBinding(name, lines, args, kw)
	} else if name != "torch.manual_seed" {
		var v any
		v, err = Invoke(nil, ir.FuncOf(name), args, kw)
		if t, ok := v.(*Tensor); !ok || !slices.Contains(in.tensors, t) {
			_, _ = discard(v, nil)
		}
	}
	if err != nil && ir.ClassOf(err) == nil {
		t.Errorf("%s: an error without a class: %v", name, err)
	}
}

func fuzzTensors(tb testing.TB) (tensors []*Tensor) {
	for _, args := range [][]any{{[]int{2, 3}}, {[]int{}}, {[]int{1}, Kw("dtype", ir.Int64)}, {[]int{}, Kw("dtype", ir.Int64)}, {[]int{0}, Kw("dtype", ir.Bool8)}} {
		x, err := callTensor("aten::ones", args...)
		require.NoError(tb, err)
		tensors = append(tensors, x)
	}
	return tensors
}

// tryBinding does all of a call but the call.
func tryBinding(name, lines string, args []any, kw []Kwarg) error {
	list, err := readSignatures(name, lines)
	if err != nil {
		return err
	}
	p := newPublic(name, false, list)
	b := &binding{values: make([]any, p.most)}
	if args, err = normalizeItems(args); err != nil {
		return err
	}
	s, err := p.choose(b, args, kw)
	if err != nil {
		return err
	}
	plan, err := s.plan(len(name) > len(tensorMethod) && name[:len(tensorMethod)] == tensorMethod, false)
	if err != nil {
		return err
	}
	c := call{schema: plan.operator.Schema(), public: true}
	defer c.release()
	_, err = c.arguments(nil, s, plan, nil, b.values)
	return err
}
