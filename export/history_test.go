package export

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// Every line of the history is understood, the forms of an operator follow each
// other, and the last one is the catalogue's.
func TestHistoryHoldsTogether(t *testing.T) {
	assert.Equal(t, newestRelease, releaseOf(ir.Operators().Version()), "the catalogue is newer: run scripts/record_history.py with that release")
	n := 0
	for line := range strings.Lines(historyText) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	for op, forms := range history() {
		n -= len(forms)
		for i, f := range forms {
			assert.LessOrEqual(t, f.first, f.last, op)
			assert.GreaterOrEqual(t, f.first, oldestRelease, op)
			assert.Equal(t, op, f.schema.Op)
			if i > 0 {
				assert.Equal(t, forms[i-1].last+1, f.first, "%s was away for some releases", op)
			}
		}
		assert.Equal(t, ir.Operators().Lookup(op) != nil, forms[len(forms)-1].present(), op)
	}
	assert.Zero(t, n, "lines that were not understood")
}

// What is done with arguments of earlier forms follows from the schemas. These are
// all cases; a default that changed would have to be written out for old programs.
func TestArgumentsOfEarlierForms(t *testing.T) {
	var got []string
	for op, forms := range history() {
		now := ir.Operators().Lookup(op)
		if now == nil {
			continue
		}
		for _, f := range forms {
			for _, p := range f.schema.Args {
				at, same := now.Arg(p.Name)
				renamedTo, renamed := f.renamed(now, p.Name)
				switch {
				case same && p.Default != nil && now.Args[at].Default != nil:
					assert.True(t, ir.EqualArgs(p.Default, now.Args[at].Default), "%s: default of %s", op, p.Name)
				case renamed:
					got = append(got, fmt.Sprintf("%s %s: %s -> %s", op, f.releases(), p.Name, now.Args[renamedTo].Name))
				case !same:
					got = append(got, fmt.Sprintf("%s %s: %s is gone", op, f.releases(), p.String()))
				}
			}
		}
	}
	slices.Sort(got)
	assert.Equal(t, []string{
		"aten::_cdist_backward torch 2.5 to 2.13: grad -> grad_output",
		"aten::_cdist_backward.out torch 2.5 to 2.13: grad -> grad_output",
		"aten::_cslt_sparse_mm torch 2.6 to 2.7: bool split_k_one_kernel=True is gone",
		"aten::_flash_attention_backward torch 2.5 to 2.6: philox_offset -> unused",
		"aten::_flash_attention_backward torch 2.5 to 2.6: philox_seed -> rng_state",
		"aten::_fused_rms_norm torch 2.8: int normalized_shape_ndim is gone",
		"aten::_pdist_backward torch 2.5 to 2.13: grad -> grad_output",
		"aten::_pdist_backward.out torch 2.5 to 2.13: grad -> grad_output",
	}, got)
}

// The recorded programs of every release use operators that the history says the
// release had, with the arguments that it says they had.
func TestHistoryOfRecordedPrograms(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(fixtures(t, "pt2"), "2.*"))
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for _, dir := range dirs {
		r := releaseOf(filepath.Base(dir))
		cases, err := os.ReadDir(dir)
		require.NoError(t, err)
		operators := 0
		for _, c := range cases {
			p, err := Open(filepath.Join(dir, c.Name(), "model.pt2"), WithoutWeights())
			if err != nil {
				continue // custom operators, several models: other tests have those
			}
			assert.Equal(t, r, releaseOf(p.TorchVersion))
			for n := range p.Graph.Nodes() {
				if n.Op() != ir.CallFunction || n.Func().Kind() != ir.Overload {
					continue
				}
				operators++
				at := slices.IndexFunc(formsOf(n.Func().Op()), func(f form) bool { return f.first <= r && r <= f.last })
				if !assert.GreaterOrEqual(t, at, 0, "%s in %s/%s", n.Func().Op(), dir, c.Name()) {
					continue
				}
				for _, k := range n.Kwargs() {
					_, ok := formsOf(n.Func().Op())[at].schema.Arg(k.Name)
					assert.True(t, ok, "%s of %s in %s/%s", k.Name, n.Func().Op(), dir, c.Name())
				}
			}
			require.NoError(t, p.Close())
		}
		assert.Greater(t, operators, 50, dir)
	}
}

func TestReleaseOf(t *testing.T) {
	for version, want := range map[string]release{"2.5.1": 5, "2.15.0+cpu": 15, "2.9.0a0+git12": 9, "<=2.4": 0, "": 0, "1.13.1": 0, "2.x": 0, "2": 0, "2.-1": 0} {
		assert.Equal(t, want, releaseOf(version), version)
	}
}
