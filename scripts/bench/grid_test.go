package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNetworkNamesAreThoseOfPython(t *testing.T) {
	source, err := os.ReadFile("networks.py")
	require.NoError(t, err)
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^    "([^"]+)": \(`).FindAllSubmatch(source, -1) {
		names = append(names, string(m[1]))
	}
	require.Equal(t, networkNames, names)
}

func TestExecutorsOf(t *testing.T) {
	names := func(list string) (names []string) {
		all, err := executorsOf(list)
		require.NoError(t, err)
		for _, e := range all {
			names = append(names, e.name)
		}
		return names
	}
	require.Len(t, names("all"), len(executors)-1, "but the one that is to be named")
	require.Equal(t, []string{"libtorch", "eager"}, names("eager,libtorch"))
	require.Equal(t, []string{"frozen", "plan", "go-interpreter", "eager"}, names("quick"))
	require.Equal(t, []string{"plan", "eager"}, names("eager,plan"), "in the table's order")
	_, err := executorsOf("fastest")
	require.ErrorContains(t, err, `got "fastest"`)
}

func TestNetworkTable(t *testing.T) {
	c := cell{"lstm", 1, 1}
	r := &networkReport{Command: "c", Machine: "m", Versions: []string{"v"}, Notes: []string{"a note"}, Results: []measurement{
		{c, "frozen", "Plan, frozen", spread{3, 4}, spread{2, 3}, 10, 0},
		{c, "eager", "Python eager", spread{6, 8}, spread{5, 6}, 20, 1e-7},
		{cell{"lstm", 8, 2}, "frozen", "Plan, frozen", spread{1, 1}, spread{1, 1}, 1, 0},
	}}
	text := r.table()
	require.Contains(t, text, "| network | batch | threads | Plan, frozen | Python eager |\n|---|---|---|---|---|\n")
	require.Contains(t, text, "| lstm | 1 | 1 | 2.0 / 3.0 · 1.00 | 5.0 / 6.0 · 2.50 |", "processor time")
	require.Contains(t, text, "| lstm | 1 | 1 | 3.0 / 4.0 · 1.00 | 6.0 / 8.0 · 2.00 |", "wall time")
	require.Contains(t, text, "| lstm | 8 | 2 | 1.0 / 1.0 · 1.00 | - |", "what was not measured")
	require.Contains(t, text, "\na note\n")
}

func TestKeep(t *testing.T) {
	of := func(command string, names ...string) *networkReport {
		r := &networkReport{Command: command}
		for _, n := range names {
			r.Results = append(r.Results, measurement{cell: cell{n, 1, 1}})
		}
		return r
	}
	load := &loadReport{Command: "load"}
	before := &results{Load: load, Networks: []*networkReport{of("a", "lstm", "resnet18"), of("b", "vit_b_16")}}
	r := &results{Networks: []*networkReport{of("c", "resnet18", "vit_b_16")}}
	r.keep(before)
	require.Equal(t, []*networkReport{of("c", "resnet18", "vit_b_16"), of("a", "lstm")}, r.Networks)
	require.Same(t, load, r.Load)
}

func TestSpreadOf(t *testing.T) {
	require.Equal(t, spread{1, 3}, spreadOf([]float64{5, 3, 1}))
	require.Equal(t, spread{2, 2}, spreadOf([]float64{2}))
}

func TestReplaceSection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.md")
	require.NoError(t, os.WriteFile(file, []byte("a\n<!-- begin of scripts/bench -load -->\nold\n<!-- end of scripts/bench -load -->\nb\n"), 0o644))
	require.NoError(t, replaceSection(file, " -load", "new\n"))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "a\n<!-- begin of scripts/bench -load -->\nnew\n<!-- end of scripts/bench -load -->\nb\n", string(got))
	require.ErrorContains(t, replaceSection(file, "", "new\n"), "expected the markers")

	tables := filepath.Join(filepath.Dir(file), "x-tables.md")
	require.NoError(t, os.WriteFile(tables, []byte("<!-- begin of scripts/bench -->\n<!-- end of scripts/bench -->\n"), 0o644))
	require.NoError(t, replaceSection(file, "", "new\n"), "the tables beside the file")
	got, err = os.ReadFile(tables)
	require.NoError(t, err)
	require.Equal(t, "<!-- begin of scripts/bench -->\nnew\n<!-- end of scripts/bench -->\n", string(got))
}

func TestCellsThatWereMeasured(t *testing.T) {
	c := cell{"lstm", 1, 2}
	both, err := executorsOf("plan,eager")
	require.NoError(t, err)
	before := &results{Networks: []*networkReport{{Results: []measurement{{cell: c, Executor: "plan"}}}, {Results: []measurement{{cell: c, Executor: "frozen"}}}}}
	require.True(t, before.has(c, both[:1]))
	require.False(t, before.has(c, both), "of each executor")
	require.False(t, before.has(cell{"lstm", 8, 2}, both[:1]))
	require.False(t, (*results)(nil).has(c, nil), "none are left out")
}

func TestAims(t *testing.T) {
	r := &chainReport{Machine: "m", Command: "c", Chains: []chainResult{{
		Title: "t",
		Rows:  []chainRow{{"Plan", spread{10, 20}}, {"Python eager", spread{50, 60}}},
		Aims:  []aim{{"Python eager", "Plan", 2.5}, {compiled, "Plan", 1}},
	}}}
	require.Contains(t, r.table(), "| | times as fast, of minima | of medians | aim |\n|---|---|---|---|\n| Plan against Python eager | 5.00 | 3.00 | 2.50 |\n")
	require.NotContains(t, r.table(), compiled, "what was not measured has no row")
}
