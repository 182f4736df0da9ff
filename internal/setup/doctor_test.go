package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDiagnose(t *testing.T) {
	tests := []struct {
		name    string
		spoil   func(m *machine)
		problem string // part of the one problem; "" for none
		fix     string
		note    string
	}{
		{"all well", func(m *machine) {}, "", "", ""},
		{"not set up", func(m *machine) { require.NoError(m.t, os.RemoveAll(m.home)) }, "is not set up", "torchfx setup", ""},
		{"bridge gone", func(m *machine) { require.NoError(m.t, os.RemoveAll(filepath.Join(m.home, "bridge"))) }, "bridge.so is gone", "torchfx setup", ""},
		{"library gone", func(m *machine) {
			require.NoError(m.t, os.Remove(filepath.Join(m.home, "libtorch-2.15.0", "torch", "lib", libName("c10"))))
		}, libName("c10") + " is gone", "torchfx setup", ""},
		{"does not load", func(m *machine) { m.loadFails("libcudart.so.13: cannot open shared object file") }, "libcudart.so.13", "--download", ""},
		{"old bridge", func(m *machine) {
			m.opts.bridge.sources = fstest.MapFS{"bridge.cc": {Data: []byte("source 2")}}
		}, "", "", "torchfx setup brings it up to date"},
		{"LIBTORCH spoilt since", func(m *machine) { m.t.Setenv("LIBTORCH", "/nowhere") }, "", "", "LIBTORCH=/nowhere is not a libtorch"},
		{"another version", func(m *machine) {
			m.t.Setenv("LIBTORCH", m.torchDir("2.12.0"))
			_, err := Run(m.t.Context(), m.opts)
			require.NoError(m.t, err)
		}, "", "", "2.12.0 is not 2.15.0"},
		{"untested platform", func(m *machine) { m.opts.platform.tested = false }, "", "", "untested"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := newMachine(t)
			_, err := Run(t.Context(), m.opts)
			require.NoError(t, err)
			tc.spoil(m)
			d := Diagnose(t.Context(), m.opts)
			assert.Equal(t, tc.problem == "", d.OK)
			if tc.problem == "" {
				assert.Empty(t, d.Problems)
				require.NotNil(t, d.Facts)
				assert.Equal(t, "FAKE2", d.Facts.CPU)
			} else {
				require.Len(t, d.Problems, 1)
				assert.Contains(t, d.Problems[0].What, tc.problem)
				assert.Contains(t, d.Problems[0].Fix[0], tc.fix)
			}
			if tc.note == "" {
				assert.Empty(t, d.Notes)
			} else {
				require.Len(t, d.Notes, 1)
				assert.Contains(t, d.Notes[0], tc.note)
			}
			_, err = json.Marshal(d)
			require.NoError(t, err)
		})
	}
}
