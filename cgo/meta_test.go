package libtorch_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// looks says what there is to know of a value but for its elements and its device:
// of tensors dtype, sizes, strides, offset and the lazy bits, of anything else the value.
func looks(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case *libtorch.Tensor:
		info, err := v.Info()
		if err != nil {
			return err.Error()
		}
		s := fmt.Sprintf("%s %v %v", info.DType, info.Sizes, info.Strides)
		if info.Layout.String() != "torch.strided" {
			s = fmt.Sprintf("%s %v %s", info.DType, info.Sizes, info.Layout)
		}
		if info.Offset != 0 {
			s += fmt.Sprintf(" from %d", info.Offset)
		}
		if info.Conj {
			s += " conj"
		}
		if info.Neg {
			s += " neg"
		}
		return s
	case []*libtorch.Tensor:
		items := make([]string, len(v))
		for i := range v {
			items[i] = looks(v[i])
		}
		return fmt.Sprint(items)
	case []any:
		items := make([]string, len(v))
		for i := range v {
			items[i] = looks(v[i])
		}
		return fmt.Sprint(items)
	}
	return fmt.Sprintf("%T %v", v, v)
}

// calls reads recorded calls, one a line.
func calls(t *testing.T, path string) iter.Seq2[*recorded, string] {
	return func(yield func(*recorded, string) bool) {
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var c recorded
			d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
			d.UseNumber()
			require.NoError(t, d.Decode(&c))
			if !yield(&c, lines.Text()) {
				return
			}
		}
		require.NoError(t, lines.Err())
	}
}

func replayOf(c *recorded, data *export.Safetensors, bare bool) *replay {
	return &replay{data: data, call: c, bases: map[int]*libtorch.Tensor{}, made: map[int]*libtorch.Tensor{}, bare: bare}
}

// Operators of which some calls cannot be told without elements.
var ofElements = []string{
	// the sizes of the result follow from elements
	"aten::_unique2", "aten::argwhere", "aten::bincount", "aten::index.Tensor", "aten::masked_select", "aten::masked_select.out", "aten::nonzero", "aten::nonzero.out", "aten::nonzero_numpy", "aten::one_hot", "aten::repeat_interleave.Tensor", "aten::repeat_interleave.self_Tensor", "aten::unique_consecutive", "aten::unique_dim", "aten::where", "aten::to_sparse", "aten::to_sparse.sparse_dim", "aten::_to_sparse", "aten::_to_sparse.sparse_dim",
	// lengths, ends and positions are read from tensors
	"aten::_ctc_loss.Tensor", "aten::ctc_loss.Tensor", "aten::linspace.Scalar_Tensor", "aten::linspace.Tensor_Scalar", "aten::linspace.Tensor_Scalar_out", "aten::linspace.Tensor_Tensor", "aten::logspace.Scalar_Tensor", "aten::logspace.Tensor_Scalar", "aten::logspace.Tensor_Scalar_out", "aten::logspace.Tensor_Tensor", "aten::narrow.Tensor", "aten::tensor_split.tensor_indices_or_sections",
	// the result is a number, or a check reads one
	"aten::_local_scalar_dense", "aten::allclose", "aten::corrcoef", "aten::cov", "aten::equal", "aten::is_nonzero", "aten::istft", "aten::item",
	// copies onto the CPU
	"aten::_to_copy", "aten::to.device", "aten::to.dtype_layout",
}

// Operators of which libtorch's own kernels of the device meta, and so PyTorch's,
// differ from the CPU.
var differOnMeta = map[string]string{
	"aten::addbmm_":            "the CPU gives self the sizes of the product, where self broadcasts to it",
	"aten::isin.Scalar_Tensor": "the CPU gives a number; on meta it is an empty list",
	"aten::linalg_lstsq.out":   "the CPU gives a solution of no elements new strides",
}

var needElements = regexp.MustCompile(`expected tensors with elements, got some on the device meta|item\(\) cannot be called on meta tensors|no data|to be on cpu, but it's on meta`)

// TestMetaCalls makes the recorded calls on tensors without elements and compares with
// the CPU: what the results look like, and what written arguments do.
func TestMetaCalls(t *testing.T) {
	testenv.Libtorch(t)
	dir := testenv.Fixtures(t, "ops")
	data, err := export.OpenSafetensors(filepath.Join(dir, "tensors.safetensors"))
	require.NoError(t, err)
	defer data.Close()
	same, listed, seen := 0, map[string]bool{}, 0
	for c, line := range calls(t, filepath.Join(dir, "aten.jsonl")) {
		if seen++; libtorch.Debug && seen%20 != 0 {
			continue // a collection before each crossing takes ten minutes for all
		}
		cpu, meta := replayOf(c, data, false), replayOf(c, data, true)
		want, err := cpu.make()
		if err == nil {
			var got []any
			if got, err = meta.make(); err == nil && looks(got) != looks(want) {
				err = fmt.Errorf("expected %s, got %s", looks(want), looks(got))
			}
			for i := range c.Tensors[:c.Inputs] {
				if a, b := looks(cpu.made[i]), looks(meta.made[i]); err == nil && a != b {
					err = fmt.Errorf("argument %d after the call: expected %s, got %s", i, a, b)
				}
			}
		}
		cpu.close()
		meta.close()
		switch {
		case errors.Is(err, errSparse), err != nil && testenv.Otherwise(t, c.Fn) != "":
		case err == nil:
			same++
		case slices.Contains(ofElements, c.Fn) && needElements.MatchString(err.Error()), differOnMeta[c.Fn] != "":
			listed[c.Fn] = true
		default:
			t.Errorf("%s: %v\n  %s", c.Fn, err, line[:min(400, len(line))])
		}
	}
	if libtorch.Debug {
		return
	}
	for _, fn := range append(ofElements, slices.Collect(maps.Keys(differOnMeta))...) {
		assert.True(t, listed[fn], "%s is listed and looks as on the CPU", fn)
	}
	assert.Greater(t, same, 8000)
}

// TestMetaKernels compares the bridge's own kernels of the device meta with calls that
// scripts/record_meta.py has recorded: with the CPU, where that computes, and with
// PyTorch's kernels otherwise; and errors with either.
func TestMetaKernels(t *testing.T) {
	testenv.Libtorch(t)
	for c, line := range calls(t, "testdata/meta.jsonl") {
		r := replayOf(c, nil, true)
		res, err := r.make()
		got := looks(res)
		if len(res) == 1 {
			got = looks(res[0])
		}
		r.close()
		if err != nil {
			got = "error: " + strings.SplitN(err.Error(), "\n", 2)[0]
			got = regexp.MustCompile(`CPU(\w+)Type`).ReplaceAllString(got, "torch.${1}Tensor") // as Python words it
		}
		want := c.CPU
		if strings.Contains(want, "Could not run") || asPyTorch[c.Fn] != "" {
			want = c.Meta
		}
		if got != want && !(strings.HasPrefix(want, "error") && got == c.Meta) && !(slices.Contains(ofElements, c.Fn) && needElements.MatchString(got)) {
			if testenv.Otherwise(t, c.Fn) != "" {
				continue
			}
			t.Errorf("%s: expected %s, got %s; PyTorch on meta: %s\n  %s", c.Fn, want, got, c.Meta, line[:min(300, len(line))])
		}
	}
}

// Each kernel is reached by a call that is recorded here or among the fixtures, or it
// is listed why not. TORCHFX_META_KERNELS names a file to write the kernels' names to,
// for scripts/record_meta.py.
func TestMetaKernelsAreCalled(t *testing.T) {
	testenv.Libtorch(t)
	dir := testenv.Fixtures(t, "ops")
	called := map[string]bool{}
	for _, path := range []string{"testdata/meta.jsonl", filepath.Join(dir, "aten.jsonl")} {
		for c := range calls(t, path) {
			called[c.Fn] = true
		}
	}
	own := metaKernels(t)
	if path := os.Getenv("TORCHFX_META_KERNELS"); path != "" {
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(own, "\n")), 0o600))
	}
	for _, fn := range own {
		assert.True(t, called[fn] || uncalled[fn] != "", "%s: expected a call of it, got none", fn)
	}
}

// metaKernels lists the operators in the tables of the bridge.
func metaKernels(t *testing.T) []string {
	var own []string
	for _, file := range []string{"metapointwise.h", "metalayers.h", "metalinalg.h"} {
		text, err := fs.ReadFile(libtorch.Sources(), "bridge/"+file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^    \{"([\w:.]+)",`).FindAllStringSubmatch(string(text), -1) {
			name := m[1]
			if !strings.Contains(name, "::") {
				name = "aten::" + name
			}
			if _, err := libtorch.Find(name); testenv.Otherwise(t, name) == "" {
				require.NoError(t, err)
			}
			own = append(own, name)
		}
	}
	require.Greater(t, len(own), 200)
	return own
}

// Operators that are compared with PyTorch's kernels and not with the CPU.
var asPyTorch = map[string]string{
	"aten::mkldnn_rnn_layer": "oneDNN alone knows how much it keeps for the gradient",
}

// Kernels that no recorded call reaches, with the reason.
var uncalled = map[string]string{
	"aten::convolution_overrideable": "no device of libtorch has it; it is for others",
	"aten::_dyn_quant_matmul_4bit":   "its weights are packed for one kind of processor",
	"aten::_weight_int4pack_mm":      "no kernel of the CPU, and PyTorch's own fails",
	"aten::baddbmm.dtype":            "no kernel of the CPU, and PyTorch's own fails",
	"mkl::_mkl_linear":               packed,
	"onednn::qconv_pointwise":        packed, "onednn::qconv_pointwise.tensor": packed, "onednn::qconv1d_pointwise": packed,
	"onednn::qconv2d_pointwise": packed, "onednn::qconv2d_pointwise.binary": packed, "onednn::qconv2d_pointwise.binary_tensor": packed,
	"onednn::qconv3d_pointwise": packed, "onednn::qlinear_pointwise": packed, "onednn::qlinear_pointwise.tensor": packed,
	"onednn::qlinear_pointwise.binary": packed, "onednn::qlinear_pointwise.binary_tensor": packed,
}

const packed = "its packed weights have no strides to write down"

// TestWithoutMeta compares the operators that run on the CPU and cannot be asked without
// elements with those that testdata/nometa.txt lists: operators on quantized, sparse and
// nested tensors, which PyTorch has no kernels for either, and such whose results depend
// on elements. TORCHFX_META_MISSING names a file to write the list to.
func TestWithoutMeta(t *testing.T) {
	testenv.OfRelease(t, "the list is of the operators of 2.15")
	all, err := libtorch.Operators()
	require.NoError(t, err)
	var missing []string
	for s := range all.All() {
		op, err := libtorch.Find(s.Op)
		require.NoError(t, err)
		if op.HasKernel(ir.DeviceCPU) && !op.HasKernel(ir.DeviceMeta) {
			missing = append(missing, s.Op)
		}
	}
	slices.Sort(missing)
	got := strings.Join(missing, "\n") + "\n"
	if path := os.Getenv("TORCHFX_META_MISSING"); path != "" {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile("testdata/nometa.txt")
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// Where convolutions and attention of such sizes are recorded at once, nothing of
// them has been computed, nor has memory for them been asked for.
func TestMetaComputesNothing(t *testing.T) {
	testenv.Libtorch(t)
	r := &replay{bare: true}
	defer r.close()
	empty := func(sizes ...int64) *libtorch.Tensor {
		v, err := r.op("aten::empty.memory_format", sizes, ir.Float32, nil, ir.NewDevice(ir.DeviceMeta, -1), nil, nil)
		require.NoError(t, err)
		return v.(*libtorch.Tensor)
	}
	const n = 100_000
	x := empty(1, 64, n, n) // 2.6 terabytes
	for _, c := range []struct {
		op   string
		args []any
		want string
	}{
		{"aten::conv2d", []any{x, empty(128, 64, 3, 3), empty(128), []int64{2, 2}, []int64{1, 1}, []int64{1, 1}, int64(1)}, "torch.float32 [1 128 50000 50000]"},
		{"aten::conv_transpose2d.input", []any{x, empty(64, 8, 2, 2), nil, []int64{2, 2}, []int64{0, 0}, []int64{0, 0}, int64(1), []int64{1, 1}}, "torch.float32 [1 8 200000 200000]"},
		{"aten::batch_norm", []any{x, empty(64), empty(64), empty(64), empty(64), true, 0.1, 1e-5, true}, "torch.float32 [1 64 100000 100000]"},
		{"aten::scaled_dot_product_attention", []any{x, x, x, nil, 0.0, false, nil, false}, "torch.float32 [1 64 100000 100000]"},
		{"aten::relu", []any{x}, "torch.float32 [1 64 100000 100000]"},
		{"aten::reflection_pad2d", []any{x, []int64{1, 1, 2, 2}}, "torch.float32 [1 64 100004 100002]"},
	} {
		t.Run(c.op, func(t *testing.T) {
			events, err := libtorch.Record(libtorch.Recording{Leaf: true}, nil, func() {
				v, err := r.op(c.op, c.args...)
				require.NoError(t, err)
				assert.Contains(t, looks(v), c.want)
			})
			require.NoError(t, err)
			for _, e := range events {
				for _, f := range e.Facts {
					assert.True(t, !f.Defined || f.Device.Kind() == ir.DeviceMeta, "%s computes on %s", e.Op, f.Device)
				}
			}
			assert.NotEmpty(t, events)
			libtorch.CloseRecorded(events)
		})
	}
}
