package fxcase

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Seed starts the random numbers as they were started before the program made its
// module.
func (c *Case) Seed() {
	c.t.Helper()
	require.NoError(c.t, torch.ManualSeed(0))
}

// Runs compares the tensors of a module, and what it returns for the recorded
// inputs, with what was recorded of them. State must have equal bits; results are
// of the recording machine's kernels, and are compared within 1e-4, and 1e-5 of
// what is near zero.
func (c *Case) Runs(gm *ir.GraphModule) {
	c.t.Helper()
	c.State(gm)
	in, inputs := c.tensors("inputs.safetensors")
	args := make([]any, len(in))
	for i := range in {
		args[i] = inputs(fmt.Sprintf("in.%d", i))
	}
	require.NoError(c.t, torch.ManualSeed(2))
	out, err := interpreter.New(gm).Run(context.Background(), args...)
	require.NoError(c.t, err)
	want, expected := c.tensors("expected.safetensors")
	got := results(out, nil)
	require.Len(c.t, got, len(want), "tensors of the result")
	for i, x := range got {
		w := expected(fmt.Sprintf("out.%d", i))
		require.Equal(c.t, w.Shape(), x.Shape(), "shape of result %d", i)
		same, err := torch.Call("aten::allclose", x, w, 1e-4, 1e-5)
		require.NoError(c.t, err)
		assert.Equal(c.t, true, same, "result %d: expected %s, got %s", i, w, x)
		_ = x.Close()
	}
}

// State compares the tensors of a module, under every path that names them, with
// the recorded ones, bit by bit.
func (c *Case) State(gm *ir.GraphModule) {
	c.t.Helper()
	names, recorded := c.tensors("state.safetensors")
	got := map[string]*torch.Tensor{}
	state(gm, "", got)
	var have []string
	for name := range got {
		have = append(have, name)
	}
	assert.ElementsMatch(c.t, names, have, "names of the state")
	for _, name := range names {
		if x := got[name]; x != nil {
			w := recorded(name)
			assert.Equal(c.t, w.Shape(), x.Shape(), name)
			assert.True(c.t, bytes.Equal(elements(c, w), elements(c, x)), "%s: expected %s, got %s", name, w, x)
		}
	}
}

func elements(c *Case, x *torch.Tensor) []byte {
	data, err := x.Bytes()
	require.NoError(c.t, err)
	return data
}

// state collects the tensors below a path.
func state(gm *ir.GraphModule, above string, into map[string]*torch.Tensor) {
	for path, v := range gm.Attrs() {
		switch v := v.(type) {
		case *torch.Tensor:
			into[above+path] = v
		case *ir.GraphModule:
			state(v, above+path+".", into)
		case nn.Module:
			for t := range nn.Tensors(v) {
				if t.Tensor != nil {
					into[above+path+"."+t.Name] = t.Tensor
				}
			}
		}
	}
}

// tensors returns the names in a file of the case, none where there is no file,
// and what reads one of them.
func (c *Case) tensors(file string) ([]string, func(name string) *torch.Tensor) {
	c.t.Helper()
	name := filepath.Join(c.dir, file)
	if _, err := os.Stat(name); os.IsNotExist(err) {
		return nil, nil
	}
	f, err := export.OpenSafetensors(name)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = f.Close() })
	return f.Names(), func(name string) *torch.Tensor {
		c.t.Helper()
		stored, err := f.Tensor(name)
		require.NoError(c.t, err)
		data, err := stored.Bytes()
		require.NoError(c.t, err)
		shape := make([]int, len(stored.Sizes))
		for i, n := range stored.Sizes {
			shape[i] = int(n)
		}
		x, err := torch.FromBytes(stored.DType, shape, data)
		require.NoError(c.t, err)
		c.t.Cleanup(func() { _ = x.Close() })
		return x
	}
}

// results collects the tensors of a result in their order.
func results(v any, into []*torch.Tensor) []*torch.Tensor {
	switch v := v.(type) {
	case *torch.Tensor:
		return append(into, v)
	case []any:
		for _, item := range v {
			into = results(item, into)
		}
	case ir.PyTuple:
		return results([]any(v), into)
	case *ir.PyDict:
		for _, item := range v.All() {
			into = results(item, into)
		}
	}
	return into
}
