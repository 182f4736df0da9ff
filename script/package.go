package script

import (
	"context"
	"fmt"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Package is a compiled AOTInductor program. It may run from several goroutines.
type Package struct {
	path     string
	compiled *libtorch.Compiled
	mode     libtorch.Mode
}

// A PackageOption changes how a package runs.
type PackageOption func(*packageConfig)

type packageConfig struct {
	model            string
	runners, threads int
	device           int
}

// Model names the program of a package with several. Default: "model".
func Model(name string) PackageOption { return func(c *packageConfig) { c.model = name } }

// Runners is how many runs there may be at once; more wait. Default: 1.
func Runners(n int) PackageOption { return func(c *packageConfig) { c.runners = n } }

// Threads is how many threads one run may use. Default: 1.
func Threads(n int) PackageOption { return func(c *packageConfig) { c.threads = n } }

// OnDevice is the index of the device to run on, for packages compiled for a GPU.
// Default: the one that the package names.
func OnDevice(index int) PackageOption { return func(c *packageConfig) { c.device = index } }

// OpenPackage loads a package that torch._inductor.aoti_compile_and_package wrote. It
// holds machine code for the kind of processor and the version of libtorch that it was
// compiled for, which runs in this process: open files of those you trust. An error
// wraps [ir.ErrInput] where libtorch's loader refuses the file.
func OpenPackage(path string, opts ...PackageOption) (*Package, error) {
	if err := ir.CheckOptions("open", opts); err != nil {
		return nil, err
	}
	c := packageConfig{model: "model", runners: 1, threads: 1, device: -1}
	for _, o := range opts {
		o(&c)
	}
	if c.runners < 1 || c.threads < 1 {
		return nil, ir.Errorf(ir.ErrValue, "%s: expected at least one runner and one thread, got %d and %d", path, c.runners, c.threads)
	}
	mode := libtorch.Mode{Threads: c.threads}
	if err := mode.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	compiled, err := libtorch.OpenCompiled(path, c.model, c.runners, c.device)
	if err != nil {
		return nil, err
	}
	return &Package{path, compiled, mode}, nil
}

// Run calls the program with flat inputs, tensors all, and returns its flat outputs,
// which are the caller's to close.
func (p *Package) Run(ctx context.Context, inputs ...*torch.Tensor) ([]*torch.Tensor, error) {
	switch {
	case p == nil:
		return nil, ir.Errorf(ir.ErrInput, "run: expected a package, got nil")
	case ctx == nil:
		return nil, ir.Errorf(ir.ErrInput, "run: expected a context, got nil")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	handles := make([]*libtorch.Tensor, len(inputs))
	for i, x := range inputs {
		h, err := x.Handle()
		if err != nil {
			return nil, fmt.Errorf("%s: input %d: %w", p.path, i, err)
		}
		handles[i] = h
	}
	results, err := p.compiled.Run(&p.mode, handles)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	out := make([]*torch.Tensor, len(results))
	for i, h := range results {
		out[i] = torch.FromHandle(h)
	}
	return out, nil
}

// Metadata returns what the package says of itself.
func (p *Package) Metadata() (map[string]string, error) { return p.compiled.Metadata() }

// Close frees the program. It may be called again, and on nil.
func (p *Package) Close() error {
	if p == nil {
		return nil
	}
	return p.compiled.Close()
}
