package torchops

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// Every signature of the table is read, is written as Python lists it, and says
// where each argument of its operators comes from.
func TestSignatureTable(t *testing.T) {
	names, total := 0, 0
	for name, lines := range signatureIndex() {
		names++
		list, err := readSignatures(name, lines)
		require.NoError(t, err, name)
		for _, s := range list {
			total++
			for _, op := range []string{s.op, s.outOp} {
				if op == "" {
					continue
				}
				schema := ir.Operators().Lookup(op)
				require.NotNil(t, schema, "%s: %s", name, op)
				from, err := s.sources(schema, strings.HasPrefix(name, tensorMethod))
				require.NoError(t, err, "%s: %s", name, op)
				used := map[int]bool{}
				for _, src := range from {
					used[src.param] = true
				}
				for i, p := range s.params {
					// out is for the other operator, which has no options
					special := i == s.out || s.options && s.outOp == op && i > s.out || p.name == "requires_grad"
					assert.True(t, used[i] || special, "%s: parameter %s goes nowhere in %s", name, p.name, schema)
				}
			}
		}
	}
	assert.Equal(t, 1706, names)
	assert.Equal(t, 2224, total)
}

func TestSignatureText(t *testing.T) {
	for _, tc := range []struct{ function, params, want string }{
		{"add", "Tensor input, Tensor other, *, Scalar alpha=1, Tensor out=None", "(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"},
		{"conv2d", `Tensor input, SymIntArrayRef[2] stride=1, c10::string_view padding="valid"`, `(Tensor input, tuple of ints stride = 1, str padding = "valid")`},
		{"t", "", "()"},
		{"fft2", "SymIntArrayRef[1]? s=None, IntArrayRef[1] dim={-2,-1}", "(tuple of ints s = None, tuple of ints dim = {-2,-1})"},
	} {
		s, err := readSignature(tc.function, tc.params)
		require.NoError(t, err, tc.params)
		assert.Equal(t, tc.want, s.String())
	}
	for name, params := range map[string]string{"no name": "Tensor", "unknown type": "Tenser input", "no size": "IntArrayRef[x] dim"} {
		_, err := readSignature("f", params)
		assert.ErrorIs(t, err, ir.ErrFormat, name)
	}
}
