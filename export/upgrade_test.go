package export

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// ofRelease is a program of one call, as another release of torch saved it. The
// call returns linear and further tensors, or nothing.
func ofRelease(t *testing.T, version, target string, inputs list, returns ...string) *testArchive {
	a := takeApart(t, "linear.pt2")
	a.program(func(o object) {
		o["torch_version"] = version
		call := object{"target": target, "inputs": inputs, "metadata": object{}}
		tables := o.graph().at("tensor_values")
		outputs := list{}
		for _, name := range returns {
			outputs = append(outputs, object{"as_tensor": object{"name": name}})
			tables[name] = tables["linear"]
		}
		call["outputs"] = outputs
		if len(returns) == 0 {
			call["outputs"] = list{object{"as_none": true}}
			o.graph()["nodes"] = list{call, o.node(0)}
		} else {
			o.graph()["nodes"] = list{call}
		}
	})
	return a
}

func tensorArg(name string) object { return named(name, "as_tensor", object{"name": "x"}, 1) }

// Programs of earlier releases whose operators changed since open as programs of
// the operators that are here, where that is sure.
func TestUpgrades(t *testing.T) {
	tests := []struct {
		name, version, target string
		inputs                list
		returns               []string
		want                  string
	}{
		{"an argument that was renamed", "2.13.0", "torch.ops.aten._pdist_backward.default",
			list{tensorArg("grad"), tensorArg("self"), named("p", "as_float", 2.0, 1), tensorArg("pdist")}, []string{"linear"},
			"torch.ops.aten._pdist_backward.default](args = (%x, %x, 2.0, %x), kwargs = {})"},
		{"an argument that went, at its default", "2.6.0", "torch.ops.aten._cslt_sparse_mm.default",
			list{tensorArg("compressed_A"), tensorArg("dense_B"), named("split_k_one_kernel", "as_bool", true, 2)}, []string{"linear"},
			"torch.ops.aten._cslt_sparse_mm.default](args = (%x, %x), kwargs = {})"},
		{"an argument that came", "2.5.1", "torch.ops.aten._assert_tensor_metadata.default",
			list{tensorArg("a"), named("dtype", "as_scalar_type", 7, 2)}, nil,
			"torch.ops.aten._assert_tensor_metadata.default](args = (%x,), kwargs = {dtype: torch.float32})"},
		{"an integer that may be a symbol now", "2.5.1", "torch.ops.aten.tril.default", list{tensorArg("self"), named("diagonal", "as_int", -1, 1)}, []string{"linear"},
			"torch.ops.aten.tril.default](args = (%x, -1), kwargs = {})"},
		{"cholesky", "2.13.0", "torch.ops.aten.cholesky.default", list{tensorArg("self"), named("upper", "as_bool", true, 1)}, []string{"linear"},
			"torch.ops.aten.linalg_cholesky.default](args = (%x,), kwargs = {upper: True})"},
		{"qr", "2.13.0", "torch.ops.aten.qr.default", list{tensorArg("self")}, []string{"linear", "r"},
			"torch.ops.aten.linalg_qr.default](args = (%x,), kwargs = {})"},
		{"qr of all columns", "2.5.1", "torch.ops.aten.qr.default", list{tensorArg("self"), named("some", "as_bool", false, 1)}, []string{"linear", "r"},
			"torch.ops.aten.linalg_qr.default](args = (%x, complete), kwargs = {})"},
		{"qr of some columns", "2.5.1", "torch.ops.aten.qr.default", list{tensorArg("self"), named("some", "as_bool", true, 1)}, []string{"linear", "r"},
			"torch.ops.aten.linalg_qr.default](args = (%x, reduced), kwargs = {})"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := ofRelease(t, test.version, test.target, test.inputs, test.returns...).open()
			require.NoError(t, err)
			assert.Contains(t, p.Graph.String(), test.want)
			assert.Equal(t, test.version, p.TorchVersion)
		})
	}
}

// What cannot be taken over is an error that says which releases have it.
func TestNoUpgrades(t *testing.T) {
	x := list{tensorArg("self")}
	old := ir.NewCatalogue("2.11.0", []*ir.Schema{schemaOf(t, "aten::stft(Tensor self, int n_fft) -> Tensor"), schemaOf(t, "aten::relu(Tensor self) -> Tensor")})
	tests := []struct {
		name, version, target string
		inputs                list
		operators             *ir.Catalogue
		class                 *ir.Class
		says                  string
	}{
		{"an operator that went", "2.5.1", "torch.ops.aten.align_as.default", x, nil, ir.ErrUnsupported,
			"unknown operator aten::align_as.default in libtorch 2.15.0; torch 2.5 to 2.12 have it"},
		{"an operator that came later", "2.15.0", "torch.ops.aten.linalg_polar.default", x, old, ir.ErrUnsupported,
			"unknown operator aten::linalg_polar.default in libtorch 2.11.0; torch 2.14 and later have it"},
		{"an operator of a later torch", "2.17.0", "torch.ops.aten.linalg_polaar.default", x, nil, ir.ErrUnsupported,
			"unknown operator aten::linalg_polaar.default in libtorch 2.15.0; the program is of torch 2.17, which is newer; the nearest one is aten::linalg_polar"},
		{"an operator of no torch", "2.15.0", "torch.ops.aten.reluu.default", x, nil, ir.ErrUnsupported,
			"unknown operator aten::reluu.default in libtorch 2.15.0; the nearest one is aten::relu"},
		{"an operator of Python", "2.15.0", "torch.ops.prims.sin.default", x, nil, ir.ErrUnsupported,
			"unknown operator prims::sin.default in libtorch 2.15.0, which has none of prims: PyTorch defines those in Python; decompose the program before it is saved"},
		{"an operator of a library", "2.15.0", "torch.ops.mine.sin.default", x, nil, ir.ErrUnsupported,
			"unknown operator mine::sin.default in libtorch 2.15.0, which has none of mine; open the library that defines them first"},
		{"an argument that came later", "2.15.0", "torch.ops.aten.stft.default",
			append(list{named("n_fft", "as_int", 4, 1), named("align_to_window", "as_bool", true, 2)}, x...), old, ir.ErrUnsupported,
			`aten::stft has no argument "align_to_window" in libtorch 2.11.0; torch 2.7 and later have it`},
		{"an argument that went, with a say", "2.6.0", "torch.ops.aten._cslt_sparse_mm.default",
			list{tensorArg("compressed_A"), tensorArg("dense_B"), named("split_k_one_kernel", "as_bool", false, 2)}, nil, ir.ErrUnsupported,
			`aten::_cslt_sparse_mm has no argument "split_k_one_kernel" in libtorch 2.15.0; torch 2.6 to 2.7 have it`},
		{"an argument that became another", "2.8.0", "torch.ops.aten._fused_rms_norm.default",
			list{tensorArg("input"), named("normalized_shape_ndim", "as_int", 1, 1), tensorArg("weight"), named("eps", "as_float", 1e-5, 1)}, nil, ir.ErrFormat,
			"argument normalized_shape of aten::_fused_rms_norm is missing; in torch 2.8 it is aten::_fused_rms_norm(Tensor input, int normalized_shape_ndim, Tensor weight, float eps) -> Tensor"},
		{"fewer results", "2.8.0", "torch.ops.aten._fused_rms_norm.default", nil, nil, ir.ErrFormat,
			"aten::_fused_rms_norm returns 2 values: expected as many outputs, got 1; in torch 2.8 it is"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var opts []Option
			if test.operators != nil {
				opts = append(opts, Operators(test.operators))
			}
			_, err := ofRelease(t, test.version, test.target, test.inputs, "linear").open(opts...)
			assert.ErrorIs(t, err, test.class)
			assert.ErrorContains(t, err, test.says)
		})
	}
}

// A program of a later torch than runs it opens where all its operators are there, and says
// of which it is.
func TestAProgramOfALaterRelease(t *testing.T) {
	old := ir.NewCatalogue("2.11.0", []*ir.Schema{schemaOf(t, "aten::relu(Tensor self) -> Tensor")})
	tests := []struct {
		version   string
		operators *ir.Catalogue
		says      string
	}{
		{"2.15.0", old, "models/model.json: the program is of torch 2.15.0, which is newer than libtorch 2.11.0: operators may have changed since"},
		{"2.11.3", old, ""},
		{"2.9.1", old, ""},
		{"2.15.0", ir.Operators(), ""},
		{"2.16.0", ir.Operators(), "models/model.json: the program is of torch 2.16.0, which is newer than libtorch 2.15.0: operators may have changed since"},
		{"", old, ""},
	}
	for _, test := range tests {
		p, err := ofRelease(t, test.version, "torch.ops.aten.relu.default", list{tensorArg("self")}, "linear").open(Operators(test.operators))
		require.NoError(t, err, test.version)
		if test.says == "" {
			assert.Empty(t, p.Warnings, test.version)
		} else {
			assert.Equal(t, []string{test.says}, p.Warnings, test.version)
		}
	}
}

func schemaOf(t *testing.T, text string) *ir.Schema {
	s, err := ir.ParseSchema(text)
	require.NoError(t, err)
	return s
}

// What earlier scans could do beside is refused, not dropped.
func TestScanOfEarlierForm(t *testing.T) {
	scan := func(edit func(inputs list)) error {
		a := takeApartFile(t, filepath.Join("..", "parity", "testdata", "releases", "2.6.0", "scan_forward", "model.pt2"))
		a.edit("serialized_exported_program.json", func(o object) {
			for i := range o.graph()["nodes"].(list) {
				if o.node(i)["target"] == "torch.ops.higher_order.scan" {
					edit(o.node(i)["inputs"].(list))
				}
			}
		})
		p, err := a.open()
		if err == nil {
			assert.Contains(t, p.Graph.String(), "torch.ops.higher_order.scan](args = (%scan_combine_graph_0, [%c], [%x], []), kwargs = {})")
		}
		return err
	}
	require.NoError(t, scan(func(list) {}))
	for at, arg := range map[int]object{3: {"as_int": 1}, 4: {"as_bool": true}} {
		err := scan(func(inputs list) { inputs[at].(map[string]any)["arg"] = arg })
		assert.ErrorIs(t, err, ir.ErrUnsupported)
		assert.ErrorContains(t, err, "scan: expected dimension 0 and forwards, as torch 2.7 and later scan")
	}
}
