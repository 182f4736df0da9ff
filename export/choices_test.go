package export

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

func TestSignatureOnly(t *testing.T) {
	for _, name := range []string{"linear", "derived", "state", "state_core"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "programs", name+".pt2")
			whole, err := Open(file)
			require.NoError(t, err)
			defer whole.Close()
			p, err := Open(file, SignatureOnly())
			require.NoError(t, err)
			defer p.Close()
			assert.Equal(t, whole.Signature, p.Signature)
			assert.Equal(t, whole.InSpec, p.InSpec)
			assert.Equal(t, whole.Ranges, p.Ranges)
			assert.NotEmpty(t, p.OutputValues())
			assert.Equal(t, whole.OutputValues(), p.OutputValues())
			assert.Equal(t, len(p.Signature.Inputs), p.Graph.Len(), "placeholders alone")
			assert.NoError(t, p.Guards.Check(p.Guards.examples()))
			_, err = p.Module()
			require.ErrorIs(t, err, ir.ErrUnsupported)
		})
	}
}

func TestModelsOfAFile(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.put("models/second.json", a.records["models/model.json"])
	names, err := Models(a.file())
	require.NoError(t, err)
	assert.Equal(t, []string{"model", "second"}, names)
	_, err = Models(filepath.Join("testdata", "torchsave", "tensor.pt"))
	require.ErrorIs(t, err, ir.ErrFormat)
	names, err = Models(filepath.Join(fixtures(t, "pt2/2.6.0"), "linear_relu", "model.pt2"))
	require.NoError(t, err)
	assert.Equal(t, []string{"model"}, names)
}

func TestWeightsFrom(t *testing.T) {
	file := filepath.Join("testdata", "programs", "linear.pt2")
	p, err := Open(file)
	require.NoError(t, err)
	defer p.Close()
	// the same weights, counted up from 0
	tensors := map[string]*Tensor{}
	for name, x := range p.State() {
		c := *x
		c.Storage = NewStorage(make([]byte, x.Numel()*int64(x.DType.Size())))
		c.Offset = 0
		for i := range c.Storage.Bytes() {
			c.Storage.Bytes()[i] = byte(i)
		}
		tensors[name] = &c
	}
	names := slices.Sorted(maps.Keys(tensors))
	require.Equal(t, []string{"l.bias", "l.weight"}, names)

	write := func(t *testing.T, form string, tensors map[string]*Tensor) string {
		path := filepath.Join(t.TempDir(), "weights")
		f, err := os.Create(path)
		require.NoError(t, err)
		if form == "safetensors" {
			err = WriteSafetensors(f, tensors, nil)
		} else {
			err = WriteState(f, maps.All(tensors))
		}
		require.NoError(t, err)
		require.NoError(t, f.Close())
		return path
	}
	for _, form := range []string{"safetensors", "torch.save"} {
		t.Run(form, func(t *testing.T) {
			q, err := Open(file, WeightsFrom(write(t, form, tensors)))
			require.NoError(t, err)
			for _, name := range names {
				got, err := q.Tensor(name).Bytes()
				require.NoError(t, err)
				assert.Equal(t, tensors[name].Storage.Bytes(), got, name)
				assert.True(t, q.Tensor(name).Parameter, name)
				assert.True(t, q.Tensor(name).RequiresGrad, name)
			}
			require.NoError(t, q.Close())
			if x := q.Tensor("l.weight"); x.Storage.Mapped() {
				_, err = x.Bytes()
				assert.ErrorIs(t, err, ir.ErrClosed, "the file of the weights is closed too")
			}
		})
		t.Run(form+", other names", func(t *testing.T) {
			_, err := Open(file, WeightsFrom(write(t, form, map[string]*Tensor{"l.weight": tensors["l.weight"], "x": tensors["l.bias"]})))
			require.ErrorIs(t, err, ir.ErrKey)
			assert.ErrorContains(t, err, `missing key in state_dict: "l.bias"`)
			assert.ErrorContains(t, err, `unexpected key in state_dict: "x"`)
		})
		t.Run(form+", other shapes", func(t *testing.T) {
			_, err := Open(file, WeightsFrom(write(t, form, map[string]*Tensor{"l.weight": tensors["l.bias"], "l.bias": tensors["l.bias"]})))
			require.ErrorIs(t, err, ir.ErrFormat)
			assert.ErrorContains(t, err, "weight l.weight: graph and state dict disagree")
		})
	}

	_, err = Open(file, WeightsFrom(filepath.Join("testdata", "torchsave", "checkpoint.pt")))
	assert.ErrorContains(t, err, `its keys are "epoch", "model", "optimizer"`)
	_, err = Open(file, WeightsFrom(filepath.Join("testdata", "torchsave", "checkpoint.pt"), "model"))
	assert.ErrorContains(t, err, `unexpected key in state_dict: "0.weight"`)
	_, err = Open(file, WeightsFrom(filepath.Join(t.TempDir(), "none")))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(file, WeightsFrom(file))
	assert.ErrorContains(t, err, "this is an exported program, not a torch.save file")
}

// TestWeightsFromTied leaves one name of a tied pair out, as safetensors does.
func TestWeightsFromTied(t *testing.T) {
	file := filepath.Join(fixtures(t, "pt2/2.6.0"), "tied_weights", "model.pt2")
	p, err := Open(file)
	require.NoError(t, err)
	defer p.Close()
	require.Same(t, p.Tensor("emb.weight").Storage, p.Tensor("head.weight").Storage)
	tensors := maps.Collect(p.State())
	delete(tensors, "head.weight")
	path := filepath.Join(t.TempDir(), "weights.safetensors")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, WriteSafetensors(f, tensors, nil))
	require.NoError(t, f.Close())
	q, err := Open(file, WeightsFrom(path))
	require.NoError(t, err)
	defer q.Close()
	assert.Same(t, q.Tensor("emb.weight").Storage, q.Tensor("head.weight").Storage)
}
