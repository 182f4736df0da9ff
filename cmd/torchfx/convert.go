package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/setup"
	"github.com/torchfx-go/torchfx/ir"
)

// indexEnd is how the name of a sharded set ends.
const indexEnd = ".safetensors.index.json"

// tensorEnds are the ends of names that say a format of tensors.
const tensorEnds = ".pt, .pth, .safetensors, .safetensors.index.json, .npz or .npy"

func newConvertCommand() *cobra.Command {
	var c converter
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Write a program or tensors in another format",
		Long: `Convert reads IN, whatever its format, and writes OUT in the format that the end
of its name says:

  .pt2                          a program as torch 2.15 writes it
  NAME/                         a folder that Python imports, as to_folder writes it
  .pt, .pth                     a state dict that torch.load(weights_only=True) reads
  .safetensors                  tensors; those that share memory are copies in it
  .safetensors.index.json       the same in parts of --shard-size, and their index
  .npz, .npy                    arrays of NumPy; .npy is for one tensor

A .pt2 file of any release since torch 2.5 becomes one of today. TorchScript, a whole
torch.fx.GraphModule or torch.nn module that torch.save wrote, and a saved folder become
one by being run once, on libtorch, on zeros that --input describes or on tensors of
--inputs; numbers and the like come from --set. The program has the operators of that
run: loops and conditions are what they were in it, and sizes are fixed but for those of
--dynamic. A condition on an element of a tensor is refused, or checked by the program
with --guard-reads. Modules are put into evaluation mode, unless --train is given.
A folder of TorchScript without such inputs has the program's code instead, with its
conditions and loops.

From what holds a program or a module, the formats of tensors get the state dict; of a
checkpoint --key names the state dict in it. With --weights a program gets the weights
of another file. What AOTInductor compiled has no graph and stays as it is. No module is
pickled whole: a folder holds one, for torch.save to pickle where that is wanted.

OUT appears whole or not at all, a folder file by file. Nothing in a file is executed, but for TorchScript that
becomes a program: its code runs in this process.`,
		Example: `  torchfx convert old.pt2 new.pt2
  torchfx convert model.pt2 weights.safetensors
  torchfx convert --key model checkpoint.pt weights.safetensors
  torchfx convert --weights finetuned.safetensors model.pt2 finetuned.pt2
  torchfx convert --shard-size 2000000000 model.pt weights.safetensors.index.json
  torchfx convert --input 'x=f32[2,3,224,224]' --dynamic x:0=batch scripted.pt model.pt2
  torchfx convert model.pt2 python_model/`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.cmd, c.in, c.out = cmd, args[0], args[1]
			return c.run()
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&c.keys, "key", nil, "key that leads to the state dict in a checkpoint; may be repeated")
	flags.StringVar(&c.weights, "weights", "", "file of tensors to take a program's weights from")
	flags.StringVar(&c.model, "model", "", "which program of an archive with several")
	flags.Int64Var(&c.shardSize, "shard-size", 5_000_000_000, "most bytes of elements in each part of a sharded set")
	flags.StringArrayVar(&c.shapes, "input", nil, "run on zeros, `NAME=DTYPE[SIZES]`; may be repeated")
	flags.StringArrayVarP(&c.inputs, "inputs", "i", nil, "run on tensors of `[NAME=]FILE`, see run --help; may be repeated")
	flags.StringArrayVar(&c.set, "set", nil, "run with an input that is no tensor, `NAME=VALUE`, VALUE in JSON; may be repeated")
	flags.StringArrayVar(&c.dynamic, "dynamic", nil, "keep a size a symbol, `NAME:DIM=SYMBOL`; may be repeated")
	flags.BoolVar(&c.guardReads, "guard-reads", false, "let conditions on elements be what they were, and check them")
	flags.BoolVar(&c.train, "train", false, "leave modules in the mode that they were saved in")
	flags.StringVar(&c.class, "class", "", "`NAME` of the class in a folder; default: that of the module, or FxModule")
	c.libraries = libraryFlag(cmd)
	return cmd
}

// A converter is one call of convert.
type converter struct {
	cmd                          *cobra.Command
	in, out                      string
	keys                         []string
	weights, model, class        string
	shardSize                    int64
	shapes, inputs, set, dynamic []string
	guardReads, train            bool
	libraries                    *[]string
	written, size                int64
	task                         setup.Task
}

func (c *converter) run() error {
	format, err := export.Identify(c.in)
	if err != nil {
		return fmt.Errorf("%s: %w", c.in, err)
	}
	program := strings.HasSuffix(c.out, ".pt2")
	if c.weights != "" && (!program || format != export.ProgramFile) {
		return ir.Errorf(ir.ErrValue, "--weights: expected a .pt2 file to be read and one to be written, got %s and %s", c.in, c.out)
	}
	folder := wantsFolder(c.out)
	if err := c.checkFlags(program && format != export.ProgramFile || folder && format == export.TorchScriptFile); err != nil {
		return err
	}
	switch {
	case program && format == export.ProgramFile:
		return c.program()
	case program:
		return c.recordedProgram(format)
	case folder:
		return c.folder(format)
	}
	return c.tensors(format)
}

// tensors writes the state dict, or what tensors there are.
func (c *converter) tensors(format export.FileFormat) error {
	read := c.reading()
	f, err := export.OpenTensors(c.in, c.keys...)
	read()
	if format == export.AOTInductorFile {
		return ir.Errorf(ir.ErrUnsupported, "%s: holds machine code, which its weights are compiled into; convert the program or the state dict that it was made of", c.in)
	}
	switch {
	case errors.Is(err, ir.ErrType) && len(c.keys) == 0:
		return fmt.Errorf("%s: %w; --key says which one leads to it", c.in, err)
	case err != nil:
		return fmt.Errorf("%s: %w", c.in, err)
	}
	defer f.Close()
	for _, t := range f.State() {
		c.size += t.Numel() * int64(t.DType.Size())
	}
	if strings.HasSuffix(strings.ToLower(c.out), indexEnd) {
		defer c.spin("writing "+filepath.Base(c.out), c.size)()
		return export.WriteShardedSafetensors(c.out, f.Tensors, map[string]string{"format": "pt"}, c.shardSize)
	}
	c.begin()
	defer c.task.End()
	switch name := strings.ToLower(c.out); {
	case strings.HasSuffix(name, ".safetensors"):
		return c.write(func(w io.Writer) error {
			return export.WriteSafetensors(w, f.Tensors, map[string]string{"format": "pt"})
		})
	case strings.HasSuffix(name, ".pt"), strings.HasSuffix(name, ".pth"):
		return c.write(func(w io.Writer) error { return export.WriteState(w, f.State()) })
	case strings.HasSuffix(name, ".npz"):
		return c.write(func(w io.Writer) error { return export.WriteNpz(w, f.Tensors) })
	case strings.HasSuffix(name, ".npy"):
		if len(f.Names) != 1 {
			return ir.Errorf(ir.ErrValue, "%s: expected one tensor, got %d; .npz holds several", c.in, len(f.Names))
		}
		return c.write(func(w io.Writer) error { return export.WriteNpy(w, f.Tensors[f.Names[0]]) })
	}
	return ir.Errorf(ir.ErrValue, "%s: expected a name that ends in .pt2, %s, or in / for a folder", filepath.Base(c.out), tensorEnds)
}

// program writes a program as today's torch does.
func (c *converter) program() error {
	if len(c.keys) > 0 && c.weights == "" {
		return ir.Errorf(ir.ErrValue, "--key: expected --weights beside it, whose state dict it leads to")
	}
	names := []string{c.model}
	if c.model == "" {
		var err error
		if names, err = export.Models(c.in); err != nil {
			return fmt.Errorf("%s: %w", c.in, err)
		}
	}
	var programs []*export.Program
	for _, name := range names {
		p, err := c.open(name)
		if err != nil {
			return err
		}
		defer p.Close()
		for _, w := range p.Warnings {
			fmt.Fprintf(c.cmd.ErrOrStderr(), "warning: %s\n", plainText(w))
		}
		programs = append(programs, p)
	}
	return export.Save(c.out, programs, export.Progress(c.progress()))
}

// recordedProgram writes the program that a run of something else makes.
func (c *converter) recordedProgram(format export.FileFormat) error {
	if _, err := withLibraries(*c.libraries); err != nil {
		return err
	}
	s, err := c.openSource(format)
	if err != nil {
		return err
	}
	defer s.close()
	m, err := c.recorded(s)
	if err != nil {
		return err
	}
	return torchfx.Save(c.out, m, torchfx.SaveProgress(c.progress()))
}

// open opens a program of the archive, "" the only one.
func (c *converter) open(name string) (*export.Program, error) {
	opts, err := withLibraries(*c.libraries)
	if err != nil {
		return nil, err
	}
	if name != "" {
		opts = append(opts, export.Model(name))
	}
	if c.weights != "" {
		opts = append(opts, export.WeightsFrom(c.weights, c.keys...))
	}
	read := c.reading()
	p, err := export.Open(c.in, opts...)
	read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.in, err)
	}
	return p, nil
}

// progress returns what shows how far a program is written.
func (c *converter) progress() func(done, total int64) {
	var begun bool
	return func(done, total int64) {
		if !begun {
			begun, c.size = true, total
			c.begin()
		}
		if c.task.At(done); done == total {
			c.task.End()
		}
	}
}

// write writes a file, and shows how far it is.
func (c *converter) write(f func(io.Writer) error) error {
	return writeOutput(c.cmd, c.out, func(w io.Writer) error { return f(counted{w, c}) })
}

// largeOutput is from how many bytes on a bar is shown, on a terminal.
const largeOutput = 64 << 20

func (c *converter) begin() {
	c.task = noTask{}
	if c.size >= largeOutput && showsProgress(c.cmd) {
		c.task = newReporter(c.cmd).Begin("writing "+filepath.Base(c.out), c.size)
	}
}

// reading shows that a large file is read, whose checksums are verified first; the
// caller calls what it returns when that is done.
func (c *converter) reading() (end func()) {
	info, err := os.Stat(c.in)
	if err != nil {
		return func() {}
	}
	return c.spin("reading "+filepath.Base(c.in), info.Size())
}

// writingFolder shows that a folder is written, of as much as is read.
func (c *converter) writingFolder(dir string) (end func()) {
	info, err := os.Stat(c.in)
	if err != nil {
		return func() {}
	}
	return c.spin("writing "+filepath.Base(dir), info.Size())
}

// spin shows that something of so many bytes is under way.
func (c *converter) spin(what string, size int64) (end func()) {
	if size < largeOutput || !showsProgress(c.cmd) {
		return func() {}
	}
	return newReporter(c.cmd).Begin(what, 0).End
}

// counted tells a converter's bar what was written.
type counted struct {
	w io.Writer
	c *converter
}

func (w counted) Write(p []byte) (n int, err error) {
	const chunk = 1 << 22
	for len(p) > 0 && err == nil {
		var k int
		k, err = w.w.Write(p[:min(chunk, len(p))])
		n, p = n+k, p[k:]
		w.c.written += int64(k)
		w.c.task.At(min(w.c.written, w.c.size))
	}
	return n, err
}
