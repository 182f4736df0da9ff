package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// Everything that upstream's tests hold and that applies here has a Go test.
func TestUpstreamTestsHaveGoTests(t *testing.T) {
	var b strings.Builder
	require.NoError(t, run(&b, os.DirFS("../.."), listText, false))
	require.Contains(t, b.String(), "test_fx.TestFX.test_dict")
}

func TestRun(t *testing.T) {
	tree := func(body string) fstest.MapFS {
		return fstest.MapFS{"a/a_test.go": {Data: []byte("package a\n\nimport \"testing\"\n\n" + body)}}
	}
	const list = "## part\nx.test_one | Y | one\nx.test_two | P | two | half\nx.test_no | N | no | never\n"
	const good = `// upstream: x.test_one
func TestOne(t *testing.T) {
	// upstream: x.test_two
	t.Run("the second", func(t *testing.T) {})
}
`
	var b strings.Builder
	require.NoError(t, run(&b, tree(good), list, false))
	require.Equal(t, `
part
Y x.test_one: one
    a.TestOne
P x.test_two: two
      not here: half
    a.TestOne/the_second
N x.test_no: no
      not here: never

1 checked as they are, 1 in the part that applies, 1 that do not apply
`, b.String())

	faults := []struct{ name, body, list, want string }{
		{"missing", strings.Replace(good, "test_two", "test_one", 1), list, "no Go test names x.test_two"},
		{"unknown", good + "\n// upstream: x.test_three\nfunc TestThree(t *testing.T) {}\n", list, "a.TestThree names x.test_three, which tests.txt does not have"},
		{"does not apply", good + "\n// upstream: x.test_no\nfunc TestThree(t *testing.T) {}\n", list, "says does not apply"},
		{"no test", good + "\n// upstream: x.test_one\nfunc helper() {}\n", list, "expected the comment above or in a test"},
		{"malformed", good + "\n// upstream:x.test_one\nfunc TestX(t *testing.T) {}\n", list, "expected \"// upstream: name\""},
		{"twice", good, list + "x.test_one | Y | again\n", "stands there twice"},
		{"no reason", good, list + "x.test_p | P | again\n", "tests.txt:5: expected a name, a mark and what it checks"},
	}
	for _, tc := range faults {
		t.Run(tc.name, func(t *testing.T) {
			require.ErrorContains(t, run(&strings.Builder{}, tree(tc.body), tc.list, false), tc.want)
		})
	}
	b.Reset()
	require.Error(t, run(&b, tree(strings.Replace(good, "test_two", "test_one", 1)), list, true))
	require.NotContains(t, b.String(), "x.test_one")
}
