package ir

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// effectFacts are what PyTorch says and does; see testdata/effects/record.py.
type effectFacts struct {
	Operators map[string]struct {
		Writes, Unmarked []int
		Shares, Contains [][2]int
		Random           bool
	}
	Observed []struct {
		Op       string
		Training bool
		Changed  []int
	}
}

func readEffectFacts(t *testing.T) effectFacts {
	t.Helper()
	data, err := os.ReadFile("testdata/effects/facts.json")
	require.NoError(t, err)
	var f effectFacts
	require.NoError(t, json.Unmarshal(data, &f))
	require.NotEmpty(t, f.Operators)
	return f
}

func TestEffectsOfEveryOperator(t *testing.T) {
	facts := readEffectFacts(t)
	for s := range Operators().All() {
		want, e := facts.Operators[s.Op], s.Effects()
		assert.Equal(t, want.Writes, e.Writes, s.Op)
		if s.Op == "inductor_prims::inductor_reserve_rng_state" {
			assert.True(t, e.Random, "it advances a generator without the tag")
		} else {
			assert.Equal(t, want.Random, e.Random, s.Op)
		}
		for _, i := range want.Unmarked {
			assert.Contains(t, e.Updates, i, s.Op)
		}
		var shares [][2]int
		for r := range s.Returns {
			for _, i := range s.Aliases(r) {
				shares = append(shares, [2]int{r, i})
			}
		}
		for _, pair := range want.Shares {
			assert.Contains(t, shares, pair, s.Op)
		}
		for _, pair := range shares {
			assert.True(t, slices.Contains(want.Shares, pair) || slices.Contains(want.Contains, pair), "%s %v", s.Op, pair)
		}
	}
}

func TestUnmarkedWrites(t *testing.T) {
	facts := readEffectFacts(t)
	require.NotEmpty(t, facts.Observed)
	for _, o := range facts.Observed {
		s := Operators().Lookup(o.Op)
		require.NotNil(t, s, o.Op)
		e := s.Effects()
		settled := e.Settle(func(i int) Arg {
			if i == e.Flag {
				return Bool(o.Training)
			}
			return Opaque{"a tensor"}
		})
		assert.Empty(t, settled.Updates, o.Op)
		if o.Op == "aten::_native_batch_norm_legit" && !o.Training {
			assert.Equal(t, []int{3, 4}, settled.Writes, "marked, whatever the flag says")
			continue
		}
		assert.ElementsMatch(t, o.Changed, settled.Writes, "%s with training=%v", o.Op, o.Training)
	}

	var updating []string
	for s := range Operators().All() {
		if len(s.Effects().Updates) > 0 {
			updating = append(updating, s.Op)
		}
	}
	assert.Equal(t, []string{
		"aten::_batch_norm_impl_index", "aten::batch_norm", "aten::batch_norm_gather_stats", "aten::batch_norm_gather_stats.out",
		"aten::batch_norm_gather_stats_with_counts", "aten::batch_norm_gather_stats_with_counts.out", "aten::batch_norm_update_stats",
		"aten::batch_norm_update_stats.out", "aten::cudnn_batch_norm", "aten::cudnn_batch_norm.out", "aten::instance_norm",
		"aten::miopen_batch_norm", "aten::miopen_batch_norm.out", "aten::native_batch_norm", "aten::native_batch_norm.out",
	}, updating)
}

func TestEffects(t *testing.T) {
	tests := []struct {
		op   string
		want Effects
		pure bool
	}{
		{"aten::add.Tensor", Effects{Flag: -1}, true},
		{"aten::add_.Tensor", Effects{Flag: -1, Writes: []int{0}}, false},
		{"aten::add.out", Effects{Flag: -1, Writes: []int{3}}, false},
		{"aten::view", Effects{Flag: -1, View: true}, true},
		{"aten::split.Tensor", Effects{Flag: -1, View: true}, true},
		{"aten::reshape", Effects{Flag: -1, View: true}, true},
		{"aten::t_", Effects{Flag: -1, Writes: []int{0}}, false},
		{"aten::dropout", Effects{Flag: -1, Random: true, MayAlias: true}, false},
		{"aten::rand", Effects{Flag: -1, Random: true}, false},
		{"aten::_assert_async", Effects{Flag: -1, Assertion: true}, false},
		{"aten::_foreach_add_.List", Effects{Flag: -1, Writes: []int{0}}, false},
		{"aten::batch_norm", Effects{Flag: 5, Updates: []int{3, 4}, MayAlias: true}, false},
		{"aten::record_stream", Effects{Flag: -1, Writes: []int{0}, Opaque: true}, false},
		{"quantized::linear", Effects{Flag: -1, Opaque: true}, false},
		{"static_runtime::dict_unpack", Effects{Flag: -1, Opaque: true}, false},
		{"profiler::_record_function_enter", Effects{Flag: -1, Opaque: true}, false},
	}
	for _, tc := range tests {
		t.Run(tc.op, func(t *testing.T) {
			s := Operators().Lookup(tc.op)
			require.NotNil(t, s)
			assert.Equal(t, tc.want, s.Effects())
			assert.Equal(t, tc.pure, s.Effects().Pure())
		})
	}
}

func TestSettle(t *testing.T) {
	s := Operators().Lookup("aten::batch_norm")
	e := s.Effects()
	settle := func(mean, flag Arg) Effects {
		return e.Settle(func(i int) Arg {
			switch i {
			case 3:
				return mean
			case 5:
				return flag
			}
			return Opaque{"a tensor"}
		})
	}
	tensor := Opaque{"a tensor"}
	assert.True(t, settle(tensor, Bool(false)).Pure())
	assert.Equal(t, []int{3, 4}, settle(tensor, Bool(true)).Writes)
	assert.Equal(t, []int{4}, settle(None{}, Bool(true)).Writes)
	assert.Equal(t, []int{3, 4}, settle(tensor, nil).Updates, "an unknown flag leaves both open")
	assert.Empty(t, e.Writes, "the worst case is not changed")
}
