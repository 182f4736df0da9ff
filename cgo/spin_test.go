package libtorch

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSpinningIsBounded(t *testing.T) {
	const count, policy = "GOMP_SPINCOUNT", "OMP_WAIT_POLICY"
	unset := func(name string) {
		t.Setenv(name, "") // put back after the test
		_ = os.Unsetenv(name)
	}
	unset(count)
	unset(policy)
	restore := boundSpinning()
	assert.Equal(t, spins, os.Getenv(count))
	restore()
	_, said := os.LookupEnv(count)
	assert.False(t, said, "no child inherits it")

	t.Setenv(count, "7")
	boundSpinning()()
	assert.Equal(t, "7", os.Getenv(count), "what the user says holds")
	unset(count)
	t.Setenv(policy, "active")
	restore = boundSpinning()
	_, said = os.LookupEnv(count)
	restore()
	assert.False(t, said)
}
