package export

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// TestTorchSave reads what torch.save wrote and compares it with what
// torch.load(weights_only=True) made of it (testdata/make_torchsave.py).
func TestTorchSave(t *testing.T) {
	for _, tc := range savedCases(t) {
		if tc.Module != nil {
			continue
		}
		t.Run(tc.Name, func(t *testing.T) {
			s, err := OpenTorchSave(filepath.Join("testdata", "torchsave", tc.Name+".pt"))
			if tc.Refused != nil {
				require.ErrorIs(t, err, ir.ErrUnsupported)
				for _, text := range tc.Refused {
					assert.ErrorContains(t, err, text)
				}
				return
			}
			require.NoError(t, err)
			defer s.Close()
			d := &describer{t: t, storages: map[*Storage]int{}, containers: map[any]int{}}
			got, err := json.Marshal(d.describe(s.Value))
			require.NoError(t, err)
			want, err := json.Marshal(tc.Value)
			require.NoError(t, err)
			assert.JSONEq(t, string(want), string(got))
		})
	}
}

// A savedCase is a file of testdata/torchsave.
type savedCase struct {
	Name, What string
	Value      any
	Refused    []string
	Module     *struct {
		Class, Graph, Code string
		State              []string
	}
}

func savedCases(t *testing.T) []savedCase {
	t.Helper()
	var recorded struct{ Cases []savedCase }
	readJSON(t, filepath.Join("testdata", "torchsave", "cases.json"), &recorded)
	require.NotEmpty(t, recorded.Cases)
	return recorded.Cases
}

// A describer describes values as make_torchsave.py does.
type describer struct {
	t          *testing.T
	storages   map[*Storage]int
	containers map[any]int
}

func number(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return map[bool]string{true: "inf", false: "-inf"}[f > 0]
	}
	return ir.Repr(ir.Float(f))
}

func (d *describer) container(kind string, id any, items []any) any {
	if n, ok := d.containers[id]; ok {
		return object{"again": n}
	}
	n := len(d.containers)
	d.containers[id] = n
	return object{"kind": kind, "n": n, "items": d.all(items)}
}

func (d *describer) all(items []any) []any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = d.describe(item)
	}
	return out
}

func (d *describer) describe(v any) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case int64:
		return object{"kind": "int", "value": strconv.FormatInt(v, 10)}
	case *big.Int:
		return object{"kind": "int", "value": v.String()}
	case float64:
		return object{"kind": "float", "value": number(v)}
	case complex128:
		return object{"kind": "complex", "value": []string{number(real(v)), number(imag(v))}}
	case []byte:
		return object{"kind": "bytes", "value": hex.EncodeToString(v)}
	case ir.DType:
		return object{"kind": "dtype", "value": v.String()}
	case ir.Device:
		return object{"kind": "device", "value": v.String()}
	case ir.Layout:
		return object{"kind": "layout", "value": v.String()}
	case ir.PyTuple:
		return object{"kind": "tuple", "items": d.all(v)}
	case []any:
		if len(v) == 0 {
			return d.container("list", new(int), nil)
		}
		return d.container("list", &v[0], v)
	case PySet:
		texts := []string{}
		for _, item := range v {
			// as json.dumps writes it
			text, err := json.Marshal(d.describe(item))
			require.NoError(d.t, err)
			if m, ok := d.describe(item).(object); ok {
				text = fmt.Appendf(nil, `{"kind": %q, "value": %q}`, m["kind"], m["value"])
			}
			texts = append(texts, string(text))
		}
		slices.Sort(texts)
		return object{"kind": "set", "items": texts}
	case *ir.PyDict:
		var items []any
		for key, item := range v.All() {
			items = append(items, key, item)
		}
		return d.container("dict", v, items)
	case *Tensor:
		return d.tensor(v)
	case *Instance:
		return d.instance(v)
	}
	d.t.Fatalf("unexpected %T", v)
	return nil
}

func (d *describer) tensor(t *Tensor) any {
	out := object{
		"kind": "tensor", "dtype": t.DType.String(), "device": t.Device.String(), "sizes": append([]int64{}, t.Sizes...),
		"strides": append([]int64{}, t.Strides...), "offset": t.Offset, "parameter": t.Parameter, "requires_grad": t.RequiresGrad,
	}
	if t.Device.String() != "meta" {
		n, seen := d.storages[t.Storage]
		if !seen {
			n = len(d.storages)
			d.storages[t.Storage] = n
		}
		out["storage"], out["bytes"] = n, hex.EncodeToString(t.Storage.Bytes())
	}
	return out
}

func (d *describer) instance(v *Instance) any {
	switch v.Class {
	case "torch.sparse":
		data := v.Args[1].(ir.PyTuple)
		return object{"kind": "sparse", "layout": v.Args[0].(ir.Layout).String(), "parts": d.all(data[:2]), "size": []any(data[2].(ir.PyTuple))}
	case "torch.quantized":
		x, params := v.Args[0].(*Tensor), v.Args[1].(ir.PyTuple)
		data, err := x.Bytes()
		require.NoError(d.t, err)
		values := []int{}
		for _, b := range data {
			values = append(values, int(b))
		}
		assert.Equal(d.t, PyGlobal("torch.per_tensor_affine"), params[0])
		return object{"kind": "quantized", "dtype": x.DType.String(), "scale": number(params[1].(float64)), "values": values}
	}
	d.t.Fatalf("unexpected instance of %s", v.Class)
	return nil
}

func TestTorchSaveAccessors(t *testing.T) {
	s, err := OpenTorchSave(filepath.Join("testdata", "torchsave", "checkpoint.pt"))
	require.NoError(t, err)
	defer s.Close()

	names, tensors, err := s.StateDict("model")
	require.NoError(t, err)
	assert.Equal(t, []string{"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"}, names)
	assert.Equal(t, []int64{2, 3}, tensors["0.weight"].Sizes)
	assert.True(t, tensors["0.weight"].Storage.Mapped())

	root := s.Value.(*ir.PyDict)
	model, _ := root.Get("model")
	versions, _ := s.Attributes(model.(*ir.PyDict)).Get("_metadata")
	assert.Equal(t, 3, versions.(*ir.PyDict).Len())
	assert.Nil(t, s.Attributes(root))

	_, _, err = s.StateDict()
	require.ErrorIs(t, err, ir.ErrType)
	assert.ErrorContains(t, err, `its keys are "epoch", "model", "optimizer"`)
	_, _, err = s.StateDict("other")
	require.ErrorIs(t, err, ir.ErrKey)

	var paths []string
	for path := range s.Tensors() {
		paths = append(paths, path)
	}
	assert.Contains(t, paths, "model.1.running_var")
	assert.Contains(t, paths, "optimizer.state.0.exp_avg")
}

func TestTorchSaveWithoutWeights(t *testing.T) {
	for _, name := range []string{"state_dict", "legacy_state_dict"} {
		s, err := OpenTorchSave(filepath.Join("testdata", "torchsave", name+".pt"), WithoutWeights())
		require.NoError(t, err, name)
		_, tensors, err := s.StateDict()
		require.NoError(t, err, name)
		assert.Nil(t, tensors["0.weight"].Storage, name)
		assert.Equal(t, []int64{2, 3}, tensors["0.weight"].Sizes, name)
		require.NoError(t, s.Close(), name)
	}
}

// TestTorchSaveClasses reads a whole module as data.
func TestTorchSaveClasses(t *testing.T) {
	s, err := OpenTorchSave(filepath.Join("testdata", "torchsave", "module.pt"), Classes(func(string) bool { return true }))
	require.NoError(t, err)
	defer s.Close()
	m, ok := s.Value.(*Instance)
	require.True(t, ok)
	assert.Equal(t, "torch.nn.modules.container.Sequential", m.Class)
	children, _ := m.State.(*ir.PyDict).Get("_modules")
	linear, _ := children.(*ir.PyDict).Get("0")
	assert.Equal(t, "torch.nn.modules.linear.Linear", linear.(*Instance).Class)
}

func TestTorchSaveOtherFiles(t *testing.T) {
	_, err := OpenTorchSave(filepath.Join("testdata", "programs", "linear.pt2"))
	require.ErrorIs(t, err, ir.ErrFormat)
	assert.ErrorContains(t, err, "this is an exported program")
	_, err = Open(filepath.Join("testdata", "torchsave", "state_dict.pt"))
	require.ErrorIs(t, err, ir.ErrFormat)
	assert.ErrorContains(t, err, "this is a torch.save file")
}

// TestTorchSaveBigEndian swaps what a machine of the other byte order wrote.
func TestTorchSaveBigEndian(t *testing.T) {
	a := takeApartFile(t, filepath.Join("testdata", "torchsave", "dtypes.pt"))
	a.records["byteorder"] = []byte("big")
	s, err := a.openSave()
	require.NoError(t, err)
	little, err := OpenTorchSave(filepath.Join("testdata", "torchsave", "dtypes.pt"))
	require.NoError(t, err)
	defer little.Close()
	_, got, err := s.StateDict()
	require.NoError(t, err)
	_, want, err := little.StateDict()
	require.NoError(t, err)
	assert.Equal(t, want["int8"].Storage.Bytes(), got["int8"].Storage.Bytes())
	w, g := want["int32"].Storage.Bytes(), got["int32"].Storage.Bytes()
	assert.Equal(t, []byte{w[7], w[6], w[5], w[4]}, g[4:8])
	w, g = want["complex64"].Storage.Bytes(), got["complex64"].Storage.Bytes()
	assert.Equal(t, []byte{w[11], w[10], w[9], w[8]}, g[8:12], "the real part stays in front")
}

func TestTorchSaveDamage(t *testing.T) {
	file := filepath.Join("testdata", "torchsave", "state_dict.pt")
	legacy, err := os.ReadFile(filepath.Join("testdata", "torchsave", "legacy_state_dict.pt"))
	require.NoError(t, err)
	tests := []struct {
		name string
		make func() (*Saved, error)
		says string
	}{
		{"a storage is missing", func() (*Saved, error) {
			a := takeApartFile(t, file)
			a.remove("data/1")
			return a.openSave()
		}, "record missing: data/1"},
		{"a storage is short", func() (*Saved, error) {
			a := takeApartFile(t, file)
			a.records["data/0"] = a.records["data/0"][:20]
			return a.openSave()
		}, "record data/0: expected at least 24 bytes, got 20"},
		{"the pickle is cut", func() (*Saved, error) {
			a := takeApartFile(t, file)
			a.records["data.pkl"] = a.records["data.pkl"][:100]
			return a.openSave()
		}, "more bytes, got the end"},
		{"an unknown byte order", func() (*Saved, error) {
			a := takeApartFile(t, file)
			a.records["byteorder"] = []byte("middle")
			return a.openSave()
		}, "expected little or big"},
		{"a legacy file is cut", func() (*Saved, error) { return readSave(legacy[:len(legacy)-4]) }, "got the end of the file"},
		{"a legacy file is cut in its keys", func() (*Saved, error) { return readSave(legacy[:900]) }, "got the end"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.make()
			require.ErrorIs(t, err, ir.ErrFormat)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}
