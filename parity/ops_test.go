package parity

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// callTensors is the file of tensors of the calls below: two and four float32.
func callTensors(t *testing.T) string {
	t.Helper()
	var data []byte
	for _, x := range []float32{1, 2, 3, 4, -1, -2} {
		data = binary.NativeEndian.AppendUint32(data, math.Float32bits(x))
	}
	header, err := json.Marshal(map[string]any{
		"a": map[string]any{"dtype": "F32", "shape": []int{4}, "data_offsets": []int{0, 16}},
		"b": map[string]any{"dtype": "F32", "shape": []int{2}, "data_offsets": []int{16, 24}},
	})
	require.NoError(t, err)
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return string(append(append(file, header...), data...))
}

func TestRecordedCalls(t *testing.T) {
	testenv.Libtorch(t)
	const (
		a22 = `{"dtype":"float32","size":[2,2],"s":"a"}`
		b2  = `{"dtype":"float32","size":[2],"s":"b"}`
	)
	tests := []struct {
		name, call string
		want       string // what is wrong; "" for nothing
	}{
		{"the right overload and result", `{"fn":"torch.neg","args":[{"t":0}],"tensors":[{"dtype":"float32","size":[2],"s":"a"},` + b2 + `],"inputs":1,"out":{"t":1},"aten":["aten::neg"]}`, ""},
		{"also as torch.fx prints it", `{"fn":"torch.linalg.det","fx":"torch._C._linalg.linalg_det","args":[{"t":0}],"tensors":[` + a22 + `,{"dtype":"float32","size":[],"s":"b","offset":1}],"inputs":1,"out":{"t":1}}`, ""},
		{"a dispatcher call", `{"fn":"aten::neg","args":[{"t":0}],"tensors":[{"dtype":"float32","size":[2],"s":"a"},` + b2 + `],"inputs":1,"out":{"t":1}}`, ""},
		{"another overload", `{"fn":"torch.neg","args":[{"t":0}],"tensors":[` + b2 + `,` + b2 + `],"inputs":1,"out":{"t":1},"aten":["aten::negative"]}`, "line 1: expected the overloads aten::negative, called aten::neg"},
		{"other elements", `{"fn":"torch.abs","args":[{"t":0}],"tensors":[` + b2 + `,` + b2 + `],"inputs":1,"out":{"t":1}}`, "2 of 2 elements differ, by at most 4, the first at 0: expected -1, got 1"},
		{"another shape", `{"fn":"torch.abs","args":[{"t":0}],"tensors":[` + b2 + `,` + a22 + `],"inputs":1,"out":{"t":1}}`, "shape: expected [2 2], got [2]"},
		{"another dtype", `{"fn":"torch.abs","args":[{"t":0}],"tensors":[` + b2 + `,{"dtype":"int64","size":[2],"s":"a"}],"inputs":1,"out":{"t":1}}`, "dtype: expected int64, got float32"},
		{"other strides", `{"fn":"torch.Tensor.clone","args":[{"t":0}],"tensors":[` + a22 + `,{"dtype":"float32","size":[2,2],"stride":[1,2],"s":"a"}],"inputs":1,"out":{"t":1}}`, "strides: expected [1 2], got [2 1]"},
		{"a view", `{"fn":"torch.t","args":[{"t":0}],"tensors":[` + a22 + `,{"dtype":"float32","size":[2,2],"stride":[1,2],"alias":0,"s":"a"}],"inputs":1,"out":{"t":1}}`, ""},
		{"a view that should be a copy", `{"fn":"torch.t","args":[{"t":0}],"tensors":[` + a22 + `,{"dtype":"float32","size":[2,2],"stride":[1,2],"s":"a"}],"inputs":1,"out":{"t":1}}`, "expected memory of its own, got that of argument 0"},
		{"a copy that should be a view", `{"fn":"torch.clone","args":[{"t":0}],"tensors":[` + a22 + `,{"dtype":"float32","size":[2,2],"alias":0,"s":"a"}],"inputs":1,"out":{"t":1}}`, "expected the memory of argument 0, got another"},
		{"in place", `{"fn":"torch.Tensor.neg_","args":[{"t":0}],"tensors":[{"dtype":"float32","size":[2],"s":"a"},` + b2 + `],"inputs":1,"out":{"t":0},"changed":{"0":1}}`, ""},
		{"no argument itself", `{"fn":"torch.neg","args":[{"t":0}],"tensors":[{"dtype":"float32","size":[2],"s":"a"}],"inputs":1,"out":{"t":0}}`, "expected argument 0 itself, got another tensor"},
		{"a change that was not recorded", `{"fn":"torch.Tensor.neg_","args":[{"t":0}],"tensors":[{"dtype":"float32","size":[2],"s":"a"}],"inputs":1,"out":null,"changed":{}}`, "expected None, got f32[2] cpu"},
		{"a change of another argument", `{"fn":"torch.Tensor.neg_","args":[{"t":0}],"tensors":[{"dtype":"float32","size":[2],"s":"a"},` + b2 + `],"inputs":1,"out":{"t":1},"aten":["aten::neg_"]}`, "expected memory of its own, got that of argument 0"},
		{"a random result", `{"fn":"torch.rand_like","args":[{"t":0}],"tensors":[` + b2 + `,` + b2 + `],"inputs":1,"out":{"t":1},"random":true}`, ""},
		{"numbers", `{"fn":"operator.truediv","args":[7,{"f":2.0}],"tensors":[],"inputs":0,"out":{"f":3.5}}`, ""},
		{"another number", `{"fn":"operator.floordiv","args":[7,2],"tensors":[],"inputs":0,"out":4}`, "expected 4, got 3"},
		{"a tuple", `{"fn":"torch.Tensor.size","args":[{"t":0}],"tensors":[` + a22 + `],"inputs":1,"out":{"tuple":[2,2]}}`, ""},
		{"a list for a tuple", `{"fn":"torch.ops.aten.split.Tensor","args":[{"t":0},1],"tensors":[` + b2 + `],"inputs":1,"out":{"tuple":[1,1]}}`, "expected a tuple, got"},
		{"a function that is unknown", `{"fn":"torch.nothing_of_that_name","args":[],"tensors":[],"inputs":0,"out":null}`, "expected one that is implemented here"},
		{"a recorded error", `{"fn":"torch.add","args":[{"t":0},"a"],"tensors":[` + b2 + `],"inputs":1,"error":"TypeError","message":"add(): argument 'other' (position 2) must be Tensor, not str","regex":"must be Tensor"}`, ""},
		{"an error that does not come", `{"fn":"torch.neg","args":[{"t":0}],"tensors":[` + b2 + `],"inputs":1,"error":"TypeError","message":"no"}`, "expected TypeError, it ran"},
		{"an error of another class", `{"fn":"torch.add","args":[{"t":0},"a"],"tensors":[` + b2 + `],"inputs":1,"error":"ValueError","message":"no"}`, "expected a value error as ValueError, got a type error"},
		{"an error of another text", `{"fn":"torch.add","args":[{"t":0},"a"],"tensors":[` + b2 + `],"inputs":1,"error":"TypeError","message":"no","regex":"too many"}`, `expected an error that fits "too many"`},
		{"an error about another argument", `{"fn":"torch.add","args":[{"t":0},"a"],"tensors":[` + b2 + `],"inputs":1,"error":"TypeError","message":"argument 'alpha' must be"}`, "expected an error that names argument alpha"},
		{"a value of an unknown kind", `{"fn":"torch.neg","args":[{"nothing":0}],"tensors":[],"inputs":0,"out":null}`, `recorded value of unknown kind "nothing"`},
		{"a tensor that is not there", `{"fn":"torch.neg","args":[{"t":3}],"tensors":[],"inputs":0,"out":null}`, "expected one of 0 tensors, got 3"},
		{"a key that is not there", `{"fn":"torch.neg","args":[{"t":0}],"tensors":[{"dtype":"float32","size":[2],"s":"z"}],"inputs":1,"out":null}`, `expected elements under key "z"`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			root := writeFiles(t, map[string]string{publicCalls: tc.call + "\n", "tensors.safetensors": callTensors(t)})
			report, err := Run(t.Context(), []string{root}, Options{})
			require.NoError(t, err)
			require.Len(t, report.Results, 1)
			res := report.Results[0]
			if tc.want == "" {
				assert.Equal(t, Passed, res.Status, "%v", res.Faults)
				assert.Equal(t, "1 call", res.Note)
				return
			}
			assert.Equal(t, Failed, res.Status)
			require.Len(t, res.Faults, 1)
			assert.Contains(t, res.Faults[0], tc.want)
		})
	}
}

func TestFindCalls(t *testing.T) {
	root := writeFiles(t, map[string]string{
		"ops/aten.jsonl":   `{"fn":"aten::neg"}` + "\n" + `{"fn":"aten::abs"}` + "\n" + `{"fn":"aten::neg"}`,
		"ops/errors.jsonl": `{"fn":"torch.add"}`,
	})
	cases, err := Find([]string{root, root + "/ops", root + "/ops/aten.jsonl"}, nil)
	require.NoError(t, err)
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	assert.Equal(t, []string{"cases/ops/aten/aten::abs", "cases/ops/aten/aten::neg", "cases/ops/errors/torch.add"}, names)
	assert.Len(t, cases[1].calls.lines, 2)
	assert.Equal(t, 3, cases[1].calls.lines[1].number)

	cases, err = Find([]string{root + "/ops/aten.jsonl"}, regexp.MustCompile("abs$"))
	require.NoError(t, err)
	require.Len(t, cases, 1)
	assert.Equal(t, "ops/aten/aten::abs", cases[0].Name)

	_, err = Find([]string{writeFiles(t, map[string]string{"ops/aten.jsonl": "{"})}, nil)
	assert.ErrorContains(t, err, "line 1: expected a recorded call")
}

// Many failing calls of one function are counted and not all described.
func TestManyFaults(t *testing.T) {
	testenv.Libtorch(t)
	calls := ""
	for range mostFaults + 5 {
		calls += `{"fn":"operator.add","args":[1,2],"tensors":[],"inputs":0,"out":4}` + "\n"
	}
	root := writeFiles(t, map[string]string{publicCalls: calls, "tensors.safetensors": callTensors(t)})
	report, err := Run(t.Context(), []string{root}, Options{})
	require.NoError(t, err)
	res := report.Results[0]
	assert.Equal(t, "15 of 15 calls", res.Note)
	require.Len(t, res.Faults, mostFaults+1)
	assert.Equal(t, "and 5 more calls", res.Faults[mostFaults])
}
