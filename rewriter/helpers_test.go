package rewriter

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// The recorded cases of the rewriter are built by package internal/fxcase, which
// traces patterns and replacements.

// tensor and layer stand for attributes of a module.
type tensor struct{ dtype ir.DType }

func (t *tensor) TensorMeta() ir.TensorMeta { return ir.TensorMeta{DType: t.dtype} }

type layer struct{ name string }

type fact = map[string]any

// def writes a function in the form of emitted code.
func def(params string, lines ...string) string {
	return "def forward(self, " + params + "):\n    " + strings.Join(lines, "\n    ") + "\n"
}

func attrs(m *ir.GraphModule) (paths []string) {
	for path := range m.Attrs() {
		paths = append(paths, path)
	}
	return paths
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
