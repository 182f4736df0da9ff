package interpreter

import (
	"archive/zip"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Compiled is a program that AOTInductor compiled, run as a [Plan] is. It may be run
// by any number of goroutines at once.
type Compiled struct {
	path    string
	program *libtorch.Compiled
	mode    libtorch.Mode
	in, out *ir.TreeSpec
}

type aotiConfig struct {
	model            string
	runners, threads int
	device           int
}

// AOTIModel names the program of a package with several. Default: "model".
func AOTIModel(name string) AOTIOption { return aotiOption(func(c *aotiConfig) { c.model = name }) }

// AOTIDevice is the index of the device to run on, for packages compiled for a GPU.
// Default: the one that the package names.
func AOTIDevice(index int) AOTIOption {
	return aotiOption(func(c *aotiConfig) { c.device = index })
}

// OpenAOTI loads a package that torch._inductor.aoti_compile_and_package wrote, by
// libtorch's loader. It holds machine code for the kind of processor and the version
// of libtorch that it was compiled for, which runs in this process: open files of
// those you trust. An error is of class ir.ErrInput where the file is no such package,
// has no program of that name, or the loader refuses it, and of class ir.ErrMissing
// without libtorch.
func OpenAOTI(path string, opts ...AOTIOption) (*Compiled, error) {
	if err := ir.CheckOptions("open", opts); err != nil {
		return nil, err
	}
	c := aotiConfig{model: "model", runners: 1, threads: 1, device: -1}
	for _, o := range opts {
		o.aoti(&c)
	}
	mode := libtorch.Mode{Threads: c.threads}
	if err := mode.Check(); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := packaged(path, c.model); err != nil {
		return nil, err
	}
	program, err := libtorch.OpenCompiled(path, c.model, c.runners, c.device)
	if err != nil {
		return nil, err
	}
	p := &Compiled{path: path, program: program, mode: mode}
	if err := p.readSpec(); err != nil {
		_ = program.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// packaged looks for a program in a package, since the loader says less clearly what a
// file is not.
func packaged(path, model string) error {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return ir.Errorf(ir.ErrInput, "AOTInductor package %s: %w", path, err)
	}
	defer archive.Close()
	models := map[string]bool{}
	for _, f := range archive.File {
		if _, below, ok := strings.Cut("/"+f.Name, "/data/aotinductor/"); ok {
			if name, _, ok := strings.Cut(below, "/"); ok {
				models[name] = true
			}
		}
	}
	switch {
	case len(models) == 0:
		return ir.Errorf(ir.ErrInput, "AOTInductor package %s: expected what torch._inductor.aoti_compile_and_package wrote, got an archive without compiled code; torchfx.Load opens what torch.export.save wrote", path)
	case !models[model]:
		return ir.Errorf(ir.ErrInput, "AOTInductor package %s: expected a program %q, got %s", path, model, strings.Join(slices.Sorted(maps.Keys(models)), ", "))
	}
	return nil
}

func (p *Compiled) readSpec() error {
	in, out, err := p.program.Spec()
	if err != nil {
		return err
	}
	if p.in, err = ir.ParseTreeSpec(in, nil); err != nil {
		return err
	}
	p.out, err = ir.ParseTreeSpec(out, nil)
	return err
}

// Run runs the program on the arguments of the exported module's forward, nested as
// they were when it was exported, and returns what it returns. Leaves are tensors,
// those of the result the caller's to close. Sizes, strides and dtypes are those that it
// was compiled for: others are an error of class ir.ErrInput that names the leaf by its
// place, as are missing and surplus arguments. A run that has begun is not stopped by
// ctx; before it, the error is of class ir.ErrCancelled.
func (p *Compiled) Run(ctx context.Context, args ...any) (any, error) { return p.Call(ctx, args, nil) }

// Call is [Compiled.Run] with keyword arguments.
func (p *Compiled) Call(ctx context.Context, args []any, kwargs map[string]any) (any, error) {
	if err := p.given(ctx); err != nil {
		return nil, err
	}
	leaves, err := p.in.FlattenCall(args, kwargs, nil)
	if err != nil {
		return nil, err
	}
	results, err := p.RunFlat(ctx, leaves)
	if err != nil {
		return nil, err
	}
	return p.out.Unflatten(results)
}

// RunFlat gives the program its inputs as they are, and returns the leaves of the
// result.
func (p *Compiled) RunFlat(ctx context.Context, leaves []any) ([]any, error) {
	if err := p.given(ctx); err != nil {
		return nil, err
	}
	if expected := p.in.NumLeaves(); len(leaves) != expected {
		return nil, ir.Errorf(ir.ErrInput, "%s: inputs: expected %d, got %d", p.path, expected, len(leaves))
	}
	if err := ctx.Err(); err != nil {
		return nil, ir.Errorf(ir.ErrCancelled, "%s: stopped before the run: %w", p.path, err)
	}
	inputs := make([]*libtorch.Tensor, len(leaves))
	for i, leaf := range leaves {
		t, ok := leaf.(*torch.Tensor)
		if !ok {
			return nil, ir.Errorf(ir.ErrType, "%s: input %d: expected a tensor, got %s", p.path, i, torch.Describe(leaf))
		}
		handle, err := t.Handle()
		if err != nil {
			return nil, fmt.Errorf("%s: input %d: %w", p.path, i, err)
		}
		inputs[i] = handle
	}
	results, err := p.program.Run(&p.mode, inputs)
	if err != nil && strings.Contains(err.Error(), "input_handles[") { // the package's check of its inputs
		return nil, ir.Errorf(ir.ErrInput, "%s: %w", p.path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	out := make([]any, len(results))
	for i, handle := range results {
		out[i] = torch.FromHandle(handle)
	}
	return out, nil
}

// given refuses a run of no program, or with a nil context.
func (p *Compiled) given(ctx context.Context) error {
	if p == nil {
		return ir.Errorf(ir.ErrInput, "run: expected a compiled program, got nil")
	}
	return given(ctx)
}

// Close frees the program once the runs that are going on have ended. It may be called
// again, and on nil.
func (p *Compiled) Close() error {
	if p == nil {
		return nil
	}
	return p.program.Close()
}
