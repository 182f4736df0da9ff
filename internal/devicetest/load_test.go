package devicetest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/ir"
)

// The weights of a program are put on the device as it is loaded, and what is saved from
// there has the weights of the file.
func TestAProgramIsLoadedToTheDevice(t *testing.T) {
	d, cpu := Open(t), ir.NewDevice(ir.DeviceCPU, 0)
	path := filepath.Join("..", "..", "examples", "digits", "testdata", "digits.pt2")
	load := func(path string, opts ...torchfx.LoadOption) *torchfx.Program {
		p, err := torchfx.Load(path, opts...)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, p.Close()) })
		return p
	}
	state := func(p *torchfx.Program, want ir.Device) map[string][]float32 {
		all := map[string][]float32{}
		for name, x := range p.State() {
			assert.Equal(t, want.Kind(), x.Device().Kind(), name)
			host := x.Cpu()
			if host.DType() == ir.Float32 {
				all[name] = elements(t, host)
			}
		}
		require.NotEmpty(t, all)
		return all
	}
	here, there := load(path), load(path, torchfx.OnDevice(d.Device))
	want := state(here, cpu)
	assert.Equal(t, want, state(there, d.Device))

	saved := filepath.Join(t.TempDir(), "saved.pt2")
	require.NoError(t, there.Save(saved))
	assert.Equal(t, want, state(load(saved), cpu))
}
