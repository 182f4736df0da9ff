package export

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

func openProgram(t testing.TB, name string, opts ...Option) *Program {
	t.Helper()
	p, err := Open(filepath.Join("testdata", "programs", name), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func floats(t *testing.T, x *Tensor) []float32 {
	t.Helper()
	b, err := x.Bytes()
	require.NoError(t, err)
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

// TestStateIsAliasedAsInTheFile: two names of one parameter and a transposed
// view of it share one storage.
func TestStateIsAliasedAsInTheFile(t *testing.T) {
	p := openProgram(t, "state.pt2")
	a, b, rows := p.Tensor("a"), p.Tensor("b"), p.Tensor("rows")
	assert.Same(t, a.Storage, b.Storage)
	assert.Same(t, a.Storage, rows.Storage)
	assert.True(t, a.Parameter && a.RequiresGrad && b.Parameter)
	assert.False(t, rows.Parameter)
	assert.Equal(t, []int64{4, 2}, rows.Sizes)
	assert.Equal(t, []int64{1, 4}, rows.Strides)
	assert.Equal(t, int64(4), rows.Offset)
	assert.Equal(t, []float32{4, 8, 5, 9, 6, 10, 7, 11}, floats(t, rows))
	assert.Equal(t, []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, floats(t, a))
	assert.Equal(t, []float32{1, 1, 1, 1}, floats(t, p.Tensor("scratch")))

	// a write through one name is seen through the others
	binary.LittleEndian.PutUint32(a.Storage.Bytes()[16:], math.Float32bits(40))
	assert.Equal(t, float32(40), floats(t, rows)[0])
}

// TestWritesStayOutOfTheFile: state is writable, the file is not changed, and
// another opening of it does not see the write.
func TestWritesStayOutOfTheFile(t *testing.T) {
	file := filepath.Join("testdata", "programs", "state.pt2")
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	p, q := openProgram(t, "state.pt2"), openProgram(t, "state.pt2")
	for i := range p.Tensor("a").Storage.Bytes() {
		p.Tensor("a").Storage.Bytes()[i] = 0xff
	}
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.Equal(t, float32(1), floats(t, q.Tensor("a"))[1])
}

func TestWeightsAreMapped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("mapping is tested on Linux only")
	}
	p := openProgram(t, "state.pt2")
	for name, x := range p.State() {
		assert.True(t, x.Storage.Mapped(), name)
	}
}

func TestCloseKeepsWhatIsHeld(t *testing.T) {
	p, err := Open(filepath.Join("testdata", "programs", "state.pt2"))
	require.NoError(t, err)
	s := p.Tensor("a").Storage
	release, err := s.Hold()
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "a second Close does nothing")
	require.Len(t, s.Bytes(), 48)
	release()
	release()
	assert.Nil(t, s.Bytes())
	_, err = s.Hold()
	assert.ErrorIs(t, err, ir.ErrClosed)
	_, err = p.Tensor("a").Bytes()
	assert.ErrorIs(t, err, ir.ErrClosed)
	assert.NotEmpty(t, p.Graph.String(), "graphs stay usable")
}

func TestOpenWithoutWeights(t *testing.T) {
	p := openProgram(t, "state.pt2", WithoutWeights())
	require.NotNil(t, p.Tensor("a"))
	assert.Nil(t, p.Tensor("a").Storage)
	assert.Equal(t, []int64{3, 4}, p.Tensor("a").Sizes)
	_, err := p.Tensor("a").Bytes()
	assert.ErrorIs(t, err, ir.ErrClosed)

	a := takeApart(t, "state.pt2")
	a.remove("data/weights/model_weights_config.json")
	p, err = a.open(GraphOnly())
	require.NoError(t, err)
	assert.Nil(t, p.Tensor("a"))
	m, err := p.Module()
	require.NoError(t, err)
	rows, _ := m.Attr("rows")
	assert.Equal(t, &Tensor{DType: ir.Float32, Sizes: []int64{4, 2}, Strides: []int64{1, 4}, Offset: 4}, rows)
}

// TestFakeWeights: an empty record where there should be elements can be shown,
// not run.
func TestFakeWeights(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.put("data/weights/weight_0", nil)
	_, err := a.open()
	require.ErrorIs(t, err, ir.ErrFormat)
	assert.ErrorContains(t, err, "weight l.weight: its record is empty: the program was saved without real weights")
	_, err = a.open(WithoutWeights())
	assert.NoError(t, err)
}

func TestExtent(t *testing.T) {
	const big = int64(1) << 40
	tests := []struct {
		name           string
		sizes, strides []int64
		offset, want   int64
		ok             bool
	}{
		{"a scalar", nil, nil, 0, 1, true},
		{"contiguous", []int64{3, 4}, []int64{4, 1}, 0, 12, true},
		{"a view", []int64{4, 2}, []int64{1, 4}, 4, 12, true},
		{"expanded", []int64{1 << 40, 3}, []int64{0, 1}, 0, 3, true},
		{"empty", []int64{0, big}, []int64{big, big}, 7, 0, true},
		{"a negative stride", []int64{2}, []int64{-1}, 1, 0, false},
		{"a negative size", []int64{-2}, []int64{1}, 1, 0, false},
		{"a negative offset", []int64{2}, []int64{1}, -1, 0, false},
		{"overflow of a product", []int64{big, big}, []int64{big, big}, 0, 0, false},
		{"overflow of the sum", []int64{2, 2, 2, 2}, []int64{1 << 62, 1 << 62, 1 << 62, 1 << 62}, 0, 0, false},
		{"a large offset", []int64{1}, []int64{1}, math.MaxInt64, 0, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			n, ok := extent(tc.sizes, tc.strides, tc.offset)
			assert.Equal(t, tc.ok, ok)
			assert.Equal(t, tc.want, n)
		})
	}
}

// TestObjectsAreCarried: what only PyTorch's classes understand is kept as the
// bytes of the file, and several names of one record share them.
func TestObjectsAreCarried(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.program(func(o object) {
		for _, name := range []string{"obj", "twin"} {
			arg := object{"name": name, "class_fqn": "__torch__.torch.classes.my.Stack"}
			o.graph()["inputs"] = append(o.graph()["inputs"].(list), object{"as_custom_obj": arg})
			o.graph()["custom_obj_values"].(map[string]any)[name] = arg
			o.signature()["input_specs"] = append(o.signature()["input_specs"].(list), object{"custom_obj": object{"arg": arg, "custom_obj_name": "m." + name}})
		}
	})
	a.edit("data/constants/model_constants_config.json", func(o object) {
		for _, name := range []string{"m.obj", "m.twin"} {
			o.at("config")[name] = object{"path_name": "custom_obj_0", "is_param": false, "use_pickle": false, "tensor_meta": nil}
		}
	})
	_, err := a.open()
	require.ErrorContains(t, err, "m.obj: record missing: data/constants/custom_obj_0")
	a.put("data/constants/custom_obj_0", []byte("pickle"))
	p, err := a.open()
	require.NoError(t, err)
	o := p.Object("m.obj")
	require.NotNil(t, o)
	assert.Equal(t, &Object{Class: "__torch__.torch.classes.my.Stack", Data: []byte("pickle")}, o)
	assert.Same(t, &o.Data[0], &p.Object("m.twin").Data[0])
	assert.Equal(t, ObjectMeta{Class: "__torch__.torch.classes.my.Stack"}, p.Graph.Lookup("obj").Meta().Get(ir.MetaVal))
	m, err := p.Module()
	require.NoError(t, err)
	got, _ := m.Attr("m.obj")
	assert.Same(t, o, got)
}
