package torchfx

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// What is copied from a device is the whole storage, whichever view of it comes first.
func TestCopiedStorage(t *testing.T) {
	testenv.Libtorch(t)
	whole := torch.Arange(6)
	defer whole.Close()
	view := whole.Narrow(0, 2, 3)
	defer view.Close()
	want, err := whole.Bytes()
	require.NoError(t, err)
	s, err := copied(view, 6)
	require.NoError(t, err)
	assert.Equal(t, want, s.Bytes())
}
