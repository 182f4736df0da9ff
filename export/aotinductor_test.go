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

// compiledSource is what torch 2.15 writes, of which the lines that tell nothing are left out.
const compiledSource = `
    void* cpp_fused_mul_relu_0{nullptr};
    inputs_info_[0].name = "arg2_1";
    inputs_info_[1].name = "arg3_1";
    constants_info_[0].name = "fc_weight";
    constants_info_[0].dtype = static_cast<int32_t>(cached_torch_dtype_float32);
    constants_info_[0].type = static_cast<int32_t>(torch::aot_inductor::ConstantType::Parameter);
    constants_info_[0].shape = {2, 4};
    constants_info_[0].stride = {4, 1};
    constants_info_[0].original_fqn = "fc.weight";
    in_spec_ = R"([1, {"type": "builtins.tuple"}])";
    outputs_info_[0].name = "output0";
    int32_t arg2_1_expected_dtype = aoti_torch_dtype_float32();
    if (arg2_1_size[0] < 2) {
    if (arg2_1_size[0] > 64) {
    if (4 != arg2_1_size[1]) {
        << "expected: " << arg2_1_expected_device_type << "0(cpu), "
    int32_t arg9_expected_dtype = aoti_torch_dtype_float32();
    int64_t s77 = arg2_1_size[0];
    if (7 != arg2_1_size[40]) {
    // Topologically Sorted Source Nodes: [linear, y], Original ATen: [aten.addmm, aten.mm]
`

func compiledArchive(t *testing.T, files map[string]string) string {
	records := map[string]string{"archive_format": "pt2", "archive_version": "0"}
	for name, text := range files {
		records["data/aotinductor/"+name] = text
	}
	path := filepath.Join(t.TempDir(), "model.pt2")
	require.NoError(t, os.WriteFile(path, scriptArchive(t, records), 0o600))
	return path
}

func TestReadCompiled(t *testing.T) {
	path := compiledArchive(t, map[string]string{
		"model/c.wrapper.cpp": compiledSource, "model/c.wrapper.so": "\x7fELF", "model/c.wrapper_metadata.json": `{"AOTI_DEVICE_KEY": "cpu"}`, "other/x.so": "",
	})
	format, err := Identify(path)
	require.NoError(t, err)
	assert.Equal(t, AOTInductorFile, format)
	all, err := ReadCompiled(path)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, CompiledProgram{
		Name:     "model",
		Metadata: map[string]string{"AOTI_DEVICE_KEY": "cpu"},
		Inputs:   []CompiledValue{{Name: "arg2_1", Type: "f32[s77, 4] cpu", Bounds: []string{"2 <= s77 <= 64"}}, {Name: "arg3_1", Type: "tensor[]"}},
		Outputs:  []CompiledValue{{Name: "output0"}},
		State:    []CompiledTensor{{"fc.weight", "parameter", ir.Float32, []int64{2, 4}}},
		Calls:    map[string]int{"aten::addmm": 1, "aten::mm": 1},
		Kernels:  []string{"cpp_fused_mul_relu_0"},
		Files:    []CompiledFile{{"c.wrapper.cpp", int64(len(compiledSource))}, {"c.wrapper.so", 4}, {"c.wrapper_metadata.json", 26}},
	}, all[0])
	assert.Equal(t, int64(32), all[0].State[0].Bytes())
	assert.Equal(t, "other", all[1].Name)
}

func TestReadCompiledHostile(t *testing.T) {
	tests := []struct{ name, file, text, says string }{
		{"metadata that is no JSON", "model/x_metadata.json", "{", "record data/aotinductor/model/x_metadata.json"},
		{"metadata of other things", "model/x_metadata.json", `{"a": 1}`, "expected"},
		{"places out of order and out of bounds", "model/x.wrapper.cpp", "inputs_info_[99999999999999999999].name = \"a\";\ninputs_info_[7].name = \"b\";\nconstants_info_[0].shape = {1};\n", ""},
		{"sizes beyond all bounds", "model/x.wrapper.cpp", "constants_info_[0].name = \"a\";\nconstants_info_[0].dtype = x(dtype_float32);\nconstants_info_[0].shape = {" +
			strings.Repeat("9223372036854775807, ", 500) + "1};\n", ""},
		{"many dimensions", "model/x.wrapper.cpp", "inputs_info_[0].name = \"a\";\n" + strings.Repeat("    if (1 != a_size[63]) {\n", 1000), ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			path := compiledArchive(t, map[string]string{tc.file: tc.text})
			atMost(t, func() {
				all, err := ReadCompiled(path)
				if tc.says != "" {
					require.ErrorIs(t, err, ir.ErrFormat)
					assert.ErrorContains(t, err, tc.says)
					return
				}
				require.NoError(t, err)
				for _, x := range all[0].State {
					assert.GreaterOrEqual(t, x.Bytes(), int64(0), fmt.Sprint(x.Sizes))
				}
			})
		})
	}
}
