package torchfx

import (
	"errors"
	"fmt"
	"io/fs"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/redirect"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

// A LoadOption changes what [Load] does.
type LoadOption func(*loadConfig)

type loadConfig struct {
	libraries []string
	device    *ir.Device // of the state and of what operators create
	weights   *ir.Device // of the state alone
	shown     bool       // the program is not to run
	signature bool       // not even its graph is read
	guards    bool
	export    []export.Option
	running   []interpreter.Option
	mode      libtorch.Mode // of runs, as far as options here set it
}

// OnDevice puts the program's state on d and makes operators that create tensors
// create them there; [Program.Warnings] tells which those are. Default: every
// tensor is where the program had it when it was exported, state on the CPU.
func OnDevice(d ir.Device) LoadOption { return func(c *loadConfig) { c.device = &d } }

// WeightsOn puts the program's state on d and leaves the operators alone, for a
// program whose graph says itself where things are. Default: see [OnDevice].
func WeightsOn(d ir.Device) LoadOption { return func(c *loadConfig) { c.weights = &d } }

// WeightsFrom takes parameters and persistent buffers from another file:
// safetensors, one file or the index of a sharded set, or a state dict of torch.save,
// to which keys lead. See [export.WeightsFrom]. Default: they are the archive's.
func WeightsFrom(path string, keys ...string) LoadOption {
	return func(c *loadConfig) { c.export = append(c.export, export.WeightsFrom(path, keys...)) }
}

// GraphOnly reads the graph and what it says of the weights, but no weights: the
// program can be looked at and rewritten and does not run. Default: it runs.
func GraphOnly() LoadOption {
	return func(c *loadConfig) { c.shown, c.export = true, append(c.export, export.GraphOnly()) }
}

// SignatureOnly reads what goes in and out, see [Program.Exported]; the program has no
// module and does not run. That takes milliseconds for a file of any size, and no
// libtorch. Default: all is read.
func SignatureOnly() LoadOption {
	return func(c *loadConfig) {
		c.shown, c.signature, c.export = true, true, append(c.export, export.SignatureOnly())
	}
}

// Models lists the programs of an archive, in its order; see [Model].
func Models(path string) ([]string, error) { return export.Models(path) }

// WithoutGuards lets inputs through that the program was not exported for: other
// sizes, dtypes and constants. What the operators then make of them is the
// caller's affair.
func WithoutGuards() LoadOption { return func(c *loadConfig) { c.guards = false } }

// Model chooses among several programs of one archive. Default: the only one, or
// the one called "model".
func Model(name string) LoadOption {
	return func(c *loadConfig) { c.export = append(c.export, export.Model(name)) }
}

// SkipChecksums leaves the checksums of the file unverified, so that loading does
// not read all weights. Default: they are verified.
func SkipChecksums() LoadOption {
	return func(c *loadConfig) { c.export = append(c.export, export.SkipChecksums()) }
}

// WithLibrary opens a library of custom operators, built against the libtorch
// that is set up, before the program's operators are looked up. The library's own
// code runs in this process; its operators stay registered for all programs.
func WithLibrary(path string) LoadOption {
	return func(c *loadConfig) { c.libraries = append(c.libraries, path) }
}

// WithThreads sets how many threads one kernel, or one group of fused operators, may use,
// 1 to 1024; less is 1. Default: 1, since runs are parallel already.
func WithThreads(n int) LoadOption {
	return func(c *loadConfig) {
		c.mode.Threads = max(n, 1)
		c.running = append(c.running, interpreter.WithThreads(n))
	}
}

// WithHandler makes h execute the nodes; see package interpreter.
func WithHandler(h interpreter.Handler) LoadOption {
	return func(c *loadConfig) { c.running = append(c.running, interpreter.WithHandler(h)) }
}

// OnProgress has f called as a run goes on, with how many nodes are done and how
// many there are; see [interpreter.OnProgress]. Runs at the same time call it at
// the same time. Default: none.
func OnProgress(f func(done, total int)) LoadOption {
	return func(c *loadConfig) { c.running = append(c.running, interpreter.OnProgress(f)) }
}

// Load opens a .pt2 file that torch.export.save wrote, binds its weights, which
// are mapped and copied only where they are not aligned, and checks that this libtorch can run it. All that
// is wrong with the file, and every operator, function and attribute that is not
// there, is reported at once. Nothing in the file is executed.
//
// It needs libtorch: without it the error is of class ir.ErrMissing and names
// the command that installs it. Package export reads files without libtorch.
func Load(path string, opts ...LoadOption) (*Program, error) {
	if err := ir.CheckOptions("load", opts); err != nil {
		return nil, err
	}
	c := loadConfig{guards: true}
	for _, o := range opts {
		o(&c)
	}
	if err := c.mode.Check(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	if !c.signature {
		if err := c.setUp(); err != nil {
			return nil, err
		}
	}
	file, err := export.Open(path, c.export...)
	if err != nil {
		return nil, named(path, err)
	}
	p, err := newProgram(path, file, c)
	if err != nil {
		_ = file.Close()
		return nil, named(path, err)
	}
	return p, nil
}

// named puts the name of a file before what is wrong with it, but for errors of the
// system, which have it.
func named(path string, err error) error {
	var system *fs.PathError
	if errors.As(err, &system) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// setUp opens libraries, and makes libtorch's operators those that a file may use.
func (c *loadConfig) setUp() error {
	for _, lib := range c.libraries {
		if err := libtorch.OpenLibrary(lib); err != nil {
			return err
		}
	}
	for _, d := range []*ir.Device{c.device, c.weights} {
		if d == nil {
			continue
		}
		if err := libtorch.CheckDevice(*d); err != nil {
			return err
		}
	}
	operators, err := libtorch.Operators()
	if err != nil {
		return err
	}
	c.export = append(c.export, export.Operators(operators))
	return nil
}

// newProgram makes a program of an open file, which it takes over if there is no
// error.
func newProgram(path string, file *export.Program, c loadConfig) (*Program, error) {
	if c.signature {
		return &Program{path: path, config: c, notes: file.Warnings, state: &state{file: file}}, nil
	}
	module, err := file.Module()
	if err != nil {
		return nil, err
	}
	p := &Program{path: path, config: c, notes: file.Warnings}
	p.module.Store(module)
	switch {
	case !c.guards:
		dropGuards(module)
	case !file.Samples: // Python's module then has no call of the guards; we check all the same
		p.guards = file.Guards
	}
	if c.device != nil {
		p.notes = append(p.notes[:len(p.notes):len(p.notes)], redirect.Module(module, *c.device)...)
	}
	if c.shown {
		p.state = &state{file: file}
		return p, nil
	}
	p.state, err = bind(file, c.stateDevice())
	if err != nil {
		return nil, errors.Join(err, interpreter.Check(module))
	}
	d := c.stateDevice()
	p.elements = len(p.state.named) > 0 && (d == nil || d.Kind() != ir.DeviceMeta)
	p.state.attach(module)
	if err := interpreter.Check(module); err != nil {
		_ = p.state.free()
		return nil, err
	}
	p.interp = interpreter.New(module, c.running...)
	return p, nil
}

// stateDevice is where the state goes, nil for where it is in the file.
func (c *loadConfig) stateDevice() *ir.Device {
	if c.weights != nil {
		return c.weights
	}
	return c.device
}

// dropGuards takes the guards on inputs out of a module.
func dropGuards(module *ir.GraphModule) {
	g := module.Graph()
	for n := range g.Nodes() {
		if n.Op() != ir.CallModule {
			continue
		}
		path := n.Target().String()
		if v, _ := module.Attr(path); isGuards(v) && g.Erase(n) == nil {
			module.DeleteAttr(path)
		}
	}
}

func isGuards(v any) bool { _, ok := v.(*export.Guards); return ok }
