package torchops

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// excludedNames returns the public names that are left out, with the reasons.
func excludedNames(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/excluded_names.txt")
	require.NoError(t, err)
	excluded, reason := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '=':
			reason = strings.TrimSpace(line[1:])
		default:
			for _, name := range strings.Fields(line) {
				assert.Empty(t, excluded[name], "%s is excluded twice", name)
				assert.NotEmpty(t, reason, "%s is excluded without a reason", name)
				excluded[name] = reason
			}
		}
	}
	return excluded
}

// callable reports whether a public name can be used here, by its kind: functions
// and classes are called, properties read; constants are values that graphs hold.
func callable(name, kind string) bool {
	short := name[strings.LastIndexByte(name, '.')+1:]
	switch kind {
	case "function", "class", "classmethod":
		return Implemented(ir.FuncOf(name))
	case "property":
		return Implemented(ir.FuncOf(name + ".__get__"))
	case "dtype":
		_, err := ir.ParseDType(short)
		return err == nil
	case "layout":
		for l := ir.Strided; l <= ir.Jagged; l++ {
			if l.String() == name {
				return true
			}
		}
	case "memory_format":
		for f := ir.ContiguousFormat; f <= ir.ChannelsLast3D; f++ {
			if f.String() == name || short == "legacy_contiguous_format" {
				return true
			}
		}
	default:
		return true // plain values of Python
	}
	return false
}

// Every public name of torch, its tensors, torch.nn.functional, linalg, fft and
// special, of operator and math is known, or left out for a written reason.
func TestPublicNames(t *testing.T) {
	text, err := os.ReadFile("testdata/public_names.txt")
	require.NoError(t, err)
	excluded := excludedNames(t)
	type count struct{ present, used, excluded, missing int }
	counts := map[string]*count{}
	for line := range strings.Lines(string(text)) {
		name, kind, ok := strings.Cut(strings.TrimSpace(line), "\t")
		require.True(t, ok, line)
		module := name[:strings.LastIndexByte(name, '.')]
		c := counts[module]
		if c == nil {
			c = &count{}
			counts[module] = c
		}
		c.present++
		_, out := excluded[name]
		delete(excluded, name)
		switch known := callable(name, kind); {
		case known:
			c.used++
			assert.False(t, out, "%s is excluded, and known", name)
		case out:
			c.excluded++
		default:
			c.missing++
			assert.Failf(t, "missing", "%s, a %s: add it, or a reason to testdata/excluded_names.txt", name, kind)
		}
	}
	assert.Empty(t, excluded, "excluded, and no public name")
	for _, module := range slices.Sorted(maps.Keys(counts)) {
		c := counts[module]
		t.Logf("%-20s %4d present, %4d in use, %3d excluded, %d missing", module, c.present, c.used, c.excluded, c.missing)
	}
}
