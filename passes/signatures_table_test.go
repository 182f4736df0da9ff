package passes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// Each line of the embedded table is understood: its defaults are literals, its
// schemas parse or are in the catalogue.
func TestSignatureTable(t *testing.T) {
	table := signatures()
	require.NotEmpty(t, table.python)
	for name, text := range table.python {
		sig := pythonSignature(name)
		if text == "" {
			require.Empty(t, sig.Params, name)
			continue
		}
		for i, part := range strings.Split(text, ";") {
			if _, value, ok := strings.Cut(part, "="); ok && value != "None" {
				require.NotEqual(t, ir.Arg(ir.None{}), sig.Params[i].Default, "%s: %s", name, part)
			}
		}
	}
	for name, op := range table.builtins {
		require.Contains(t, table.operators, op, name)
	}
	for op, overloads := range table.operators {
		require.Len(t, table.overloads(op), len(overloads), op)
	}
}
