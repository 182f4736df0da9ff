package torchops

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// usable reports whether a public name can be used here, by its kind: functions
// and classes are called, properties read; constants are values that graphs hold.
func usable(name, kind string) bool {
	short := name[strings.LastIndexByte(name, '.')+1:]
	switch kind {
	case "function", "class", "classmethod":
		return Implemented(ir.FuncOf(name))
	case "property":
		return Implemented(ir.FuncOf(name + ".__get__"))
	case "dtype":
		_, err := ir.ParseDType(short)
		return err == nil
	case "layout":
		for l := ir.Strided; l <= ir.Jagged; l++ {
			if l.String() == name {
				return true
			}
		}
	case "memory_format":
		for f := ir.ContiguousFormat; f <= ir.ChannelsLast3D; f++ {
			if f.String() == name || short == "legacy_contiguous_format" {
				return true
			}
		}
	default:
		return true // plain values of Python
	}
	return false
}

// Every public name of torch, its tensors, torch.nn.functional, linalg, fft and
// special, of operator and math is known, or left out for a written reason.
func TestPublicNames(t *testing.T) {
	text, err := os.ReadFile("testdata/public_names.txt")
	require.NoError(t, err)
	excluded := maps.Clone(leftOut())
	type count struct{ present, used, excluded, missing int }
	counts := map[string]*count{}
	for line := range strings.Lines(string(text)) {
		name, kind, ok := strings.Cut(strings.TrimSpace(line), "\t")
		require.True(t, ok, line)
		module := name[:strings.LastIndexByte(name, '.')]
		c := counts[module]
		if c == nil {
			c = &count{}
			counts[module] = c
		}
		c.present++
		_, out := excluded[name]
		delete(excluded, name)
		switch known := usable(name, kind); {
		case known:
			c.used++
			assert.False(t, out, "%s is excluded, and known", name)
		case out:
			c.excluded++
		default:
			c.missing++
			assert.Failf(t, "missing", "%s, a %s: add it, or a reason to excluded_names.txt", name, kind)
		}
	}
	assert.Empty(t, excluded, "excluded, and no public name")
	for _, module := range slices.Sorted(maps.Keys(counts)) {
		c := counts[module]
		t.Logf("%-20s %4d present, %4d in use, %3d excluded, %d missing", module, c.present, c.used, c.excluded, c.missing)
	}
}

// An operator that no device here has says which has it, when it is checked and when
// it is called.
func TestOperatorsOfOtherDevices(t *testing.T) {
	testenv.Libtorch(t)
	x := Ones(1, 2, 3, 4, 5)
	_, err := Call("aten::conv_depthwise3d", x, x, []int{1, 1, 1}, nil, []int{1, 1, 1}, []int{0, 0, 0}, []int{1, 1, 1})
	require.ErrorIs(t, err, ir.ErrNotImplemented)
	assert.ErrorContains(t, err, "'aten::conv_depthwise3d' with arguments from the 'CPU' backend")
	assert.ErrorContains(t, err, "PyTorch has a kernel for CUDA.")
	assert.NoError(t, Check(ir.OverloadOf("aten::conv2d")))
	for op := range otherDevices() {
		if o, err := libtorch.Find(op); err == nil {
			assert.False(t, o.HasKernel(ir.DeviceCPU), op)
		}
	}
}

// Each name that is left out stands below one reason, which Check gives.
func TestExcludedNames(t *testing.T) {
	n := 0
	for reason, names := range excludedByReason() {
		assert.NotEmpty(t, reason, "%v", names)
		n += len(names)
	}
	assert.Len(t, leftOut(), n, "a name stands twice")
	err := Check(ir.FuncOf("torch.Tensor.numpy"))
	require.ErrorIs(t, err, ir.ErrUnsupported)
	assert.EqualError(t, err, "method numpy is left out: memory of numpy and of other libraries of Python, which no value here is: return the tensor, whose elements Data reads")
	assert.ErrorContains(t, Check(ir.FuncOf("torch.compile")), "function torch.compile is left out: the compiler of Python code")
	assert.EqualError(t, Check(ir.FuncOf("torch.Tensor.relo")), "method relo: expected one that tensors have here; the nearest is relu")
	for name, near := range map[string]string{
		"torch.linalg.invv": "torch.linalg.inv", "torch.special.erff": "torch.special.erf", "torch._C._linalg.linalg_invv": "torch._C._linalg.linalg_inv",
		"torch.ops.aten.reluu": "torch.ops.aten.relu", "_operator.addd": "operator.add", "torch.Tensor.veiw": "view", "torch.Tensor.shap.__get__": "shape",
	} {
		assert.ErrorContains(t, Check(ir.FuncOf(name)), "; the nearest is "+near, name)
	}
}
