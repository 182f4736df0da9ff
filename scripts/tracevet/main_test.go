package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// go vet with the tool, on a package that compares tensors in four ways.
func TestVet(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "tracevet")
	out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	const source = `package compared

import torch "github.com/torchfx-go/torchfx/torchops"

func Same(x, y *torch.Tensor, u, v torch.Value) bool {
	if x == nil || y != nil && x == y {
		return true
	}
	return x != y || u == v || x.Dim() == y.Dim()
}
`
	// inside the module, so that its imports resolve; the name keeps it out of ./...
	dir, err := os.MkdirTemp("..", "_compared")
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "compared.go"), []byte(source), 0o600))
	vet := exec.Command("go", "vet", "-vettool="+tool, ".")
	vet.Dir = dir
	out, err = vet.CombinedOutput()
	require.Error(t, err, string(out))
	text := string(out)
	require.Equal(t, 3, strings.Count(text, "compares handles"), text)
	require.Contains(t, text, "compared.go:6:31: == compares handles, not elements, and no trace sees it: call Eq or Ne")
	require.Contains(t, text, "compared.go:9:11: != compares")
}

func TestProtocol(t *testing.T) {
	var b strings.Builder
	code, err := run([]string{"-flags"}, &b, &b)
	require.NoError(t, err)
	require.Zero(t, code)
	require.Equal(t, "[]\n", b.String())
	_, err = run([]string{"./..."}, &b, &b)
	require.ErrorContains(t, err, "expected to be called by go vet -vettool")
	_, err = run([]string{"absent.cfg"}, &b, &b)
	require.Error(t, err)
}
