package export

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryModuleIsLifted takes every recorded program through its module and back:
// it is the program that it was.
func TestEveryModuleIsLifted(t *testing.T) {
	for _, release := range []string{"2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.12.1", "2.15.0"} {
		dir := fixtures(t, "pt2/"+release)
		for _, name := range cases(t, dir) {
			t.Run(release+"/"+name, func(t *testing.T) {
				p, err := Open(filepath.Join(dir, name, "model.pt2"), Operators(withSchemas(t, fixtureSchemas)))
				require.NoError(t, err)
				defer p.Close()
				m, err := p.Module()
				require.NoError(t, err)
				q, err := Lift(m, LiftFrom(p))
				require.NoError(t, err)
				q.Writer = "torchfx"
				if name == "effect_token" { // tokens do not come back: the operator stands for itself
					assert.Len(t, q.Signature.Inputs, 1)
					return
				}
				if !p.Training() { // the module has no dead code
					_, err = p.Graph.EliminateDeadCode()
					require.NoError(t, err)
				}
				assertSameProgram(t, p, q)
			})
		}
	}
}
