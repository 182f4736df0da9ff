package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheSummaryOfACheckIsBounded(t *testing.T) {
	lines := make([]string, 150)
	for i := range lines {
		lines[i] = strings.Repeat("g", 600)
	}
	var b strings.Builder
	new(checkReport).printLines(&b, "guards", lines)
	printed := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	assert.Len(t, printed, maxLines+1)
	assert.Equal(t, "  guards     "+strings.Repeat("g", maxLine)+"…", printed[0])
	assert.Equal(t, "             and 50 more, see --json", printed[maxLines])
}
