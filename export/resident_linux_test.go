package export

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// Opening a file verifies its checksums, and leaves no more of it in memory than is
// used: neither of a program, nor of a state dict.
func TestOpeningLeavesNothingInMemory(t *testing.T) {
	const elements, most = 16 << 20, 16 << 20 // 64 MB each of two weights
	folder := t.TempDir()
	weight := func() *Tensor {
		data := make([]byte, 4*elements)
		data[len(data)-1] = 1
		return &Tensor{Storage: NewStorage(data), DType: ir.Float32, Sizes: []int64{elements}, Strides: []int64{1}}
	}
	program, state := filepath.Join(folder, "p.pt2"), filepath.Join(folder, "s.pt")
	func() {
		g := ir.NewGraph()
		a, b := g.GetAttr("a"), g.GetAttr("b")
		sum := g.CallFunction(ir.OverloadOf("aten::add.Tensor"), []ir.Arg{a, b})
		sum.Meta().Set(ir.MetaVal, ir.TensorMeta{DType: ir.Float32, Sizes: []ir.Size{ir.SizeOf(elements)}, Strides: []ir.Size{ir.SizeOf(1)}})
		g.Output(ir.TupleOf(sum))
		m, err := ir.NewGraphModule(map[string]any{"a": weight(), "b": weight()}, g)
		require.NoError(t, err)
		p, err := Lift(m)
		require.NoError(t, err)
		require.NoError(t, Save(program, []*Program{p}))
		f, err := os.Create(state)
		require.NoError(t, err)
		require.NoError(t, WriteState(f, p.State()))
		require.NoError(t, f.Close())
	}()
	before := mappedResident(t)
	p, err := Open(program)
	require.NoError(t, err)
	defer p.Close()
	assert.Less(t, mappedResident(t)-before, most)
	s, err := OpenTorchSave(state)
	require.NoError(t, err)
	defer s.Close()
	assert.Less(t, mappedResident(t)-before, most)
	data := p.Tensor("a").Storage.Bytes()
	assert.Equal(t, byte(1), data[len(data)-1])

	whole, err := os.ReadFile(program)
	require.NoError(t, err)
	whole[len(whole)/3] ^= 4
	require.NoError(t, os.WriteFile(program+"x", whole, 0o600))
	_, err = Open(program + "x")
	assert.ErrorContains(t, err, "checksum is wrong")
}

// mappedResident is how many bytes of mapped files lie in memory.
func mappedResident(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "RssFile:"); ok {
			var kB int
			_, err := fmt.Sscan(rest, &kB)
			require.NoError(t, err)
			return kB << 10
		}
	}
	t.Skip("this system does not tell how much of mapped files lies in memory")
	return 0
}
