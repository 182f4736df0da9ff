package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSummarize(t *testing.T) {
	tests := []struct {
		name string
		in   []string
		ok   bool
		last string
		say  string // somewhere before
	}{
		{"all well", []string{
			`{"Action":"run","Package":"p","Test":"A"}`,
			`{"Action":"run","Package":"p","Test":"A/one"}`,
			`{"Action":"run","Package":"p","Test":"A/two"}`,
			`{"Action":"pass","Package":"p","Test":"A/one"}`,
			`{"Action":"pass","Package":"p","Test":"A/two"}`,
			`{"Action":"pass","Package":"p","Test":"A"}`,
			`{"Action":"pass","Package":"p","Elapsed":1.25}`,
		}, true, "all: 2 passed, 0 failed, 0 skipped", "ok    p  1.2s"},
		{"a skip has its reason", []string{
			`{"Action":"run","Package":"p","Test":"A"}`,
			`{"Action":"output","Package":"p","Test":"A","Output":"=== RUN   A\n"}`,
			`{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:7: no CUDA device: it is: absent\n"}`,
			`{"Action":"skip","Package":"p","Test":"A"}`,
			`{"Action":"pass","Package":"p"}`,
		}, true, "all: 0 passed, 0 failed, 1 skipped", "skip  p A: no CUDA device: it is: absent\n"},
		{"a failure shows its output", []string{
			`{"Action":"run","Package":"p","Test":"A"}`,
			`{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:7: oh\n"}`,
			`{"Action":"fail","Package":"p","Test":"A"}`,
			`{"Action":"fail","Package":"p"}`,
		}, false, "all: 0 passed, 1 failed, 0 skipped", "a_test.go:7: oh"},
		{"a package that crashes", []string{
			`{"Action":"output","Package":"p","Output":"signal: segmentation fault\n"}`,
			`{"Action":"fail","Package":"p"}`,
		}, false, "all: 0 passed, 0 failed, 0 skipped", "segmentation fault"},
		{"a package that does not compile", []string{
			`{"ImportPath":"p","Action":"build-output","Output":"a.go:1: syntax error\n"}`,
			`{"ImportPath":"p","Action":"build-fail"}`,
			`{"Action":"fail","Package":"p","FailedBuild":"p"}`,
		}, false, "all: 0 passed, 0 failed, 0 skipped", "syntax error"},
		{"nothing ran", nil, false, "all: 0 passed, 0 failed, 0 skipped", ""},
		{"other text passes through", []string{"go: no such package"}, false, "all: 0 passed, 0 failed, 0 skipped", "go: no such package"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var b strings.Builder
			ok := summarize(strings.NewReader(strings.Join(tc.in, "\n")+"\n"), &b, "all")
			assert.Equal(t, tc.ok, ok)
			assert.True(t, strings.HasSuffix(b.String(), tc.last+"\n"), b.String())
			assert.Contains(t, b.String(), tc.say)
		})
	}
}
