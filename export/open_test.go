package export

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

func anyContains(texts []string, part string) bool {
	for _, s := range texts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// missing names the operators that programs of the fixtures want and no libtorch
// has.
var missing = map[string][]string{
	"custom_op":           {"fixtures::halves.default", "fixtures::scale_shift.default"},
	"custom_op_mutating":  {"fixtures::bump_.default"},
	"auto_functionalized": {"fixtures::bump_.default"},
	"effect_token":        {"fixtures::logged.default"},
}

// TestEveryProgramOpens opens all programs that torch 2.15.0 wrote. Those with
// operators that nobody defines are refused, and the message names them.
func TestEveryProgramOpens(t *testing.T) {
	dir := fixtures(t, "pt2/2.15.0")
	for _, name := range cases(t, dir) {
		t.Run(name, func(t *testing.T) {
			p, err := Open(filepath.Join(dir, name, "model.pt2"))
			if ops := missing[name]; ops != nil {
				require.ErrorIs(t, err, ir.ErrUnsupported)
				for _, op := range ops {
					assert.ErrorContains(t, err, "unknown operator "+op)
				}
				return
			}
			require.NoError(t, err)
			defer p.Close()
			assert.Empty(t, p.Warnings)
			assert.NoError(t, p.Graph.Lint())
			m, err := p.Module()
			require.NoError(t, err)
			assert.NoError(t, m.Graph().Lint())
			assert.True(t, strings.HasPrefix(p.TorchVersion, "2.15.0"))
			for name, x := range p.State() {
				_, err := x.Bytes()
				assert.NoError(t, err, name)
			}
		})
	}
}

// TestOtherReleases opens what releases from torch 2.5 on wrote, of all three
// generations.
func TestOtherReleases(t *testing.T) {
	for _, release := range []string{"2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.12.1"} {
		t.Run(release, func(t *testing.T) {
			dir := fixtures(t, "pt2/"+release)
			for _, name := range cases(t, dir) {
				p, err := Open(filepath.Join(dir, name, "model.pt2"))
				if missing[name] != nil {
					require.ErrorIs(t, err, ir.ErrUnsupported, name)
					continue
				}
				require.NoError(t, err, name)
				assert.Empty(t, p.Warnings, name)
				assert.True(t, strings.HasPrefix(p.TorchVersion, release), "%s: %s", name, p.TorchVersion)
				assert.True(t, p.Samples, name)
				m, err := p.Module()
				require.NoError(t, err, name)
				assert.NoError(t, m.Graph().Lint(), name)
				assert.NoError(t, p.Guards.Check(p.Guards.examples()), name)
				for path, x := range p.State() {
					_, err := x.Bytes()
					assert.NoError(t, err, "%s: %s", name, path)
				}
				require.NoError(t, p.Close())
			}
		})
	}
}

// Records that are of no program are named: they are not in a file that is written of it.
func TestOtherRecords(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	p, err := a.open()
	require.NoError(t, err)
	assert.Empty(t, p.Warnings)
	a.put("data/aotinductor/model/model.so", []byte("code"))
	a.put("later", nil)
	p, err = a.open()
	require.NoError(t, err)
	assert.Equal(t, []string{`2 records are of no program and do not go into a file that is written of one, among them "data/aotinductor/model/model.so"`}, p.Warnings)
}
