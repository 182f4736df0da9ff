package parity

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sample = Report{
	Took: 1500 * time.Millisecond,
	Results: []Result{
		{Case: "pt2/fine", Status: Passed, Note: "1 set", Told: []string{"input 0: expected at most 64 rows, got 65\nsecond line"}},
		{Case: "pt2/off", Status: Failed, Note: "2 sets", Diffs: []Diff{
			{Set: 0, Value: "output 0", Node: "relu (torch.ops.aten.relu.default)", Distance: Distance{MaxAbs: 0.25, MaxRel: math.Inf(1), ULPs: 1 << 60, Outside: 2, Total: 8}},
			{Set: 1, Value: "state running_mean", Problem: "dtype: expected float32, got float64"},
		}},
		{Case: "pt2/broken", Status: Failed, Faults: []string{"load: file is empty"}},
		{Case: "fx/later", Status: Skipped, Note: "no replay of this layout"},
	},
}

func TestWrite(t *testing.T) {
	var b strings.Builder
	for _, r := range sample.Results {
		require.NoError(t, WriteResult(&b, r))
	}
	require.NoError(t, WriteReport(&b, &sample))
	assert.Equal(t, `passed:  pt2/fine: 1 set
  said: input 0: expected at most 64 rows, got 65
        second line
failed:  pt2/off: 2 values of 2 sets differ
failed:  pt2/broken
  wrong: load: file is empty
skipped: fx/later: no replay of this layout

case     set  value               max abs  max rel  ulps   elements                              made by                             first node that differs
pt2/off  0    output 0            0.25     +Inf     >1e15  2 of 8                                relu (torch.ops.aten.relu.default)  -
pt2/off  1    state running_mean  -        -        -      dtype: expected float32, got float64  -                                   -

1.5s
1 passed, 2 failed, 1 skipped
`, b.String())
}

func TestReportIsJSON(t *testing.T) {
	data, err := json.Marshal(&sample)
	require.NoError(t, err)
	var back struct {
		Passed, Failed, Skipped int
		Results                 []struct {
			Case   string
			Status string
			Diffs  []map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, []int{1, 2, 1}, []int{back.Passed, back.Failed, back.Skipped})
	assert.Equal(t, "failed", back.Results[1].Status)
	assert.Equal(t, "Infinity", back.Results[1].Diffs[0]["max_rel"])
	assert.Equal(t, 0.25, back.Results[1].Diffs[0]["max_abs"])
}

func TestResultsComeInOrder(t *testing.T) {
	var got []string
	results := make([]Result, 3)
	o := &ordered{done: func(r Result) { got = append(got, r.Case) }, results: results, ready: make([]bool, 3)}
	o.put(1, Result{Case: "b"})
	assert.Empty(t, got)
	o.put(0, Result{Case: "a"})
	assert.Equal(t, []string{"a", "b"}, got)
	o.put(2, Result{Case: "c"})
	assert.Equal(t, []string{"a", "b", "c"}, got)
}
