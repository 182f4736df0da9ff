package passes

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// asNobody runs f with the rights to files of a user who owns none, also where tests run as root.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		runtime.LockOSThread() // the rights are the thread's
		defer runtime.UnlockOSThread()
		const nobody = 65534
		require.NoError(t, syscall.Setfsuid(nobody))
		defer func() { require.NoError(t, syscall.Setfsuid(0)) }()
	}
	f()
}

// openFolder is a new folder that others may read, too.
func openFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	return dir
}

func TestChoicesWithoutPermission(t *testing.T) {
	testenv.Libtorch(t)
	dir := openFolder(t)
	secret, shown := filepath.Join(dir, "secret.json"), filepath.Join(dir, "shown.json")
	require.NoError(t, os.WriteFile(secret, []byte(onThisMachine()), 0o000))
	require.NoError(t, os.WriteFile(shown, []byte(onThisMachine()), 0o444))
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	denied := func(path string, err error) {
		require.ErrorIs(t, err, os.ErrPermission)
		assert.EqualError(t, err, "choices "+path+": permission denied")
	}
	asNobody(t, func() {
		_, err := OpenChoices(secret)
		denied(secret, err)
		c, err := OpenChoices(shown)
		require.NoError(t, err)
		assert.Len(t, c.All(), 1)
		denied(shown, c.Save(shown))
	})
}

// Where the file may be read alone, what it has is taken, and a network that is not in it
// fails before anything of it is measured.
func TestKeepChoicesForReadersAlone(t *testing.T) {
	dir := openFolder(t)
	name := filepath.Join(dir, "choices.json")
	kept(t, name, nil, 1)
	require.NoError(t, os.Chmod(name, 0o444))
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	x := randn(t, 2, 16)
	other := aten(t, "return torch.ops.aten.linear.default(x, self.w)", map[string][]int{"w": {8, 16}}, x)
	asNobody(t, func() {
		assert.Zero(t, kept(t, name, nil, 1)[0].Report.Measured())
		for range 2 {
			_, err := Freeze(t.Context(), other, FreezeDelegate(nil), KeepChoices(name))
			require.ErrorIs(t, err, os.ErrPermission)
			assert.EqualError(t, err, "choices "+name+": permission denied")
		}
	})
}
