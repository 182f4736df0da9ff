// Package script opens what only libtorch itself can open: TorchScript files and
// AOTInductor packages. Both run through libtorch's own loaders; a TorchScript
// program that is straight-line after freezing becomes a graph.
//
// State: the types and signatures stand; every function answers with an error
// wrapping [ir.ErrUnsupported].
package script

import (
	"context"

	"github.com/torchfx-go/torchfx/ir"
)

// A Module is a TorchScript program that libtorch runs.
type Module struct{}

// Open loads a TorchScript file onto device.
func Open(path string, device ir.Device) (*Module, error) { return nil, notBuilt("open TorchScript") }

// Run calls method, usually "forward".
func (m *Module) Run(ctx context.Context, method string, args ...any) (any, error) {
	return nil, notBuilt("run TorchScript")
}

// Graph returns the program as a graph of ATen calls.
func (m *Module) Graph() (*ir.GraphModule, error) { return nil, notBuilt("TorchScript to graph") }

// Close frees the program. It may be called again.
func (m *Module) Close() error { return nil }

// A Package is a compiled AOTInductor program.
type Package struct{}

// OpenPackage loads the AOTInductor program called model from an archive.
func OpenPackage(path, model string, device ir.Device) (*Package, error) {
	return nil, notBuilt("open AOTInductor package")
}

// Run calls the program with flat inputs and returns its flat outputs.
func (p *Package) Run(ctx context.Context, inputs []any) ([]any, error) {
	return nil, notBuilt("run AOTInductor package")
}

// Close frees the program. It may be called again.
func (p *Package) Close() error { return nil }

func notBuilt(what string) error {
	return ir.Errorf(ir.ErrUnsupported, "script: %s is not built yet", what)
}
