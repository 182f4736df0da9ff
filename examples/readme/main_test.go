package main

import (
	"testing"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// The program of the README runs; where it does not, log.Fatal ends the test.
func TestReadme(t *testing.T) {
	testenv.Libtorch(t)
	t.Chdir(testenv.Root(t))
	main()
}
