package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// The demo prints what it promises, and folding changes rounding only.
func TestDemo(t *testing.T) {
	testenv.Libtorch(t)
	var out bytes.Buffer
	require.NoError(t, demo(t.Context(), &out, "testdata"))
	text := out.String()

	before, after, found := strings.Cut(text, "The program after that:")
	require.True(t, found, text)
	assert.Equal(t, 4, strings.Count(before, "aten.batch_norm.default"))
	assert.NotContains(t, after, "batch_norm.default")
	assert.Contains(t, after, "_guards_fn", "the checks of inputs must survive the removal of dead code")
	assert.Contains(t, before, "batch_norm_3 folded into linear")
	assert.Contains(t, after, "Misread:")

	// 300 digits recorded on another processor: logits of size 10 in float32, so
	// rounding shows in the sixth digit
	rows := regexp.MustCompile(`(?m)^ +(\d+) +(\d+) +(\S+) +\S+ +(\d+) +(\S+) +\S+ *$`).FindAllStringSubmatch(text, -1)
	require.Len(t, rows, len(batchSizes), text)
	for _, row := range rows {
		for _, right := range []string{row[2], row[4]} {
			assert.Equal(t, "298", right, row[0])
		}
		for _, cell := range []string{row[3], row[5]} {
			difference, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err)
			assert.Less(t, difference, 1e-4, row[0])
		}
	}
}

func TestDemoNamesMissingFiles(t *testing.T) {
	testenv.Libtorch(t)
	err := demo(t.Context(), &bytes.Buffer{}, t.TempDir())
	require.ErrorContains(t, err, filepath.Join("digits.safetensors"))
	assert.ErrorContains(t, err, "give -data")
}

func TestPictures(t *testing.T) {
	ink := make([]float32, pixels)
	ink[0], ink[1], ink[9] = 1, 0.5, 2 // beyond what a scan holds
	got := pictures([][]float32{ink, make([]float32, pixels)}, []string{"one", "two"})
	lines := strings.Split(got, "\n")
	require.Len(t, lines, side+2)
	assert.Equal(t, "@@++", lines[0])
	assert.Equal(t, "  @@", lines[1])
	assert.Equal(t, "one               two", lines[side])
}
