package rewriter

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// fixtures returns the folder of the shared recorded cases of torch.fx.
func fixtures(t *testing.T) string {
	root := os.Getenv("TORCHFX_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "fixtures")
	}
	dir := filepath.Join(root, "fx")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recorded cases at %s; set TORCHFX_FIXTURES to where they are", dir)
	}
	return dir
}

// A recorded case: the module before the rewrite, and what torch.fx made of it.
type recorded struct {
	*testing.T
	dir    string
	module *ir.GraphModule
}

// record reads a case. The module is the one that the case rewrites, or searches
// only; attrs are what its targets name.
func record(t *testing.T, name string, attrs map[string]any) *recorded {
	t.Helper()
	r := &recorded{T: t, dir: filepath.Join(fixtures(t), name)}
	code, err := os.ReadFile(filepath.Join(r.dir, "before", "code.py"))
	if os.IsNotExist(err) {
		code, err = os.ReadFile(filepath.Join(r.dir, "code.py"))
	}
	require.NoError(t, err)
	g, err := ir.ParseCode(string(code))
	require.NoError(t, err)
	r.module, err = ir.NewGraphModule(attrs, g)
	require.NoError(t, err)
	return r
}

// replace rewrites the module.
func (r *recorded) replace(pattern, replacement any, opts ...Option) []Replaced {
	r.Helper()
	done, err := Replace(r.module, pattern, append(opts, With(replacement))...)
	require.NoError(r, err)
	return done
}

// match searches the module's graph.
func (r *recorded) match(pattern string, opts ...Option) []Match {
	r.Helper()
	g, err := ir.ParseCode(pattern)
	require.NoError(r, err)
	m, err := NewMatcher(g, opts...)
	require.NoError(r, err)
	matches, err := m.Match(r.module.Graph())
	require.NoError(r, err)
	return matches
}

// texts compares the texts of the rewritten module with the recorded ones, and
// facts with result.json.
func (r *recorded) texts(facts map[string]any) {
	r.Helper()
	require.NoError(r, r.module.Graph().Lint())
	code, err := r.module.Code()
	require.NoError(r, err)
	assert.Equal(r, r.file("code.py"), code)
	assert.Equal(r, r.file("graph.txt"), r.module.Graph().String())
	if facts != nil {
		r.facts(facts)
	}
}

func (r *recorded) file(name string) string {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	require.NoError(r, err)
	return string(text)
}

// facts compares what the program returned beside the module.
func (r *recorded) facts(facts map[string]any) {
	r.Helper()
	var want any
	require.NoError(r, json.Unmarshal([]byte(r.file("result.json")), &want))
	assert.Equal(r, want, plain(r, facts))
}

// plain sends facts through JSON, so that they compare with recorded ones.
func plain(t require.TestingT, facts any) (out any) {
	text, err := json.Marshal(facts)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

type recordedError struct{ Type, Message string }

// errorOf returns what torch.fx raised in a case that must fail.
func errorOf(t *testing.T, name string) (e recordedError) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(fixtures(t), name, "error.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &e))
	return e
}

// raised compares an error with the recorded one of a case that must fail.
func raised(t *testing.T, name string, err error) {
	t.Helper()
	want := errorOf(t, name)
	classes := map[string]*ir.Class{"AssertionError": ir.ErrAssertion, "RuntimeError": ir.ErrRuntime}
	require.Contains(t, classes, want.Type)
	require.ErrorIs(t, err, classes[want.Type])
	assert.Contains(t, err.Error(), want.Message)
}

// def writes a function in the form of emitted code.
func def(params string, lines ...string) string {
	return "def forward(self, " + params + "):\n    " + strings.Join(lines, "\n    ") + "\n"
}

func names(nodes []*ir.Node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.Name()
	}
	return out
}

// pairsOf lists the pairs of a match by name, literals as Python writes them.
func pairsOf(m *Match) [][2]string {
	out := [][2]string{}
	for p, a := range m.Pairs() {
		out = append(out, [2]string{p.Name(), ir.Repr(a)})
	}
	return out
}
