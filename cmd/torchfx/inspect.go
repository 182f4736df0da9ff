package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx/export"
)

func newInspectCommand() *cobra.Command {
	var asJSON, all bool
	var model string
	var libraries *[]string
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Say what a file or folder is and what is in it",
		Long: `Inspect finds out by its content what a file is: a program of torch.export, a file
of torch.save (a state dict, a checkpoint, a whole module), safetensors (one file or
the index of a sharded set), .npy, .npz, a saved fx module, TorchScript, an
AOTInductor package. It says who wrote it, and lists what is in it: signature with
shapes and ranges, operators with counts, modules, tensors with sizes, other values,
and what is missing here to run it.

Nothing in a file is executed, no libtorch is needed, and elements are not read;
"torchfx check" verifies them. Of TorchScript the source is read: how often it names
an operator, not how often that runs. For a folder that holds several such files,
each gets a line.`,
		Example: `  torchfx inspect model.pt2
  torchfx inspect --all checkpoint.pt
  torchfx inspect --json model.safetensors.index.json | jq '.tensors[].name'
  torchfx inspect ~/models`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var opts []export.Option
			if model != "" {
				opts = append(opts, export.Model(model))
			}
			live, err := withLibraries(*libraries)
			if err != nil {
				return err
			}
			r, err := inspect(args[0], append(opts, live...))
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd, r)
			}
			r.print(cmd.OutOrStdout(), all)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&all, "all", false, "list every tensor, not the first ones")
	cmd.Flags().StringVar(&model, "model", "", "which program of an archive with several")
	libraries = libraryFlag(cmd)
	return cmd
}

// An inspectReport is what inspect says about one file or folder.
type inspectReport struct {
	Path      string            `json:"path"`
	Format    string            `json:"format"`
	Kind      string            `json:"kind,omitempty"`  // of a file of torch.save: state dict, module …
	Bytes     int64             `json:"bytes,omitempty"` // of the file
	Models    []string          `json:"models,omitempty"`
	Program   *checkReport      `json:"program,omitempty"`
	Writer    string            `json:"writer,omitempty"` // who wrote it; of a program: where that was not PyTorch
	Metadata  map[string]string `json:"metadata,omitempty"`
	Methods   []string          `json:"methods,omitempty"`   // of a module: their signatures
	Operators map[string]int    `json:"operators,omitempty"` // of what is no program: calls by name
	Compiled  []inspectCompiled `json:"compiled,omitempty"`  // programs that AOTInductor compiled
	Modules   []string          `json:"modules,omitempty"`   // the tree of modules, in lines
	Shards    []inspectFile     `json:"shards,omitempty"`
	Tensors   []inspectTensor   `json:"tensors,omitempty"`
	Values    []string          `json:"values,omitempty"` // of a checkpoint, beside tensors: "epoch = 3"
	Extra     []string          `json:"extra_files,omitempty"`
	Missing   []string          `json:"missing,omitempty"` // what keeps it from running here
	Warnings  []string          `json:"warnings,omitempty"`
	Note      string            `json:"note,omitempty"`
	Files     []inspectFile     `json:"files,omitempty"` // of a folder
}

type inspectTensor struct {
	Name  string  `json:"name"`
	Kind  string  `json:"kind,omitempty"` // parameter, buffer, constant …, as far as the file tells
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Bytes int64   `json:"bytes"` // of its elements

	SharesWith string `json:"shares_memory_with,omitempty"` // the tensor that the memory is counted for

	view *export.Tensor // nil where the file's tensors have memory of their own
	own  int64          // elements that are counted for no other tensor
}

type inspectFile struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Bytes  int64  `json:"bytes,omitempty"`
}

// An inspectCompiled is a program that AOTInductor compiled.
type inspectCompiled struct {
	Name      string            `json:"name"`
	Inputs    []checkValue      `json:"inputs,omitempty"`
	Outputs   []checkValue      `json:"outputs,omitempty"`
	Ranges    []string          `json:"ranges,omitempty"`
	Operators map[string]int    `json:"operators,omitempty"` // that run as they are
	Kernels   []string          `json:"kernels,omitempty"`   // of the others
	Metadata  map[string]string `json:"metadata,omitempty"`
	Files     []inspectFile     `json:"files"`
}

func inspect(path string, opts []export.Option) (*inspectReport, error) {
	format, err := export.Identify(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &inspectReport{Path: path, Format: format.String()}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		r.Bytes = info.Size()
	}
	read := map[export.FileFormat]func() error{
		export.ProgramFile:       func() error { return r.program(path, opts) },
		export.TorchSaveFile:     func() error { return r.saved(path) },
		export.SavedModuleFolder: func() error { return r.savedFolder(path) },
		export.OtherFolder:       func() error { return r.folder(path) },
		export.TorchScriptFile:   func() error { return r.script(path, opts) },
		export.AOTInductorFile:   func() error { return r.compiled(path) },
		export.SafetensorsFile:   func() error { return r.safetensors(path) },
		export.SafetensorsIndex:  func() error { return r.safetensors(path) },
		export.NpyFile:           func() error { return r.npy(path) },
		export.NpzFile:           func() error { return r.npz(path) },
	}[format]
	if err := read(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.countMemory()
	return r, nil
}

// program describes a program. What keeps it from being opened whole is listed as
// missing; signature and weights are told all the same.
func (r *inspectReport) program(path string, opts []export.Option) error {
	var err error
	if r.Models, err = export.Models(path); err != nil {
		return err
	}
	opts = append(opts, export.SkipChecksums())
	p, err := bareIfNeeded(export.Open, path, opts)
	if err != nil {
		r.Missing = strings.Split(err.Error(), "\n")
		if p, err = export.Open(path, append(opts, export.WithoutWeights(), export.SignatureOnly())...); err != nil {
			return errors.New(strings.Join(r.Missing, "\n"))
		}
	}
	defer p.Close()
	r.Program = &checkReport{File: path, OK: true}
	r.Program.describe(p)
	r.Writer = p.Writer
	kinds := map[string]string{}
	for _, in := range p.Signature.Inputs {
		if in.Target != "" {
			kinds[in.Target] = in.Kind.String()
		}
	}
	for name, t := range p.State() {
		r.add(name, kinds[name], t)
	}
	return r.compiled(path) // an archive may hold both
}

// bareIfNeeded opens a file with its elements, which are mapped and tell who shares
// memory, or without where they are not all there.
func bareIfNeeded[T any](open func(string, ...export.Option) (T, error), path string, opts []export.Option) (T, error) {
	f, err := open(path, opts...)
	if err != nil {
		return open(path, append(slices.Clone(opts), export.WithoutWeights())...)
	}
	return f, nil
}

func (r *inspectReport) add(name, kind string, t *export.Tensor) {
	r.Tensors = append(r.Tensors, inspectTensor{
		Name: name, Kind: kind, DType: t.DType.Name(), Shape: append([]int64{}, t.Sizes...), Bytes: t.Numel() * int64(t.DType.Size()), view: t,
	})
}

// folder lists what the files of a folder are; those of no known format are left out.
func (r *inspectReport) folder(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		format, err := export.Identify(filepath.Join(path, e.Name()))
		if err != nil || format == export.OtherFolder {
			continue
		}
		f := inspectFile{Name: e.Name(), Format: format.String()}
		if info, err := e.Info(); err == nil && !e.IsDir() {
			f.Bytes = info.Size()
		}
		r.Files = append(r.Files, f)
	}
	if len(r.Files) == 0 {
		r.Note = "no file in it is of a known format"
	}
	return nil
}

func (r *inspectReport) safetensors(path string) error {
	f, err := export.OpenSafetensors(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r.Metadata = f.Metadata()
	for _, name := range f.Files() {
		shard := inspectFile{Name: name, Format: export.SafetensorsFile.String()}
		if info, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err == nil {
			shard.Bytes = info.Size()
		}
		r.Shards = append(r.Shards, shard)
	}
	for _, name := range f.Names() {
		t, err := f.Tensor(name)
		if err != nil {
			return err
		}
		r.add(name, "", t)
	}
	return nil
}

func (r *inspectReport) npy(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	t, err := export.ReadNpyHeader(file, r.Bytes)
	if err != nil {
		return err
	}
	r.add(strings.TrimSuffix(filepath.Base(path), ".npy"), "", t)
	return nil
}

func (r *inspectReport) npz(path string) error {
	z, err := export.OpenNpz(path)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, name := range z.Names() {
		t, err := z.Header(name)
		if err != nil {
			return err
		}
		r.add(name, "", t)
	}
	return nil
}
