package rewriter

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// randomCase is a line of testdata/differential.json.
type randomCase struct {
	Seed        int
	Graph       string
	Pattern     string
	Replacement string
	MatchOutput bool          `json:"match_output"`
	Placeholder bool          `json:"match_placeholder"`
	Remove      bool          `json:"remove_overlapping_matches"`
	Ignore      bool          `json:"ignore_literals"`
	Matches     [][][2]string // nil where torch.fx fails
	Error       string
	Replaced    [][]string // names of the new nodes, by match
	After       string
	Failed      string `json:"replace_error"`
	Disorder    bool   // torch.fx leaves a graph in a wrong order
}

// What torch.fx does with random graphs, patterns and replacements.
func TestRandomGraphsAsTorchFX(t *testing.T) {
	path := "testdata/differential.json"
	if other := os.Getenv("TORCHFX_DIFFERENTIAL"); other != "" {
		path = other // a longer recording
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var cases []randomCase
	require.NoError(t, json.Unmarshal(data, &cases))
	for _, c := range cases {
		t.Run(fmt.Sprint(c.Seed), func(t *testing.T) { c.replay(t) })
	}
}

func (c *randomCase) replay(t *testing.T) {
	g, err := ir.ParseCode(c.Graph)
	require.NoError(t, err)
	p, err := ir.ParseCode(c.Pattern)
	require.NoError(t, err)
	var loose []Option
	if c.Ignore {
		loose = append(loose, IgnoreLiterals())
	}
	opts := append([]Option{}, loose...)
	if c.MatchOutput {
		opts = append(opts, MatchOutput())
	}
	if c.Placeholder {
		opts = append(opts, MatchPlaceholders())
	}
	if !c.Remove {
		opts = append(opts, Overlapping())
	}
	m, err := NewMatcher(p, opts...)
	if c.Error == "KeyError" && err != nil {
		require.ErrorIs(t, err, ir.ErrAssertion) // an unused placeholder
		return
	}
	require.NoError(t, err)
	matches, err := m.Match(g)
	require.NoError(t, err)
	found := [][][2]string{}
	for i := range matches {
		found = append(found, pairsOf(&matches[i]))
	}
	if c.Matches == nil {
		return // torch.fx fails over one candidate, and so finds none of the others
	}
	c.Matches = slices.DeleteFunc(c.Matches, func(pairs [][2]string) bool {
		return len(pairs) < p.Len()-1 // with a node of the pattern against a literal, which torch.fx fails over later
	})
	assert.Equal(t, c.Matches, found)

	gm := module(t, g)
	done, err := Replace(gm, p, append(loose, With(c.Replacement))...)
	if c.Failed != "" {
		// KeyError as above; TypeError where a result becomes a literal
		require.NoError(t, err)
		require.NoError(t, gm.Graph().Lint())
		return
	}
	require.NoError(t, err)
	require.NoError(t, gm.Graph().Lint())
	if c.Disorder {
		return
	}
	var made [][]string
	for _, d := range done {
		made = append(made, names(d.Made))
	}
	code, err := gm.Code()
	require.NoError(t, err)
	assert.Equal(t, c.After, code)
	assert.Len(t, made, len(c.Replaced))
	for i := range made {
		assert.Equal(t, c.Replaced[i], made[i])
	}
}
