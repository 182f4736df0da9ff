package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnswers(t *testing.T) {
	of := func(c cell, executor string, wall float64) measurement {
		return measurement{cell: c, Executor: executor, Wall: spread{wall, wall}}
	}
	one, two := cell{"lstm", 1, 1}, cell{"resnet18", 1, 1}
	r := &results{Networks: []*networkReport{
		{Results: []measurement{of(one, "frozen", 2), of(one, "eager", 4), of(one, "onnxruntime", 1), of(cell{"lstm", 8, 1}, "eager", 4)}},
		{Results: []measurement{of(two, "frozen", 2), of(two, "eager", 1)}},
	}}
	text := r.answers()
	require.Contains(t, text, "| resnet18 | 1 | 1 | 2.0 | - | **0.50** | - | - | - | - |\n| lstm | 1 | 1 | 2.0 | - | 2.00 | - | - | - | **0.50** |\n")
	require.Contains(t, text, "| *mean* | 1 | 1 | | - | 1.00 | - | - | - | **0.50** |", "geometric, of those measured")
	require.NotContains(t, text, "| 8 |", "what was not frozen has no row")
	require.Empty(t, (&results{}).answers())
}

// The tables in docs are those that the JSON makes.
func TestTablesAreThoseOfTheJSON(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	folder := t.TempDir()
	for _, name := range []string{"performance.md", "performance-tables.md", "performance.json"} {
		data, err := os.ReadFile(filepath.Join(docs, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), data, 0o644))
	}
	file := filepath.Join(folder, "performance.md")
	r, err := readResults(file)
	require.NoError(t, err)
	require.NotNil(t, r.Chains)
	require.NotNil(t, r.Load)
	require.NotEmpty(t, r.Networks)
	require.NoError(t, r.replaceSections(file))
	for _, name := range []string{"performance.md", "performance-tables.md"} {
		want, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(docs, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s: run go run ./scripts/bench -tables docs/performance.md", name)
	}
}
