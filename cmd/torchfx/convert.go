package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/setup"
	"github.com/torchfx-go/torchfx/ir"
)

func newConvertCommand() *cobra.Command {
	var c converter
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Write a program or tensors in another format",
		Long: `Convert reads IN, whatever its format, and writes OUT in the format that the end
of its name says:

  .pt2                          a program as torch 2.15 writes it, from one of any
                                release since torch 2.5
  .pt, .pth                     a state dict that torch.load(weights_only=True) reads
  .safetensors                  tensors; those that share memory are copies in it
  .safetensors.index.json       the same in parts of --shard-size, and their index
  .npz, .npy                    arrays of NumPy; .npy is for one tensor

Of a program, the formats of tensors get the state dict; of a checkpoint --key names
the state dict in it. With --weights a program gets the weights of another file.
OUT appears whole or not at all. Nothing in a file is executed.`,
		Example: `  torchfx convert old.pt2 new.pt2
  torchfx convert model.pt2 weights.safetensors
  torchfx convert --key model checkpoint.pt weights.safetensors
  torchfx convert --weights finetuned.safetensors model.pt2 finetuned.pt2
  torchfx convert --shard-size 2000000000 model.pt weights.safetensors.index.json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.cmd, c.in, c.out = cmd, args[0], args[1]
			return c.run()
		},
	}
	cmd.Flags().StringArrayVar(&c.keys, "key", nil, "key that leads to the state dict in a checkpoint; may be repeated")
	cmd.Flags().StringVar(&c.weights, "weights", "", "file of tensors to take a program's weights from")
	cmd.Flags().StringVar(&c.model, "model", "", "which program of an archive with several")
	cmd.Flags().Int64Var(&c.shardSize, "shard-size", 5_000_000_000, "most bytes of elements in each part of a sharded set")
	c.libraries = libraryFlag(cmd)
	return cmd
}

// A converter is one call of convert.
type converter struct {
	cmd           *cobra.Command
	in, out       string
	keys          []string
	weights       string
	model         string
	shardSize     int64
	libraries     *[]string
	written, size int64
	task          setup.Task
}

func (c *converter) run() error {
	if strings.HasSuffix(c.out, ".pt2") {
		return c.program()
	}
	if c.weights != "" {
		return ir.Errorf(ir.ErrValue, "--weights: expected a .pt2 file to be written, got %s", c.out)
	}
	f, err := export.OpenTensors(c.in, c.keys...)
	if err != nil {
		return fmt.Errorf("%s: %w", c.in, err)
	}
	defer f.Close()
	for _, t := range f.State() {
		c.size += t.Numel() * int64(t.DType.Size())
	}
	c.begin()
	defer c.task.End()
	switch name := strings.ToLower(c.out); {
	case strings.HasSuffix(name, ".safetensors.index.json"):
		return export.WriteShardedSafetensors(c.out, f.Tensors, map[string]string{"format": "pt"}, c.shardSize)
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
	return ir.Errorf(ir.ErrValue, "%s: expected a name that ends in .pt2, .pt, .pth, .safetensors, .safetensors.index.json, .npz or .npy", filepath.Base(c.out))
}

// program writes a program as today's torch does.
func (c *converter) program() error {
	if len(c.keys) > 0 && c.weights == "" {
		return ir.Errorf(ir.ErrValue, "--key: expected --weights beside it, whose state dict it leads to")
	}
	opts, err := withLibraries(*c.libraries)
	if err != nil {
		return err
	}
	names := []string{c.model}
	if c.model == "" {
		if names, err = export.Models(c.in); err != nil {
			return fmt.Errorf("%s: %w", c.in, err)
		}
	}
	if c.weights != "" {
		opts = append(opts, export.WeightsFrom(c.weights, c.keys...))
	}
	var programs []*export.Program
	for _, name := range names {
		p, err := export.Open(c.in, append(opts[:len(opts):len(opts)], export.Model(name))...)
		if err != nil {
			return fmt.Errorf("%s: %w", c.in, err)
		}
		defer p.Close()
		programs = append(programs, p)
	}
	var begun bool
	return export.Save(c.out, programs, export.Progress(func(done, total int64) {
		if !begun {
			begun, c.size = true, total
			c.begin()
		}
		if c.task.At(done); done == total {
			c.task.End()
		}
	}))
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
